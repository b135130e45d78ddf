// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// inside is the file system of a sandbox: path to a kind, a mode in octal, and for
// a link where it leads.
type inside map[string]string

const developer = `
/usr/bin/sudo f4755
/usr/bin/env f755
/etc/passwd f644
/tmp/ d
/home/u/.gitconfig f644
/home/u/.npmrc f444
/home/u/src/app/.env f444
/home/u/src/app/tls.key f0
/home/u/src/app/.git/hooks/ d
/home/u/src/app/.git/config f644
/home/u/src/app/.vscode/set f644
/home/u/src/app/.envrc f644
/home/u/src/app/main.go f644
/home/u/src/app/out l/srv/data/shared
/home/u/src/app/n.txt l/home/u/notes
/home/u/src/app/node_modules/.bin/jest f755
`

func newInside(spec string) inside {
	fs := inside{"/": "d"}
	for _, line := range strings.Fields(strings.ReplaceAll(spec, " ", "\x00")) {
		path, what, _ := strings.Cut(line, "\x00")
		path = strings.TrimSuffix(path, "/")
		fs[path] = what
		for path != "/" {
			path = policy.Dir(path)
			if fs[path] == "" {
				fs[path] = "d"
			}
		}
	}
	return fs
}

func (f inside) Lstat(path string) (host.Info, error) {
	what := f[path]
	if what == "" {
		return host.Info{}, nil
	}
	info := host.Info{Kind: host.Dir, Mode: 0o755, UID: 1000}
	if strings.HasPrefix(path, "/usr") || strings.HasPrefix(path, "/etc") {
		info.UID = 0
	}
	switch what[0] {
	case 'f':
		mode, _ := strconv.ParseUint(what[1:], 8, 32)
		info.Kind, info.Mode = host.File, uint32(mode)
	case 'l':
		info.Kind = host.Link
	}
	return info, nil
}

func (f inside) Readlink(path string) (string, error) { return f[path][1:], nil }

func (f inside) Access(path string, rwx byte) bool {
	info, _ := f.Lstat(path)
	shift := 6
	if info.UID != 1000 {
		shift = 0
	}
	return info.Kind != host.Absent && info.Mode>>shift&map[byte]uint32{'r': 4, 'w': 2, 'x': 1}[rwx] != 0
}

var errAsked = errors.New("a hint lists and opens nothing")

func (inside) ReadDir(string) ([]host.Entry, error)           { return nil, errAsked }
func (inside) Mounts() ([]host.Mount, error)                  { return nil, errAsked }
func (inside) Head(string, int) ([]byte, error)               { return nil, errAsked }
func (inside) Content(string, host.Info, int) ([]byte, error) { return nil, errAsked }

// box is a sandbox of profile moderate, as its manifest tells of it.
func box() *Sandbox {
	mark := func(path string, a policy.Access, rule, source string) view.Rule {
		return view.Rule{Path: path, Access: a, Written: rule, Source: source}
	}
	app := "/home/u/src/app"
	return &Sandbox{
		Secret: func(path string) bool { return policy.Within(path, "/home/u/.ssh") },
		Checker: &access.Checker{FS: newInside(developer), Host: &host.Host{Caller: host.Caller{UID: 1000, Homes: []string{"/home/u"}}}, Rules: []view.Rule{
			mark("/dev/shm", policy.Private, "/dev/shm", "moderate"), mark("/etc", policy.Read, "/etc", "moderate"),
			mark("/home/u", policy.Private, "/home/u", "moderate"), mark("/home/u/.npmrc", policy.Block, "/home/u/.npmrc", "secrets"), mark("/home/u/.gitconfig", policy.Read, "/home/u/.gitconfig", "moderate"),
			mark(app, policy.Write, app, "moderate"),
			mark(app+"/.env", policy.Block, app+"/.env", "secrets"), mark(app+"/.envrc", policy.Protect, app+"/.envrc", "moderate"),
			{Path: app + "/.git", Pinned: true},
			mark(app+"/.git/hooks", policy.Protect, app+"/.git/hooks", "git = commit"),
			mark(app+"/.vscode", policy.Protect, app+"/.vscode", "moderate"), mark(app+"/tls.key", policy.Block, app+"/*.key", "secrets"),
			mark("/tmp", policy.Private, "/tmp", "moderate"), mark("/usr", policy.Read, "/usr", "moderate"),
		}},
		CWD: app, Home: "/home/u", PATH: "/usr/bin:/bin",
		Setting: func(key string) (string, string) {
			return map[string]string{"allow_network": "false", "seccomp": "default", "tmpfs_limit_mb": "2048", "memory_limit_mb": "0"}[key],
				map[string]string{"allow_network": "moderate", "seccomp": "moderate"}[key]
		},
		Full: func(string) bool { return false },
	}
}

