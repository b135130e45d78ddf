// SPDX-License-Identifier: Apache-2.0

package landlock

import "testing"

// TestKnown holds the table against the history of the interface, landlock(7).
func TestKnown(t *testing.T) {
	for _, c := range []struct {
		abi   int
		fs    FS
		net   Net
		scope Scope
	}{
		{0, 0, 0, 0},
		{1, 1<<13 - 1, 0, 0},
		{2, 1<<14 - 1, 0, 0},
		{3, 1<<15 - 1, 0, 0},
		{4, 1<<15 - 1, 3, 0},
		{5, 1<<16 - 1, 3, 0},
		{6, 1<<16 - 1, 3, 3},
		{7, 1<<16 - 1, 3, 3},
		{8, 1<<16 - 1, 3, 3},
		{9, 1<<17 - 1, 3, 3},
		{10, 1<<17 - 1, 15, 3},
		{99, 1<<17 - 1, 15, 3},
	} {
		if fs, net, scope := Known(c.abi); fs != c.fs || net != c.net || scope != c.scope {
			t.Errorf("Known(%d) = %#x, %#x, %#x, want %#x, %#x, %#x", c.abi, fs, net, scope, c.fs, c.net, c.scope)
		}
	}
}

func TestFor(t *testing.T) {
	r := Ruleset{FS: Write | IoctlDev, Net: BindTCP, Scope: Signal,
		Rules: []Rule{{Path: "/a", Allow: Write}, {Path: "/dev/tty", Allow: IoctlDev}}}
	one := r.For(1)
	if one.FS != (Write|IoctlDev)&(1<<13-1) || one.Net != 0 || one.Scope != 0 {
		t.Errorf("For(1) = %+v", one)
	}
	if len(one.Rules) != 1 || one.Rules[0].Allow&(Refer|Truncate) != 0 {
		t.Errorf("For(1).Rules = %+v", one.Rules)
	}
	if none := r.For(0); !none.Empty() || len(none.Rules) != 0 {
		t.Errorf("For(0) = %+v", none)
	}
	if seven := r.For(7); seven.FS != r.FS || len(seven.Rules) != 2 {
		t.Errorf("For(7) = %+v", seven)
	}
}
