// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/engine"
)

func TestLookCommand(t *testing.T) {
	base := user(debian + home("/home/u", "1000"))
	base.more = `
/usr/bin/data mode=644
/usr/bin/dir/
/usr/local/bin/data x
/usr/local/bin/dir x
/usr/bin/script x = #!/bin/sh -e\necho
/usr/bin/nointerp x = #! /home/u/tools/interp\n
/usr/bin/envscript x = #!/usr/bin/env python3\n
/usr/bin/relative x = #!sub/run\n
/usr/bin/empty x = #!\n
/usr/bin/secret uid=0 mode=711 = #!/nowhere\n
/usr/bin/rootonly uid=0 mode=700
/usr/bin/broken -> nowhere
/usr/bin/a\sb x
/usr/bin/fifo fifo x
/home/u/tools/interp x
/home/u/tools/tool x
/home/u/src/app/run x
/home/u/src/app/sub/run x
/home/u/src/app/notes
/home/u/src/app/out -> /home/u/tools/tool
/home/u/src/app/in -> sub/run
`
	for _, c := range []struct {
		name string
		want string
		fail status
	}{
		{name: "sh", want: "/usr/bin/sh"},
		{name: "script", want: "/usr/bin/script"},
		{name: "envscript", want: "/usr/bin/envscript"},
		{name: "empty", want: "/usr/bin/empty"},
		{name: "relative", want: "/usr/bin/relative"},
		{name: "a b", want: "/usr/bin/a b"},
		{name: "secret", want: "/usr/bin/secret"},
		{name: "data", want: "/usr/local/bin/data"},
		{name: "dir", want: "/usr/local/bin/dir"},
		{name: "/bin/sh", want: "/bin/sh"},
		{name: "./run", want: "/home/u/src/app/./run"},
		{name: "sub/run", want: "/home/u/src/app/sub/run"},
		{name: "sub/../run", want: "/home/u/src/app/sub/../run"},
		{name: "./in", want: "/home/u/src/app/./in"},
		{name: "", fail: status{127, "the command is an empty word", ""}},
		{name: "a\x00b", fail: status{125, "the command holds a NUL byte", ""}},
		{name: "nosuch", fail: status{127, "nosuch: command not found", ""}},
		{name: "no such", fail: status{127, `"no such": command not found`, ""}},
		{name: "broken", fail: status{127, "broken: command not found", ""}},
		{name: "tool", fail: status{127, "tool: command not found", "/home/u/tools/tool is not visible in the sandbox; to allow: sbx -r /home/u/tools -- tool arg"}},
		{name: "rootonly", fail: status{126, "rootonly: permission denied", ""}},
		{name: "fifo", fail: status{126, "fifo: permission denied", ""}},
		{name: "nointerp", fail: status{126, "nointerp: its interpreter /home/u/tools/interp is not visible in the sandbox",
			"no rule shows /home/u/tools/interp; to allow: sbx -r /home/u/tools/interp -- nointerp arg"}},
		{name: "/etc/passwd", fail: status{126, "/etc/passwd: permission denied", ""}},
		{name: "/usr", fail: status{126, "/usr: is a directory", ""}},
		{name: "./notes", fail: status{126, "./notes: permission denied", "it is not executable: chmod +x /home/u/src/app/notes"}},
		{name: "./nosuch", fail: status{127, "./nosuch: no such file or directory", ""}},
		{name: "/usr/bin/sh/x", fail: status{127, "/usr/bin/sh/x: no such file or directory", ""}},
		{name: "/home/u/tools/tool", fail: status{127, "/home/u/tools/tool: not visible in the sandbox", "no rule shows /home/u/tools/tool; to allow: sbx -r /home/u/tools/tool -- /home/u/tools/tool arg"}},
		{name: "./out", fail: status{127, "./out: not visible in the sandbox", "no rule shows /home/u/tools/tool; to allow: sbx -r /home/u/tools/tool -- ./out arg"}},
		{name: "/home/u/src/app/.env", fail: status{127, "/home/u/src/app/.env: not visible in the sandbox", "no rule shows /home/u/src/app/.env; to allow: sbx -r /home/u/src/app/.env -- /home/u/src/app/.env arg"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := base
			m.env = []string{"PATH=/usr/bin:/home/u/tools:/usr/local/bin", "HOME=/home/u"}
			m.command = []string{c.name, "arg"}
			p, _, err := m.plan(t)
			if d := cmp.Diff(c.fail, statusOf(err)); d != "" {
				t.Fatal(d)
			}
			if err == nil && p.Report.Command != c.want {
				t.Errorf("%s, want %s", p.Report.Command, c.want)
			}
		})
	}
}

func TestLookCommandWithoutPath(t *testing.T) {
	for _, c := range []struct {
		name string
		env  []string
		want status
	}{
		{"unset", []string{}, status{}},
		{"empty", []string{"PATH="}, status{127, "sh: command not found", ""}},
		{"nothing in it exists", []string{"PATH=/nowhere:."}, status{127, "sh: command not found", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := user(debian + home("/home/u", "1000"))
			m.env = c.env
			_, _, err := m.plan(t)
			if d := cmp.Diff(c.want, statusOf(err)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestBare(t *testing.T) {
	m := user(debian + home("/home/u", "1000"))
	m.more = "/usr/bin/data mode=644\n/home/u/src/app/run x\n"
	m.env = []string{"PATH=/usr/local/bin:/usr/bin", "GH_TOKEN=kept"}
	h, _ := m.host(t)
	for _, c := range []struct {
		name, want string
		fail       status
	}{
		{"sh", "/usr/bin/sh", status{}},
		{"./run", "./run", status{}},
		{"data", "", status{126, "data: permission denied", ""}},
		{"/etc/passwd", "", status{126, "/etc/passwd: permission denied", ""}},
		{"nosuch", "", status{127, "nosuch: command not found", ""}},
		{"./nosuch", "", status{127, "./nosuch: no such file or directory", ""}},
		{"", "", status{127, `"": command not found`, ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Bare([]string{c.name, "a"}, h)
			if d := cmp.Diff(c.fail, statusOf(err)); d != "" {
				t.Fatal(d)
			}
			if err != nil {
				return
			}
			want := &engine.Plan{Engine: "none", Tier: "none", Path: c.want, Argv: []string{c.name, "a"}, Env: m.env}
			if d := cmp.Diff(want.Path, p.Path); d != "" || p.Engine != "none" || p.Tier != "none" || !cmp.Equal(p.Argv, want.Argv) || !cmp.Equal(p.Env, want.Env) {
				t.Errorf("%+v", p)
			}
		})
	}
}
