// SPDX-License-Identifier: Apache-2.0

// Package conformance is the table of what a command may do under the built-in
// profiles, the same for every engine: an act, what it is done to, and whether
// strict, moderate and permissive allow it. Where an engine differs, the table
// says so with the reason, and the tests fail when it does not differ.
//
// What counts is what happened on the host: the content that was read, the file
// that changed, the connection that arrived. An empty file in place of a
// secret, or a file made in a private directory, is a refusal.
//
// The test of this package runs the table for real under every engine that this
// system has, and each refused act outside, where it has to succeed. What answers
// by thinking, the reader of macOS profiles, has to pass the same table.
//
// All of it is test code: start with table.txt and TestConformance.
package conformance
