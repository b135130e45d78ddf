// SPDX-License-Identifier: Apache-2.0

// Package view lays the rules of a policy on the paths of a host. The result, a
// view, is what the command sees: for each canonical path the access that the
// rules add up to, with the rule that decides.
//
// It refuses or drops grants that a link leads somewhere else, holds the
// directories above protected files in place, guards what git runs, hides secrets
// and sockets, filters the environment, and lists what has to be watched since it
// does not exist yet. It knows no engine's options: packages below engine turn a
// view into mounts, into rules of Landlock or into a profile of sandbox-exec.
//
// A view is about the files as they were when it was made; what another program
// of the same user swaps afterwards is for the engines to notice. Start with [New]
// in own.go.
package view
