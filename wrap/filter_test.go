// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/seccomp"
	"github.com/sbx-sandbox/sbx/internal/view"
)

func filterFile(t *testing.T, text string) *seccomp.File {
	t.Helper()
	f, err := seccomp.ParseFile("/f.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// filtered is a run with a filter from a file.
func filtered(t *testing.T, path, more string) machine {
	t.Helper()
	m := user(debian + home("/home/u", "1000"))
	m.more = more
	m.over.Seccomp = path
	m.request.Filter = filterFile(t, `{"defaultAction": "SCMP_ACT_ALLOW", "flags": ["SECCOMP_FILTER_FLAG_LOG"], "syscalls": [{"names": ["mkdir"], "action": "SCMP_ACT_ERRNO"}]}`)
	return m
}

// TestFilterLoaded: who loads a filter, and that sbx's own is there as well.
func TestFilterLoaded(t *testing.T) {
	v := func(minor int) bwrapargs.Version { return bwrapargs.Version{Minor: minor} }
	tests := []struct {
		name    string
		version bwrapargs.Version
		direct  bool
		share   policy.Switch
		noSelf  bool // sbx cannot be put inside: /run is the host's
		want    string
	}{
		{"by the stage", v(8), false, policy.Unsaid, false, "stage"},
		{"by the stage, old", v(4), false, policy.Unsaid, false, "stage"},
		{"directly", v(8), true, policy.Unsaid, false, "bwrap"},
		{"directly, the oldest", v(6), true, policy.Unsaid, false, "bwrap"},
		{"directly, older", v(5), true, policy.Unsaid, false, "bwrap 0.5.0 takes no second system call filter, and without sbx as process 1 nothing else loads the one from /etc/f.json"},
		{"with shared processes, before the command", v(8), false, policy.Yes, false, "stage"},
		{"with shared processes: the stage becomes the command", v(10), false, policy.Yes, false, "stage"},
		{"no stage", v(8), false, policy.Unsaid, true, "bwrap"},
		{"no stage, older", v(5), false, policy.Unsaid, true, "bwrap 0.5.0 takes no second system call filter, and without sbx as process 1 nothing else loads the one from /etc/f.json"},
	}
	own, err := seccomp.Filter(seccomp.Options{Arch: "amd64", Level: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		m := filtered(t, "/etc/f.json", "/etc/f.json")
		m.version, m.request.Direct, m.over.SharePID = tt.version, tt.direct, tt.share
		if tt.noSelf {
			m.over.Read = flagPaths("--allow-read", "/run")
		}
		code, err := m.request.Filter.Filter("amd64")
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := m.plan(t)
		if err != nil {
			if statusOf(err).Text != tt.want {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		got := ""
		if p.Init != nil && slices.Equal(p.Init.Filter, code) {
			got = "stage"
		}
		base := false
		for _, fd := range p.FDs {
			base = base || fd.Name == "seccomp filter" && slices.Equal(fd.Data, own)
			if fd.Name == "seccomp filter from a file" && slices.Equal(fd.Data, code) {
				got += "bwrap"
			}
		}
		if got != tt.want || !base {
			t.Errorf("%s: by %q, want %q; the own filter is there: %t", tt.name, got, tt.want, base)
		}
		want := &engine.Filter{Path: "/etc/f.json", Rules: 1, Hinders: []string{}, // [] in JSON, not null
			Notes: []string{"/etc/f.json: flag SECCOMP_FILTER_FLAG_LOG is not used: what is refused is not logged"}}
		if d := cmp.Diff(want, p.Report.Filter); d != "" {
			t.Error(d)
		}
		if !slices.Contains(p.Report.Notes, want.Notes[0]) {
			t.Error(p.Report.Notes)
		}
	}
}

// TestFilterWholeProcess: where a thread of sbx's own becomes the command, its
// death alone would leave a process that never ends.
func TestFilterWholeProcess(t *testing.T) {
	const text = `{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["execve"], "action": "SCMP_ACT_KILL"}]}`
	code := func(whole bool) []byte {
		f := filterFile(t, text)
		f.WholeProcess = whole
		code, err := f.Filter("amd64")
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	if slices.Equal(code(true), code(false)) {
		t.Fatal("both filters are the same")
	}
	for _, tt := range []struct {
		name   string
		edit   func(*machine)
		filter func(*engine.Plan) []byte
		whole  bool
	}{
		{"a process of its own", func(*machine) {}, func(p *engine.Plan) []byte { return p.Init.Filter }, false},
		{"shared processes", func(m *machine) { m.over.SharePID = policy.Yes }, func(p *engine.Plan) []byte { return p.Init.Filter }, true},
		{"Landlock", func(m *machine) { m.landlock = 7 }, func(p *engine.Plan) []byte { return p.Confined.Filters[1].Code }, true},
	} {
		m := filtered(t, "/etc/f.json", "/etc/f.json")
		m.request.Filter = filterFile(t, text)
		tt.edit(&m)
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(tt.name, err)
		}
		if !slices.Equal(tt.filter(p), code(tt.whole)) {
			t.Errorf("%s: not the filter for whole = %t", tt.name, tt.whole)
		}
		if m.request.Filter.WholeProcess {
			t.Errorf("%s: the caller's file was changed", tt.name)
		}
	}
}

// TestFilterUnread: a plan without the file that its policy names is none.
func TestFilterUnread(t *testing.T) {
	m := filtered(t, "/etc/f.json", "/etc/f.json")
	m.request.Filter = nil
	if _, _, err := m.plan(t); statusOf(err).Text != "seccomp: /etc/f.json was not read" {
		t.Error(err)
	}
	m.over.Seccomp = "dev"
	p, _, err := m.plan(t)
	if err != nil || p.Report.Filter != nil || p.Init.Filter != nil {
		t.Error(err, p)
	}
}

func TestFilterHinders(t *testing.T) {
	for text, want := range map[string]string{
		`{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mmap", "read", "execve"], "action": "SCMP_ACT_TRAP"}]}`: "/etc/f.json refuses execve, mmap and read: without that not even /bin/true starts",
		`{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mmap"], "action": "SCMP_ACT_ERRNO"}]}`:                  "/etc/f.json refuses mmap: without that not even /bin/true starts",
	} {
		m := filtered(t, "/etc/f.json", "/etc/f.json")
		m.request.Filter = filterFile(t, text)
		p, _, err := m.plan(t)
		if err != nil || !slices.Contains(p.Report.Notes, want) {
			t.Errorf("%v: %q, want %q", err, p.Report.Notes, want)
		}
	}
}

// TestFilterWithoutKernel: a filter that cannot be made stops the run.
func TestFilterWithoutKernel(t *testing.T) {
	m := filtered(t, "/etc/f.json", "/etc/f.json")
	m.request.Filter = filterFile(t, `{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mkdir"], "action": "SCMP_ACT_ERRNO", "includes": {"minKernel": "4.8"}}]}`)
	if _, _, err := m.plan(t); statusOf(err).Status != 125 || !strings.Contains(statusOf(err).Text, "minKernel") {
		t.Error(err)
	}
}

// TestFilterGuarded: a command never writes the filter of the next run.
func TestFilterGuarded(t *testing.T) {
	app := "/home/u/src/app"
	key := host.Base(view.CacheName(app, 1000)) // of its private cache
	tests := []struct {
		name, path, more string
		edit             func(m *machine)
		at               string // what is writable; "" for no error
	}{
		{"in the system", "/etc/f.json", "/etc/f.json", nil, ""},
		{"in a home that is hidden", "/home/u/f.json", "/home/u/f.json", nil, ""},
		{"in /tmp, which is the sandbox's own", "/tmp/f.json", "/tmp/f.json", nil, ""},
		{"in the project", app + "/f.json", app + "/f.json", nil, app + "/f.json"},
		{"in the project, not there", app + "/f.json", "", nil, app + "/f.json"},
		{"in the project, read-only", app + "/f.json", app + "/f.json", func(m *machine) { m.readOnly = true }, ""},
		{"in the project, protected", app + "/f.json", app + "/f.json", func(m *machine) {
			m.over.Protect = policy.List{Items: []policy.Item{{Text: app + "/f.json", Layer: policy.User}}}
		}, ""},
		{"in the project, hidden", app + "/f.json", app + "/f.json", func(m *machine) { m.over.Block = flagPaths("--block", app+"/f.json") }, ""},
		{"below a grant", "/srv/data/a/f.json", "/srv/data/a/f.json", func(m *machine) { m.over.Write = flagPaths("--allow-write", "/srv/data") }, "/srv/data/a/f.json"},
		{"itself a grant", "/srv/data/f.json", "/srv/data/f.json uid=1000", func(m *machine) { m.over.Write = flagPaths("--allow-write", "/srv/data/f.json") }, "/srv/data/f.json"},
		{"a link in the project", app + "/l", app + "/l -> /etc/f.json\n/etc/f.json", nil, app + "/l"},
		{"a directory behind a link in the project", app + "/way/f.json", app + "/way -> /etc\n/etc/f.json", nil, app + "/way"},
		{"a link to the project", "/etc/f.json", "/etc/f.json -> " + app + "/f.json\n" + app + "/f.json", nil, app + "/f.json"},
		{"a link to a link in the project", "/etc/f.json", "/etc/f.json -> " + app + "/l\n" + app + "/l -> /opt/f.json\n/opt/f.json", nil, app + "/l"},
		{"in the private cache", "/home/u/.cache/sbx/projects/$KEY/f.json", "/home/u/.cache/sbx/ uid=1000 mode=700\n/home/u/.cache/sbx/projects/$KEY/f.json uid=1000", nil, "/home/u/.cache/sbx/projects/$KEY/f.json"},
		{"in the cache of another project", "/home/u/.cache/sbx/projects/0123456789abcdef/f.json", "/home/u/.cache/sbx/ uid=1000 mode=700\n/home/u/.cache/sbx/projects/0123456789abcdef/f.json uid=1000", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			full := func(s string) string { return strings.ReplaceAll(s, "$KEY", key) }
			m := filtered(t, full(tt.path), full(tt.more))
			if tt.edit != nil {
				tt.edit(&m)
			}
			_, _, err := m.plan(t)
			want := ""
			if tt.at != "" {
				want = "seccomp: " + full(tt.path) + " could be written by the command, which would choose its own filter (" + full(tt.at) + " is writable in the sandbox)"
			}
			if got := statusOf(err).Text; got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}
