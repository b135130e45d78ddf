// SPDX-License-Identifier: Apache-2.0

// Package ptytest lets a test sit in front of a terminal: it starts a program
// as the leader of a session on a pseudo-terminal, types keys, and waits for
// what appears.
//
// It is for tests only, and cannot hang: each wait ends after [Patience] and
// fails the test with what was on the screen. What is read is not a picture of
// the screen but the text that was written to it, in order, without the
// sequences that move the cursor or colour it; so a program that draws only
// what changed shows only that.
//
// Start with [Start].
package ptytest
