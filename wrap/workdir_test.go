// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// status is what a plan comes to: 0, or the exit status of sbx and its words.
type status struct {
	Status     int
	Text, Hint string
}

func statusOf(err error) status {
	var e *host.Error
	if errors.As(err, &e) {
		return status{e.Status, e.Text, e.Hint}
	}
	if err != nil {
		return status{-1, err.Error(), ""}
	}
	return status{}
}

func TestWorkingDirectory(t *testing.T) {
	files := debian + home("/home/u", "1000") + `
/home/u/.ssh/sub/
/home/u/src/app/.idea/
/etc/x/
/usr/src/linux/
/tmp/mine/ uid=1000
/home/u/.cargo/bin/x/
/srv/mine/ uid=1000
`
	refused := func(dir, why, hint string) status {
		return status{host.StatusFailed, "the working directory " + dir + " " + why, hint}
	}
	const ro = "cd to a project first, or use --read-only"
	hidden := func(dir, by string) status {
		return status{host.StatusFailed, "the working directory " + dir + " is hidden (secrets: blocked " + by + ")", "cd to a project first"}
	}
	both := func(want status) map[string]status {
		return map[string]status{"moderate": want, "permissive": want}
	}
	for _, c := range []struct {
		dir  string
		want map[string]status
	}{
		{"/home/u/src/app", both(status{})},
		{"/srv/mine", both(status{})},
		{"/tmp/mine", both(status{})},
		{"/usr/src/linux", both(status{})},
		// Where a profile opens the whole of it for reading, so it stays.
		{"/", map[string]status{"moderate": refused("/", "is shared with everything else on this machine and is never made writable", ro), "permissive": {}}},
		{"/tmp", both(refused("/tmp", "is shared with everything else on this machine and is never made writable", ro))},
		{"/home", both(refused("/home", "is shared with everything else on this machine and is never made writable", ro))},
		{"/home/u", map[string]status{"moderate": refused("/home/u", "is or holds the home directory and is never made writable", ro), "permissive": {}}},
		{"/usr", both(status{})},
		{"/usr/local/bin", both(refused("/usr/local/bin", "belongs to the system (/usr) and is never made writable", ro))},
		{"/usr/src", both(refused("/usr/src", "belongs to the system (/usr) and is never made writable", ro))},
		{"/etc/x", both(refused("/etc/x", "belongs to the system (/etc) and is never made writable", ro))},
		{"/home/u/.ssh", both(hidden("/home/u/.ssh", "/home/u/.ssh"))},
		{"/home/u/.ssh/sub", both(hidden("/home/u/.ssh/sub", "/home/u/.ssh"))},
	} {
		for profile, want := range c.want {
			t.Run(profile+c.dir, func(t *testing.T) {
				m := user(files)
				m.cwd, m.profiles = c.dir, []string{profile}
				p, fs, err := m.plan(t)
				if d := cmp.Diff(want, statusOf(err)); d != "" {
					t.Fatal(d)
				}
				if err == nil {
					if (c.dir == "/" || c.dir == "/usr" || c.dir == "/home/u") && newOracle(fs, p.Report.Policy).access(c.dir) == policy.Write {
						t.Error("it is writable")
					}
					for _, b := range judge(newOracle(fs, p.Report.Policy), p) {
						t.Error(b)
					}
				}
			})
		}
	}
}

