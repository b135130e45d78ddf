// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/tripwire"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// What variables and PATH name, before any rule and any link is looked at.
func TestTools(t *testing.T) {
	const files = `
/home/u/ uid=1000
/home/u/src/app/.venv/pyvenv.cfg = home
/home/u/jdk/bin/java x
/home/u/private/letter
/home/u/gp/pkg/mod/
/home/u/gp2/pkg/sumdb/
/home/u/cargo/registry/index/
/opt/jdk/bin/java x
/etc/bin/java x
/etc/jdk/bin/java x
/usr/bin/java x
/usr/lib/jdk/bin/java x
/srv/bin/java x
/home/bin/java x
`
	all := []string{"bin", "lib", "lib64", "libexec", "share", "include", "pyvenv.cfg"}
	in := func(dir string, parts ...string) policy.Lent {
		return policy.Lent{Name: "PATH", Dir: dir, Parts: parts}
	}
	for _, tt := range []struct {
		env  string
		want []policy.Lent
	}{
		{"JAVA_HOME=/home/u/jdk", []policy.Lent{{Name: "JAVA_HOME", Dir: "/home/u/jdk"}}},
		{"JAVA_HOME=/home/u//jdk/./", []policy.Lent{{Name: "JAVA_HOME", Dir: "/home/u/jdk"}}},
		{"JAVA_HOME=/opt/jdk", []policy.Lent{{Name: "JAVA_HOME", Dir: "/opt/jdk"}}},
		{"GOPATH=/home/u/gp:/home/u:relative::/home/u/gp2:/home/u/private", []policy.Lent{{Name: "GOPATH", Dir: "/home/u/gp"}, {Name: "GOPATH", Dir: "/home/u/gp2"}}},
		{"CARGO_HOME=/home/u/cargo", []policy.Lent{{Name: "CARGO_HOME", Dir: "/home/u/cargo"}}},
		// Not what the variable is about, or no place for it.
		{"JAVA_HOME=/home/u/private", nil}, {"JAVA_HOME=/home/u", nil}, {"JAVA_HOME=/home/u/", nil}, {"JAVA_HOME=/home", nil}, {"JAVA_HOME=/", nil}, {"JAVA_HOME=//", nil}, {"JAVA_HOME=", nil},
		{"JAVA_HOME=/etc", nil}, {"JAVA_HOME=/etc/jdk", nil}, {"JAVA_HOME=/usr", nil}, {"JAVA_HOME=/usr/lib/jdk", []policy.Lent{{Name: "JAVA_HOME", Dir: "/usr/lib/jdk"}}}, {"JAVA_HOME=/srv", nil}, {"JAVA_HOME=jdk", nil}, {"JAVA_HOME=~/jdk", nil}, {"JAVA_HOME=/home/u/src/../jdk", nil}, {"JAVA_HOME=/home/u/jdk/..", nil},
		{"JAVA_HOME=/nowhere", nil}, {"JAVA_HOME=/home/u/jdk\x00", nil}, {"JAVA_HOME=/" + strings.Repeat("x/", 40000), nil}, {"JAVA_HOME", nil},
		{"VIRTUAL_ENV=/home/u/src/app/.venv", nil}, {"VIRTUAL_ENV=/home/u/src/app", nil}, {"VIRTUAL_ENV=/home/u/src", nil},
		{"GOPATH=/home/u", nil}, {"UNKNOWN_HOME=/home/u/jdk", nil}, {"HOME=/home/u/jdk", nil},
		// PATH: below a home directory, called bin, sbin or shims.
		{"PATH=/home/u/a/bin", []policy.Lent{in("/home/u/a", all...)}},
		{"PATH=/usr/bin:/home/u/a//bin/:/opt/x/bin", []policy.Lent{in("/home/u/a", all...)}},
		{"PATH=/home/u/a/sbin:/home/u/a/shims:/home/u/a/libexec/bin", []policy.Lent{in("/home/u/a", "sbin"), in("/home/u/a", "shims"), in("/home/u/a/libexec", "bin")}},
		{"PATH=/home/u/bin:/home/u/.local/bin", []policy.Lent{in("/home/u/bin"), in("/home/u/.local/bin")}},
		{"PATH=/home/u/a:/home/u/a/Bin:/home/u/a/bin/x:bin:.:/bin:/home/bin:/home/v/bin:/home/u2/bin", nil},
		{"PATH=/home/u/src/app/bin:/home/u/src/app/node_modules/.bin:/home/u/src/bin/../../x/bin", nil},
		{"PATH=/home/u/.cache/x/bin:/home/u/.local/state/x/bin", nil},
		{"PATH=" + strings.Repeat("/usr/bin:", maxPathDirs) + "/home/u/a/bin", nil},
	} {
		h := &host.Host{
			Facts:  host.Facts{FS: newFS(t, 1000, files)},
			Caller: host.Caller{UID: 1000, Homes: []string{"/home/u"}, CWD: "/home/u/src/app", Environ: []string{tt.env}},
		}
		if d := cmp.Diff(tt.want, view.Tools(h, h.Environ)); d != "" {
			t.Errorf("%.80s (-want +got):\n%s", tt.env, d)
		}
	}
}

