// SPDX-License-Identifier: Apache-2.0

package bwrap

import (
	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// Ruleset is what Landlock denies the command inside of bwrap's namespaces, nil for
// nothing. Namespaces close off abstract sockets and processes; where one is
// shared, only Landlock can. With the strict filter it holds the files a
// second time everywhere, so that no single mistake opens the host.
//
// It belongs to the plan, and no run that shares nothing pays for it.
func Ruleset(v *view.View, pol *policy.Policy, h *host.Host) *landlock.Ruleset {
	var r landlock.Ruleset
	if pol.Network {
		r.Scope |= landlock.AbstractUnix | landlock.Signal
	}
	if pol.SharePID {
		r.Scope |= landlock.Signal
	}
	if view.StrictWalls(pol) {
		r.Scope |= landlock.AbstractUnix | landlock.Signal
		if h.Landlock >= engine.ABITruncate {
			restrictFiles(v, &r)
		}
	}
	r = r.For(h.Landlock)
	if r.Empty() {
		return nil
	}
	return &r
}

// restrictFiles denies all that the mounts do not give. What is hidden, protected
// or read-only in a tree that gives more is left to the mounts: a rule is about
// all that lies below, and naming what is around a hole instead would refuse
// files that come later.
//
// The rules are opened inside, so they are about what is mounted there, not
// about the host's file of the same name.
func restrictFiles(v *view.View, r *landlock.Ruleset) {
	// Which sockets there are is for the mounts to say.
	r.FS, _, _ = landlock.Known(v.Host.Landlock)
	r.FS &^= landlock.ResolveUnix
	allow := func(path string, what landlock.FS) {
		r.Rules = append(r.Rules, landlock.Rule{Path: v.Inside(path), Allow: what})
	}
	if !v.RootBound() {
		// The directories above mounts, which hold nothing else, can be listed.
		allow("/", landlock.ReadDir)
	}
	allow("/dev", landlock.ReadFile|landlock.ReadDir|landlock.WriteFile|landlock.Truncate|landlock.IoctlDev)
	allow("/proc", landlock.ReadFile|landlock.ReadDir|landlock.WriteFile|landlock.Truncate)
	allow(host.ManifestDir, landlock.Read)
	given := make([]landlock.FS, len(v.Entries)) // at each mount, by those above it, too
	for i := range v.Entries {
		m := &v.Entries[i]
		if m.Parent >= 0 {
			given[i] = given[m.Parent]
		}
		if !v.InForce(m) {
			continue
		}
		if what := rights(m.Access); what&^given[i] != 0 {
			given[i] |= what
			allow(m.Path, what)
		}
	}
}

// rights is what a rule about a mount allows.
func rights(a policy.Access) landlock.FS {
	switch a {
	case policy.Read, policy.Protect:
		return landlock.Read
	case policy.Write, policy.Private:
		return landlock.Write
	}
	return 0
}

// expectPrivate lists for process 1 the directories of the host that must not be where
// the sandbox has one of its own, since the ruleset lets the command write there.
func expectPrivate(v *view.View, b []byte) []byte {
	for m := range v.InForceEntries() {
		if m.Access == policy.Private && m.Info.Kind == host.Dir && m.Info.Ino != 0 {
			b = appendExpected(b, '!', bwrapargs.Identity{Dev: m.Info.Dev, Ino: m.Info.Ino}, v.Inside(m.Path))
		}
	}
	return b
}

// RulesetGaps are the restrictions that are missing, with the reason.
func RulesetGaps(p *engine.Plan, pol *policy.Policy, h *host.Host) (out []string) {
	why := func(version int, linux string) string {
		switch {
		case h.Landlock == 0:
			return " (Landlock could close it: this kernel has none, or has it off)"
		case h.Landlock < version:
			return " (Landlock could close it from Linux " + linux + " on)"
		}
		return " (Landlock could close it, but sbx is not process 1 of the sandbox)"
	}
	if pol.Network && !p.Restricts(landlock.AbstractUnix) {
		out = append(out, "the network is shared, and with it the abstract sockets of this host"+why(engine.ABIScope, "6.12"))
	}
	if pol.SharePID && !p.Restricts(landlock.Signal) {
		out = append(out, "the processes are shared, and the command can signal those of the caller"+why(engine.ABIScope,
			"6.12"))
	}
	if view.StrictWalls(pol) && (p.Init == nil || p.Init.Ruleset == nil || p.Init.Ruleset.FS == 0) {
		out = append(out, "there is no second barrier around the files, only mounts hide them"+why(engine.ABITruncate, "6.2"))
	}
	return out
}