// after is the line after a script has failed, but for what fits any failure.
func after(b *Sandbox, say engine.Hints, status int, script string) string {
	if say.Tool == "" {
		say.Skip = 3 // only the flags
	}
	line := Line(b, say, status, []string{"sh", "-c", script})
	if strings.HasPrefix(line, "hidden here, ") { // see TestBlank
		return ""
	}
	return line
}

const secret = " holds secrets and is not visible in the sandbox (moderate: private_paths ~)"

const unseen = " is not visible in the sandbox (moderate: private_paths ~)"

func TestFiles(t *testing.T) {
	for script, want := range map[string]string{
		// Hidden by a mount of its own.
		"grep A .env":           "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env); to let the command see the secret: sbx -r .env",
		"grep A .env.none":      "",
		"echo A=b >> .env":      "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env); to allow: sbx -w .env",
		"openssl x -in tls.key": "~/src/app/tls.key is hidden (secrets: blocked_paths ~/src/app/*.key); to let the command see the secret: sbx -r tls.key",
		// Not inside; whether the host has it is not known.
		"cat ~/.ssh/id_rsa":       "~/.ssh/id_rsa" + secret + "; to allow, if it exists: sbx -r ~/.ssh/id_rsa",
		"echo x > ~/.ssh/config":  "~/.ssh" + secret + "; to allow: mkdir -p ~/.ssh && sbx -w ~/.ssh",
		"cat ~/.ssh/*":            "~/.ssh" + secret + "; to allow, if it exists: sbx -r ~/.ssh",
		"cat ~/notes":             "~/notes" + unseen + "; to allow, if it exists: sbx -r ~/notes",
		"cat ../other/x ../other": "~/src/other/x" + unseen + "; to allow, if it exists: sbx -r ../other/x",
		"cat '/home/u/odd name'":  `"/home/u/odd name"` + unseen + "; to allow, if it exists: sbx -r '/home/u/odd name'",
		"cat /tmp/other":          "/tmp/other is not visible in the sandbox (moderate: private_paths /tmp); to allow, if it exists: sbx -r /tmp/other",
		"cat /srv/data/x":         "/srv/data/x is not visible in the sandbox (no rule opens it); to allow, if it exists: sbx -r /srv/data/x",
		"fetch /api/v1":           "", // no directory that hosts have
		"cd ~/src/other && make":  "~/src/other" + unseen + "; to allow, if it exists: sbx -r ../other",
		"cp main.go ~/o/b":        "~/o" + unseen + "; to allow: mkdir -p ~/o && sbx -w ~/o",
		"cp main.go ~/o/":         "~/o" + unseen + "; to allow: mkdir -p ~/o && sbx -w ~/o",
		"cp a ~/o":                "",
		"cc -I$HOME/o x.c":        "~/o" + unseen + "; to allow, if it exists: sbx -r ~/o",
		"node --env-file=.env x":  "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env); to let the command see the secret: sbx -r .env",
		// A link in the project that leads out of it.
		"ls out/":          "~/src/app/out leads to /srv/data/shared, which is not visible in the sandbox (no rule opens it); to allow, if it exists: sbx -r /srv/data/shared",
		"cat n.txt":        "~/src/app/n.txt leads to ~/notes, which" + unseen + "; to allow, if it exists: sbx -r ~/notes",
		"make n.txt":       "~/src/app/n.txt leads to ~/notes, which" + unseen + "; to allow, if it exists: sbx -r ~/notes",
		"cp main.go out/b": "/srv/data/shared is not visible in the sandbox (no rule opens it); to allow: mkdir -p /srv/data/shared && sbx -w /srv/data/shared",
		// A file that is mounted by itself can be changed, and not be replaced. What is
		// removed is not missed.
		"chmod 600 ~/notes":                   "~/notes" + unseen + "; to allow, if it exists: sbx -w ~/notes",
		"rm ~/notes":                          "",
		"mv ~/notes x":                        "",
		"rm -f ~/notes; sed -i x ~/none":      "~/none" + unseen + ": what replaces a file there has to run outside",
		"sed -i s,a,b, ~/d/x":                 "~/d" + unseen + "; to allow, if it exists: sbx -w ~/d",
		"python3 -c 'open(\"/home/u/x\")'":    "~/x" + unseen + "; to allow, if it exists: sbx -r ~/x",
		"node -p 'f(\"~/x\", \"/api/v1\")'":   "~/x" + unseen + "; to allow, if it exists: sbx -r ~/x",
		"python3 -c 'print(\"a /home/u/x\")'": "",
		"sed -i s,a,b, .vscode/set":           "~/src/app/.vscode/set is protected, since the host may run or read it later (moderate: protected_paths ~/src/app/.vscode); to allow: sbx -w .vscode",
		// Words that are no files, and commands that have no part in the status.
		"pytest -q --ignore ~/notes":        "",
		"pytest -q --ignore=/home/u/notes":  "",
		"grep -r zz . --exclude .env":       "",
		"git check-ignore .env":             "",
		"git ls-files --error-unmatch .env": "",
		"git add .env":                      "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env); to let the command see the secret: sbx -r .env",
		"test ~/notes = b":                  "",
		"test -s ~/notes":                   "~/notes" + unseen + "; to allow, if it exists: sbx -r ~/notes",
		"[ -s ~/notes -a b = ~/link ]":      "~/notes" + unseen + "; to allow, if it exists: sbx -r ~/notes",
		"[[ -s ~/notes && x = y ]]":         "~/notes" + unseen + "; to allow, if it exists: sbx -r ~/notes",
		"rm -r ~/src/other/x; gcc e.c":      "",
		"ls .env; gcc e.c":                  "",
		"ls .env | head && gcc e.c":         "",
		"set -e; ls .env; gcc e.c":          "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env); to let the command see the secret: sbx -r .env",
		"command -v sudo; exit 3":           "",
		"command -v sudo":                   "",
		"sudo x; exit 3":                    "",
		"source .env":                       "", // this shell need not have it
		". ./.env":                          "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env); to let the command see the secret: sbx -r .env",
		"strace --bogus":                    "",
		"gdb --bogus":                       "",
		"cat ~ / /tmp /home /proc/1/mem /dev/kmem /etc/shadow /usr/none none": "",
		"mkdir -p /tmp/other && cat /tmp/other":                               "",
		"echo ~/notes; false":                                                 "",
		"cat ~/notes 2>/dev/null; false":                                      "",
		// Read-only, where the caller may write.
		"echo x > .vscode/new":                 "~/src/app/.vscode/new is protected, since the host may run or read it later (moderate: protected_paths ~/src/app/.vscode); to allow: sbx -w .vscode",
		"mkdir -p .vscode; false":              "",
		"rm .envrc":                            "~/src/app/.envrc is protected, since the host may run or read it later (moderate: protected_paths ~/src/app/.envrc); to allow: sbx -w .envrc",
		"echo x > .git/hooks/pre-commit":       "~/src/app/.git/hooks/pre-commit is protected, since the host may run or read it later (git = commit); to allow: sbx --git full",
		"touch ~/.gitconfig":                   "~/.gitconfig is read-only (moderate: readonly_paths ~/.gitconfig); to allow: sbx -w ~/.gitconfig",
		"touch /usr/x /etc/x; rm /usr/bin/env": "",
		"touch a; rm -rf sub; sed -i s,a,b, main.go; echo x > sub/y": "",
		"touch /tmp/x ~/x; mkdir -p ~/a/b":                           "",
		"touch ~/.config/sbx/x":                                      "~/.config/sbx is not visible in the sandbox (moderate: private_paths ~): sbx keeps its own files there, and that is never made writable",
		// Programs.
		"sudo make install": "sudo gains no privileges in a sandbox: run what needs them outside",
		"doas make install": "",
		"strace -f make":    "no process can inspect another here (moderate: seccomp = default); to let strace work: sbx --seccomp dev",
	} {
		if got := after(box(), engine.Hints{}, 1, script); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
}

func TestPrograms(t *testing.T) {
	say := engine.Hints{Lost: []string{"/home/u/bin2", "/nowhere"}}
	for script, want := range map[string]string{
		"tool x":              "tool was not found, and directories of PATH are not visible in the sandbox: ~/bin2, /nowhere; to allow the first: sbx -r ~/bin2",
		"env A=b tool":        "tool was not found, and directories of PATH are not visible in the sandbox: ~/bin2, /nowhere; to allow the first: sbx -r ~/bin2",
		"env -- x; env":       "",
		"echo tool; exit 127": "",
	} {
		if got := after(box(), say, 127, script); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
		if got := after(box(), say, 126, script); got != "" {
			t.Errorf("%s: %s", script, got)
		}
	}
}

// Where the working directory has another name inside, words are about that
// one and remedies about the host's.
func TestElsewhere(t *testing.T) {
	b := box()
	for i := range b.Rules {
		b.Rules[i].Path = strings.Replace(b.Rules[i].Path, "/home/u/src/app", "/workspace", 1)
	}
	b.FS, b.CWD = newInside(strings.ReplaceAll(developer, "/home/u/src/app", "/workspace")), "/workspace"
	say := engine.Hints{Remap: "/workspace", CWD: "/home/u/src/app"}
	for script, want := range map[string]string{
		"grep A /workspace/.env": "/workspace/.env is hidden (secrets: blocked_paths ~/src/app/.env); to let the command see the secret: sbx -r .env",
		"grep A .env":            "/workspace/.env is hidden (secrets: blocked_paths ~/src/app/.env); to let the command see the secret: sbx -r .env",
		"echo x > .vscode/new":   "/workspace/.vscode/new is protected, since the host may run or read it later (moderate: protected_paths ~/src/app/.vscode); to allow: sbx -w .vscode",
	} {
		if got := after(b, say, 1, script); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
}

// Who pastes a remedy runs nothing by it, and no name writes to the terminal.
func TestRemediesArePasted(t *testing.T) {
	for word, want := range map[string]string{
		"/srv/z$(touch P)": `"/srv/z$(touch P)" is not visible in the sandbox (no rule opens it); to allow, if it exists: sbx -r '/srv/z$(touch P)' -- cat '/srv/z$(touch P)'`,
		"/srv/\x1b[31m`x`": `"/srv/\x1b[31m` + "`x`" + `" is not visible in the sandbox (no rule opens it); to allow, if it exists: sbx -r $'/srv/\033[31m` + "`x`" + `' -- cat $'/srv/\033[31m` + "`x`" + `'`,
	} {
		if got := Line(box(), engine.Hints{}, 1, []string{"cat", word}); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

// A shim hands all words on: flags stand in a variable.
func TestShim(t *testing.T) {
	say := engine.Hints{Tool: "git"}
	for script, want := range map[string]string{
		"grep A .env":            "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env); to let the command see the secret: SBX_FLAGS='-r .env' sh -c 'grep A .env'",
		"cat '/home/u/odd name'": `"/home/u/odd name"` + unseen + `; to allow, if it exists: SBX_FLAGS='-r '\''/home/u/odd name'\''' sh -c 'cat '\''/home/u/odd name'\'''`,
		"strace -f make":         "no process can inspect another here (moderate: seccomp = default); to let strace work: SBX_FLAGS='--seccomp dev' sh -c 'strace -f make'",
		"touch .git/hooks/x":     "~/src/app/.git/hooks/x is protected, since the host may run or read it later (git = commit); to allow: SBX_FLAGS='--git full' sh -c 'touch .git/hooks/x'",
	} {
		if got := after(box(), say, 1, script); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
	say.Flags = "--net"
	if got := after(box(), say, 1, "strace -f make"); !strings.HasSuffix(got, `; to let strace work: SBX_FLAGS='--net --seccomp dev' sh -c 'strace -f make'`) {
		t.Error(got)
	}
}

// The root user may write the system, and no sandbox lets it.
func TestRoot(t *testing.T) {
	b := box()
	b.Host.UID = 0
	want := "/usr/x is read-only (moderate: readonly_paths /usr): /usr belongs to the system (/usr) and is never made writable"
	if got := after(b, engine.Hints{}, 1, "touch /usr/x"); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// Who has no flags is told of the file.
func TestConfig(t *testing.T) {
	say := engine.Hints{Config: true}
	for script, want := range map[string]string{
		"cat ~/notes":                    "~/notes" + unseen + "; to allow, if it exists: readonly_paths = [\"/home/u/notes\"] in a profile",
		"cp a ~/src/other/b":             "~/src/other" + unseen + "; to allow: mkdir -p ~/src/other, then writable_paths = [\"/home/u/src/other\"] in a profile",
		"grep A .env":                    "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env); no configuration file can undo that; to let the command see the secret: sbx -r ~/src/app/.env",
		"openssl x -in tls.key":          "~/src/app/tls.key is hidden (secrets: blocked_paths ~/src/app/*.key); to let the command see the secret: readonly_paths = [\"/home/u/src/app/tls.key\"] in a profile",
		"echo x > .git/hooks/pre-commit": "~/src/app/.git/hooks/pre-commit is protected, since the host may run or read it later (git = commit); to allow: git = \"full\" in a profile",
		"gdb x":                          "no process can inspect another here (moderate: seccomp = default); to let gdb work: seccomp = \"dev\" in a profile",
	} {
		if got := after(box(), say, 1, script); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
	say = engine.Hints{Config: true, Agent: "claude"}
	if got, want := after(box(), say, 1, "grep A .env"), "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env); to let the command see the secret: sbx agent -r ~/src/app/.env claude"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// What the administrator locked is no remedy.
func TestLocked(t *testing.T) {
	for key, want := range map[string]string{
		"readonly_paths":  "(secrets: blocked_paths ~/src/app/.env); the administrator has locked that",
		"blocked_paths":   "(secrets: blocked_paths ~/src/app/.env); the administrator has locked that",
		"default_profile": "(secrets: blocked_paths ~/src/app/.env); the administrator has locked that",
		"writable_paths":  "(secrets: blocked_paths ~/src/app/.env); to let the command see the secret: sbx -r .env",
	} {
		if got := after(box(), engine.Hints{Locked: []string{key}}, 1, "grep A .env"); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s", key, got)
		}
	}
}

// A limit that was asked for in this run is named after any failure that may be of its
// doing, and one of a profile where that is certain.
func TestLimits(t *testing.T) {
	const size, procs = "file_size_limit_mb", "procs"
	for _, tt := range []struct {
		key, value, source string
		status, begun      int
		want               string
	}{
		{size, "1", "--file-size", 153, 9, "it was ended since a file may not grow beyond 1 MiB here (--file-size); to allow twice that: sbx --file-size 2M"},
		{size, "1", "--file-size", 1, 9, "no file may grow beyond 1 MiB here (--file-size); to allow twice that: sbx --file-size 2M"},
		{size, "0.0625", "--file-size", 2, 9, "no file may grow beyond 64 KiB here (--file-size); to allow twice that: sbx --file-size 128K"},
		{size, "1", "--file-size", 127, 9, ""},
		{size, "1", "work", 1, 9, ""},
		{size, "1", "work", 153, 9, "it was ended since a file may not grow beyond 1 MiB here (work: file_size_limit_mb = 1); to allow twice that: sbx --file-size 2M"},
		{procs, "5", "--procs", 1, 5, "it began 5 processes and threads, of which no more than 5 may run at a time (--procs); to allow twice as many: sbx --procs 10"},
		{procs, "5", "--procs", 1, 4, ""},
		{procs, "5", "--procs", 137, 9, ""},
		{procs, "5", "work", 1, 9, ""},
		{procs, "5", "work", 254, 9, "it began 9 processes and threads, of which no more than 5 may run at a time (work: procs = 5); to allow twice as many: sbx --procs 10"},
	} {
		b := box()
		b.Begun = tt.begun
		b.Setting = func(key string) (string, string) {
			if key == tt.key {
				return tt.value, tt.source
			}
			return "", ""
		}
		if got := Line(b, engine.Hints{Skip: 2}, tt.status, []string{"tar", "x"}); got != tt.want && (tt.want != "" || !strings.HasPrefix(got, "hidden here")) {
			t.Errorf("%+v\n got %s", tt, got)
		}
	}
}

// A client of a daemon of the host's is told that the socket is not visible.
func TestDaemons(t *testing.T) {
	for script, want := range map[string]string{
		"docker ps":             "the socket /var/run/docker.sock is not visible in the sandbox, since who reaches it has the rights of root: run docker outside",
		"cd ..; docker compose": "the socket /var/run/docker.sock is not visible in the sandbox, since who reaches it has the rights of root: run docker outside",
		"podman run x":          "podman can make no container in a sandbox: run it outside",
	} {
		if got := after(box(), engine.Hints{}, 1, script); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
	b := box()
	b.FS = newInside(developer + "/var/run/docker.sock f666")
	if got := after(b, engine.Hints{}, 1, "docker ps"); got != "" {
		t.Error(got)
	}
}

// What does not depend on the words.
func TestUsual(t *testing.T) {
	b := box()
	run := func(status int, words ...string) string { return Line(b, engine.Hints{}, status, words) }
	if got, want := run(159, "git"), "the system call filter ended it (moderate: seccomp = default), as it does programs for another architecture, 32-bit ones among them; to run without the filter: sbx --seccomp off -- git"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	blank := "hidden here, and reads as empty: .env; to let the command see the secret: sbx -r .env -- git"
	if got := run(1, "git"); got != blank {
		t.Errorf("got %s\nwant %s", got, blank)
	}
	for status, name := range map[int]string{126: "yarn", 127: "yarn", 139: "yarn"} { // none of .env's doing
		if got := run(status, name); got != "" {
			t.Errorf("%s, %d: %s", name, status, got)
		}
	}
	b.Full = func(path string) bool { return path == "/tmp" }
	if got, want := run(1, "git"), "/tmp is full, a private directory in memory (tmpfs_limit_mb = 2048): a larger tmpfs_limit_mb in a profile makes room"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for _, words := range [][]string{nil, {"bash"}, {"bash", "-l"}, {"/bin/zsh", "-i"}} {
		if got := Line(b, engine.Hints{}, 1, words); got != "" {
			t.Errorf("%q: %s", words, got)
		}
	}
	for _, words := range [][]string{{"bash", "-c", "x"}, {"bash", "-lc", "x"}, {"bash", "file"}, {"cat"}} {
		if Line(b, engine.Hints{}, 1, words) == "" {
			t.Errorf("%q: nothing", words)
		}
	}
}

func TestNetwork(t *testing.T) {
	table := func(unrouted, discards, none, out int) string {
		n := strconv.Itoa
		return "Ip: Forwarding OutDiscards OutNoRoutes\nIp: 2 " + n(discards) + " " + n(unrouted) + "\nUdp: InDatagrams NoPorts OutDatagrams\nUdp: 0 " + n(none) + " " + n(out) + "\n"
	}
	once, often, metric := table(2, 0, 0, 0), table(20, 0, 0, 0), table(0, 0, 1, 1)
	const off = "the network is off (moderate: allow_network = false); to allow: sbx --net"
	for _, tt := range []struct {
		script, snmp string
		told         bool
	}{
		{"make", "", false}, {"make", once, true}, {"make", metric, false},
		{"npm test", once, false}, {"npm test", often, true}, {"cd x && npm run a", once, false}, {"npm ci && npm test", once, true}, {"npm ci", metric, true},
		{"curl http://x", metric, true}, {"curl http://x", "", false},
		{"npx -y cowsay", metric, true}, {"npx cowsay hi", metric, true}, {"npm exec cowsay", metric, true}, {"npx create-x@latest y", metric, true},
		{"npx jest", metric, false}, {"npx jest", once, false}, {"npm exec -- jest", once, false}, {"cd sub && npx jest", once, false}, {"npx -c 'x y'", once, false},
	} {
		b := box()
		b.Snmp = tt.snmp
		if got := after(b, engine.Hints{}, 1, tt.script); got != off && tt.told || got == off && !tt.told {
			t.Errorf("%s after %q: %s", tt.script, tt.snmp, got)
		}
	}
	b := box()
	b.Snmp = once
	if got, want := after(b, engine.Hints{Locked: []string{"allow_network"}}, 1, "make"), "the network is off (moderate: allow_network = false); the administrator has locked that"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	b.Setting = func(key string) (string, string) { return "true", "--net" }
	if got := after(b, engine.Hints{}, 1, "make"); got != "" {
		t.Error(got)
	}
}

// A server of the host's loopback does not exist inside, one of the command's own does.
func TestLoopback(t *testing.T) {
	const off = "the network is off (moderate: allow_network = false), and no server of the host's loopback is here; to allow: sbx --net"
	for script, told := range map[string]bool{"curl http://127.0.0.1:80": true, "curl localhost:80/x": true, "wget -q 'http://[::1]:8080'": true, "curl localhost": true,
		"curl http://localhostile": false, "make": false, "dial tcp 127.0.0.1:9": false} {
		for _, failed := range []string{"1", "0"} {
			for _, accepted := range []string{"0", "1"} {
				b := box()
				b.Snmp = "Tcp: ActiveOpens PassiveOpens AttemptFails\nTcp: 1 " + accepted + " " + failed + "\n"
				if got, want := after(b, engine.Hints{}, 1, script), told && failed == "1" && accepted == "0"; (got == off) != want {
					t.Errorf("%s, %s failed, %s accepted: %q", script, failed, accepted, got)
				}
			}
		}
	}
}

// Whatever a command holds, reading it ends, and the line is one.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"cat ~/x > $HOME/y 2>/dev/null || true", "cat <<E\nx\nE\n", "a $(b '(' \"$(c)\") `d` ${e", "x=(a b); f() { g; }", "a\\", "<", ">", "2>", "<<", "<<<", "&>", ">&", "\"", "'", "$", "${", "$(", "`", "~", "[", "{", "((((", "))))", "a>b<c>>d", "\x00", "eval 'eval \"x\"'", "bash -o", "cat /srv/\x1b[31m", "[[ -f x ]]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		b := box()
		for _, words := range [][]string{{"sh", "-c", script}, {"cat", script}, strings.Fields(script)} {
			line := Line(b, engine.Hints{Lost: []string{"/x"}}, 127, words)
			if i := strings.IndexFunc(line, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }); i >= 0 {
				t.Errorf("%q: %q", words, line)
			}
		}
		r := &reader{home: "/home/u", cwd: "/p", live: true, last: true}
		r.script(script, false)
		if len(r.uses) > maxUses || slices.ContainsFunc(r.uses, func(u use) bool { return u.path == "" || u.path[0] != '/' || strings.ContainsAny(u.path, "\x00\n") }) {
			t.Errorf("%q: %+v", script, r.uses)
		}
	})
}
