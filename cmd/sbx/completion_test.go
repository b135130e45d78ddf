// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestComplete asks as shells do, with what stands before the cursor and the word
// at it, and looks at what else may stand there and at some of the words.
func TestComplete(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("SOME_VARIABLE", "x")
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		line string // words, the last one at the cursor; "_" is an empty one
		kind string
		want string // words among those that are offered, "!" before those that must not be
	}{
		{"_", ":", "explain why verify config man !--net !sh"},
		{"ma", ":command 0", "man"},
		{"-", ":", "--net --profile -p --color --help !--sandbox-profile !explain"},
		{"--net _", ":command 1", "!explain !--net"},
		{"--net -p strict npm ru", ":command 3", "!strict"},
		{"-pstrict npm ru", ":command 1", ""},
		{"-vp strict npm", ":command 2", ""},
		{"-vp _", ":", "strict moderate node"},
		{"-w -p _", ":command 2", ""}, // -p is the value
		{"-- explain _", ":command 1", "!--json"},
		{"--net -- npm _", ":command 2", ""},
		{"-p strict,no", ":", "strict,node !node"},
		{"--profile=strict,no", ":", "--profile=strict,node"},
		{"--profile = st", ":", "strict"},
		{"--net = true npm", ":command 3", ""},
		{"--engine _", ":", "bwrap landlock auto"},
		{"--engine=b", ":", "--engine=bwrap"},
		{"--color _", ":", "auto always never"},
		{"--seccomp _", ":files", "strict dev off"},
		{"--env SOME", ":", "SOME_VARIABLE"},
		{"--env=SOME", ":", "--env=SOME_VARIABLE"},
		{"-w _", ":files", ""},
		{"--timeout _", ":", ""},
		{"--bogus _", ":command 1", ""},
		{"--bogus=", ":", ""},
		{"why _", ":files", "!SOME_VARIABLE"},
		{"why .e", ":files", "!SOME_VARIABLE"},
		{"why SOME", ":files", "SOME_VARIABLE"},
		{"why -- _", ":files", ""},
		{"why -p _", ":", "strict"},
		{"explain -", ":", "--net --json"},
		{"explain _", ":", ""},
		{"tripwire _", ":", "list accept remove"},
		{"tripwire -", ":", "--json --deep"},
		{"tripwire accept _", ":", ""},
		{"tripwire accept -", ":", "--all !--deep"},
		{"cache _", ":", "clean list"},
		{"profiles show _", ":", "strict node"},
		{"profiles diff strict mod", ":", "moderate"},
		{"profiles diff strict moderate _", ":", ""},
		{"agent _", ":", "claude codex"},
		{"agent --net cl", ":", "claude"},
		{"agent -w x claude --res", ":command 3", ""},
		{"doctor _", ":", "claude"},
		{"shim _", ":", "add remove doctor"},
		{"shim add np", ":command 2", ""},
		{"alias bash np", ":command 2", ""},
		{"trust _", ":files", ""},
		{"config _", ":", "show check"},
		{"config check _", ":files", ""},
		{"man _", ":", "config security sbx"},
		{"completion _", ":", "bash zsh fish"},
		{"activate _", ":", "bash sh"},
	} {
		words := strings.Fields(c.line)
		for i, w := range words {
			words[i] = strings.TrimPrefix(w, "_")
		}
		kind, offered := answered(t, words)
		if kind != c.kind {
			t.Errorf("%s: %s, want %s", c.line, kind, c.kind)
		}
		for want := range strings.FieldsSeq(c.want) {
			name, not := strings.CutPrefix(want, "!")
			if slices.Contains(offered, name) == not {
				t.Errorf("%s: want %s of %q", c.line, want, offered)
			}
		}
	}
}

// answered is what sbx answers: its first line, and the words.
func answered(t *testing.T, words []string) (kind string, offered []string) {
	t.Helper()
	var b strings.Builder
	runComplete(&b, words)
	kind, rest, _ := strings.Cut(b.String(), "\n")
	for line := range strings.Lines(rest) {
		word, help, tab := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !tab || strings.ContainsAny(help, "\t\x1b") {
			t.Errorf("%q: a line is %q", words, line)
		}
		offered = append(offered, word)
	}
	return kind, offered
}

// TestCompleteNamesEveryCommand: what is offered first are the commands there are.
func TestCompleteNamesEveryCommand(t *testing.T) {
	_, offered := answered(t, []string{""})
	slices.Sort(offered)
	want := slices.Sorted(slices.Values(commandNames))
	if !slices.Equal(offered, want) {
		t.Errorf("offered %q, want %q", offered, want)
	}
}

// grammar is what kong makes of a struct.
func grammar(t *testing.T, cli any) *kong.Application {
	t.Helper()
	parser, err := newParser(cli)
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model
}
