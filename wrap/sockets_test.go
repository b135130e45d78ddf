// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// TestDeafened: which sockets of the host are hidden, by which masks.
func TestDeafened(t *testing.T) {
	const files = "/opt/app/run/s socket\n/opt/app/run/t socket\n/etc/app/s socket\n/srv/x/s socket\n/home/u/src/app/s socket\n/home/u/s socket\n/home/u/.cache/s socket uid=1000\n/home/u/.cache/d/s socket uid=1000\n/home/u/.cache/d/ uid=1000\n" +
		"/run/svc/s socket\n/opt/link -> /run/svc\n/opt/here -> /opt/app/run\n/opt/app/file\n/usr/local/s socket uid=1001 mode=700\n"
	many := func(dir string, n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("%s/%d", dir, i))
		}
		return out
	}
	text := func(paths []string) string { return strings.Join(paths, " socket\n") + " socket\n" }
	all := []string{"/opt/app/run/s", "/opt/app/run/t", "/etc/app/s", "/srv/x/s", "/home/u/src/app/s", "/home/u/.cache/s", "/home/u/.cache/d/s", "/run/svc/s", "/opt/app/file", "/opt/gone", "/usr/local/s"}
	for _, c := range []struct {
		name    string
		profile string
		more    string
		mounts  []host.Mount
		known   []string
		change  func(m *machine)
		want    []string
	}{
		{name: "moderate", profile: "moderate", known: all, want: []string{"/etc/app/s", "/opt/app/run/s", "/opt/app/run/t", "/usr/local/s"}},
		{name: "a named pipe", profile: "moderate", more: "/opt/app/ctl fifo\n", known: []string{"/opt/app/ctl", "/opt/app/file"}, want: []string{"/opt/app/ctl"}},
		{name: "strict", profile: "strict", known: all, want: []string{"/usr/local/s"}},
		{name: "permissive", profile: "permissive", known: all,
			want: []string{"/etc/app/s", "/home/u/.cache/d/s", "/home/u/.cache/s", "/home/u/s", "/opt/app/run/s", "/opt/app/run/t", "/srv/x/s", "/usr/local/s"}},
		{name: "the network makes no difference", profile: "moderate", known: all, change: func(m *machine) { m.over.AllowNetwork = policy.Yes }, want: []string{"/etc/app/s", "/opt/app/run/s", "/opt/app/run/t", "/usr/local/s"}},
		{name: "one is named", profile: "moderate", known: all, change: func(m *machine) { m.over.Read = flagPaths("--allow-read", "/opt/app/run/s") }, want: []string{"/etc/app/s", "/opt/app/run/t", "/usr/local/s"}},
		{name: "a directory is shown by name", profile: "moderate", known: all, change: func(m *machine) { m.over.Read = flagPaths("--allow-read", "/srv/x") }, want: []string{"/etc/app/s", "/opt/app/run/s", "/opt/app/run/t", "/srv/x/s", "/usr/local/s"}},
		{name: "a directory is writable by name", profile: "moderate", known: all, change: func(m *machine) { m.over.Write = flagPaths("--allow-write", "/srv/x") }, want: []string{"/etc/app/s", "/opt/app/run/s", "/opt/app/run/t", "/usr/local/s"}},
		{name: "by a link", profile: "moderate", known: []string{"/opt/here/s", "/opt/link/s"}, want: []string{"/opt/app/run/s"}},
		{name: "by another mount", profile: "moderate", more: "/opt/vol/s socket\n", mounts: []host.Mount{{Dev: "8:1", Root: "/", Point: "/"}, {Dev: "0:9", Root: "/", Point: "/run"}, {Dev: "0:9", Root: "/svc", Point: "/opt/vol"}}, known: []string{"/run/svc/s"}, want: []string{"/opt/vol/s"}},
		{name: "twenty", profile: "moderate", more: text(many("/opt/big", 20)), known: many("/opt/big", 20), want: func() []string { l := many("/opt/big", 20); slices.SortFunc(l, view.ComparePaths); return l }()},
		{name: "more", profile: "moderate", more: text(many("/opt/big", 21)), known: many("/opt/big", 21), want: []string{"/opt/big"}},
		{name: "more, here and there", profile: "moderate", more: text(many("/opt/a/run", 15)) + text(many("/opt/b/run", 7)), known: append(many("/opt/a/run", 15), many("/opt/b/run", 7)...),
			want: append([]string{"/opt/a/run"}, many("/opt/b/run", 7)...)},
		{name: "more, where something is named", profile: "moderate", more: text(many("/opt/big", 21)), known: many("/opt/big", 21), change: func(m *machine) { m.over.Read = flagPaths("--allow-read", "/opt/big/3") },
			want: func() []string {
				l := slices.DeleteFunc(many("/opt/big", 21), func(p string) bool { return p == "/opt/big/3" })
				slices.SortFunc(l, view.ComparePaths)
				return l
			}()},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := user(debian + home("/home/u", "1000"))
			m.more, m.profiles, m.sockets = files+c.more, []string{c.profile}, c.known
			if c.change != nil {
				c.change(&m)
			}
			h, fs := m.host(t)
			fs.mounts = c.mounts
			pol, err := m.policy(h)
			if err != nil {
				t.Fatal(err)
			}
			p, err := New(engine.Request{Engine: m.engine(), Policy: pol, Root: h.CWD, Command: []string{"sh"}}, h)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range p.Report.Mounts() {
				if m.Source == view.SourceSocket && !m.Pinned {
					got = append(got, m.Path)
					if m.Access != policy.Block {
						t.Errorf("%s is %v", m.Path, m.Access)
					}
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			s, err := simulate(fs, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range c.known {
				at, _, _ := s.walk(path, true)
				if info, err := fs.Lstat(path); err != nil || info.Kind != host.Socket || at.hostPath() == "" {
					continue
				}
				if slices.Contains(got, at.hostPath()) && path != "/usr/local/s" { // which the caller cannot reach
					t.Errorf("%s is there: %s", path, at.hostPath())
				}
			}
		})
	}
	// So many that they can be neither hidden one by one nor as a whole.
	m := user(debian + home("/home/u", "1000"))
	m.sockets = many("/opt", maxMatches+1)
	m.more = text(m.sockets)
	if _, _, err := m.plan(t); statusOf(err).Status != host.StatusFailed || !strings.Contains(err.Error(), "513 sockets") {
		t.Error(err)
	}
}

// TestDeafWalls: with Landlock from version 9 on sockets can be reached where the
// masks of bwrap would leave them, and nowhere else.
func TestDeafWalls(t *testing.T) {
	for _, profile := range []string{"moderate", "permissive"} {
		m := user(debian + home("/home/u", "1000"))
		m.more, m.landlock, m.profiles = "/opt/app/s socket\n/srv/x/s socket\n", engine.ABIUnix, []string{profile}
		m.over.Protected = "auto"
		m.over.Read, m.over.Write = flagPaths("--allow-read", "/opt/app/s"), flagPaths("--allow-write", "/srv/x")
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range p.Confined.Ruleset.Rules {
			if r.Allow&landlock.ResolveUnix != 0 && r.Path != "" {
				got = append(got, r.Path)
			}
		}
		if !slices.Contains(got, "/opt/app/s") || !slices.Contains(got, "/srv/x") {
			t.Errorf("%s: not open: %q", profile, got)
		}
		for _, path := range got {
			if path != "/opt/app/s" && !policy.Within(path, "/srv/x") && !policy.Within(path, "/home/u/src/app") {
				t.Errorf("%s: sockets can be reached in %s", profile, path)
			}
		}
	}
}
