// SPDX-License-Identifier: Apache-2.0

package text

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPlain(t *testing.T) {
	for s, want := range map[string]string{
		"": `""`, "/usr/bin": "/usr/bin", "é": "é", "a b": `"a b"`, `a"b`: `"a\"b"`, "it's": `"it's"`, `a\b`: `"a\\b"`,
		"\x1b[2J": `"\x1b[2J"`, "a\nb": `"a\nb"`, "\xff": `"\xff"`, "\u202e": `"\u202e"`,
	} {
		if got := Plain(s); got != want {
			t.Errorf("Plain(%q) is %s, want %s", s, got, want)
		}
	}
}

func TestEscape(t *testing.T) {
	for s, want := range map[string]string{
		"a b\n\té": "a b\n\té", "\x1b[2J": `\u001b[2J`, "\x9b1m": `\x9b1m`, "\u202e": `\u202e`,
		"\U000e0001": `\udb40\udc01`, "\ufffd": "\ufffd",
	} {
		if got := Escape(s); got != want {
			t.Errorf("Escape(%q) is %s, want %s", s, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"network", "extends", "allow_read", "deny"}
	for word, want := range map[string]string{"netwrok": "network", "extend": "extends", "alow_read": "allow_read",
		"": "", "quite another": "", strings.Repeat("x", 65): ""} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) is %q, want %q", word, got, want)
		}
	}
}

func TestLists(t *testing.T) {
	words := []string{"a", "b", "c"}
	for i, want := range []string{"", "a", "a and b", "a, b and c"} {
		if got := And(words[:i]); got != want {
			t.Errorf("And: %q, want %q", got, want)
		}
	}
	for most, want := range []string{" and 3 more", "a and 2 more", "a, b and 1 more", "a, b, c", "a, b, c"} {
		if got := Few(words, most, ", "); got != want {
			t.Errorf("Few: %q, want %q", got, want)
		}
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	w := Screen{}.Table(&b)
	if _, err := w.Write([]byte("a\tbc\nabc\td\n")); err != nil || w.Flush() != nil {
		t.Fatal(err)
	}
	if want := "a    bc\nabc  d\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// TestShellWord: who pastes a remedy runs nothing by it, whatever a file is called.
func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"/a/b-c.d_e": "/a/b-c.d_e", "/a b": "'/a b'", "/$(x)`y`": "'/$(x)`y`'", "/it's": `'/it'\''s'`, "": "''",
		"/é":                      "'/é'",
		"/z\x01$(touch P)'`y`\\!": `$'/z\001$(touch P)\047` + "`y`" + `\134\041'`, "/\xff": `$'/\377'`,
		"/\u202e": `$'/\342\200\256'`, "/a\nb": `$'/a\012b'`, "a,b": "a,b", "a,": "'a,'",
	} {
		if got := ShellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

// FuzzShellWord: shells read back the word that was written, and a terminal gets
// nothing to obey.
func FuzzShellWord(f *testing.F) {
	for _, w := range []string{"", "a", "a b", "it's", "~/x", "$HOME", "`id`", "a\nb", "\x1b[2J", "\xff", "!!",
		"é\u202e", "-n", `\`, "*?[a]", "#", "a=b", "{a,b}"} {
		f.Add(w)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		f.Skip("there is no bash")
	}
	f.Fuzz(func(t *testing.T, w string) {
		if strings.IndexByte(w, 0) >= 0 {
			return
		}
		q := ShellWord(w)
		if !utf8.ValidString(q) || strings.ContainsFunc(q, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q as it is shown: %q", w, q)
		}
		out, err := exec.Command(bash, "--norc", "-c", "printf %s "+q).Output()
		if err != nil || string(out) != w {
			t.Errorf("%q as %s is read back as %q (%v)", w, q, out, err)
		}
	})
}
