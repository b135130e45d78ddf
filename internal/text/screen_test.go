// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"
)

func env(vars ...string) func(string) string {
	return func(name string) string {
		for _, v := range vars {
			if n, value, _ := strings.Cut(v, "="); n == name {
				return value
			}
		}
		return ""
	}
}

func TestNewScreen(t *testing.T) {
	const utf8 = "LANG=C.UTF-8"
	tests := []struct {
		name     string
		terminal bool
		columns  int
		color    string
		env      []string
		want     Screen
	}{
		{"pipe", false, 0, "auto", []string{utf8, "TERM=xterm"}, Screen{}},
		{"terminal", true, 100, "", []string{utf8, "TERM=xterm"}, Screen{100, true, true, false}},
		{"wide", true, 300, "", []string{utf8}, Screen{120, true, true, false}},
		{"tiny", true, 3, "", []string{utf8}, Screen{20, true, true, false}},
		{"unknown width", true, 0, "", []string{utf8}, Screen{80, true, true, false}},
		{"COLUMNS is another program's", false, 0, "", []string{utf8, "COLUMNS=40"}, Screen{}},
		{"dumb", true, 80, "auto", []string{utf8, "TERM=dumb"}, Screen{80, true, false, false}},
		{"NO_COLOR", true, 80, "auto", []string{utf8, "NO_COLOR=1"}, Screen{80, true, false, false}},
		{"NO_COLOR, empty", true, 80, "auto", []string{utf8, "NO_COLOR="}, Screen{80, true, true, false}},
		{"NO_COLOR and always", true, 80, "always", []string{utf8, "NO_COLOR=1"}, Screen{80, true, true, false}},
		{"NO_COLOR and FORCE_COLOR", true, 80, "", []string{utf8, "NO_COLOR=1", "FORCE_COLOR=1"}, Screen{80, true, false, false}},
		{"FORCE_COLOR", false, 0, "", []string{utf8, "FORCE_COLOR=1"}, Screen{0, false, true, false}},
		{"FORCE_COLOR=0", false, 0, "", []string{utf8, "FORCE_COLOR=0"}, Screen{}},
		{"CLICOLOR_FORCE", false, 0, "auto", []string{utf8, "CLICOLOR_FORCE=1"}, Screen{0, false, true, false}},
		{"FORCE_COLOR and never", false, 0, "never", []string{utf8, "FORCE_COLOR=1"}, Screen{}},
		{"always", false, 0, "always", []string{utf8}, Screen{0, false, true, false}},
		{"never", true, 80, "never", []string{utf8}, Screen{80, true, false, false}},
		{"no locale", false, 0, "", nil, Screen{ASCII: true}},
		{"LC_ALL", false, 0, "", []string{"LC_ALL=C", "LC_CTYPE=de_DE.utf8", utf8}, Screen{ASCII: true}},
		{"LC_ALL, empty", false, 0, "", []string{"LC_ALL=", "LC_CTYPE=de_DE.utf8", "LANG=C"}, Screen{}},
		{"LC_CTYPE", false, 0, "", []string{"LC_CTYPE=POSIX", utf8}, Screen{ASCII: true}},
	}
	for _, tt := range tests {
		if got := NewScreen(tt.terminal, tt.columns, tt.color, env(tt.env...)); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestCells(t *testing.T) {
	painted := Screen{Colour: true}.Paint("31", "ab")
	for s, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "日本": 4, "한": 2, "🙂": 2, "·…├─": 4, painted: 2} {
		if got := Cells(s); got != want {
			t.Errorf("%q takes %d cells, want %d", s, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"short", "a b c", "a b c"},
		{"words", "one two three four five six seven", "one two three four\n  five six seven"},
		{"spaces inside stay", "a  b   c d", "a  b   c d"},
		{"wide", "日本 日本 日本 日本 日本", "日本 日本 日本 日本\n  日本"},
		{"combining", "e\u0301e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301e\u0301 abcd abcd",
			"e\u0301e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301e\u0301 abcd abcd"},
		{"path", "it is at /a/very/long/path/of/a/project there", "it is at\n /a/very/long/path/of/a/project\n  there"},
		{"quoted", `is "a b c d e f g h" a b`, "is \"a b c d e f g h\"\n  a b"},
		{"apostrophe", "the client's files are read here", "the client's files\n  are read here"},
		{"line to paste", "run it: sbx --net -- npm ci", "run it:\n sbx --net -- npm ci"},
		{"longer than the screen", "to allow: sbx -w ../out -- make 'a b' all -j 4",
			"to allow:\n sbx -w ../out -- make 'a b' all -j 4"},
		{"text after it", "sbx agent --list, or sbx agent claude --x", "sbx agent --list\n  or\n sbx agent claude --x"},
		{"a comma in it", "say: sbx -r 'a,' -- cat a", "say:\n sbx -r 'a,' -- cat a"},
		{"names of commands", "sbx trust shows what that would give", "sbx trust shows what\n  that would give"},
		{"in a sentence", "the command that sbx starts has no network", "the command that sbx\n  starts has no\n  network"},
		{"too wide to stand below", "to allow it: sbx -r /a -- ls -al", "to allow it:\n sbx -r /a -- ls -al"},
		{"names after a colon", "it has none: sbx shim add npm", "it has none:\n  sbx shim add npm"},
		{"after its kind", "sbx: hint: sbx trust shows what that", "sbx: hint:\n  sbx trust shows\n  what that"},
		{"preview", "  + curl -fsSL https://x | sh", "  + curl -fsSL\n  https://x | sh"},
		{"in brackets", "all inside (sbx -p amp -- amp), with it", "all inside\n (sbx -p amp -- amp),\n  with it"},
		{"variable", "try: SBX_FLAGS='--net -r x' npm install a", "try:\n SBX_FLAGS='--net -r x' npm install a"},
	}
	for _, tt := range tests {
		if got := (Screen{Width: 20}).Wrap(tt.line, 2); got != tt.want {
			t.Errorf("%s:\n%s\nwant:\n%s", tt.name, got, tt.want)
		}
		if got := (Screen{}).Wrap(tt.line, 2); got != tt.line {
			t.Errorf("%s in a pipe: %s", tt.name, got)
		}
	}
}

func TestShow(t *testing.T) {
	s := Screen{Width: 30, Terminal: true, ASCII: true}
	for text, want := range map[string]string{
		"a · b … ├─ c └─ d":                     "a - b ... |- c `- d",
		"/a…b \"…\" '·'":                        "/a…b \"…\" '·'",
		"\x1b[2J\u202e":                         `\u001b[2J\u202e`,
		"  why    all of this is wide":          "  why    all of this is wide",
		"  why    all of this is wider than it": "  why    all of this is wider\n         than it",
		"-> a b c d e f g h i j k l m n o p":    "-> a b c d e f g h i j k l m n\n   o p",
		"sbx: hint: a b c d e f g h i j k l m":  "sbx: hint: a b c d e f g h i j\n     k l m",
	} {
		if got := s.Show(text); got != want {
			t.Errorf("%q is shown as\n%s\nwant\n%s", text, got, want)
		}
	}
	if got := s.Raw("a · b \x1b[2J all of this is wider than it"); got != `a · b \u001b[2J all of this is wider than it` {
		t.Errorf("what has its form: %s", got)
	}
	if got := (Screen{}).Show("\x1b[2J"); got != "\x1b[2J" {
		t.Errorf("in a pipe: %q", got)
	}
}

// TestPaint: only what Paint made is a sequence, on a terminal and in a pipe.
func TestPaint(t *testing.T) {
	for _, s := range []Screen{{Width: 40, Terminal: true, Colour: true}, {Colour: true}} {
		all := s.Paint("31", "no") + "\x1b[2J"
		const want = "\x1b[31mno\x1b[0m" + `\u001b[2J`
		var b strings.Builder
		table := s.Table(&b)
		_, _ = table.Write([]byte(all + "\ta\n"))
		_ = table.Flush()
		if got := s.Show(all); got != want || s.Raw(b.String()) != want+"  a\n" {
			t.Errorf("%+v: %q, %q", s, got, b.String())
		}
	}
	if got := (Screen{Terminal: true}).Paint("31", "no"); got != "no" {
		t.Errorf("without colour: %q", got)
	}
}

// TestRaw: what has its form stays as it is but on a terminal.
func TestRaw(t *testing.T) {
	const text = "a · b\x1b[2J \xff"
	for s, want := range map[Screen]string{
		{}: text, {Colour: true, ASCII: true}: text, {Terminal: true, Width: 20}: `a · b\u001b[2J \xff`,
	} {
		if got := s.Raw(text); got != want {
			t.Errorf("%+v: %q", s, got)
		}
	}
}

func TestTableWraps(t *testing.T) {
	rows := "ok\tsystem\tlinux/amd64, and some more words than that\n\t\t-> do this, and after that do the other thing\n" +
		"note\t/a/long/path\tx\na line without cells that is wider than all\n"
	for width, want := range map[int]string{
		0: "ok    system        linux/amd64, and some more words than that\n" +
			"                    -> do this, and after that do the other thing\n" +
			"note  /a/long/path  x\na line without cells that is wider than all\n",
		44: "ok    system        linux/amd64, and some\n                    more words than that\n" +
			"                    -> do this, and after\n                       that do the other\n" +
			"                       thing\n" +
			"note  /a/long/path  x\na line without cells that is wider than all\n",
		30: "ok  system\n    linux/amd64, and some more\n    words than that\n" +
			"    -> do this, and after that\n       do the other thing\n" +
			"note  /a/long/path  x\na line without cells that is\n  wider than all\n",
	} {
		var b strings.Builder
		table := Screen{Width: width}.Table(&b)
		_, _ = table.Write([]byte(rows))
		if err := table.Flush(); err != nil || b.String() != want {
			t.Errorf("%d columns:\n%s\nwant:\n%s", width, b.String(), want)
		}
	}
}

// TestTooWideStandsLeft: what would not fit below the rest moves to the left.
func TestTooWideStandsLeft(t *testing.T) {
	var b strings.Builder
	table := Screen{Width: 50}.Table(&b)
	_, _ = table.Write([]byte("ok\ta name of a check\tit is at /a/path/that/is/longer/than/the/rest of it\n" +
		"\t\t-> sbx -r /a/path/that/is/longer/than -- cat it\n"))
	_ = table.Flush()
	want := "ok  a name of a check  it is at\n              /a/path/that/is/longer/than/the/rest\n                       of it\n" +
		"                       ->\n      sbx -r /a/path/that/is/longer/than -- cat it\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// FuzzWrap: wrapping comes to an end, and loses nothing but space and what ends a line
// to paste.
func FuzzWrap(f *testing.F) {
	for _, s := range []string{"", "a b", "a long word\nand \t another", " \n\n x", "say: sbx -w 'a b' -- ls, or not", "\t\t", "(sbx x)"} {
		f.Add(s, 10, 2)
	}
	only := func(s string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(" \n,;", r) {
				return -1
			}
			return r
		}, s)
	}
	f.Fuzz(func(t *testing.T, s string, width, hang int) {
		if hang < 0 || hang > 100 {
			return
		}
		if got := (Screen{Width: width}).Wrap(s, hang); only(got) != only(s) {
			t.Errorf("%q at %d: %q", s, width, got)
		}
	})
}
