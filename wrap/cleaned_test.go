// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// What the command sees of settings with credentials, also where an earlier run has
// made more than is searched, or closed what is to be searched.
func TestCleaned(t *testing.T) {
	const (
		app    = "/home/u/src/app"
		git    = app + "/.git"
		config = " = [remote \"o\"]\\nurl = https://ada:x@h/\n"
		shown  = "shown"
		copied = "copied"
		hidden = "hidden"
	)
	repository := func(dir string) string {
		return dir + "/HEAD = ref: refs/heads/m\n" + dir + "/objects/\n" + dir + "/refs/\n" + dir + "/config" + config
	}
	many := func(n int, dir, each string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s/a%04d%s\n", dir, i, each)
		}
		return b.String()
	}
	other := "/home/u/src/other"
	reads := func(paths ...string) func(*machine) {
		return func(m *machine) { m.over.Read = flagPaths("--allow-read", paths...) }
	}
	for _, tt := range []struct {
		name, files string
		change      func(*machine)
		want        map[string]string
	}{
		{"submodules", repository(git+"/modules/sub") + repository(git+"/modules/logs/a") + repository(git+"/modules/objects/a/b") + git + "/worktrees/w/config.worktree" + config, nil,
			map[string]string{git + "/modules/sub/config": copied, git + "/modules/logs/a/config": copied, git + "/modules/objects/a/b/config": copied, git + "/worktrees/w/config.worktree": copied, git + "/HEAD": shown}},
		{"in what looks like a repository", git + "/modules/x/HEAD = ref: x\n" + git + "/modules/x/objects/\n" + repository(git+"/modules/x/logs/a") + repository(git+"/modules/x/y"), nil,
			map[string]string{git + "/modules/x/logs/a/config": copied, git + "/modules/x/y/config": copied}},
		{"too many submodules", repository(git+"/modules/sub") + many(maxNames, git+"/modules", "/"), nil, map[string]string{git + "/modules/sub/config": hidden, git + "/HEAD": shown}},
		{"too many work trees", git + "/worktrees/w/config.worktree" + config + many(maxNames, git+"/worktrees", "/"), nil, map[string]string{git + "/worktrees/w/config.worktree": hidden, git + "/HEAD": shown}},
		{"too deep", repository(git + "/modules/" + strings.Repeat("a/", maxModules+2) + "sub"), nil, map[string]string{git + "/modules/" + strings.Repeat("a/", maxModules+2) + "sub/config": hidden}},
		{"submodules that cannot be listed", repository(git+"/modules/sub") + git + "/modules/ mode=300 uid=1000\n", nil, map[string]string{git + "/modules/sub/config": hidden}},
		{"a file that cannot be read", app + "/.npmrc mode=0 uid=1000 = _authToken=x\n", nil, map[string]string{app + "/.npmrc": hidden}},
		{"very many repositories", many(maxPlain+8, app, "/.git/HEAD = x") + repository(app+"/z/.git"), nil, map[string]string{app + "/z/.git/config": copied}},
		{"opened for reading", repository(other+"/.git") + repository(other+"/sub/.git") + repository(other+"/.git/modules/m") + other + "/.npmrc = _authToken=x\n" + other + "/a = b\n", reads(other),
			map[string]string{other + "/.git/config": copied, other + "/sub/.git/config": copied, other + "/.git/modules/m/config": copied, other + "/.npmrc": copied, other + "/a": shown}},
		{"opened by a .git file", repository("/home/u/src/x.git") + other + "/.git = gitdir: ../x.git\n", reads(other, "/home/u/src"), map[string]string{"/home/u/src/x.git/config": copied}},
		{"opened by name", repository(other + "/.git"), reads(other, other+"/.git/config"), map[string]string{other + "/.git/config": shown}},
		{"copies of a config, and old files", git + "/config.lock" + config + git + "/config~" + config + git + "/remotes/a = URL: https://ada:x@h/\n" + git + "/branches/b = https://ada:x@h/\n" + git + "/branches/c = https://h/\n", nil,
			map[string]string{git + "/config.lock": copied, git + "/config~": copied, git + "/remotes/a": hidden, git + "/branches/b": hidden, git + "/branches/c": shown}},
		{"a relative name in a variable", app + "/gc" + config, func(m *machine) { m.env = []string{"HOME=/home/u", "PATH=/usr/bin:/bin", "GIT_CONFIG_GLOBAL=gc"} }, map[string]string{app + "/gc": copied}},
		{"where to upload", app + "/.pypirc = [distutils]\\nindex-servers = own\\n", nil, map[string]string{app + "/.pypirc": copied}},
		{"a password", app + "/.pypirc = [pypi]\\npassword = #x\\n", nil, map[string]string{app + "/.pypirc": hidden}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := user(debian + home("/home/u", "1000") + repo(app) + tt.files)
			if tt.change != nil {
				tt.change(&m)
			}
			p, _, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			v := p.Report.View
			for path, want := range tt.want {
				got := hidden
				if view.Shows(v.Access(path)) {
					got = shown
				}
				if m := v.At(path); m != nil && m.Copied && m.Access == policy.Read {
					got = copied
				}
				if got != want {
					t.Errorf("%s is %s, not %s", path, got, want)
				}
			}
		})
	}
}
