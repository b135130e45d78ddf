package wrap

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// known gives the variables that a script may name.
func known(name string) (string, bool) {
	switch name {
	case "HOME":
		return "/home/u", true
	case "PWD":
		return "/p", true
	}
	return "", false
}

func TestSplit(t *testing.T) {
	w := func(words ...string) simple { return simple{words: words} }
	for _, tt := range []struct {
		script string
		want   []simple
	}{
		{"", nil},
		{"  \n ;; ", nil},
		{"cat a  b", []simple{w("cat", "a", "b")}},
		{"a;b&&c||d|e&f\ng", []simple{w("a"), w("b"), w("c"), w("d"), w("e"), w("f"), w("g")}},
		{`cat 'a b' "c d" e\ f g"h"'i'`, []simple{w("cat", "a b", "c d", "e f", "ghi")}},
		{`cat "a\"b\$c\d"`, []simple{w("cat", `a"b$c\d`)}},
		{"cat ~ ~/x '~/x' \"~/x\" ~root/x a~b", []simple{w("cat", "/home/u", "/home/u/x", "~/x", "~/x", "", "a~b")}},
		{"cat $HOME/x ${HOME}/x \"$HOME/x\" '$HOME/x' $PWD", []simple{w("cat", "/home/u/x", "/home/u/x", "/home/u/x", "$HOME/x", "/p")}},
		{"cat $SECRET/x ${HOME:-/y}/x ${HOME $1 $? $@ $$ a$ $'\\n' $(ls '(' ) `ls` b", []simple{w("cat", "", "", "")}}, // an open brace takes the rest
		{"cat $1 $? $@ $$ a$ $(ls ')' \"(\") `ls x` b", []simple{w("cat", "", "", "", "", "a$", "", "", "b")}},
		{"cat a* ~/.ssh/* /etc/*.d/x [ab] /x/{a,b} [ x ]", []simple{w("cat", "", "/home/u/.ssh", "/etc", "", "/x", "[", "x", "]")}},
		{"a >o 2>/dev/null; b <i >>p; c 2>&1 >|q; d &>r; e &>>s; f <>t; g >& u; h 2>v", []simple{
			{words: []string{"a"}, writes: []string{"o"}, quiet: true},
			{words: []string{"b"}, reads: []string{"i"}, writes: []string{"p"}},
			{words: []string{"c"}, writes: []string{"q"}},
			{words: []string{"d"}, writes: []string{"r"}},
			{words: []string{"e"}, writes: []string{"s"}},
			{words: []string{"f"}, reads: []string{"t"}},
			{words: []string{"g"}, writes: []string{"u"}},
			{words: []string{"h"}, writes: []string{"v"}},
		}},
		{"a <<< ~/x; b < <(c /y) >$F", []simple{w("a"), w("b"), {words: []string{"c", "/y"}, sub: 1}}},
		{"cat <<E >o\n~/x '\nE\nb", []simple{{words: []string{"cat"}, writes: []string{"o"}}, w("b")}},
		{"cat <<-'E F'\n~/x\n\tE F\nb", []simple{w("cat"), w("b")}},
		{"cat <<E\nnever ends", []simple{w("cat")}},
		{"a # ~/x 'b\nc#d", []simple{w("a"), w("c#d")}},
		{"(a; (b)) c", []simple{{words: []string{"a"}, sub: 1}, {words: []string{"b"}, sub: 2}, w("c")}},
		{"a || true; b || :; c || d", []simple{{words: []string{"a"}, quiet: true}, w("true"), {words: []string{"b"}, quiet: true}, w(":"), w("c"), w("d")}},
		{"a 'open", []simple{w("a", "")}},
		{"a \"open", []simple{w("a", "")}},
		{"a \\\n b\\\nc", []simple{w("a", "bc")}},
		{"x=(a b); f() { g; }", []simple{w(""), {words: []string{"a", "b"}, sub: 1}, w(""), w("{", "g"), w("}")}},
	} {
		got := split(tt.script, known)
		for i := range got { // of no matter here
			got[i].then = end // see TestDeciding
			if len(got[i].words) == 0 {
				got[i].words = nil
			}
		}
		if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(simple{})); d != "" {
			t.Errorf("%q:\n%s", tt.script, d)
		}
	}
}

