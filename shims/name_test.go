// SPDX-License-Identifier: Apache-2.0

package shims

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		argv0, file string
		want        Name
	}{
		{"sbx", "/usr/bin/sbx", Name{}},
		{"/usr/bin/sbx", "/usr/bin/sbx", Name{}},
		{"sbx", "", Name{}},
		{"sbx-1.2-linux", "./sbx-1.2-linux", Name{}},
		{"", "", Name{}},
		{"sbx-sh", "/usr/bin/sbx-sh", Name{Kind: Shell}},
		{"-sbx-sh", "/usr/bin/sbx-sh", Name{Kind: Shell, Login: true}},
		{"-sbx-sh", "", Name{Kind: Shell, Login: true}},
		{"sbx-bash", "", Name{Kind: Shell, Text: "bash"}},
		{"-sbx-zsh", "/opt/sbx-zsh", Name{Kind: Shell, Text: "zsh", Login: true}},
		{"bash", "/usr/lib/sbx/shells/bash", Name{Kind: Shell, Text: "bash"}},
		{"-bash", "/usr/lib/sbx/shells/bash", Name{Kind: Shell, Text: "bash", Login: true}},
		{"sh", "", Name{Kind: Shell, Text: "sh"}},
		// Argument 0 is the caller's to choose; what was executed is not.
		{"anything", "/usr/bin/sbx-fish", Name{Kind: Shell, Text: "fish"}},
		{"sbx", "/usr/bin/sbx-bash", Name{Kind: Shell, Text: "bash"}},
		{"npm", "/home/u/shims/bash", Name{Kind: Shell, Text: "bash"}},
		{"npm", "/home/u/shims/npm", Name{Kind: Tool, Text: "npm"}},
		{"npm", "", Name{Kind: Tool, Text: "npm"}},
		{"x", "/home/u/shims/npm", Name{Kind: Tool, Text: "npm"}},
		{"/any/where", "/home/u/shims/npm", Name{Kind: Tool, Text: "npm"}},
		// A script names its interpreter in argument 0, whatever it is called.
		{"/usr/bin/sbx-bash", "/home/u/script", Name{Kind: Shell, Text: "bash"}},
		{"/usr/bin/sbx-bash", "./npm", Name{Kind: Shell, Text: "bash"}},
		{"/home/u/shims/node", "/home/u/script", Name{Kind: Tool, Text: "node"}},
		{"/home/u/shims/node", "./sh", Name{Kind: Tool, Text: "node"}},
		{"/home/u/shims/node", "bash", Name{Kind: Tool, Text: "node"}},
		{"/home/u/shims/node", "./sbx", Name{Kind: Tool, Text: "node"}},
		{"/home/u/shims/node", "./node", Name{Kind: Tool, Text: "node"}},
		{"/usr/bin/sbx-sh", "./sbx", Name{Kind: Shell}},
		// A descriptor has no name, though it leads to sbx.
		{"node", "/dev/fd/3", Name{Kind: Tool, Text: "node"}},
		{"sbx-sh", "/proc/self/fd/33", Name{Kind: Shell}},
		{"-bash", "/dev/fd/3", Name{Kind: Shell, Text: "bash", Login: true}},
		{"x", "/dev/fd/3/bash", Name{Kind: Shell, Text: "bash"}},
		{"sh", "/home/u/shims/npm", Name{Kind: Tool, Text: "npm"}},
		{"-sbx-sh", "/home/u/bin/mine", Name{Kind: Tool, Text: "mine", Login: true}},
		{"sbx", "/home/u/shims/npm", Name{Kind: Tool, Text: "npm"}},
		{"/usr/bin/sbx", "/home/u/shims/npm", Name{Kind: Tool, Text: "npm"}},
		{"sbx-bash", "/home/u/shims/npm", Name{Kind: Tool, Text: "npm"}},
		// A wrapper of a package's.
		{"/home/u/shims/npm", "/nix/store/x/bin/.sbx-wrapped", Name{Kind: Tool, Text: "npm"}},
		{"/usr/bin/sbx-sh", "/nix/store/x/bin/.sbx-wrapped", Name{Kind: Shell}},
		{"7", "/home/u/shims/3", Name{Kind: Tool, Text: "3"}},
	} {
		sbx := func(path string) bool {
			return !strings.Contains(path, "script") && !strings.HasPrefix(path, ".") && path != "bash"
		}
		if got := Parse(tt.argv0, Executed(tt.argv0, tt.file, sbx)); got != tt.want {
			t.Errorf("Parse(%q, %q) = %+v, want %+v", tt.argv0, tt.file, got, tt.want)
		}
	}
}

