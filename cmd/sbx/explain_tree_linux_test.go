// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/ptytest"
)

// drawn is a line of a picture: what it says of a path.
type drawn struct{ what, path, note, rule string }

// readPicture takes the tree out of what sbx explain -v drew.
func readPicture(t *testing.T, text string) (out []drawn) {
	t.Helper()
	var above []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r", ""), "\n") {
		cells := []rune(line)
		if len(cells) < 12 || (cells[10] != ' ') {
			continue
		}
		what, rest := strings.TrimSpace(string(cells[:11])), string(cells[11:])
		depth := 0
		for ; ; depth++ {
			next, in := strings.CutPrefix(rest, "│  ")
			if !in {
				next, in = strings.CutPrefix(rest, "   ")
			}
			if !in {
				break
			}
			rest = next
		}
		label, forked := strings.CutPrefix(rest, "├─ ")
		if !forked {
			label, forked = strings.CutPrefix(rest, "└─ ")
		}
		if label == "" || !forked && (!strings.HasPrefix(label, "/ ") || len(above) > 0) {
			continue
		}
		d := drawn{what: what}
		if label[0] == '"' {
			end := len(label)
			for ; d.path == ""; end-- {
				d.path, _ = strconv.Unquote(label[:end])
			}
			if d.rule = label[end+1:]; strings.HasPrefix(d.rule, " (") {
				d.note, d.rule, _ = strings.Cut(d.rule, ")  ")
			}
		} else {
			d.path, d.rule, _ = strings.Cut(label, "  ")
			d.path, d.note, _ = strings.Cut(d.path, " (")
		}
		d.rule = strings.TrimSpace(d.rule)
		if forked {
			above = above[:depth+1]
			if d.path[0] != '/' {
				d.path = strings.TrimSuffix(above[depth], "/") + "/" + d.path
			}
		}
		above = append(above, d.path)
		out = append(out, d)
	}
	return out
}

// TestPictureTellsTheTruth compares each path that sbx explain draws with what sbx why
// says of it, and with what a command inside can do.
func TestPictureTellsTheTruth(t *testing.T) {
	w := newWhyWorld(t)
	for _, name := range []string{"proj/a b\x1b[31m", "proj/new\nline", "proj/日本", "proj/quo\"te"} {
		w.write(t, name)
	}
	odd := []string{"-r", "../other", "-w", "../shared", "--block", "./a b\x1b[31m", "--block", "./new\nline", "--block", "./日本",
		"--block", "./quo\"te", "--block", "./sub/f", "-r", "~/.ssh/known_hosts"}
	for _, flags := range [][]string{{}, {"-p", "strict"}, {"-p", "permissive"}, {"--engine", "landlock"}, odd,
		append([]string{"--engine", "landlock"}, odd...), {"--read-only", "-w", "sub"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(w.base+"/proj/sbx", append([]string{"explain", "-v"}, flags...)...)
			cmd.Dir, cmd.Env = w.base+"/proj", w.env
			lines := readPicture(t, string(ptytest.Output(t, cmd, "")))
			if len(lines) < 8 {
				t.Fatalf("%d lines of a tree", len(lines))
			}
			ask := []string{"why", "--json", "--path"}
			for _, l := range lines {
				ask = append(ask, l.path)
			}
			for i, a := range w.answers(t, append(ask, flags...)...) {
				d, read, write := lines[i], *a.Read, *a.Write
				ok := map[string]bool{
					"rw": write != strings.Contains(d.note, "nothing can be made"),
					"ro": read != strings.Contains(d.note, "cannot be listed") && !write, "hidden": !write && !read, "protected": read && !write,
					"restored": write, "private": write || d.rule == "built-in sbx", "closed": !read && !write, "absent": !write, "": !write,
				}[d.what]
				if !ok {
					t.Errorf("%s is drawn as %q (%s); sbx why: read %v, write %v: %s", d.path, d.what, d.rule, read, write, a.Why)
				}
				if a.Rule != nil && d.rule != "" && d.what != "absent" && d.rule != source(a.Rule.Layer, a.Rule.Source) && d.rule != "built-in sbx" {
					t.Errorf("%s is drawn as of %s; sbx why: %s", d.path, d.rule, source(a.Rule.Layer, a.Rule.Source))
				}
			}
			script := `for p; do r=no w=no
				if [ -d "$p" ]; then [ -n "$(ls -A "$p" 2>&-)" ] && r=yes; (: > "$p/.probe") 2>&- && w=yes && rm "$p/.probe"
				else [ "$(head -c1 "$p" 2>&- | wc -c)" = 1 ] && r=yes; [ -e "$p" ] && (: >> "$p") 2>&- && w=yes; fi
				echo "$r $w"; done`
			args := append(append([]string{"-q"}, flags...), "--", "sh", "-c", script, "sh")
			for _, l := range lines {
				args = append(args, l.path)
			}
			for i, got := range strings.Split(strings.TrimSpace(string(w.run(t, args...))), "\n") {
				d := lines[i]
				read, write := strings.HasPrefix(got, "yes"), strings.HasSuffix(got, "yes")
				ok := map[string]bool{
					"rw": write != strings.Contains(d.note, "nothing can be made"),
					"ro": !write && !(read && d.note == "cannot be listed)"), "hidden": !read && !write, "protected": !write,
					"restored": write, "private": write || d.rule == "built-in sbx", "closed": !read && !write, "absent": !write, "": !write,
				}[d.what]
				if !ok {
					t.Errorf("%s is drawn as %q (%s); inside: read and write %s", d.path, d.what, d.rule, got)
				}
			}
		})
	}
}
