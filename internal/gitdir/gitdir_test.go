// SPDX-License-Identifier: Apache-2.0

package gitdir

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func read(t testing.TB, text string) (out []string, err error) {
	t.Helper()
	err = Each([]byte(text), func(s Setting) {
		out = append(out, s.Full()+"="+s.Value)
	})
	return out, err
}

func TestEach(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
		bad        bool
	}{
		{"empty", "", nil, false},
		{"plain", "[core]\n\thooksPath = x/y\n", []string{"core.hookspath=x/y"}, false},
		{"case", "[CoRe]\nHOOKSPATH=x", []string{"core.hookspath=x"}, false},
		{"one line", "[core] hookspath = a", []string{"core.hookspath=a"}, false},
		{"no value", "[core]\nbare\nfilemode ; c\n", []string{"core.bare="}, true},
		{"sub", "[remote \"a \\\"b\\\\ ]\"]\nurl=u", []string{`remote.a "b\ ].url=u`}, false},
		{"dotted", "[Branch.Main]\nremote=o", []string{"branch.main.remote=o"}, false},
		{"comment", "# [core]\n; x\n[a]b = c # d\n e = \"f # g\" ; h\n", []string{"a.b=c", "a.e=f # g"}, false},
		{"quotes", "[a]\nb = x \" y \" z  \n", []string{"a.b=x  y  z"}, false},
		{"escapes", "[a]\nb = \\\\\\\"\\t\\n\n", []string{"a.b=\\\"\t\n"}, false},
		{"continued", "[a]\nb = one \\\n  two\n", []string{"a.b=one   two"}, false},
		{"crlf", "[a]\r\nb = c\r\n", []string{"a.b=c"}, false},
		{"bom", "\xef\xbb\xbf[a]\nb=c", []string{"a.b=c"}, false},
		{"before a section", "b = c\n", []string{"b=c"}, false},
		{"open section", "[a\nb=c", nil, true},
		{"open quote", "[a]\nb = \"c\n", nil, true},
		{"odd escape", "[a]\nb = \\x\n", nil, true},
		{"NUL in a comment", "# \x00\n[a]\nb = c\x00d\n; \x00\ne = f\n", []string{"a.b=c", "a.e=f"}, false},
		{"NUL in a name", "[a \"b\x00c\"]\nd = e\n", []string{"a.b=e"}, false},
		{"no name but a part", "[ \"x\"]\n[a]\nb = c\n", []string{"a.b=c"}, false},
		{"form feed", "[a]\nb = \fc\n\f", []string{"a.b=\fc"}, true},
		{"odd byte", "[a]\n=\n", nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(t, tt.text)
			if (err != nil) != tt.bad {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What git itself reads, for texts made of the pieces that config files are
// made of.
func TestEachReadsWhatGitReads(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	pieces := []string{"[a]\n", "[B \"c d\"]", "[e.F]", "\n", " ", "\t", "k = v\n", "K2=\"q # w\" e\n", "x\n",
		"y = 1 \\\n 2\n", "# c\n", "z = a;b\n", "w = \\\"\\\\\n", "\r\n", "\"", "\\", "]", "u = \" s \" \n",
		"[g \"\\\"\"]\n"}
	file := filepath.Join(t.TempDir(), "config")
	read1 := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 9))
		var b strings.Builder
		b.WriteString("[s]\n")
		for range r.IntN(8) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		out, gitErr := exec.Command("git", "config", "-z", "--list", "-f", file).Output()
		got, err := read(t, b.String())
		if gitErr != nil {
			continue // nothing in a file that git refuses does any harm
		}
		var want []string
		for _, rec := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if rec != "" {
				key, value, _ := strings.Cut(rec, "\n")
				want = append(want, key+"="+value)
			}
		}
		read1 += len(want)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%q: %v\n%s", b.String(), err, diff)
		}
	}
	if read1 < 200 {
		t.Errorf("only %d settings were read", read1)
	}
}

func FuzzEach(f *testing.F) {
	f.Add("[a \"b\"]\nc = \"d\\\n e\" ; f")
	f.Fuzz(func(t *testing.T, text string) { _, _ = read(t, text) })
}

func TestPointers(t *testing.T) {
	for text, want := range map[string]string{"gitdir: /a/b\n": "/a/b", "gitdir: ../x": "../x",
		"gitdir: a b\r\n": "a b", "gitdir:/a": "", "gitdir: ": "", "x": "", "gitdir: a\nb": "", "gitdir: a\x00": ""} {
		got, ok := Pointer([]byte(text))
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestRuns(t *testing.T) {
	runs := func(section, key, value string) bool { return Runs(&Setting{Section: section, Key: key, Value: value}) }
	for _, s := range [][3]string{{"core", "fsmonitor", "./x"}, {"filter", "clean", "x"}, {"alias", "a", "!x"},
		{"diff", "textconv", "x"}, {"pager", "log", "x"}} {
		if !runs(s[0], s[1], s[2]) {
			t.Error(s)
		}
	}
	for _, s := range [][3]string{{"core", "fsmonitor", "true"}, {"filter", "required", "true"}, {"alias", "a", "log"},
		{"user", "name", "x"}} {
		if runs(s[0], s[1], s[2]) {
			t.Error(s)
		}
	}
}

// What programs write by themselves is plain, and nothing that runs or is handed on
// as an option.
func TestNotable(t *testing.T) {
	for line, plain := range map[string]bool{
		"[branch \"a\"]\nvscode-merge-base=origin/main": true, "[branch \"a\"]\nvscode-merge-base=--output=x": false,
		"[branch \"a\"]\nother=x":          false,
		"[remote \"a\"]\ngh-resolved=base": true, "[remote \"a\"]\nvcs=x": false, "[commit]\ngpgsign=false": true,
		"[commit]\ngpgsign=true": false, "[commit]\ngpgsign": false,
		"[merge]\nconflictStyle=zdiff3": true, "[merge \"x\"]\ndriver=x": false, "[rerere]\nenabled=true": true,
		"[diff]\nrenames=copies": true, "[diff]\nexternal=x": false,
		"[core]\ncommentChar=;": true, "[core]\neditor=x": false, "[submodule]\nrecurse=true": true,
		"[submodule \"x\"]\nupdate=!x": false, "[extensions]\nworktreeConfig=true": true,
		"[gui]\ngeometry=887x427+26+23 171 192": true, "[gui]\ngeometry=\"[exec x]\"": false,
		"[gui]\ndiffopts=x":                     false,
		"[svn-remote \"svn\"]\nurl=https://h/x": true, "[svn-remote \"svn\"]\nurl=svn+x://h": false,
	} {
		if got := Notable([]byte(line)); (len(got) == 0) != plain {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// An index in which each name is made of a long one before must not take for
// ever: a command can put it where every run looks.
func TestLongNames(t *testing.T) {
	entry := func(strip byte, name string) []byte {
		e := make([]byte, 62)
		return append(append(append(e, strip), name...), 0)
	}
	index := []byte("DIRC\x00\x00\x00\x04\x00\x03\x00\x01")
	index = append(index, entry(0, strings.Repeat("a", 1<<20))...)
	for range 3 << 16 {
		index = append(index, entry(0, "b")...)
	}
	index = append(index, make([]byte, 20)...)
	start := time.Now()
	if _, ok := Tracked(index, map[string]bool{"x": true}); ok {
		t.Error("names of a megabyte were read")
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("it took %v", took)
	}
}
