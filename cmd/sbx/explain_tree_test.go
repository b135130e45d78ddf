// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/text"
)

var pictured = &explanation{
	root: pathJSON{Access: "absent", Path: "/"}, own: []pathJSON{{"private", "/dev", "built-in", "sbx"}, {"private", "/proc", "built-in", "sbx"}},
	marks: map[string]string{"/home/u": " (home)", "/home/u/p": " (the project)"}, exposed: []string{"/home/u/p/.git/hooks"},
	Paths: []pathJSON{
		{"private", "/dev/shm", "built-in", "moderate"}, {"read", "/etc", "built-in", "moderate"}, {"block", "/etc/shadow", "built-in", "secrets"},
		{"block", "/etc/ssl/private", "built-in", "secrets"}, {"private", "/home/u", "built-in", "moderate"}, {"write", "/home/u/p", "built-in", "moderate"},
		{"protect", "/home/u/p/.git/config", "built-in", "git = commit"}, {"protect", "/home/u/p/.git/hooks", "built-in", "git = commit"},
		{"block", "/home/u/p/日本\x1b[31m\n", "project", "/home/u/p/.sbx.toml:3"}, {"block", "/home/u/p/├─", "flag", "--block"}, {"read", "/usr", "built-in", "moderate"},
	},
}

func TestPicture(t *testing.T) {
	for _, c := range []struct {
		fold   bool
		screen text.Screen
		want   string
	}{
		{true, text.Screen{Width: 80, Terminal: true}, `absent     /                          what is not listed
private    ├─ /dev, /proc             sbx
ro         ├─ /etc                    moderate
hidden     │  └─ shadow, ssl/private  secrets
private    ├─ /home/u (home)          moderate
rw         │  └─ p (the project)      moderate
rw         │     ├─ .git
protected  │     │  ├─ config         git = commit
restored   │     │  └─ hooks          git = commit
hidden     │     ├─ ├─                flag --block
hidden     │     └─ "日本\x1b[31m\n"  /home/u/p/.sbx.toml:3
ro         └─ /usr                    moderate
`},
		{false, text.Screen{Width: 40, Terminal: true, ASCII: true}, `absent     /
             what is not listed
private    |- /dev        built-in sbx
private    |  ` + "`" + `- shm
           |       built-in moderate
ro         |- /etc
           |  |    built-in moderate
hidden     |  |- shadow
           |  |    built-in secrets
hidden     |  ` + "`" + `- ssl/private
           |       built-in secrets
private    |- /home/u (home)
           |  |    built-in moderate
rw         |  ` + "`" + `- p (the project)
           |     |    built-in moderate
rw         |     |- .git
protected  |     |  |- config
           |     |  |    built-in git =
           |     |  |    commit
restored   |     |  ` + "`" + `- hooks
           |     |       built-in git =
           |     |       commit
hidden     |     |- ├─    flag --block
hidden     |     ` + "`" + `- "日本\x1b[31m\n"
           |          /home/u/p/.sbx.toml:3
private    |- /proc       built-in sbx
ro         ` + "`" + `- /usr
                built-in moderate
`},
	} {
		got := draw(pictured.tree(c.fold).rows(c.screen.ASCII, "", ""), c.screen)
		if diff := cmp.Diff(c.want, c.screen.Raw(got)); diff != "" {
			t.Error(diff)
		}
	}
	// In colour it is the same text, and a name makes no sequence.
	plain, colour := text.Screen{Width: 80, Terminal: true}, text.Screen{Width: 80, Terminal: true, Colour: true}
	raw := colour.Raw(draw(pictured.tree(true).rows(colour.ASCII, "", ""), colour))
	for _, sgr := range []string{"32", "31", "33", "36", "2", "0"} {
		raw = strings.ReplaceAll(raw, "\x1b["+sgr+"m", "")
	}
	if diff := cmp.Diff(plain.Raw(draw(pictured.tree(true).rows(plain.ASCII, "", ""), plain)), raw); diff != "" {
		t.Error(diff)
	}
}
