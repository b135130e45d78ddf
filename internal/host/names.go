// SPDX-License-Identifier: Apache-2.0

package host

// ManifestDir holds policy.json, by which a program knows that it runs inside.
const ManifestDir = "/run/sbx"

// Names of engines.
const (
	EngineBwrap    = "bwrap"
	EngineLandlock = "landlock"
)

// Names of tiers.
const (
	TierFull    = "full"
	TierReduced = "reduced"
)

// EngineSeatbelt is the engine of macOS.
const EngineSeatbelt = "sandbox-exec"

// SandboxExec is the only place where sandbox-exec is looked for: the system
// keeps others from writing there.
const SandboxExec = "/usr/bin/sandbox-exec"