// TestExecutedAsks wants no file to be looked at where both names are the same.
func TestExecutedAsks(t *testing.T) {
	asked := 0
	own := func(string) bool { asked++; return true }
	for _, c := range [][2]string{{"npm", "/shims/npm"}, {"-bash", "/shells/bash"},
		{"/usr/bin/sbx-sh", "/usr/bin/sbx-sh"}, {"npm", ""}, {"npm", "/dev/fd/3"}} {
		Executed(c[0], c[1], own)
	}
	if asked != 0 {
		t.Errorf("asked %d times", asked)
	}
	if Executed("x", "/shims/npm", own) != "/shims/npm" || asked != 1 {
		t.Error("not asked for another name")
	}
}

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		words []string
		want  Call
	}{
		{nil, Call{}},
		{[]string{"-i"}, Call{Interactive: true}},
		{[]string{"-l"}, Call{Login: true}},
		{[]string{"--login", "-i"}, Call{Login: true, Interactive: true}},
		{[]string{"-c", "echo"}, Call{Mode: Command, Text: "echo"}},
		{[]string{"-c"}, Call{Mode: Command}},
		{[]string{"-c", "-l", "echo", "a"}, Call{Mode: Command, Text: "echo", Login: true}},
		{[]string{"-lc", "echo"}, Call{Mode: Command, Text: "echo", Login: true}},
		{[]string{"-ilc", "x"}, Call{Mode: Command, Text: "x", Login: true, Interactive: true}},
		{[]string{"-l", "-i", "-c", "x"}, Call{Mode: Command, Text: "x", Login: true, Interactive: true}},
		{[]string{"-O", "extglob", "-c", "S", "--", "CMD"}, Call{Mode: Command, Text: "S"}},
		{[]string{"-eu", "-o", "pipefail", "-c", "x"}, Call{Mode: Command, Text: "x"}},
		{[]string{"-euo", "pipefail", "-c", "x"}, Call{Mode: Command, Text: "x"}},
		{[]string{"-e", "+e", "-uc", "x"}, Call{Mode: Command, Text: "x"}},
		{[]string{"--noprofile", "--norc", "-c", "--", "x"}, Call{Mode: Command, Text: "x"}},
		{[]string{"--rcfile", "f", "-c", "x"}, Call{Mode: Command, Text: "x"}},
		{[]string{"--command=x"}, Call{Mode: Command, Text: "x"}},
		{[]string{"-s", "a"}, Call{}},
		{[]string{"s.sh", "-c"}, Call{Mode: Script, Text: "s.sh"}},
		{[]string{"--", "s.sh"}, Call{Mode: Script, Text: "s.sh"}},
		{[]string{"-x", "/tmp/just/r"}, Call{Mode: Script, Text: "/tmp/just/r"}},
		{[]string{"--version"}, Call{}},
		{[]string{"-o"}, Call{}},
		{[]string{"-oooo", "x"}, Call{}},
	} {
		if diff := cmp.Diff(tt.want, Classify(tt.words)); diff != "" {
			t.Errorf("Classify(%q): %s", tt.words, diff)
		}
	}
}

