// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

func TestEnvironment(t *testing.T) {
	base := user(debian + home("/home/u", "1000"))
	base.more = `
/home/u/link -> src/app
/home/u/src/loose -> /home/u/src/app
/usr/local/sbin/
/home/u/tools/tool x
/tmp/own/ uid=1000
/home/u/src/app/tmp/
`
	always := []string{"SBX_PROFILE=moderate", "SBX_TIER=full", "XDG_CACHE_HOME=/home/u/.cache"}
	const path = "PATH=/usr/bin"
	for _, c := range []struct {
		name   string
		change func(m *machine)
		env    []string
		want   []string
	}{
		{"order and duplicates are kept", nil, []string{path, "B=1", "A=2", "B=3"}, []string{path, "B=1", "A=2", "B=3"}},
		{"malformed entries are dropped", nil, []string{path, "NOEQUALS", "=x", "", "A=b=c", "E="}, []string{path, "A=b=c", "E="}},
		{"secrets", nil, []string{path, "GH_TOKEN=x", "github_token=x", "AWS_SESSION_TOKEN=x", "MY_PASSWORD_FILE=x", "SSH_AUTH_SOCK=/s", "LD_PRELOAD=x", "TOKENS=fine"}, []string{path, "TOKENS=fine"}},
		{"exported functions", nil, []string{path, "BASH_FUNC_x%%=() { id; }", "BASH_FUNC_y()=() { id; }"}, []string{path}},
		{"claims of being inside", nil, []string{path, "SBX_TIER=none", "SBX_PROFILE=off", "SBX_FLAGS=--net"}, []string{path}},
		{"values are bytes", nil, []string{path, "A=\xff\n\x01 $HOME"}, []string{path, "A=\xff\n\x01 $HOME"}},
		{"PATH is pruned", nil, []string{"PATH=/nowhere:.:/usr/bin::relative:/home/u/tools:/home/u/.cargo/bin:/usr/bin:/etc/passwd:/bin"}, []string{"PATH=.:/usr/bin:relative:/home/u/.cargo/bin:/bin"}},
		{"databases without a password", nil, []string{path, "DATABASE_URL=sqlite:x.db", "TEST_DATABASE_URL=postgres://u@h/x", "REDIS_URL=redis://h", "MONGO_URL=mongodb://h/x"}, []string{path, "DATABASE_URL=sqlite:x.db", "TEST_DATABASE_URL=postgres://u@h/x", "REDIS_URL=redis://h", "MONGO_URL=mongodb://h/x"}},
		{"databases with one", nil, []string{path, "DATABASE_URL=postgres://u:p@h/x", "REDIS_URL=redis://p@h", "MONGODB_URI=p", "AMQP_URL=", "PG_DSN=postgres://h/x", "DATABASE_URL_KEY=sqlite:x", "X_SECRET_DATABASE_URL=sqlite:x"}, []string{path}},
		{"databases that a person drops", func(m *machine) { m.over.EnvDrop = policy.List{Items: []policy.Item{{Text: "*_URL"}}} }, []string{path, "DATABASE_URL=sqlite:x.db"}, []string{path}},
		{"databases in a list", func(m *machine) { m.profiles = []string{"strict"} }, []string{path, "DATABASE_URL=sqlite:x.db"}, []string{path, "SBX_PROFILE=strict", "SBX_TIER=full"}},
		{"no PATH", nil, []string{"A=1"}, []string{"A=1", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}},
		{"PWD as it is", nil, []string{path, "PWD=/home/u/src/app"}, []string{path, "PWD=/home/u/src/app"}},
		{"PWD of somewhere else", nil, []string{path, "PWD=/etc"}, []string{path, "PWD=/home/u/src/app"}},
		{"PWD relative", nil, []string{path, "PWD=."}, []string{path, "PWD=/home/u/src/app"}},
		{"PWD through a link of the home directory", nil, []string{path, "PWD=/home/u/link"}, []string{path, "PWD=/home/u/link"}},
		{"PWD through a link that is inside", func(m *machine) { m.profiles = []string{"permissive"} }, []string{path, "PWD=/home/u/link"}, []string{path, "PWD=/home/u/link", "SBX_PROFILE=permissive", "SBX_TIER=full"}},
		{"TMPDIR inside", nil, []string{path, "TMPDIR=/tmp"}, []string{path, "TMPDIR=/tmp"}},
		{"TMPDIR writable", nil, []string{path, "TMPDIR=/home/u/src/app/tmp"}, []string{path, "TMPDIR=/home/u/src/app/tmp"}},
		{"TMPDIR not inside", nil, []string{"TMPDIR=/tmp/own", path}, []string{path, "TMPDIR=/tmp"}},
		{"TMPDIR relative", nil, []string{path, "TMPDIR=tmp"}, []string{path, "TMPDIR=/tmp"}},
		{"SHELL inside", nil, []string{path, "SHELL=/bin/bash"}, []string{path, "SHELL=/bin/bash"}},
		{"SHELL hidden", nil, []string{path, "SHELL=/home/u/tools/tool"}, []string{path, "SHELL=/bin/sh"}},
		{"set by a flag", func(m *machine) {
			m.over.EnvSet = []policy.Var{{Name: "A", Value: "$$x"}, {Name: "GH_TOKEN", Value: "y"}}
		},
			[]string{"A=old", path, "GH_TOKEN=z"}, []string{path, "A=$x", "GH_TOKEN=y"}},
		{"let through by a flag", func(m *machine) { m.over.EnvPass = policy.List{Items: []policy.Item{{Text: "GH_*"}}} },
			[]string{path, "GH_TOKEN=z", "GITLAB_TOKEN=z"}, []string{path, "GH_TOKEN=z"}},
		{"an allow-list", func(m *machine) { m.profiles = []string{"strict"} }, []string{path, "LC_ALL=C", "FOO=1", "TERM=x"}, []string{path, "LC_ALL=C", "TERM=x", "SBX_PROFILE=strict", "SBX_TIER=full"}},
		{"nothing at all", nil, []string{}, []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := base
			if c.change != nil {
				c.change(&m)
			}
			m.env, m.command = c.env, []string{"/usr/bin/env"}
			p, _, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			got, want := slices.Sorted(slices.Values(withoutTools(p))), slices.Clone(c.want)
			if !slices.ContainsFunc(want, func(s string) bool { return strings.HasPrefix(s, "SBX_TIER=") }) {
				want = append(want, always...)
			}
			slices.Sort(want)
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			for _, ch := range p.Report.Env {
				for _, kv := range c.env {
					if name, value, ok := strings.Cut(kv, "="); ok && ch.Name == name && len(value) > 1 && strings.Contains(ch.Source, value) {
						t.Errorf("the report on %s holds a value", name)
					}
				}
			}
		})
	}
}

func TestEnvironmentKeepsItsOrder(t *testing.T) {
	m := user(debian + home("/home/u", "1000"))
	m.env = []string{"Z=1", "PATH=/usr/bin", "A=1", "Z=2"}
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Z=1", "PATH=/usr/bin", "A=1", "Z=2", "SBX_PROFILE=moderate", "SBX_TIER=full", "XDG_CACHE_HOME=/home/u/.cache"}
	if d := cmp.Diff(want, withoutTools(p)); d != "" {
		t.Error(d)
	}
}

// withoutTools is the environment without what sbx sets for tools, see
// TestToolVariables.
func withoutTools(p *engine.Plan) []string {
	return slices.DeleteFunc(slices.Clone(p.Env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.ContainsFunc(p.Report.Env, func(c view.EnvChange) bool { return c.Name == name && c.Value != "" })
	})
}
