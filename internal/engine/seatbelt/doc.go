// SPDX-License-Identifier: Apache-2.0

// Package seatbelt makes plans for sandbox-exec of macOS: the view as a profile
// of rules about paths. It can be used on any system, for a dry run.
//
// What macOS cannot do is a gap of the plan, or a refusal where a promise depends
// on it. Start with [Engine.Plan]; profile.go turns a view into rules.
package seatbelt
