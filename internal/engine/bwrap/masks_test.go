// SPDX-License-Identifier: Apache-2.0

package bwrap

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// A mount is watched when its mount point is a name of the host's, and it hides
// or protects: what stands in a directory that the sandbox made cannot be taken
// away outside.
func TestMasks(t *testing.T) {
	op := func(kind bwrapargs.Kind, dst string) bwrapargs.Op {
		return bwrapargs.Op{Kind: kind, Src: dst, Dst: dst}
	}
	const bind, ro, data, tmpfs = bwrapargs.Bind, bwrapargs.ROBind, bwrapargs.ROData, bwrapargs.Tmpfs
	project := []bwrapargs.Op{op(bind, "/h/u/p"), op(data, "/h/u/p/.env"), op(bind, "/h/u/p/.git"), op(ro, "/h/u/p/.git/config"), op(ro, "/h/u/p/.git/hooks"), op(tmpfs, "/h/u/p/keys")}
	for _, c := range []struct {
		name string
		ops  []bwrapargs.Op
		warn bool
		want []pid1.Mask
	}{
		{"nothing", nil, false, nil},
		{"an empty root", slices.Concat([]bwrapargs.Op{op(ro, "/usr"), op(ro, "/etc"), op(data, "/etc/shadow"), op(tmpfs, "/tmp"), op(tmpfs, "/h/u"), op(ro, "/h/u/.gitconfig")}, project,
			[]bwrapargs.Op{op(bwrapargs.RemountRO, "/h/u/p/keys"), op(bwrapargs.RemountRO, "/")}), false, []pid1.Mask{
			{Kind: pid1.Hides, Path: "/etc/shadow", Top: "/etc"},
			{Kind: pid1.Hides, Path: "/h/u/p/.env", Top: "/h/u/p"},
			{Kind: pid1.Protects, Path: "/h/u/p/.git/config", Top: "/h/u/p"},
			{Kind: pid1.Protects, Path: "/h/u/p/.git/hooks", Top: "/h/u/p"},
			{Kind: pid1.Hides, Path: "/h/u/p/keys", Top: "/h/u/p"},
		}},
		{"a copy", []bwrapargs.Op{op(bind, "/h/u/p"), {Kind: data, Dst: "/h/u/p/.env", Data: []byte("A=1")}}, false, []pid1.Mask{{Kind: pid1.Copies, Path: "/h/u/p/.env", Top: "/h/u/p"}}},
		{"a copy, only told", []bwrapargs.Op{op(bind, "/h/u/p"), {Kind: data, Dst: "/h/u/p/.env", Data: []byte("A=1")}}, true, []pid1.Mask{{Kind: pid1.CopiesWarn, Path: "/h/u/p/.env", Top: "/h/u/p"}}},
		{"only told", project[:2], true, []pid1.Mask{{Kind: pid1.HidesWarn, Path: "/h/u/p/.env", Top: "/h/u/p"}}},
		{"the host's root", []bwrapargs.Op{op(ro, "/"), op(bwrapargs.Proc, "/proc"), op(bwrapargs.Dev, "/dev"), op(tmpfs, "/dev/shm"), op(tmpfs, "/run"), op(ro, "/run/x"), op(data, "/h/u/.netrc"), op(data, "/h/u/.bash_history"), op(data, "/h/u/.claude.json"),
			op(bind, "/h/u/p"), op(ro, "/h/u/p/.envrc"), op(tmpfs, "/h/u/.ssh"), op(data, "/h/u/.ssh/x"), op(ro, "/h/u/q")}, false, []pid1.Mask{
			{Kind: pid1.Hides, Path: "/run", Top: "/"},
			{Kind: pid1.Hides, Path: "/h/u/.netrc", Top: "/"},
			{Kind: pid1.HidesWarn, Path: "/h/u/.bash_history", Top: "/"},
			{Kind: pid1.HidesWarn, Path: "/h/u/.claude.json", Top: "/"},
			{Kind: pid1.Protects, Path: "/h/u/p/.envrc", Top: "/"},
			{Kind: pid1.Hides, Path: "/h/u/.ssh", Top: "/"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pol := &policy.Policy{OnUnmasked: "end"}
			if c.warn {
				pol.OnUnmasked = "warn"
			}
			if d := cmp.Diff(c.want, masks(c.ops, pol)); d != "" {
				t.Error(d)
			}
		})
	}
}
