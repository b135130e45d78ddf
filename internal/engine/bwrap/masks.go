// SPDX-License-Identifier: Apache-2.0

package bwrap

import (
	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// masks lists the mounts that the host can take away while the command runs:
// those at names in a directory of the host's, which hide what is there or make
// it read-only. A rename over such a name, or its removal, detaches the mount.
func masks(ops []bwrapargs.Op, pol *policy.Policy) []pid1.Mask {
	shown := make(map[string]bwrapargs.Kind, len(ops)) // what a path is mounted as
	var out []pid1.Mask
	tops := make(map[string]string, len(ops))
	for i := range ops {
		op := &ops[i]
		if op.Kind == bwrapargs.RemountRO || op.Kind == bwrapargs.Symlink {
			continue
		}
		over, ok := op.Dst, false
		kind := bwrapargs.Tmpfs
		for over != "/" && !ok {
			over = policy.Dir(over)
			kind, ok = shown[over]
		}
		shown[op.Dst] = op.Kind
		h := ok && (kind == bwrapargs.Bind || kind == bwrapargs.ROBind)
		if !h {
			tops[op.Dst] = op.Dst
			continue
		}
		top := tops[over]
		tops[op.Dst] = top
		m := pid1.Mask{Path: op.Dst, Top: top}
		switch op.Kind {
		case bwrapargs.Tmpfs, bwrapargs.ROData:
			m.Kind = pid1.Hides
			if len(op.Data) > 0 {
				m.Kind = pid1.Copies
			}
			if pol.OnUnmasked == "warn" || restless(host.Base(op.Dst)) {
				m.Kind++ // a warning is all
			}
		case bwrapargs.ROBind:
			if kind != bwrapargs.Bind {
				continue // read-only in read-only
			}
			m.Kind = pid1.Protects
		default:
			continue
		}
		out = append(out, m)
	}
	return out
}

// restless reports whether programs outside replace a hidden file of that name
// all the time, as each shell does with its history when it ends. A run could
// not last beside them, so that is told, and ends nothing.
func restless(name string) bool {
	switch name {
	case ".zhistory", ".histfile", ".history", "fish_history", ".lesshst", ".viminfo", "recently-used.xbel",
		".Xauthority", ".ICEauthority", ".claude.json":
		return true
	}
	return policy.Match(".*_history", name) || policy.Match(".*_hist", name)
}

// Unwatched is the gap of a run in which no sbx process stays.
const Unwatched = "no sbx process watches the host (--direct, --share-pid): a hidden or read-only file that an editor, git or mv replaces there while the command runs loses its protection"
