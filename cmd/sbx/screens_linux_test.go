// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/ptytest"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// unbroken are lines that may be wider than the terminal: a path or another single
// word, at the branch of a tree, too, and a line to paste.
var unbroken = regexp.MustCompile("^\\s*((\\w+ +)?([|│├└─` -]*[-─] )?\\S+|(sbx|npm|brew) .*)$")

// screens are commands, and a text that each shows. Those in a pipe print nothing else.
var screens = []struct{ words, shows string }{
	{"--help", "npm test"}, {"explain", "moderate"}, {"doctor", "seccomp"}, {"doctor claude", "npm install -g @"},
	{"profiles", "permissive"}, {"profiles diff strict permissive", "allow_network"}, {"agent", "sbx agent opencode"},
	{"agent goose", "brew install block-goose-cli"}, {"status", "profile"}, {"why .env", "-r .env"},
	{"verify", "proved"}, {"tripwire", "nothing new or changed"}, {"shim list", "no shims"}, {"--color=blue -- ls", "never"},
	{"-p nosuch -- ls", "nosuch"}, {"--no-such-flag -- ls", "no-such-flag"}, {"-- cat ../d/f", "-r ../d/f"},
}

// TestScreens runs commands on terminals of different widths: no line is wider, and
// where it is not wanted nothing is coloured, or anything but ASCII.
func TestScreens(t *testing.T) {
	needBwrap(t)
	t.Parallel()
	w := newWorld(t)
	w.write(t, "proj/.env", "secret")
	w.write(t, "d/f", "x")
	for i, c := range screens {
		for n, width := range []int{40, 80, 120} {
			if c.words == "verify" && width > 40 { // it takes long
				continue
			}
			how := []string{"NO_COLOR=1", "LC_ALL=C", ""}[(i+n)%3]
			words := strings.Fields(c.words)
			if how == "" && !strings.HasPrefix(c.words, "--color") {
				words = append([]string{"--color=never"}, words...)
				if slices.Contains(commandNames, words[1]) {
					words[0], words[1] = words[1], words[0]
				}
			}
			cmd := exec.Command("sh", append([]string{"-c", `stty cols "$0"; exec "$@"`, strconv.Itoa(width), sbxPath}, words...)...)
			cmd.Dir, cmd.Env = w.dir+"/proj", append(slices.Clone(w.env), "TERM=xterm", "LANG=C.UTF-8", "PATH=/usr/bin:/bin", how)
			out := string(ptytest.Output(t, cmd, ""))
			if !strings.Contains(strings.Join(strings.Fields(out), " "), c.shows) {
				t.Errorf("sbx %s at %d columns shows no %s:\n%s", c.words, width, c.shows, out)
			}
			for line := range strings.SplitSeq(strings.ReplaceAll(out, "\r", ""), "\n") {
				if line = ownColours.ReplaceAllString(line, ""); text.Cells(line) > width && !unbroken.MatchString(line) {
					t.Errorf("sbx %s: wider than %d columns: %q", c.words, width, line)
				}
			}
			if how != "LC_ALL=C" && strings.Contains(out, "\x1b") && !strings.HasPrefix(c.words, "--color") {
				t.Errorf("sbx %s, %s: coloured: %q", c.words, how, out)
			}
			if i := strings.IndexFunc(out, func(r rune) bool { return r > 0x7f }); i >= 0 && how == "LC_ALL=C" {
				t.Errorf("sbx %s, %s: not ASCII: %q", c.words, how, out[max(0, i-20):min(len(out), i+20)])
			}
		}
	}
}

// TestColoursInAPipe: names are as harmless there as on a terminal.
func TestColoursInAPipe(t *testing.T) {
	needBwrap(t)
	t.Parallel()
	w, proj := hostileWorld(t)
	for _, words := range []string{"status", "explain", "profiles", "why .env", "trust --list"} {
		out, said, status := w.run(proj, append(strings.Fields("sbx "+words), "--color=always")...)
		if h := harm([]byte(out + said)); h != "" || status > 1 && status != 125 {
			t.Errorf("sbx %s: status %d, %s", words, status, h)
		}
		if colours := strings.Contains(out, "\x1b["); !colours && words != "profiles" && words != "trust --list" && words != "status" {
			t.Errorf("sbx %s: no colours: %q", words, out)
		}
		w.env = append(w.env, "FORCE_COLOR=1")
		if out, said, _ := w.run(proj, append(strings.Fields("sbx "+words), "--color=never")...); strings.Contains(out+said, "\x1b[3") {
			t.Errorf("sbx %s --color=never: %q", words, out+said)
		}
	}
}
