// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"crypto/sha1"
	"encoding/binary"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine/bwrap"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// indexOf is a git index of version 2 that holds files with contents.
func indexOf(files map[string]string) string {
	return indexWith(files, nil, 0)
}

// indexWith has more entries of names that it has already, and flags.
func indexWith(files, more map[string]string, flags uint16) string {
	b := binary.BigEndian.AppendUint32([]byte("DIRC\x00\x00\x00\x02"), uint32(len(files)+len(more)))
	add := func(name, content string) {
		e := make([]byte, 62, 72+len(name))
		binary.BigEndian.PutUint32(e[24:], 0o100644)
		sum := sha1.Sum([]byte("blob " + strconv.Itoa(len(content)) + "\x00" + content))
		copy(e[40:], sum[:])
		binary.BigEndian.PutUint16(e[60:], flags|uint16(len(name)))
		e = append(e, name...)
		b = append(b, append(e, make([]byte, 8-len(e)%8)...)...)
	}
	for name, content := range files {
		add(name, content)
	}
	for name, content := range more {
		add(name, content)
	}
	return string(append(b, make([]byte, 20)...))
}

// What stands in place of each hidden file, as bwrap is told.
func TestConceal(t *testing.T) {
	const project = "/home/u/src/app"
	index := func(files map[string]string) *fakeNode {
		return &fakeNode{Info: host.Info{Kind: host.File, Mode: 0o644, UID: 1000, Size: int64(len(indexOf(files)))}, Text: indexOf(files)}
	}
	same := map[string]string{".env": "A=1", ".env.local": "B=2", "tls.key": "KEY"}
	const (
		shut  = "shut"
		blank = "empty"
	)
	base := debian + home("/home/u", "1000") + repo(project) + `
/home/u/src/app/.env = A=1
/home/u/src/app/.env.local = B=2
/home/u/src/app/tls.key = KEY
/home/u/src/app/mine = M
`
	for _, tt := range []struct {
		name   string
		index  map[string]string // nil for no index
		files  string            // more
		change func(*machine)
		want   map[string]string // of these names the content, shut or blank; "-" without a mount
	}{
		{"not tracked", map[string]string{"a": ""}, "", nil, map[string]string{".env": blank, ".env.local": blank, "tls.key": shut}},
		{"no index", nil, "", nil, map[string]string{".env": blank, ".env.local": blank, "tls.key": shut}},
		{"tracked", same, "", nil, map[string]string{".env": "A=1", ".env.local": "B=2", "tls.key": "KEY"}},
		{"one changed", map[string]string{".env": "A=0", "tls.key": "KEY"}, "", nil, map[string]string{".env": shut, ".env.local": blank, "tls.key": "KEY"}},
		{"borrowed objects", same, project + "/.git/objects/info/alternates = /srv/x", nil, map[string]string{".env": shut, "tls.key": shut}},
		{"cloned in part", same, project + `/.git/config = [extensions]\npartialClone = origin`, nil, map[string]string{".env": shut, "tls.key": shut}},
		{"a promisor", same, project + `/.git/config = [remote "o"]\npromisor = true`, nil, map[string]string{".env": shut}},
		{"a config that git refuses", same, project + `/.git/config = [x`, nil, map[string]string{".env": shut}},
		{"git cannot be read", same, "", func(m *machine) { m.over.Block = flagPaths("--block", project+"/.git") }, map[string]string{".env": shut, "tls.key": shut}},
		{"hidden by a person", map[string]string{".env": "A=1", "mine": "M"}, "", func(m *machine) { m.over.Block = flagPaths("--block", project+"/mine", project+"/.env") },
			map[string]string{".env": shut, "mine": shut}},
		{"not tracked, hidden by a person", map[string]string{"a": ""}, "", func(m *machine) { m.over.Block = flagPaths("--block", project+"/mine", project+"/.env") },
			map[string]string{".env": blank, "mine": shut}},
		{"shown by a person", same, "", func(m *machine) { m.over.Read = flagPaths("--allow-read", project+"/.env") }, map[string]string{".env": "-"}},
		{"an index that cannot be read", nil, project + "/.git/index = DIRC", nil, map[string]string{".env": shut, "tls.key": shut}},
		{"too large", map[string]string{".env": strings.Repeat("x", maxTracked+1)}, project + "/.env = " + strings.Repeat("x", maxTracked+1), nil, map[string]string{".env": shut}},
		{"strict", same, "", func(m *machine) { m.profiles = []string{"strict"} }, map[string]string{".env": "A=1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := user(base + tt.files + "\n")
			m.profiles = []string{"moderate"}
			if tt.change != nil {
				tt.change(&m)
			}
			m.prepare = func(f *fakeFS) {
				if tt.index != nil {
					f.put(project+"/.git/index", index(tt.index))
				}
			}
			p, _, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			got := make(map[string]string)
			for name := range tt.want {
				got[name] = "-"
				for _, op := range bwrap.Ops(p.Report.View, p.Report.Policy, p.Report.View.Host) {
					if op.Dst != project+"/"+name {
						continue
					}
					switch {
					case op.Kind == bwrapargs.ROData && op.Shut:
						got[name] = shut
					case op.Kind == bwrapargs.ROData && len(op.Data) == 0:
						got[name] = blank
					case op.Kind == bwrapargs.ROData:
						got[name] = string(op.Data)
					}
				}
				a := p.Report.Ask(project + "/" + name)
				if reads := got[name] != shut && got[name] != blank; a.Read != reads {
					t.Errorf("%s: may be read: %v, %s", name, a.Read, a.Why)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// One guess of a hidden file's content counts in a run, not as many as an index
// holds.
func TestGuesses(t *testing.T) {
	const project = "/home/u/src/app"
	guess, wrong := map[string]string{".env": "A=1"}, map[string]string{".env": "A=0"}
	for _, tt := range []struct {
		name, index string
		shown       bool
	}{
		{"one", indexOf(guess), true},
		{"two, the first is right", indexWith(guess, wrong, 0), false},
		{"two, the second is right", indexWith(wrong, guess, 0), false},
		{"of a merge", indexWith(guess, nil, 0x1000), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := user(debian + home("/home/u", "1000") + repo(project) + project + "/.env = A=1\n")
			m.prepare = func(f *fakeFS) {
				f.put(project+"/.git/index", &fakeNode{Info: host.Info{Kind: host.File, Mode: 0o644, UID: 1000, Size: int64(len(tt.index))}, Text: tt.index})
			}
			p, _, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			if a := p.Report.Ask(project + "/.env"); a.Read != tt.shown {
				t.Errorf("it may be read: %v", a.Read)
			}
		})
	}
}

// A hidden file outside of a project cannot be opened, whatever its name.
func TestConcealOutside(t *testing.T) {
	m := user(debian + home("/home/u", "1000") + repo("/home/u/src/app") + "/home/u/.env = X\n/srv/other/.env = Y uid=1000\n")
	m.profiles, m.over = []string{"permissive"}, policy.Profile{Block: flagPaths("--block", "/srv/other/.env")}
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, op := range bwrap.Ops(p.Report.View, p.Report.Policy, p.Report.View.Host) {
		if op.Dst == "/home/u/.env" || op.Dst == "/srv/other/.env" {
			n++
			if !op.Shut {
				t.Error(op.Dst, " can be opened")
			}
		}
	}
	if n != 2 {
		t.Error(n, " masks")
	}
}
