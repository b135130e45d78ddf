// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// What sbx knows outside reaches the process that explains a failure, and what is
// not needed does not.
func TestHintWords(t *testing.T) {
	m := user(debian + home("/home/u", "1000") + repo("/home/u/src/app"))
	m.env = []string{"HOME=/home/u", "PATH=/home/u/bin2:/usr/bin:relative:/nowhere/", "SBX_FLAGS=-q"}
	m.request.Hints = engine.Hints{On: true, Tool: "git", Agent: "x", Locked: []string{"a", "b"}}
	plan := func(m machine) []string {
		m.command = []string{"git"}
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		if p.Init == nil {
			return nil
		}
		return p.Init.Hints
	}
	want := engine.Hints{On: true, Tool: "git", Agent: "x", Locked: []string{"a", "b"}, Flags: "-q", Lost: []string{"/home/u/bin2", "/nowhere"}}
	if d := cmp.Diff(want, engine.ParseHints(plan(m))); d != "" {
		t.Error(d)
	}
	m.env[1] = "PATH=/usr/bin"
	m.request.Hints = engine.Hints{On: true, Config: true, Skip: 3, Typed: []string{"-c", "a b", ""}}
	m.request.Remap = "/workspace"
	want = engine.Hints{On: true, Config: true, Skip: 3, Typed: []string{"-c", "a b", ""}, Remap: "/workspace", CWD: "/home/u/src/app"}
	if d := cmp.Diff(want, engine.ParseHints(plan(m))); d != "" {
		t.Error(d)
	}
	m.request.Hints.Typed = []string{"--env", "A_TOKEN=x"}
	want.Typed, want.Skip = nil, -1
	if d := cmp.Diff(want, engine.ParseHints(plan(m))); d != "" {
		t.Error(d)
	}
	for name, change := range map[string]func(*machine){
		"off":                func(m *machine) { m.request.Hints.On = false },
		"direct":             func(m *machine) { m.request.Direct = true },
		"one pid":            func(m *machine) { m.over.SharePID = policy.Yes },
		"new bwrap, one pid": func(m *machine) { m.over.SharePID, m.version = policy.Yes, bwrapargs.Version{Minor: 11} },
	} {
		m := m
		change(&m)
		if got := plan(m); got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}
