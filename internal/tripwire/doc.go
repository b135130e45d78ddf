// SPDX-License-Identifier: Apache-2.0

// Package tripwire remembers what was there before a run, so that what a
// command left for the host to run later is reported.
//
// A name that does not exist cannot be made read-only without leaving
// something behind on the host: .envrc, .vscode, a .git in a subdirectory. So
// before each run the caller hands over such names as [Watch] values, each with
// what was there when the run was planned. [Store.Check] compares them with
// what earlier runs recorded, and records those that are new. What is recorded
// stays until a person accepts the [Change]: that a command made something in
// one run is still reported ten runs later.
//
// What it does not do: it prevents nothing, and it sees only the names that it
// is told to watch. It looks when it is asked to, so that what was made and
// taken away between two looks is not seen. It knows no flags, no profiles and
// no engine. Records are believed because the sandbox hides the directory they
// lie in; one that another user could have written is an error.
//
// Start with [Store.Check] and [Look].
package tripwire
