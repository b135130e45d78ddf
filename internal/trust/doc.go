// Package trust remembers which project files the user has agreed to: the
// content word for word, under the file's path. Start with [Store.Check].
//
// It promises:
//   - A file is trusted only while its bytes are those that were agreed to, at
//     the path they were agreed to at.
//   - A record that anybody but the user could have written (a link, another
//     owner, writable by others, in such a directory), or that is not whole,
//     says nothing: the file is not trusted, and an error tells why.
//   - A record is written whole or not at all.
//
// It does not promise anything against a program that runs as the user and
// can write to the store: it is for the sandbox to keep the directory out of a
// command's reach. Nor does it say what an agreed file may do; package config
// does.
package trust