func TestReadOnlyWorkingDirectory(t *testing.T) {
	files := debian + home("/home/u", "1000") + "/home/u/.ssh/sub/\n/etc/x/\n"
	for _, c := range []struct {
		dir  string
		want status
	}{
		// A strict view of a place that is not a project opens nothing of it.
		{"/", status{}},
		{"/home/u", status{}},
		{"/home/u/src/app", status{}},
		{"/tmp", status{}},
		{"/usr", status{}},
		{"/home", status{host.StatusFailed, "the working directory /home is not visible in the sandbox", "cd to a project, or open it with -r /home"}},
		{"/etc/x", status{host.StatusFailed, "the working directory /etc/x is not visible in the sandbox", "cd to a project, or open it with -r /etc/x"}},
		{"/home/u/.ssh/sub", status{host.StatusFailed, "the working directory /home/u/.ssh/sub is hidden (secrets: blocked /home/u/.ssh)", "cd to a project first"}},
	} {
		t.Run(c.dir, func(t *testing.T) {
			m := user(files)
			m.cwd, m.profiles = c.dir, []string{"strict"}
			p, fs, err := m.plan(t)
			if d := cmp.Diff(c.want, statusOf(err)); d != "" {
				t.Fatal(d)
			}
			if err != nil {
				return
			}
			for _, b := range judge(newOracle(fs, p.Report.Policy), p) {
				t.Error(b)
			}
			if c.dir == "/" || c.dir == "/home/u" {
				s, _ := simulate(fs, p)
				if _, kind, _ := s.walk("/home/u/src/app/main.go", true); kind != host.Absent {
					t.Error("the home directory is visible")
				}
			}
		})
	}
}

func TestDeletedWorkingDirectory(t *testing.T) {
	h, _ := (&machine{files: debian + home("/home/u", "1000"), uid: 1000}).host(t)
	h.CWD = ""
	_, err := New(engine.Request{Policy: &policy.Policy{}, Command: []string{"sh"}, Engine: engine.Chosen{Name: host.EngineBwrap}}, h)
	want := status{host.StatusFailed, "the working directory no longer exists", "cd to a directory that exists"}
	if d := cmp.Diff(want, statusOf(err)); d != "" {
		t.Error(d)
	}
}