// lent are the paths that a run opens since a variable named them.
func lent(p *engine.Plan) []string {
	var out []string
	for _, m := range p.Report.Mounts() {
		if strings.Contains(m.Source, "$") && !m.Covered {
			out = append(out, fmt.Sprintf("%s %s (%s)", m.Word(), m.Path, m.Source))
		}
	}
	return out
}

// fnm names the version in use by a link of each shell's own, which has to be
// there inside for PATH to lead anywhere.
func TestLentLink(t *testing.T) {
	m := user(debian + home("/home/u", "1000") + "/run/user/1000/fnm/7_1 -> /home/u/.local/share/fnm/v20\n/home/u/.local/share/fnm/v20/bin/node x\n")
	m.env = []string{"PATH=/usr/bin:/run/user/1000/fnm/7_1/bin", "FNM_MULTISHELL_PATH=/run/user/1000/fnm/7_1"}
	m.command = []string{"node"}
	p, _, err := m.plan(t)
	if err != nil || p.Report.Command != "/run/user/1000/fnm/7_1/bin/node" {
		t.Fatal(p, err)
	}
	m.env = m.env[:1]
	if _, _, err := m.plan(t); err == nil {
		t.Error("it is found without the variable, too")
	}
}

// What becomes of them in a run: whoever sets a variable opens toolchains, to
// be read, and nothing else.
func TestLend(t *testing.T) {
	const tools = `
/home/u/jdk/bin/java x
/home/u/jdk/lib/
/home/u/jdk/secret
/home/u/.sdk/jdk -> ../jdk
/home/u/tools/bin/tool x
/home/u/tools/lib/
/home/u/tools/share/
/home/u/tools/private
/home/u/private/letter
/home/u/private/bin/java x
/home/u/private/lib/
`
	java := []string{"read /home/u/jdk/bin (java, $JAVA_HOME)", "read /home/u/jdk/lib (java, $JAVA_HOME)"}
	for _, tt := range []struct {
		name, env, more string
		change          func(m *machine)
		want            []string
	}{
		{"a JDK", "JAVA_HOME=/home/u/jdk", "", nil, java},
		{"through a link", "JAVA_HOME=/home/u/.sdk/jdk", "", nil, java},
		{"with the list of strict", "JAVA_HOME=/home/u/jdk", "", func(m *machine) { m.profiles = []string{"strict", "java"} }, java},
		{"not in strict", "JAVA_HOME=/home/u/jdk", "", func(m *machine) { m.profiles = []string{"strict"} }, nil},
		{"not another module's", "JAVA_HOME=/home/u/jdk", "", func(m *machine) { m.profiles = []string{"strict", "node"} }, nil},
		{"with Landlock", "JAVA_HOME=/home/u/jdk", "", func(m *machine) { m.landlock = 7 }, java},
		{"open already", "JAVA_HOME=/home/u/jdk", "", func(m *machine) { m.profiles = []string{"permissive"} }, nil},
		{"one entry of a list", "GOPATH=/home/u:/home/u/gp", "/home/u/gp/pkg/mod/x\n/home/u/gp/src/x\n/home/u/pkg/mod/\n", nil, []string{"read /home/u/gp/pkg/mod (go, $GOPATH)"}},
		{"where a file replaces the list", "JAVA_HOME=/home/u/jdk PATH=/usr/bin:/home/u/tools/bin", "", func(m *machine) {
			m.over.Read = flagPaths("--x", "/usr", "/bin", "/lib", "/lib64")
			m.over.Read.Replace = true
		}, nil},
		// Hidden things stay hidden, whatever way leads there.
		{"in a secret", "NVM_DIR=/home/u/.ssh", "/home/u/.ssh/versions/node/key\n/home/u/.ssh/nvm.sh = x\n", nil, nil},
		{"link to a secret", "NVM_DIR=/home/u/nvm", "/home/u/nvm -> .ssh\n/home/u/.ssh/versions/node/key\n", nil, nil},
		{"link into a secret", "NVM_DIR=/home/u/nvm", "/home/u/nvm/versions -> ../.ssh\n/home/u/.ssh/node/key\n", nil, nil},
		{"a secret elsewhere", "NVM_DIR=/home/u/dots/ssh", "/home/u/.ssh gone\n/home/u/.ssh -> dots/ssh\n/home/u/dots/ssh/versions/node/key\n", nil, nil},
		{"a secret of a variable's", "KUBECONFIG=/home/u/jdk JAVA_HOME=/home/u/jdk", "", nil, nil},
		{"hidden by a flag", "JAVA_HOME=/home/u/jdk", "", func(m *machine) { m.over.Block = flagPaths("--block", "/home/u/jdk") }, nil},
		{"a secret in a toolchain", "CARGO_HOME=/home/u/cargo", "/home/u/cargo/registry/index/x\n/home/u/cargo/credentials.toml\n", nil, []string{"read /home/u/cargo/registry (rust, $CARGO_HOME)"}},
		// A toolchain's parts do not lead out of it.
		{"link out", "JAVA_HOME=/home/u/fake", "/home/u/fake/bin/java x\n/home/u/fake/lib -> ../private\n", nil, []string{"read /home/u/fake/bin (java, $JAVA_HOME)"}},
		{"link to home", "JAVA_HOME=/home/u/fake", "/home/u/fake/bin/java x\n/home/u/fake/lib -> ..\n/home/u/fake/conf -> .\n", nil, []string{"read /home/u/fake/bin (java, $JAVA_HOME)"}},
		{"home behind a link", "ASDF_DATA_DIR=/srv/gm", "/srv/gm -> /home/u\n/home/u/installs/x\n", nil, nil},
		{"the system behind a link", "ASDF_DATA_DIR=/home/u/gm", "/home/u/gm -> /var\n/var/installs/x\n", nil, nil},
		{"/etc", "CARGO_HOME=/etc", "/etc/registry/index/\n", func(m *machine) { m.profiles = []string{"strict", "rust"} }, nil},
		{"the directory above the project", "ASDF_DATA_DIR=/home/u/src", "/home/u/src/installs/x\n", nil, nil},
		{"a link in the project", "JAVA_HOME=/home/u/src/app/jdk", "/home/u/src/app/jdk -> ../../private\n", nil, nil},
		{"a link to the project", "ASDF_DATA_DIR=/home/u/gm", "/home/u/gm -> src/app\n/home/u/src/app/installs/x\n", nil, nil},
		// Another project's sources, whatever a command left among them.
		{"a work tree", "JAVA_HOME=/home/u/jdk", "/home/u/jdk/.git/config\n", nil, nil},
		{"a linked work tree", "JAVA_HOME=/home/u/jdk", "/home/u/jdk/.git\n", nil, nil},
		{"in a work tree", "JAVA_HOME=/home/u/x/y/jdk", "/home/u/x/.hg/\n/home/u/x/y/jdk/bin/java x\n", nil, nil},
		{"in none", "JAVA_HOME=/home/u/x/y/jdk", "/home/u/x/y/jdk/bin/java x\n", nil, []string{"read /home/u/x/y/jdk/bin (java, $JAVA_HOME)"}},
		{"a part that is a work tree", "JAVA_HOME=/home/u/jdk", "/home/u/jdk/lib/.git/config\n", nil, java[:1]},
		{"a link to a work tree", "JAVA_HOME=/home/u/x", "/home/u/x -> jdk\n/home/u/jdk/.svn/\n", nil, nil},
		{"a home that is one", "JAVA_HOME=/home/u/jdk", "/home/u/.git/config\n", nil, java},
		{"another project's environment", "VIRTUAL_ENV=/home/u/x/.venv", "/home/u/x/.git/config\n/home/u/x/.venv/pyvenv.cfg = home\n/home/u/x/.venv/lib/\n", nil, nil},
		{"an environment of no project's", "VIRTUAL_ENV=/home/u/x/.venv", "/home/u/x/.venv/pyvenv.cfg = home\n/home/u/x/.venv/lib/\n", nil, []string{"read /home/u/x/.venv/lib (python, $VIRTUAL_ENV)", "read /home/u/x/.venv/pyvenv.cfg (python, $VIRTUAL_ENV)"}},
		{"where sandboxes ran", "JAVA_HOME=/home/u/jdk", "/home/u/.cache/sbx/" + view.CacheName("/home/u/jdk", 1000) + "/\n", nil, nil},
		{"where they ran without a cache", "JAVA_HOME=/home/u/jdk", "/home/u/.local/state/sbx/tripwire/" + tripwire.FileName("/home/u/jdk") + "\n", nil, nil},
		{"above which they ran", "JAVA_HOME=/home/u/x/y/jdk", "/home/u/x/y/jdk/bin/java x\n/home/u/.cache/sbx/" + view.CacheName("/home/u/x", 1000) + "/\n", nil, nil},
		{"where they could leave the mark", "JAVA_HOME=/home/u/jdk", "/home/u/.cache/sbx/" + view.CacheName("/home/u/jdk/bin", 1000) + "/\n", nil, nil},
		{"that say the home is all data", "XDG_DATA_HOME=/home/u/jdk JAVA_HOME=/home/u/jdk/jre", "/home/u/jdk/jre/bin/java x\n/home/u/jdk/.git/config\n", nil, nil},
		{"where others ran them", "JAVA_HOME=/home/u/jdk", "/home/u/.cache/sbx/" + view.CacheName("/home/u/jdk", 1001) + "/\n/home/u/.cache/sbx/" + view.CacheName("/home/u", 1000) + "/\n", nil, java},
		{"a program that is none", "JAVA_HOME=/home/u/fake", "/home/u/fake/bin/java = x\n", nil, nil},
		{"an empty program", "JAVA_HOME=/home/u/fake", "/home/u/fake/bin/java x empty\n", nil, nil},
		{"a directory of its name", "JAVA_HOME=/home/u/fake", "/home/u/fake/bin/java/\n", nil, nil},
		{"a link to nothing", "JAVA_HOME=/home/u/fake", "/home/u/fake/bin/java -> x\n", nil, nil},
		{"a link to a program", "JAVA_HOME=/home/u/fake", "/home/u/fake/bin/java -> x\n/home/u/fake/bin/x x\n", nil, []string{"read /home/u/fake/bin (java, $JAVA_HOME)"}},
		{"an empty mark", "VIRTUAL_ENV=/home/u/x", "/home/u/x/pyvenv.cfg\n/home/u/x/lib/\n", nil, nil},
		{"a file for a directory", "ASDF_DATA_DIR=/home/u/x", "/home/u/x/installs = x\n", nil, nil},
		// Another user's.
		{"another home", "JAVA_HOME=/home/o/jdk", "/home/o/ uid=1001\n/home/o/jdk/bin/java x\n", nil, nil},
		{"root's in another home", "JAVA_HOME=/home/o/jdk", "/home/o/ uid=1001\n/home/o/jdk/ uid=0\n/home/o/jdk/bin/java x\n", nil, nil},
		{"the caller's in another home", "JAVA_HOME=/home/o/jdk", "/home/o/ uid=1001\n/home/o/jdk/ uid=1000\n/home/o/jdk/bin/java x\n", nil, nil},
		{"a part of another's", "JAVA_HOME=/home/u/jdk", "/home/u/jdk/lib/ uid=1001\n", nil, java[:1]},
		{"root's", "JAVA_HOME=/data/jdk", "/data/jdk/bin/java x uid=0\n", nil, []string{"read /data/jdk/bin (java, $JAVA_HOME)"}},
		// What all programs keep something in, the private cache above all.
		{"the cache", "JAVA_HOME=/home/u/.cache", "/home/u/.cache/bin/java x\n", nil, nil},
		{"in the cache", "JAVA_HOME=/home/u/.cache/jdk", "/home/u/.cache/jdk/bin/java x\n", nil, nil},
		{"the cache elsewhere", "XDG_CACHE_HOME=/home/u/c JAVA_HOME=/home/u/c/jdk", "/home/u/c/jdk/bin/java x\n", nil, nil},
		{"a link to the cache", "JAVA_HOME=/home/u/x", "/home/u/x -> .cache/jdk\n/home/u/.cache/jdk/bin/java x\n", nil, nil},
		{"a cache behind a link", "JAVA_HOME=/home/u/c/jdk", "/home/u/.cache gone\n/home/u/.cache -> c\n/home/u/c/jdk/bin/java x\n", nil, nil},
		{"what holds the cache", "JAVA_HOME=/home/u/c", "/home/u/.cache gone\n/home/u/.cache -> c/d\n/home/u/c/d/\n/home/u/c/bin/java x\n", nil, nil},
		{"in the state", "JAVA_HOME=/home/u/.local/state/jdk", "/home/u/.local/state/jdk/bin/java x\n", nil, nil},
		{"what holds the data", "VIRTUAL_ENV=/home/u/.local", "/home/u/.local/pyvenv.cfg = home\n/home/u/.local/lib64/\n", nil, nil},
		{"the settings", "JAVA_HOME=/home/u/.config", "/home/u/.config/bin/java x\n", nil, nil},
		{"in the data", "JAVA_HOME=/home/u/.local/share/jdk", "/home/u/.local/share/jdk/bin/java x\n", nil, []string{"read /home/u/.local/share/jdk/bin (java, $JAVA_HOME)"}},
		{"of sbx", "JAVA_HOME=/home/u/.local/share/sbx/jdk", "/home/u/.local/share/sbx/jdk/bin/java x\n", nil, nil},
		{"modules of Go", "GOMODCACHE=/home/u/gm", "/home/u/gm/cache/download/x\n/home/u/gm/github.com/x\n", nil, nil},
		// What a person wrote of a place stands.
		{"in a writable tree", "JAVA_HOME=/srv/out/jdk", "/srv/out/jdk/bin/java x uid=1000\n", func(m *machine) { m.over.Write = flagPaths("--allow-write", "/srv/out") }, nil},
		{"a link in a writable tree", "JAVA_HOME=/srv/out/jdk", "/srv/out/ uid=1000\n/srv/out/jdk -> /home/u/private\n", func(m *machine) { m.over.Write = flagPaths("--allow-write", "/srv/out") }, nil},
		{"in a private tree", "JAVA_HOME=/home/u/jdk", "", func(m *machine) {
			m.over.Private = policy.List{Items: []policy.Item{{Text: "/home/u/jdk", Layer: policy.User, Source: "x"}}}
		}, nil},
		{"too long", "JAVA_HOME=/home/u/" + strings.Repeat("x", 5000), "", nil, nil},
		// PATH
		{"a prefix in PATH", "PATH=/usr/bin:/home/u/tools/bin", "", nil, []string{"read /home/u/tools/bin (path, $PATH)", "read /home/u/tools/lib (path, $PATH)", "read /home/u/tools/share (path, $PATH)"}},
		{"PATH in strict", "PATH=/usr/bin:/home/u/tools/bin", "", func(m *machine) { m.profiles = []string{"strict", "node"} }, nil},
		{"a work tree in PATH", "PATH=/usr/bin:/home/u/tools/bin", "/home/u/tools/.git/config\n", nil, []string{"read /home/u/tools/bin (path, $PATH)"}},
		{"bin that leads away", "PATH=/usr/bin:/home/u/clone/bin", "/home/u/clone/bin -> ../private\n", nil, nil},
		{"lib that leads away", "PATH=/usr/bin:/home/u/clone/bin", "/home/u/clone/bin/x x\n/home/u/clone/lib -> ../private\n", nil, []string{"read /home/u/clone/bin (path, $PATH)"}},
		{"bin that is the home", "PATH=/usr/bin:/home/u/sbin", "/home/u/sbin -> .\n", nil, nil},
		{"bin that is everything", "PATH=/usr/bin:/home/u/sbin", "/home/u/sbin -> /\n", nil, nil},
		{"a secret in PATH", "PATH=/usr/bin:/home/u/.ssh/bin", "/home/u/.ssh/bin/x x\n", nil, nil},
		{"the link of a secret in PATH", "PATH=/usr/bin:/home/u/x/bin", "/home/u/x/bin -> ../.ssh\n", nil, nil},
		{"known already", "PATH=/usr/bin:/home/u/.cargo/bin:/home/u/.local/bin", "", nil, nil},
		{"too many", "PATH=/usr/bin" + strings.Repeat(":/home/u/tN/bin", 20), strings.Repeat("/home/u/tN/bin/x x\n", 20), func(m *machine) {
			for i := range 20 {
				m.env[0] = strings.Replace(m.env[0], "tN", fmt.Sprintf("t%02d", i), 1)
				m.more = strings.Replace(m.more, "tN", fmt.Sprintf("t%02d", i), 1)
			}
		}, func() (out []string) {
			for i := range maxPathFound {
				out = append(out, fmt.Sprintf("read /home/u/t%02d/bin (path, $PATH)", i))
			}
			return out
		}()},
		{"no such directories", "PATH=/usr/bin:/home/u/none/bin", "", nil, nil},
		{"a link to what is open", "FNM_MULTISHELL_PATH=/run/user/1000/fnm/7_1", "/run/user/1000/fnm/7_1 -> /home/u/.local/share/fnm/v20\n/home/u/.local/share/fnm/v20/bin/node x\n", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := user(debian + home("/home/u", "1000") + repo("/home/u/src/app") + tools)
			m.more, m.env = tt.more, strings.Fields(tt.env)
			if tt.change != nil {
				tt.change(&m)
			}
			p, _, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, lent(p)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			for _, path := range []string{"/home/u/private/letter", "/home/u/.ssh/id_rsa", "/home/u/dots/ssh/versions/node/key", "/home/u/jdk/secret", "/home/u/tools/private", "/home/u/cargo/credentials.toml"} {
				if a := p.Report.View.Access(path); view.Shows(a) && m.profiles[0] != "permissive" {
					t.Errorf("%s: %s", path, a)
				}
			}
			if a := p.Report.View.Access("/home/u/src/app/x"); a != policy.Write && m.profiles[0] != "strict" {
				t.Errorf("the project: %s", a)
			}
		})
	}
}

