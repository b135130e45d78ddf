// SPDX-License-Identifier: Apache-2.0

// Package access answers what a command may do with a path, and why: the rule
// that decides, and what would change the answer.
//
// A [Checker] answers from the files as the command finds them and the rules in
// force, outside of a sandbox from a plan and inside from the manifest. It
// predicts and enforces nothing: where it is wrong the engine still holds. Start
// with [Checker.Ask].
package access
