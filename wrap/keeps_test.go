// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"testing"

	"github.com/sbx-sandbox/sbx/internal/host"
)

// TestKeeps: sbx makes its own directories in a home that is there and in
// directories that the XDG variables name, and never makes those (issue 15).
func TestKeeps(t *testing.T) {
	const me = 1000
	fs := newFS(t, me,
		"/root/ uid=0 mode=700", "/tmp/ uid=0 mode=1777", "/srv/ uid=0",
		"/home/me/ uid=1000", "/home/me/.cache/ uid=1000",
		"/home/linked -> me", "/home/me/gone -> /mnt/absent",
		"/home/ours/ uid=7 mode=775", "/home/full/.cache/sbx/ uid=7", "/data/cache/ uid=1000", "/data/mine/sbx/ uid=1000", "/data/file = text",
		"/shared/ uid=7 mode=777",
	)
	for _, test := range []struct {
		home, dir string
		want      string // "" is yes
	}{
		{"/home/me", "/home/me/.cache/sbx", ""},
		{"/home/me", "/home/me/.local/state/sbx", ""},
		{"/home/linked", "/home/linked/.local/state/sbx", ""},
		{"/home/me", "/home/me/gone/sbx", "/home/me/gone is a link that leads nowhere"},
		{"/home/absent", "/home/absent/.cache/sbx", "/home/absent does not exist"},
		{"/tmp/absent", "/tmp/absent/.cache/sbx", "/tmp/absent does not exist"},
		{"/home/me/absent", "/home/me/absent/.cache/sbx", "/home/me/absent does not exist"}, // in the home of passwd
		{"/", "/.cache/sbx", "/.cache does not exist"},
		{"/", "/data/cache/sbx", ""},
		{"/tmp", "/tmp/.cache/sbx", ""},
		{"/srv", "/srv/.cache/sbx", "/srv cannot be written"},
		{"/root", "/root/.cache/sbx", "/root cannot be written"}, // where it may not be searched either
		{"/home/full", "/home/full/.cache/sbx", "/home/full/.cache/sbx belongs to another user"},
		{"/shared", "/shared/.cache/sbx", ""}, // of root another answer, below
		{"/home/absent", "/data/cache/sbx", ""},
		{"/home/absent", "/data/mine/sbx", ""},
		{"/home/absent", "/data/other/sbx", "/data/other does not exist"},
		{"/home/me", "/data/other/sbx", "/data/other does not exist"},
		{"/home/me", "/data/file/sbx", "/data/file is not a directory"},
		{"", "", "there is no home directory"},
	} {
		h := &host.Host{
			Facts:  host.Facts{FS: fs},
			Caller: host.Caller{UID: me, Homes: []string{test.home, "/home/me"}},
		}
		got := ""
		if err := h.CheckOwnDir(test.dir); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("HOME=%s: %s: %q, want %q", test.home, test.dir, got, test.want)
		}
	}
	fs.uid = 0
	root := &host.Host{Facts: host.Facts{FS: fs}, Caller: host.Caller{Homes: []string{"/home/me"}}}
	if err := root.CheckOwnDir("/home/me/.cache/sbx"); err == nil {
		t.Error("root makes a directory in the home of a user, who is locked out of it then")
	}
	if err := (&host.Host{Facts: host.Facts{FS: fs}, Caller: host.Caller{Homes: []string{"/"}}}).CheckOwnDir("/.cache/sbx"); err == nil {
		t.Error("root makes /.cache")
	}
}
