// SPDX-License-Identifier: Apache-2.0

// Package credentials takes credentials out of settings files: the text of a file
// in, a copy without the settings that hold some out, with the names of these.
// What remains is to its program what it was: for git that is compared with git
// itself ([Git]), for others whole lines are left out ([Lines]).
//
// What is a credential is told by its name, by a user and a password in a URL, and
// by what tokens of well-known services look like. A reference (${NPM_TOKEN}) is
// none. A text that cannot be read as what its name says is an error: the caller
// hides it.
//
// The package knows no host and reads no file. It has no build tags.
package credentials
