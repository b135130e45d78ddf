// SPDX-License-Identifier: Apache-2.0

// Package landlock makes plans for Landlock: this process limits itself and
// becomes the command, with nothing installed and no other process. Landlock can
// only allow, for whole directories, so rules name the entries around what is
// hidden or protected.
//
// What Landlock cannot do is a gap of the plan, or a refusal where a promise
// depends on it. Start with [Engine.Plan]; rules.go turns a view into rules.
package landlock