func FuzzClassify(f *testing.F) {
	f.Add("-c", "-o", "x", "--rcfile")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		got := Classify([]string{a, b, c, d})
		if got.Mode != Stdin && got.Text != "" && got.Text != a && got.Text != b && got.Text != c && got.Text != d &&
			"--command="+got.Text != a && "--command="+got.Text != b && "--command="+got.Text != c &&
			"--command="+got.Text != d {
			t.Errorf("%q is none of the words", got.Text)
		}
	})
}

func TestReal(t *testing.T) {
	there := func(paths ...string) func(string) bool {
		return func(p string) bool {
			for _, x := range paths {
				if x == p {
					return true
				}
			}
			return false
		}
	}
	nobody := there()
	all := there("/bin/sh", "/bin/bash", "/usr/bin/zsh", "/opt/bash", "/usr/bin/fish")
	for _, tt := range []struct {
		name string
		n    Name
		c    Call
		o    Choice
		want string
		err  string
	}{
		{"the dialect asked for", Name{Text: "zsh"}, Call{}, Choice{Runs: all, Shell: "/bin/bash", Passwd: "/bin/bash"},
			"/usr/bin/zsh", ""},
		{"no other in its place", Name{Text: "ksh"}, Call{}, Choice{Runs: all}, "",
			"ksh: there is no such shell on this machine"},
		{"the file's for a dialect", Name{Text: "bash"}, Call{},
			Choice{Runs: all, Shells: map[string]string{"bash": "/opt/bash"}}, "/opt/bash", ""},
		{"a variable", Name{}, Call{}, Choice{Runs: all, Asked: "/opt/bash", Shell: "/bin/bash"}, "/opt/bash", ""},
		{"not a relative one", Name{}, Call{}, Choice{Runs: all, Asked: "bash"}, "",
			"SBX_SHELL is bash: want an absolute path"},
		{"the file's", Name{}, Call{Mode: Command}, Choice{Runs: all, Shell: "/bin/bash", Passwd: "/usr/bin/fish"},
			"/bin/bash", ""},
		{"sh for text, whatever the login shell is", Name{}, Call{Mode: Command},
			Choice{Runs: all, Passwd: "/usr/bin/fish", Terminal: true}, "/bin/sh", ""},
		{"sh for a login with text", Name{Login: true}, Call{Mode: Command}, Choice{Runs: all, Passwd: "/usr/bin/fish"},
			"/bin/sh", ""},
		{"sh for a pipe", Name{}, Call{}, Choice{Runs: all, Passwd: "/usr/bin/fish"}, "/bin/sh", ""},
		{"the login shell for a person", Name{}, Call{}, Choice{Runs: all, Passwd: "/usr/bin/fish", Terminal: true},
			"/usr/bin/fish", ""},
		{"the login shell at a login", Name{Login: true}, Call{}, Choice{Runs: all, Passwd: "/usr/bin/fish"},
			"/usr/bin/fish", ""},
		{"never itself by a variable", Name{}, Call{}, Choice{Runs: all, Ourselves: all, Asked: "/opt/bash"}, "",
			"SBX_SHELL is /opt/bash: it is sbx itself"},
		{"never itself as the login shell", Name{Login: true}, Call{},
			Choice{Runs: there("/x/sbx-sh", "/bin/sh"), Ourselves: there("/x/sbx-sh"), Passwd: "/x/sbx-sh"}, "/bin/sh",
			""},
		{"never itself in a system directory", Name{Text: "bash"}, Call{},
			Choice{Runs: there("/bin/bash", "/usr/local/bin/bash"), Ourselves: there("/bin/bash")},
			"/usr/local/bin/bash", ""},
		{"nothing there", Name{}, Call{}, Choice{Runs: nobody}, "", "sh: there is no such shell on this machine"},
	} {
		if tt.o.Ourselves == nil {
			tt.o.Ourselves = nobody
		}
		got, err := Real(tt.n, tt.c, tt.o)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != tt.want || text != tt.err {
			t.Errorf("%s: %q, %q; want %q, %q", tt.name, got, text, tt.want, tt.err)
		}
	}
}
