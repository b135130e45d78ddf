// SPDX-License-Identifier: Apache-2.0

package shims

import (
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestQuestion asks the real shells.
func TestQuestion(t *testing.T) {
	set := map[string]string{
		"bash": "shopt -s expand_aliases; alias ali='x'; fun() { :; }; ", "zsh": "alias ali='x'; fun() { :; }; ",
		"fish": "alias ali 'x'; function fun; end; ", "dash": "alias ali='x'; fun() { :; }; ",
		"sh": "alias ali='x'; fun() { :; }; ",
	}
	cat := "/usr/bin/cat"
	if _, err := os.Stat(cat); err != nil {
		cat = "/bin/cat" // macOS
	}
	for shell, before := range set {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip(err)
			}
			names := []string{"ali", "fun", "nosuchthing", "cat"}
			code, ok := Question(shell, names, "MARK")
			if !ok {
				t.Fatal("no question")
			}
			cmd := exec.Command(path, "-c", "echo MAR noise; "+before+code)
			cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
			out, err := cmd.CombinedOutput()
			want := map[string]Answer{"ali": {Kind: "alias"}, "fun": {Kind: "function"}, "nosuchthing": {Kind: "none"},
				"cat": {"file", cat}}
			if shell == "fish" { // whose aliases are functions
				want["ali"] = Answer{Kind: "function"}
			}
			if diff := cmp.Diff(want, Answers(string(out), "MARK")); diff != "" {
				t.Errorf("(-want +got):\n%s\n%v: %q", diff, err, out)
			}
		})
	}
	if _, ok := Question("tcsh", []string{"ls"}, "M"); ok {
		t.Error("tcsh is asked in a language it does not speak")
	}
}