// The programs whose failure can be that of the whole, by the status of a shell.
func TestDeciding(t *testing.T) {
	for script, want := range map[string]string{
		"a":                                  "a",
		"a; b":                               "b",
		"a\nb\n":                             "b",
		"a & b":                              "b",
		"a && b":                             "a b",
		"a &&\n b":                           "a b",
		"a || b; c":                          "c",
		"a || b":                             "a b",
		"a || exit 1; b":                     "a b",
		"a | b":                              "a b",
		"a | b && c":                         "b c",
		"a | b; c":                           "c",
		"a || true; b && c":                  "b c",
		"set -e; a; b":                       "a b",
		"set -eu\na\nb | c":                  "a b c",
		"(a; b); c":                          "c",
		"a && (b; c) && d":                   "a c d",
		"(a && b)":                           "a b",
		"if a; then b; c; fi":                "c",
		"if a; then b; else c; fi":           "b c",
		"if a; then b; elif c; then d; fi":   "b d",
		"if a; then b; fi; c":                "c",
		"x && if a; then b; fi":              "b x",
		"while a; do b; c; done":             "c",
		"while a; do if b; then c; fi; done": "c",
		"x; { a; b; }":                       "b",
		"for f in 1; do a; done && b":        "a b",
		"a; } fi ) done":                     "a",
	} {
		list := split(script, known)
		var got []string
		for i, live := range deciding(list, false) {
			words := program(list[i].words)
			if live && len(words) > 0 && !closes(words[0]) && words[0] != "for" && words[0] != "exit" && words[0] != "set" && words[0] != "true" {
				got = append(got, words[0])
			}
		}
		slices.Sort(got)
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
}

func TestSplitIsBounded(t *testing.T) {
	n := 0
	for _, c := range split(strings.Repeat("a b c\n", 1000), known) {
		n += len(c.words)
	}
	if n != maxWords {
		t.Errorf("%d words, want %d", n, maxWords)
	}
	got := split(strings.Repeat("x", 4)+" "+strings.Repeat("y", maxScript), known)
	if len(got) != 1 || len(got[0].words) != 1 || got[0].words[0] != "xxxx" {
		t.Errorf("a word that is cut counts: %d commands", len(got))
	}
}

func TestScriptOfAShell(t *testing.T) {
	for args, want := range map[string]string{
		"-c|X": "X", "-lc|X|-l": "X", "-c|-l|X": "X", "-l|-c|X": "X", "-o|pipefail|-c|X": "X", "-eo|pipefail|-c|X": "X", "+O|extglob|-c|X": "X",
		"-c|--|X": "X", "--login|-c|X": "X", "--rcfile|f|-c|X": "X", "--norc|-ic|X": "X", "file": "", "-l": "", "": "", "-c": "", "-s|x": "",
	} {
		words := strings.Split(args, "|")
		if args == "" {
			words = nil
		}
		if got, ok := script(words); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v", args, got, ok)
		}
	}
}

// Whatever a script holds, reading it ends, and gives no more than there is.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"cat ~/x > $HOME/y 2>/dev/null || true", "cat <<E\nx\nE\n", "a $(b '(' \"$(c)\") `d` ${e", "x=(a b); f() { g; }", "a\\", "<", ">", "2>", "<<", "<<<", "&>", ">&", "\"", "'", "$", "${", "$(", "`", "~", "[", "{", "((((", "))))", "a>b<c>>d", "\x00", "eval 'eval \"x\"'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		n := 0
		for _, c := range split(script, known) {
			for _, list := range [][]string{c.words, c.reads, c.writes} {
				for _, w := range list {
					n++
					if len(w) > len(script)+len("/home/u")*strings.Count(script, "HOME")+len("/home/u")+len("/p")*strings.Count(script, "PWD") {
						t.Errorf("%q is longer than the script", w)
					}
					if strings.IndexByte(w, 0) >= 0 {
						t.Errorf("%q holds a NUL", w)
					}
				}
			}
		}
		if n > maxWords+1 {
			t.Errorf("%d words", n)
		}
		u := usageOf([]string{"sh", "-c", script}, "/p", known)
		for _, use := range u.uses {
			if use.path == "" || use.path[0] != '/' || strings.ContainsAny(use.path, "\x00\n") {
				t.Errorf("%q is no path", use.path)
			}
		}
	})
}
