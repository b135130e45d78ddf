package wrap

import (
	"slices"
	"strconv"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// wall is what Landlock denies the command inside of bwrap's walls, nil for
// nothing. Namespaces close off abstract sockets and processes; where one is
// shared, only Landlock can. With the strict filter it is a second wall
// everywhere, so that no single mistake opens the host.
//
// It belongs to the plan, and no run that shares nothing pays for it.
func (p *Plan) wall(v *view, pol *policy.Policy, h *Host) *landlock.Ruleset {
	var r landlock.Ruleset
	if pol.Network {
		r.Scope |= landlock.AbstractUnix | landlock.Signal
	}
	if pol.SharePID {
		r.Scope |= landlock.Signal
	}
	if strictWalls(pol) {
		r.Scope |= landlock.AbstractUnix | landlock.Signal
		if h.Landlock >= fileWall {
			v.wallFiles(&r)
		}
	}
	r = r.For(h.Landlock)
	if r.Empty() {
		return nil
	}
	return &r
}

// strictWalls reports whether two walls are wanted where one would do.
func strictWalls(pol *policy.Policy) bool { return pol.Seccomp == "strict" }

// The first versions of Landlock that can do what is asked here. Before 3 files
// could not be moved to another directory (1) or would be truncated past the
// wall (2).
const (
	fileWall  = 3
	scopeWall = 6
)

// wallFiles denies all that the mounts do not give. What is hidden, protected
// or read-only in a tree that gives more is left to the mounts: a rule is about
// all that lies below, and naming what is around a hole instead would refuse
// files that come later.
//
// The rules are opened inside, so they are about what is mounted there, not
// about the host's file of the same name.
func (v *view) wallFiles(r *landlock.Ruleset) {
	// Which sockets there are is for the mounts to say.
	r.FS, _, _ = landlock.Known(v.host.Landlock)
	r.FS &^= landlock.ResolveUnix
	allow := func(path string, what landlock.FS) {
		r.Rules = append(r.Rules, landlock.Rule{Path: v.inside(path), Allow: what})
	}
	if !v.rootBound() {
		// The directories above mounts, which hold nothing else, can be listed.
		allow("/", landlock.ReadDir)
	}
	allow("/dev", landlock.ReadFile|landlock.ReadDir|landlock.WriteFile|landlock.Truncate|landlock.IoctlDev)
	allow("/proc", landlock.ReadFile|landlock.ReadDir|landlock.WriteFile|landlock.Truncate)
	allow(ManifestDir, landlock.Read)
	given := make([]landlock.FS, len(v.mounts)) // at each mount, by those above it, too
	for i := range v.mounts {
		m := &v.mounts[i]
		if m.over >= 0 {
			given[i] = given[m.over]
		}
		if !v.inForce(m) {
			continue
		}
		if what := walled(m.eff); what&^given[i] != 0 {
			given[i] |= what
			allow(m.path, what)
		}
	}
}

// walled is what a rule about a mount allows.
func walled(a policy.Access) landlock.FS {
	switch a {
	case policy.Read, policy.Protect:
		return landlock.Read
	case policy.Write, policy.Private:
		return landlock.Write
	}
	return 0
}

// private lists for the stage the directories of the host that must not be where
// the sandbox has one of its own, since the wall lets the command write there.
func (v *view) private(b []byte) []byte {
	for i := range v.mounts {
		m := &v.mounts[i]
		if m.eff == policy.Private && v.inForce(m) && m.info.Kind == Dir && m.info.Ino != 0 {
			b = appendExpected(b, '!', bwrapargs.Identity{Dev: m.info.Dev, Ino: m.info.Ino}, v.inside(m.path))
		}
	}
	return b
}

// scoped reports whether the command is kept from something by Landlock.
func (p *Plan) scoped(s landlock.Scope) bool {
	return p.Stage != nil && p.Stage.Wall != nil && p.Stage.Wall.Scope&s == s
}

// Scoped names what Landlock keeps the command from, in the words of
// landlock(7).
func (p *Plan) Scoped() (names []string) {
	if p.scoped(landlock.AbstractUnix) {
		names = append(names, "abstract-unix-socket")
	}
	if p.scoped(landlock.Signal) {
		names = append(names, "signal")
	}
	return names
}

// wallGaps are the walls that are missing, with the reason.
func (p *Plan) wallGaps(pol *policy.Policy, h *Host) (out []string) {
	why := func(version int, linux string) string {
		switch {
		case h.Landlock == 0:
			return " (Landlock could close it: this kernel has none, or has it off)"
		case h.Landlock < version:
			return " (Landlock could close it from Linux " + linux + " on)"
		}
		return " (Landlock could close it, and there is no stage to put it up)"
	}
	if pol.Network && !p.scoped(landlock.AbstractUnix) {
		out = append(out, "the network is shared, and with it the abstract sockets of this host"+why(scopeWall, "6.12"))
	}
	if pol.SharePID && !p.scoped(landlock.Signal) {
		out = append(out, "the processes are shared, and the command can signal those of the caller"+why(scopeWall, "6.12"))
	}
	if strictWalls(pol) && (p.Stage == nil || p.Stage.Wall == nil || p.Stage.Wall.FS == 0) {
		out = append(out, "there is no second wall around the files, mounts alone hide them"+why(fileWall, "6.2"))
	}
	return out
}

// reopens reports whether the stage can open a file of the caller's anew: by the
// name that it still has, as the command's user.
func (v *view) reopens(direct bool, h *Host, fd *FD, to resolved) bool {
	_, ok := v.self(h)
	return ok && !direct && to.Path == fd.Path && v.allowed(fd.Path, 'r')
}

// maxReopen bounds how many files are opened anew, since each is a mount; the
// others are copied.
const maxReopen = 8

// shown are the read-only mounts of the files that the stage opens anew.
func (p *Plan) shown(h *Host) []bwrapargs.Op {
	var ops []bwrapargs.Op
	for _, fd := range h.FDs {
		if slices.Contains(p.Reopen, fd.Num) {
			at := pid1.Files + "/" + strconv.Itoa(fd.Num)
			ops = append(ops, bwrapargs.Op{Kind: bwrapargs.ROBind, Src: fd.Path, Dst: at, Held: &bwrapargs.Identity{Dev: fd.Dev, Ino: fd.Ino}})
			if p.Report.files == nil {
				p.Report.files = make(map[string]string, len(p.Reopen))
			}
			p.Report.files[at] = fd.Path
		}
	}
	return ops
}
