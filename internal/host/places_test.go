// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"testing"
)

func TestGrantable(t *testing.T) {
	h := &Host{Caller: Caller{UID: 1000, Homes: []string{"/home/u", "/data/u"}}, Places: Places{Config: "/cfg/sbx"}}
	const free, named, never = "free", "by name", "never"
	for path, want := range map[string]string{
		"/home/u/src/app": free, "/home/u/bin": free, "/home/u/.local/bin": free, "/home/u/.config/foo": free,
		"/home/u/.local/share/chezmoi": free, "/home/u/.config/nvim-kickstart": free, "/cfg/tool": free,
		"/home/u/.config/autostart": named, "/home/u/.config/systemd/user": named, "/data/u/.config/fish": named,
		"/cfg/nvim/lua": named, "/home/u/.local/share/applications": named, "/home/u/.local/share": named,
		"/home/u/.local": named, "/home/u/.emacs.d/lisp": named, "/home/u": never, "/home/u/.config": named,
		"/cfg": never, "/var/spool/cron/crontabs": never, "/etc/x": never,
	} {
		got := free
		var place *PlaceError
		if err := h.Grantable(path); errors.As(err, &place) && place.Named {
			got = named
		} else if err != nil {
			got = never
		}
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// What root's own commands could have made is not the system's.
func TestTrustedLink(t *testing.T) {
	for _, c := range []struct {
		path       string
		owner, uid int
		want       bool
	}{
		{"/bin", 0, 0, true}, {"/var/run", 0, 0, true}, {"/etc/alternatives/cc", 0, 0, true}, {"/usr/lib/x", 0, 0, true},
		{"/data/proj/l", 0, 0, false}, {"/srv/x/l", 0, 0, false}, {"/tmp/l/l", 0, 0, false}, {"/root/l", 0, 0, false},
		{"/data/proj/l", 0, 1000, true}, {"/bin", 1000, 0, false}, {"/bin", 1000, 1000, false},
	} {
		h := &Host{Caller: Caller{UID: c.uid, Homes: []string{"/root"}}}
		if got := h.TrustedLink(Hop{Path: c.path, UID: c.owner}); got != c.want {
			t.Errorf("%s of %d for %d: %v", c.path, c.owner, c.uid, got)
		}
	}
}
