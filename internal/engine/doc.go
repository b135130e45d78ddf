// SPDX-License-Identifier: Apache-2.0

// Package engine holds what the engines share: the [Request] for a plan, the
// [Plan] itself with its [Report], the manifest that the command finds, the limits,
// and which descriptors pass. Packages bwrap, landlock and seatbelt below it make
// plans; package wrap chooses one and executes its plan.
//
// A plan names its gaps, the promises that its engine cannot keep. Start with
// [New].
package engine
