// SPDX-License-Identifier: Apache-2.0

// Package host holds what is known of the machine and of the caller.
//
// [Detect] gathers a [Host]: user, working directory, environment, open
// descriptors, mount table. An [FS] answers questions about files, so that a plan
// can be made for a machine that does not exist, and a resolver follows links by
// the kernel's rules. [Find] and the probe of sandbox-exec tell whether an engine
// works here; when it does not, an [Unavailable] names the cause and what to do,
// from the [Diagnostics] that [GatherDiagnostics] collects.
//
// This package decides nothing about what a command may do, and it promises
// nothing about what changes after it looked: engines check again when a run
// starts. Start with Detect, FS and resolver.
package host