// What is another user's stays shut to root, too, and what is root's is lent.
func TestLendToRoot(t *testing.T) {
	for dir, want := range map[string]bool{"/home/o/jdk": false, "/home/o/roots": false, "/srv/roots": true, "/srv/o": false} {
		m := user(debian + home("/root", "0") + repo("/root/src/app") + "/home/o/ uid=1001\n/home/o/jdk/bin/java x\n/home/o/roots/ uid=0\n/home/o/roots/bin/java x\n/srv/roots/ uid=0\n/srv/roots/bin/java x\n/srv/o/ uid=1001\n/srv/o/bin/java x\n")
		m.uid, m.env = 0, []string{"HOME=/root", "JAVA_HOME=" + dir}
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		if got := lent(p); (len(got) > 0) != want {
			t.Errorf("%s: %v", dir, got)
		}
	}
}

// Whatever stands in the environment, a plan can be made, the project stays
// writable, and nothing that is hidden or that no one named is shown.
func FuzzLend(f *testing.F) {
	for _, s := range []string{"JAVA_HOME=/home/u/jdk", "PATH=/home/u/tools/bin:/home/u/.ssh", "ASDF_DATA_DIR=/home/u/.ssh", "GOPATH=::/home/u:/", "NVM_DIR=/home/u/.ssh/..", "VIRTUAL_ENV=/proc/self/root/home/u", "CARGO_HOME=\xff/\n"} {
		f.Add(s, "JAVA_HOME=/x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.IndexByte(a+b, 0) >= 0 || strings.HasPrefix(a, "PWD=") || strings.HasPrefix(b, "PWD=") {
			t.Skip() // no environment has a NUL
		}
		m := user(debian + home("/home/u", "1000") + repo("/home/u/src/app") + "/home/u/jdk/bin/java x\n/home/u/tools/bin/x x\n/home/u/tools/lib/x\n/home/u/letter\n/home/u/.ssh/installs/x\n")
		m.env, m.command = []string{a, b}, []string{"/bin/sh"}
		p, _, err := m.plan(t)
		if err != nil {
			for _, name := range policy.LentNames() {
				if strings.HasPrefix(a, name+"=") && strings.HasPrefix(b, name+"=") {
					t.Error(err)
				}
			}
			return
		}
		for _, path := range []string{"/home/u/letter", "/home/u/.ssh/id_rsa", "/home/u/.aws/credentials", "/home/u/src/other", "/home/u"} {
			if a := p.Report.View.Access(path); view.Shows(a) {
				t.Errorf("%s: %s", path, a)
			}
		}
		if a := p.Report.View.Access("/home/u/src/app/x"); a != policy.Write {
			t.Errorf("the project: %s", a)
		}
		for _, m := range p.Report.Mounts() {
			if m.Access == policy.Write && m.Path != "/home/u/src/app" && !strings.HasPrefix(m.Path, "/home/u/src/app/") && m.Source != view.SourceCache {
				t.Errorf("%s is writable (%s)", m.Path, m.Source)
			}
		}
	})
}