func TestWorkTree(t *testing.T) {
	const files = `
/ uid=0
/home/u/ uid=1000
/home/u/src/app/sub/deep/
/tmp/ mode=1777
/tmp/x/ uid=1000
/srv/team/app/ uid=1001
/srv/team/app/mine/ uid=1000
`
	for _, c := range []struct{ name, more, cwd, want string }{
		{"none", "", "/home/u/src/app", "/home/u/src/app"},
		{"at cwd", "/home/u/src/app/.git/", "/home/u/src/app", "/home/u/src/app"},
		{"above", "/home/u/src/app/.git/", "/home/u/src/app/sub/deep", "/home/u/src/app"},
		{"nearest", "/home/u/src/app/.git/\n/home/u/src/app/sub/.git = gitdir: x", "/home/u/src/app/sub/deep", "/home/u/src/app/sub"},
		{"home is a repository", "/home/u/.git/", "/home/u/src/app", "/home/u/src/app"},
		{"ancestor of home", "/home/.git/ uid=1000", "/home/u/src/app", "/home/u/src/app"},
		{"planted in /tmp", "/tmp/.git/ uid=1000", "/tmp/x", "/tmp/x"},
		{"planted in /", "/.git/ uid=1000", "/tmp/x", "/tmp/x"},
		{"foreign owner", "/srv/team/app/.git/", "/srv/team/app/mine", "/srv/team/app/mine"},
		{"own .git in a foreign directory", "/srv/team/app/.git/ uid=1000", "/srv/team/app/mine", "/srv/team/app/mine"},
		{"foreign .git in an own directory", "/home/u/src/app/.git/ uid=1001", "/home/u/src/app/sub", "/home/u/src/app/sub"},
		{"a link", "/home/u/src/app/.git -> /srv", "/home/u/src/app/sub", "/home/u/src/app/sub"},
		{"foreign one below an own one", "/home/u/src/.git/\n/home/u/src/app/.git/ uid=1001", "/home/u/src/app/sub", "/home/u/src"},
		{"root", "/.git/", "/", "/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := host.WorkTree(newFS(t, 1000, files, c.more), c.cwd, 1000, []string{"/home/u"}); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// What is writable as a whole from a directory, and where names hide.
func TestProject(t *testing.T) {
	const files = `
/ uid=0
/home/u/ uid=1000
/home/u/src/app/sub/deep/ uid=1000
/tmp/ mode=1777
/tmp/x/y/ uid=1000
`
	const app, deep = "/home/u/src/app", "/home/u/src/app/sub/deep"
	const mod, crate, pkg = app + "/sub/go.mod = module x\n", app + "/sub/Cargo.toml = [package]\n", app + "/sub/package.json = {}\n"
	long := app + strings.Repeat("/d", 40)
	for _, c := range []struct {
		name, more, cwd, root, whole, members string
	}{
		{"nothing", "", deep, deep, deep, ""},
		{"git", app + "/.git/", deep, app, app, ""},
		{"a linked work tree", app + "/.git = gitdir: /home/u/other/.git/worktrees/app", deep, app, app, ""},
		{"a .git planted below narrows", app + "/.git/\n" + app + "/sub/.git/", deep, app + "/sub", app + "/sub", ""},
		{"another's .git", app + "/.git/ uid=1001", deep, deep, deep, ""},
		{"another's directory", app + "/ uid=1001\n" + app + "/.git/", deep, deep, deep, ""},
		{"another's directory between", app + "/.git/\n" + app + "/sub/ uid=1001", deep, app, deep, ""},
		{"another's working directory", app + "/.git/\n" + deep + "/ uid=1001", deep, app, deep, ""},
		{"a directory between that all may write", app + "/.git/\n" + app + "/sub/ uid=1000 mode=777", deep, app, deep, ""},
		{"a root that all may write", app + "/ uid=1000 mode=1777\n" + app + "/.git/", deep, app, deep, ""},
		{"writable for the user's own group", app + "/ uid=1000 gid=1000 mode=775\n" + app + "/.git/", deep, app, app, ""},
		{"writable for another group", app + "/ uid=1000 gid=50 mode=775\n" + app + "/.git/", deep, app, deep, ""},
		{"the home", "/home/u/.git/", deep, deep, deep, ""},
		{"/tmp", "/tmp/.git/ uid=1000", "/tmp/x/y", "/tmp/x/y", "/tmp/x/y", ""},
		{"sbx's own configuration", "/home/u/.config/sbx/ uid=1000\n/home/u/.config/.git/\n/home/u/.config/nvim/ uid=1000", "/home/u/.config/nvim", "/home/u/.config", "/home/u/.config/nvim", ""},
		{"too deep", app + "/.git/\n" + long + "/", long, app, long, ""},
		{"go.work", mod + app + "/go.work = use ./sub", deep, app, app, "sub"},
		{"go.work, a module between", mod + app + "/sub/deep/go.mod = x\n" + app + "/go.work = use ./sub", deep, deep, deep, ""},
		{"go.work, no module", app + "/go.work = use ./sub", deep, deep, deep, ""},
		{"go.work that uses nothing", mod + app + "/go.work = go 1.24", deep, deep, deep, ""},
		{"cargo", crate + app + "/Cargo.toml = [workspace]\\nmembers = [\"s*\"]", deep, app, app, "sub"},
		{"cargo without members", crate + app + "/Cargo.toml = [workspace]\\nmembers = []", deep, deep, deep, ""},
		{"cargo excludes", crate + app + "/Cargo.toml = [workspace]\\nmembers = [\"*\"]\\nexclude = [\"sub\"]", deep, deep, deep, ""},
		{"a file that takes long to read", crate + app + "/Cargo.toml = [workspace]\\nmembers = [\"s*\"]" + strings.Repeat("#", 64<<10), deep, deep, deep, ""},
		{"a path dependency", crate + app + "/Cargo.toml = [workspace]\\n[dependencies]\\na = \"1\"\\nb = {path = \"sub\"}", deep, app, app, "sub"},
		{"a crate", crate + app + "/Cargo.toml = [package]\\nname = \"workspace\"", deep, deep, deep, ""},
		{"npm", pkg + app + `/package.json = {"workspaces": {"packages": ["./sub/*", "s?b", "../x", "!y", "/"]}}`, deep, app, app, "subsub/deep"},
		{"npm lists nothing of it", pkg + app + `/package.json = {"workspaces": ["nothing", "sub/*"]}`, deep, deep, deep, ""},
		{"npm lists nothing", pkg + app + `/package.json = {"workspaces": []}`, deep, deep, deep, ""},
		{"npm takes it out", pkg + app + `/package.json = {"workspaces": ["*", "!s*"]}`, deep, deep, deep, ""},
		{"npm, any depth", pkg + app + `/package.json = {"workspaces": ["**"]}`, deep, app, app, "/home/u/src/appsub"},
		{"npm, any depth below", app + "/sub/deep/package.json = {}\n" + app + `/package.json = {"workspaces": ["./sub/**/deep/"]}`, deep, app, app, "sub/deep"},
		{"npm leaves hidden directories out", app + "/.x/package.json = {}\n" + app + `/package.json = {"workspaces": ["*"]}`, app + "/.x", app + "/.x", app + "/.x", ""},
		{"in the root of a workspace", app + `/package.json = {"workspaces": ["x"]}`, app, app, app, ""},
		{"not a directory in the root", app + `/package.json = {"workspaces": ["x"]}`, app + "/sub", app + "/sub", app + "/sub", ""},
		{"past a workspace that lists others", pkg + app + "/package.json = {\"workspaces\": [\"x\"]}\n" + `/home/u/src/package.json = {"workspaces": ["app/sub"]}`, deep, "/home/u/src", "/home/u/src", "sub"},
		{"a package", pkg + app + `/package.json = {"name": "workspaces"}`, deep, deep, deep, ""},
		{"pnpm", pkg + app + "/pnpm-workspace.yaml = packages:\\n  - 'sub'\\n", deep, app, app, "sub"},
		{"pnpm takes it out", pkg + app + "/pnpm-workspace.yaml = packages:\\n  - '*'\\n  - '!**/sub/**'\\n", deep, deep, deep, ""},
		{"another's go.work", mod + app + "/go.work uid=1001", deep, deep, deep, ""},
		{"go.work in the home", mod + "/home/u/go.work = use ./src/app/sub", deep, deep, deep, ""},
		{"git before a workspace", mod + app + "/sub/.git/\n" + app + "/go.work = use ./sub", deep, app + "/sub", app + "/sub", ""},
		{"members of a work tree", app + "/.git/\n" + app + "/go.work = use ./sub", app, app, app, "sub"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &host.Host{Facts: host.Facts{FS: newFS(t, 1000, files, c.more)},
				Caller: host.Caller{UID: 1000, GID: 1000, Homes: []string{"/home/u"}}, Places: host.Places{Config: "/home/u/.config/sbx"}}
			got := h.Project(c.cwd)
			members := ""
			for _, m := range got.Members {
				members += strings.TrimPrefix(m.Dir, app+"/")
			}
			if got.Root != c.root || got.Whole != c.whole || members != c.members {
				t.Errorf("%+v, want %+v", got, c)
			}
		})
	}
}

// lookups counts the names that a file system is asked for and gives.
type lookups struct {
	host.FS
	n int
}

func (l *lookups) ReadDir(path string) ([]host.Entry, error) {
	entries, err := l.FS.ReadDir(path)
	l.n += len(entries) + 1
	return entries, err
}

func (l *lookups) Lstat(path string) (host.Info, error) { l.n++; return l.FS.Lstat(path) }

// A workspace file that lists the same large directory, or what does not exist, again
// and again costs the next start no more than some thousand names.
func TestProjectIsBounded(t *testing.T) {
	const root = "/home/u/src/app"
	for pattern, n := range map[string]int{"d/*": 50, "none": 10_000} {
		files := "/ uid=0\n/home/u/ uid=1000\n"
		for i := range 1000 {
			files += fmt.Sprintf("%s/d/f%d\n", root, i)
		}
		list := strings.Repeat(`"`+pattern+`",`, n)
		fs := &lookups{FS: newFS(t, 1000, files, root+`/package.json = {"workspaces": [`+list+`"d"]}`)}
		h := &host.Host{Facts: host.Facts{FS: fs}, Caller: host.Caller{UID: 1000, GID: 1000, Homes: []string{"/home/u"}}}
		if h.Project(root); fs.n < 4000 || fs.n > 6000 {
			t.Errorf("%s: %d names", pattern, fs.n)
		}
	}
}
