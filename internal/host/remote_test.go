// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"slices"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// TestRemotes: what asks elsewhere is known by the mount table, and asked once.
func TestRemotes(t *testing.T) {
	table := slices.Collect(procfs.Mounts(`1 0 8:1 / / rw - ext4 /dev/sda rw
2 1 0:31 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw
3 1 0:40 / /home rw - autofs auto.home rw
4 3 0:41 /u /home/u rw shared:3 master:4 - nfs4 server:/u rw
5 4 0:42 / /home/u/app/mnt rw - fuse.sshfs me@host: rw
6 5 8:2 / /home/u/app/mnt/disk rw - ext4 /dev/sdb rw
7 1 0:43 / /win rw - fuseblk /dev/sdc rw
8 1 0:44 / /over rw - 9p drvfs rw
9 1 0:45 / /over rw - tmpfs none rw
`))
	var asked []string
	dead := ""
	fresh := func() *remotes {
		r := &remotes{table: table, ask: func(paths []string) []bool {
			asked = append(asked, paths...)
			out := make([]bool, len(paths))
			for i := range paths {
				out[i] = paths[i] != dead
			}
			return out
		}}
		for i := range r.table {
			if remoteType(r.table[i].Type) {
				r.far = append(r.far, i)
			}
		}
		return r
	}
	r := fresh()
	for path, want := range map[string]int{"/": -1, "/home": 2, "/home/x": 2, "/home/u": 3, "/home/u/app": 3, "/home/u/app/mnt": 4, "/home/u/app/mnt/a": 4, "/home/u/app/mnt/disk/a": -1,
		"/home/u/app/mnty": 3, "/win/x": -1, "/over/x": -1} {
		if got := r.on(path); got != want {
			t.Errorf("%s is on mount %d, want %d", path, got, want)
		}
	}
	if err := r.needs("/home/u/app", "/home/u", "/home/u/.config", "/usr"); err != nil {
		t.Error(err)
	}
	want := []string{"/home/u/app", "/home/u", "/home", "/home/u/.config"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	asked = nil
	if err := r.reach("/home/u/app/go.mod"); err != nil || asked != nil {
		t.Error("asked again: ", asked, err)
	}
	r.unneeded = true
	if err := r.reach("/home/u/app/mnt/.git"); err != errUnneeded || asked != nil {
		t.Error("asked for what is not needed: ", asked, err)
	}
	r.unneeded, dead = false, "/home/u/app/mnt/.env"
	for range 2 {
		if err := r.reach(dead); !errors.As(err, new(*SilentError)) || len(asked) != 1 {
			t.Error("a silent one: ", asked, err)
		}
	}
	dead = "/home/u"
	var refusal *Error
	if err := fresh().needs("/home/u/app"); !errors.As(err, &refusal) || refusal.Status != 125 || refusal.Text != "/home/u (nfs4) gives no answer, and this run needs one" {
		t.Error(err)
	}
}
