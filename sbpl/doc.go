// SPDX-License-Identifier: Apache-2.0

// Package sbpl writes profiles in the language of macOS's sandbox: typed rules
// in, the text for sandbox-exec(1) -p and the values for -D out. It knows
// nothing of policies and hosts and has no build tag, so what a Mac would get
// can be read and tested anywhere. Start with [Profile].
//
// # Which rule wins
//
// It is not simply the last one. As seen on real Macs, rules are looked up by
// operation: those of a concrete operation (file-read-data) come before those of
// the group it belongs to (file-read*), whatever the order of the text. Among
// the rules of one operation that have filters the last that matches wins; one
// without filters is only what is left when none matches. Then the group is
// asked, and so on, and at last the default. Some operations are allowed by
// default even then (process-info*, file-link, file-clone, and more).
//
// A [Profile] is written so that a reading of the text from top to bottom, last
// match wins, gives the same answer: the default is deny, what would be allowed
// by default is shut by name, all allows come before all denies, and a concrete
// operation that an allow names is named by each deny that is about its group.
// [Profile.Compile] refuses a profile that is not so.
//
// # Values
//
// The text depends on no path and on no other value of the caller's: each is a
// parameter, given by -D and read with (param "NAME"). Parameters are not parsed
// as Scheme, so there is nothing to quote. Only constants of the program, which
// [Fixed] holds to harmless characters, stand in the text.
//
// The kernel compares with resolved paths: a rule about /tmp, a link to
// /private/tmp, matches the link and nothing that lies behind it. Compile refuses
// such paths where they would be about what lies behind.
//
// What it does not do: it proves nothing about a real kernel. The tests evaluate
// the text with package internal/sbpltest.
package sbpl
