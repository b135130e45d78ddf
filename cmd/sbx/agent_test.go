// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/agents"
)

func TestAgentWords(t *testing.T) {
	for _, tt := range []struct{ args, own, words string }{
		{"agent", "agent", ""},
		{"agent claude", "agent claude", ""},
		{"agent claude -p x -- --net", "agent claude", "-p x -- --net"},
		{"agent --net claude --net", "agent --net claude", "--net"},
		{"agent -p strict claude -p x", "agent -p strict claude", "-p x"},
		{"agent -pstrict --env=A=b claude agent", "agent -pstrict --env=A=b claude", "agent"},
		{"agent -w claude gemini x", "agent -w claude gemini", "x"},
		{"agent --list", "agent --list", ""},
		{"agent -p", "agent -p", ""},
		{"explain -p agent", "explain -p agent", ""},
	} {
		own, words := agentWords(strings.Fields(tt.args))
		if diff := cmp.Diff([]string{tt.own, tt.words}, []string{strings.Join(own, " "), strings.Join(words, " ")}); diff != "" {
			t.Errorf("%s: %s", tt.args, diff)
		}
	}
}

// TestAgentFlagsThatTakeAWord compares the list that finds the client's name
// with the grammar.
func TestAgentFlagsThatTakeAWord(t *testing.T) {
	want := []string{"--color"} // of all commands
	for _, c := range grammar(t, &commandCLI{}).Children {
		for _, f := range c.Flags {
			if c.Name == "agent" && !f.IsBool() {
				want = append(want, "--"+f.Name)
				if f.Short != 0 {
					want = append(want, "-"+string(f.Short))
				}
			}
		}
	}
	sorted := cmp.Transformer("sort", func(in []string) map[string]bool {
		out := map[string]bool{}
		for _, s := range in {
			out[s] = true
		}
		return out
	})
	if diff := cmp.Diff(want, agentFlags, sorted); diff != "" {
		t.Error(diff)
	}
}

// TestLands judges choices by what the file is, not by its name.
func TestLands(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := func(to, name string) string {
		path := filepath.Join(dir, name)
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ours, tool, other := link(self, "bash"), link(self, "npm"), link("/bin/sh", "zsh")
	named := filepath.Join(dir, "sbx-zsh")
	if err := os.WriteFile(named, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	client, _ := agents.Find("claude")
	place := agents.Place{Shells: dir, Line: "/x/line", Target: ours}
	none := func(string) bool { return false }
	for _, tt := range []struct {
		name   string
		choice agents.Choice
		want   bool
	}{
		{"sbx", agents.Choice{Shell: ours}, true},
		{"sbx under the name of a tool", agents.Choice{Shell: tool}, false},
		{"another program of such a name, in the directory", agents.Choice{Shell: other}, false},
		{"one that only has sbx's name", agents.Choice{Shell: named}, false},
		{"a relative path", agents.Choice{Shell: "bash"}, false},
		{"nothing there", agents.Choice{Shell: dir + "/sbx-bash"}, false},
		{"no shell", agents.Choice{}, false},
		{"sbx, but the client is known to go past it", agents.Choice{Shell: ours, Why: "x"}, false},
		{"the line", agents.Choice{Shell: "/bin/sh", Prefix: []string{"/x/line"}}, true},
		{"the line with more", agents.Choice{Shell: "/bin/sh", Prefix: []string{"/x/line", "-x"}}, false},
		{"another line", agents.Choice{Shell: "/bin/sh", Prefix: []string{"/y/line"}}, false},
		{"sbx -c", agents.Choice{Shell: "/bin/sh", Prefix: []string{ours, "-c"}}, true},
		{"sbx -n", agents.Choice{Shell: "/bin/sh", Prefix: []string{ours, "-n"}}, false},
		{"sbx alone", agents.Choice{Shell: "/bin/sh", Prefix: []string{ours}}, false},
		{"another -c", agents.Choice{Shell: ours, Prefix: []string{other, "-c"}}, false},
	} {
		why, fix := lands(client, tt.choice, place, none)
		if (why == "") != tt.want || why != "" && fix == "" {
			t.Errorf("%s: %q, %q", tt.name, why, fix)
		}
	}
	if why, _ := lands(client, agents.Choice{Shell: "/bin/sh", Prefix: []string{""}}, agents.Place{}, none); why == "" {
		t.Error("an empty prefix passes for a line that there is not")
	}
	line := agents.Choice{Shell: "/bin/sh", Prefix: []string{"/x/line"}}
	for _, target := range []string{"", other, named, tool} {
		if why, _ := lands(client, line, agents.Place{Line: "/x/line", Target: target}, none); why == "" {
			t.Errorf("a line that runs %q passes", target)
		}
	}
	for _, where := range []string{ours, "/bin/sh", "/proc/self/exe"} {
		if why, _ := lands(client, line, place, func(p string) bool { return p == where }); why == "" {
			t.Errorf("%s passes where commands may write it", where)
		}
	}
}
