// SPDX-License-Identifier: Apache-2.0

package host

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestLookAround: sockets are found where a directory is looked into, however
// they were bound, and a look holds until a directory has changed.
func TestLookAround(t *testing.T) {
	top := t.TempDir()
	was := SocketTops
	SocketTops = [...]string{filepath.Join(top, "opt"), filepath.Join(top, "none"), filepath.Join(top, "link"), filepath.Join(top, "many")}
	defer func() { SocketTops = was }()
	for _, dir := range []string{"opt/app/run/deep/deeper", "elsewhere", "many/full"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("elsewhere", filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	listen := func(path string) {
		t.Helper()
		l, err := net.Listen("unix", filepath.Join(top, path))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	for _, path := range []string{"opt/0", "opt/app/1", "opt/app/run/2", "opt/app/run/deep/3", "elsewhere/4"} {
		listen(path)
	}
	if err := os.Rename(filepath.Join(top, "opt/0"), filepath.Join(top, "opt/renamed")); err != nil {
		t.Fatal(err)
	}
	for i := range maxLook + 10 {
		if err := os.WriteFile(filepath.Join(top, "many/full", strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := func() (out []string) {
		for _, s := range searchSockets(&remotes{}, 1).sockets {
			if rel, err := filepath.Rel(top, s); err == nil && filepath.IsLocal(rel) {
				out = append(out, rel)
			}
		}
		return out
	}
	if got, want := found(), []string{"elsewhere/4", "opt/app/1", "opt/app/run/2", "opt/renamed"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if got := Sockets(top, 10000); len(got) != 5 {
		t.Errorf("found without a bound: %q", got)
	}
	// What the kernel says, in both ways.
	asked, err := askSockets()
	if err != nil {
		t.Log("sock_diag:", err)
		asked = readSockets()
	}
	for name, names := range map[string][]string{"sock_diag": asked, "/proc/net/unix": readSockets()} {
		for _, path := range []string{"opt/app/1", "opt/app/run/deep/3", "opt/0"} {
			if !slices.Contains(names, filepath.Join(top, path)) {
				t.Errorf("%s does not name %s", name, path)
			}
		}
	}

	l := searchSockets(&remotes{}, 1000)
	for now, want := range map[int64]bool{1000: true, 1000 + aged: true, 1001 + aged: false, 999: false} {
		if l.valid(now) != want {
			t.Errorf("at %d: %v", now, !want)
		}
	}
	time.Sleep(20 * time.Millisecond) // so that the time of a directory changes
	listen("opt/app/run/new")
	if l.valid(1000) {
		t.Error("a directory has changed, and that was not noticed")
	}
	l = searchSockets(&remotes{}, 1000)
	if err := os.Mkdir(filepath.Join(top, "none"), 0o755); err != nil {
		t.Fatal(err)
	}
	if l.valid(1000) {
		t.Error("a directory is there now, and that was not noticed")
	}
}

func BenchmarkSockets(b *testing.B) {
	text := searchSockets(&remotes{}, 0).text()
	for range b.N {
		l, err := parseSocketCache(text)
		if err != nil || !l.valid(1) {
			b.Fatal(err)
		}
		_ = listeningSockets()
	}
}
