// SPDX-License-Identifier: Apache-2.0

// Package verify proves a policy instead of describing it: it tries, inside a
// sandbox of that policy, what the policy says cannot be done.
//
// A target says what there is to prove: hidden and protected paths, addresses that
// listen, variables that are dropped. target.checks makes a list of it, each check
// with the acts that the probe inside is to try, and target.evaluate compares their
// outcome with what the policy and the plan say. These are pure. The acts stand in
// one table (acts), system calls in another (trials). What touches the machine are
// [Outside], which puts fixtures in place, collects the target and runs the probe,
// [Here], which does so from inside, and [Probe] itself: start there.
//
// A check counts only with its control: the same act is known to be possible
// outside. What could not be tried is never taken for proved.
//
// Nothing is damaged where there is a hole: files are opened for writing and not
// written, names are random ones that were free, what was renamed is renamed back,
// and nothing that was there before is removed or overwritten.
//
// The package does not protect anything, and it finds only the holes it looks for:
// no bugs of the kernel, no side channels, no secrets that the policy does not
// name.
package verify
