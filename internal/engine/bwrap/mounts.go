// SPDX-License-Identifier: Apache-2.0

package bwrap

import (
	"strconv"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// identity is the identity of what a mount shows, nil where no one can have put
// something else in its place.
func identity(m *view.Entry) *bwrapargs.Identity {
	if m.Src != "" || m.Info.Ino == 0 || !host.Replaceable(m.Path) {
		return nil
	}
	return &bwrapargs.Identity{Dev: m.Info.Dev, Ino: m.Info.Ino}
}

// expected lists for process 1 what has to be where: records of "=" for a file
// that has to be the one that was looked at, "!" for one that must not be, since
// it is hidden, each with device, inode and path, NUL-terminated.
func expected(v *view.View) []byte {
	b := make([]byte, 0, 2048)
	for i := range v.Entries {
		m := &v.Entries[i]
		id := identity(m)
		if id == nil {
			continue
		}
		op, ok := op(v, *m, 0)
		if !ok {
			continue
		}
		sign := byte('=')
		if op.Held == nil {
			if sign = '!'; m.Access != policy.Block && !m.Copied {
				continue
			}
		}
		b = appendExpected(b, sign, *id, v.Inside(m.Path))
	}
	return b
}

func appendExpected(b []byte, sign byte, id bwrapargs.Identity, path string) []byte {
	b = append(b, sign)
	b = strconv.AppendUint(b, id.Dev, 10)
	b = append(b, ' ')
	b = strconv.AppendUint(b, id.Ino, 10)
	b = append(b, ' ')
	b = append(b, path...)
	return append(b, 0)
}

// Ops are the mount operations in bwrap's order: the base, then everything
// parents first, so that what lies deeper covers what lies above it.
func Ops(v *view.View, pol *policy.Policy, h *host.Host) []bwrapargs.Op {
	size := int64(pol.TmpfsLimitMB) << 20
	if half := int64(pol.MemoryLimitMB) << 19; half > 0 && half < size {
		// What is in private directories counts as memory that no killing frees: one
		// that is full is an error of the program's, not the end of the sandbox.
		size = half
	}
	ops := make([]bwrapargs.Op, 0, len(v.Entries)+16)
	if v.RootBound() {
		ops = append(ops, bwrapargs.Op{Kind: bwrapargs.ROBind, Src: "/", Dst: "/"})
	}
	ops = append(ops, bwrapargs.Op{Kind: bwrapargs.Proc, Dst: "/proc"}, bwrapargs.Op{Kind: bwrapargs.Dev, Dst: "/dev"})
	if h.UID == 0 {
		// Root owns what is in /proc of any namespace: sysctls, core_pattern,
		// sysrq-trigger, and more with each kernel.
		ops = append(ops, bwrapargs.Op{Kind: bwrapargs.RemountRO, Dst: "/proc"})
	}
	for _, m := range v.Entries {
		if op, ok := op(v, m, size); ok {
			ops = append(ops, op)
		}
	}
	for _, l := range v.Links {
		ops = append(ops, bwrapargs.Op{Kind: bwrapargs.Symlink, Src: l.Text, Dst: l.Path})
	}
	return ops
}

// op is the operation that gives a mount its access, or none when what lies
// above gives it already.
func op(v *view.View, m view.Entry, size int64) (bwrapargs.Op, bool) {
	if !v.Needed(&m) {
		return bwrapargs.Op{}, false
	}
	src := m.Path
	if m.Src != "" {
		src = m.Src
	}
	switch m.Access {
	case policy.Private:
		perm := uint32(0)
		if m.Path == "/tmp" || m.Path == "/var/tmp" || m.Path == "/dev/shm" {
			perm = 0o1777
		}
		return bwrapargs.Op{Kind: bwrapargs.Tmpfs, Dst: m.Path, Size: size, Perm: perm}, true
	case policy.Write:
		if m.Info.Kind == host.Device && policy.Within(m.Path, "/dev") { // see view.OpenDevices
			return bwrapargs.Op{Kind: bwrapargs.DevBind, Src: src, Dst: m.Path}, true
		}
		return bwrapargs.Op{Kind: bwrapargs.Bind, Src: src, Dst: m.Path, Held: identity(&m)}, true
	case policy.Read, policy.Protect:
		if m.Overlaid { // by name: whoever could replace it could as well change what is in it
			return bwrapargs.Op{Kind: bwrapargs.Overlay, Src: src, Dst: m.Path}, true
		}
		if m.Copied {
			return bwrapargs.Op{Kind: bwrapargs.ROData, Dst: m.Path, Data: m.Copy, Perm: 0o444 | m.Info.Mode&0o111},
				true
		}
		return bwrapargs.Op{Kind: bwrapargs.ROBind, Src: src, Dst: m.Path, Held: identity(&m)}, true
	case policy.Block:
		return mask(m), true
	}
	return bwrapargs.Op{}, false
}

// mask hides a file or directory that is there. A file keeps its place and
// cannot be opened, or loses its content (see [view.View.HideProjectFiles]); so does
// a socket, to which no one can then connect.
func mask(m view.Entry) bwrapargs.Op {
	if m.Info.Kind == host.Dir {
		return bwrapargs.Op{Kind: bwrapargs.Tmpfs, Dst: m.Path, Size: 4096, Perm: 0o755}
	}
	return bwrapargs.Op{Kind: bwrapargs.ROData, Dst: m.Path, Data: []byte{}, Perm: 0o444, Shut: !m.Blank}
}

// remountReadOnly makes read-only what had to be writable while mount points were made:
// masks, /dev, and the root when it is not the host's.
func remountReadOnly(v *view.View) []bwrapargs.Op {
	var ops []bwrapargs.Op
	for _, m := range v.Entries {
		if m.Access == policy.Block && !m.Redundant && m.Info.Kind == host.Dir {
			ops = append(ops, bwrapargs.Op{Kind: bwrapargs.RemountRO, Dst: m.Path})
		}
	}
	ops = append(ops, bwrapargs.Op{Kind: bwrapargs.RemountRO, Dst: "/dev"})
	if !v.RootBound() {
		ops = append(ops, bwrapargs.Op{Kind: bwrapargs.RemountRO, Dst: "/"})
	}
	return ops
}
