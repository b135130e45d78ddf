// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

func TestDescriptors(t *testing.T) {
	const own, foreign, mine = "/home/u/src/app/main.go", "/etc/passwd", "/srv/data/f"
	big := status{125, "descriptor 5 is a file of more than 64 MiB that the policy does not let the command write", "give the command a pipe instead, to or from cat"}
	const r, w, rw = 1, 2, 3
	file := func(mode int, path string) host.FD {
		return host.FD{Num: 5, Kind: host.FDFile, Path: path, Reads: mode&r != 0, Writes: mode&w != 0}
	}
	std := func(n, mode int, path string) host.FD {
		fd := file(mode, path)
		fd.Num = n
		return fd
	}
	sized := func(fd host.FD, size int64) host.FD {
		fd.Size = size
		return fd
	}
	removed := func(fd host.FD) host.FD {
		fd.Path, fd.Deleted = fd.Path+" (deleted)", true
		return fd
	}
	kernels := func(fd host.FD) host.FD {
		fd.Kernel = true
		return fd
	}
	closed := func(path string) string { return "descriptor 5 (" + path + ") closed; --keep-fd 5 passes it" }
	for _, c := range []struct {
		name             string
		fd               host.FD
		more             []host.FD
		keep             []int
		kept, copy, anew []int
		told             string
		fail             status
		byName           bool
		profile          string
	}{
		{name: "a pipe", fd: host.FD{Num: 5, Kind: host.FDPipe}, kept: []int{5}},
		{name: "a socket pair", fd: host.FD{Num: 5, Kind: host.FDPair}, kept: []int{5}},
		{name: "a file for writing", fd: file(w, foreign), told: closed(foreign)},
		{name: "a file for reading and writing", fd: file(rw, foreign), told: closed(foreign)},
		{name: "a file that may be read", fd: file(r, foreign), kept: []int{5}},
		{name: "the caller's own that may be read", fd: file(r, mine), profile: "permissive", kept: []int{5}, anew: []int{5}},
		{name: "the same for writing", fd: file(w, mine), profile: "permissive", told: closed(mine)},
		{name: "a file that is not visible", fd: file(r, mine), told: closed(mine)},
		{name: "a hidden file", fd: file(r, "/home/u/.ssh/id_rsa"), profile: "permissive", told: closed("~/.ssh/id_rsa")},
		{name: "a hidden file of the project", fd: file(r, "/home/u/src/app/.env"), told: closed("~/src/app/.env")},
		{name: "a file in a private directory", fd: file(rw, "/tmp/other"), told: closed("/tmp/other")},
		{name: "a file that may be written", fd: file(r, own), kept: []int{5}},
		{name: "the same for writing", fd: file(w, own), kept: []int{5}},
		{name: "the same for both", fd: file(rw, own), kept: []int{5}},
		{name: "a protected file", fd: file(r, "/home/u/src/app/.envrc"), kept: []int{5}, anew: []int{5}},
		{name: "the same for writing", fd: file(w, "/home/u/src/app/.envrc"), told: closed("~/src/app/.envrc")},
		{name: "a project that may be read", fd: file(w, own), profile: "strict", told: closed("~/src/app/main.go")},
		{name: "a file without a name", fd: removed(file(r, "/tmp/x")), kept: []int{5}},
		{name: "the same for both", fd: removed(file(rw, "/memfd:x")), kept: []int{5}},
		{name: "another file has the name", fd: host.FD{Num: 5, Kind: host.FDFile, Path: own, Reads: true, Ino: 99999, Dev: 1}, told: closed("~/src/app/main.go")},
		{name: "one name is gone, another is left", fd: host.FD{Num: 5, Kind: host.FDFile, Path: own + " (deleted)", Reads: true, Ino: 99999, Dev: 1}, told: closed("\"/home/u/src/app/main.go (deleted)\"")},
		{name: "a file of the kernel's", fd: kernels(file(rw, "/proc/17/mem")), told: "descriptor 5 (/proc/17/mem) closed"},
		{name: "a namespace", fd: kernels(file(r, "net:[4026531840]")), told: "descriptor 5 (net:[4026531840]) closed"},
		{name: "a big file of the caller's own", fd: sized(file(r, "/home/u/src/app/.envrc"), engine.MaxCopy+1), kept: []int{5}, anew: []int{5}},
		{name: "a big file that may be written", fd: sized(file(r, own), engine.MaxCopy+1), kept: []int{5}},
		{name: "standard output once more", fd: file(w, mine), more: []host.FD{std(1, w, mine)}, kept: []int{5}},
		{name: "standard output once more, for reading", fd: file(rw, mine), more: []host.FD{std(1, w, mine)}, told: closed(mine)},
		{name: "standard input once more", fd: file(r, mine), more: []host.FD{std(0, r, mine)}, kept: []int{5}, anew: []int{0, 5}},
		{name: "two", fd: file(r, mine), more: []host.FD{std(7, w, "/tmp/other")}, told: "descriptors 5 (/srv/data/f), 7 (/tmp/other) closed; --keep-fd N passes one"},
		{name: "many", fd: file(r, mine), more: []host.FD{std(6, r, mine), std(7, r, mine), std(8, r, mine), std(9, r, mine), std(10, r, mine)},
			told: "descriptors 5 (/srv/data/f), 6 (/srv/data/f), 7 (/srv/data/f), 8 (/srv/data/f), 2 more closed; --keep-fd N passes one"},
		{name: "by the name of a tool", fd: file(r, mine), byName: true, told: "descriptor 5 (/srv/data/f) closed; SBX_FLAGS='--keep-fd 5' passes it"},
		{name: "a directory", fd: host.FD{Num: 5, Kind: host.FDDir}},
		{name: "O_PATH", fd: host.FD{Num: 5, Kind: host.FDPathRef}},
		{name: "a device or a service", fd: host.FD{Num: 5, Kind: host.FDOther}},
		{name: "close-on-exec", fd: host.FD{Num: 5, Kind: host.FDPipe, CloseOn: true}},
		{name: "a hidden file with close-on-exec", fd: host.FD{Num: 5, Kind: host.FDFile, Path: "/home/u/.ssh/id_rsa", CloseOn: true}},
		{name: "a directory that is named", fd: host.FD{Num: 5, Kind: host.FDDir}, keep: []int{5}, kept: []int{5}},
		{name: "a file that is named", fd: file(w, "/home/u/.ssh/id_rsa"), keep: []int{5}, kept: []int{5}},
		{name: "one that is not open", fd: host.FD{Num: 5, Kind: host.FDPipe}, keep: []int{6}, fail: status{125, "--keep-fd 6: the descriptor is not open", ""}},
		{name: "stdin is named", fd: host.FD{Num: 0, Kind: host.FDPipe}, keep: []int{0}},
		{name: "stdin is a terminal", fd: host.FD{Num: 0, Kind: host.FDOther}},
		{name: "stdin is another user's file", fd: std(0, r, foreign), anew: []int{0}},
		{name: "stdin is the caller's own", fd: std(0, r, mine), anew: []int{0}},
		{name: "stdin is hidden", fd: std(0, r, "/home/u/.ssh/id_rsa"), anew: []int{0}},
		{name: "stdin has no name", fd: removed(std(0, r, "/tmp/x")), copy: []int{0}},
		{name: "the same, too big", fd: sized(removed(std(0, r, "/tmp/x")), engine.MaxCopy+1), fail: status{125, strings.Replace(big.Text, "5", "0", 1), big.Hint}},
		{name: "stdin is a file of the project", fd: std(0, r, own)},
		{name: "stdin is the kernel's", fd: kernels(std(0, r, "/proc/cpuinfo")), copy: []int{0}},
		{name: "stdin is a namespace", fd: kernels(std(0, r, "net:[4026531833]")), fail: status{125, "standard input is net:[4026531833], a namespace and no file that can be read", ""}},
		{name: "stdin is the kernel's, for writing", fd: kernels(std(0, rw, "/proc/17/mem")),
			fail: status{125, "standard input is /proc/17/mem, a file of the kernel's that is open for writing, which would lead out of the sandbox", `pipe it instead: cat /proc/17/mem | sbx -- sh -c 'echo '\''hello, world'\'''`}},
		{name: "stdout is a file elsewhere", fd: std(1, w, "/srv/data/log")},
		{name: "stdin is a directory", fd: host.FD{Num: 0, Kind: host.FDDir}, fail: status{125, "standard input is a directory, which would lead out of the sandbox", ""}},
		{name: "stdout is a directory", fd: host.FD{Num: 1, Kind: host.FDDir}, fail: status{125, "standard output is a directory, which would lead out of the sandbox", ""}},
		{name: "stderr is O_PATH", fd: host.FD{Num: 2, Kind: host.FDPathRef}, fail: status{125, "standard error is a directory, which would lead out of the sandbox", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, eng := range []string{host.EngineBwrap, host.EngineLandlock} {
				m := user(debian + home("/home/u", "1000"))
				m.more = mine + " uid=1000 mode=600\n/home/u/src/app/.envrc uid=1000\n/home/u/src/app/.env uid=1000\n/home/u/src/app/main.go uid=1000\n/home/u/.ssh/id_rsa uid=1000 mode=600\n"
				m.known, m.byName, m.request.KeepFDs = true, c.byName, c.keep
				m.fds = append([]host.FD{c.fd}, c.more...)
				slices.SortStableFunc(m.fds, func(a, b host.FD) int { return a.Num - b.Num })
				kept, copied, anew := c.kept, c.copy, c.anew
				if c.profile != "" {
					m.profiles = []string{c.profile}
				}
				if eng == host.EngineLandlock { // under which nothing can be opened anew for writing
					if m.landlock, copied, anew = engine.ABIUnix, nil, nil; c.fd.Kernel {
						copied = c.copy
					}
					if c.profile == "strict" || c.fail.Text != "" && c.fd.Size > 0 {
						continue
					}
					m.over.Protected = "auto"
				}
				p, _, err := m.plan(t)
				if d := cmp.Diff(c.fail, statusOf(err)); d != "" || err != nil {
					if d != "" {
						t.Error(eng, d)
					}
					continue
				}
				if !slices.Equal(p.Keep, kept) || !slices.Equal(p.Copy, copied) || !slices.Equal(p.Reopen, anew) {
					t.Errorf("%s: keep %v, copy %v, open anew %v; want %v, %v, %v", eng, p.Keep, p.Copy, p.Reopen, kept, copied, anew)
				}
				if got := strings.Join(p.Closed, "\n"); got != c.told {
					t.Errorf("%s: told %q, want %q", eng, got, c.told)
				}
			}
		})
	}
}

// Numbers of the caller's descriptors are never taken.
func TestDescriptorNumbers(t *testing.T) {
	m := user(debian + home("/home/u", "1000"))
	for _, n := range []int{0, 1, 2, 20, 22, 23, 25} {
		m.fds = append(m.fds, host.FD{Num: n, Kind: host.FDPipe})
	}
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, fd := range p.FDs {
		got = append(got, fd.Num)
	}
	w := p.Init.Parent
	got = append(got, w.Status, w.Epoll, w.Signal, w.Read, w.Write, w.Stat)
	want := []int{33, 34, 35, 36, 37, 38, 21, 24, 26, 27, 28, 29, -1}
	if d := cmp.Diff(want, got); d != "" || p.Argv[2] != "33" || p.Argv[6] != "21" {
		t.Error(d, p.Argv)
	}
}

func TestTimeLimit(t *testing.T) {
	m := user(debian + home("/home/u", "1000"))
	m.over.TimeoutSeconds = 2.5
	p, fs, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(options(p), "--as-pid-1") || p.Limit != 2.5 {
		t.Errorf("limit %v, %q", p.Limit, options(p))
	}
	s, err := simulate(fs, p)
	if err != nil {
		t.Fatal(err)
	}
	if at, _, _ := s.walk(p.Argv[4], true); at.hostPath() != "/usr/local/bin/sbx" || !at.m.ro {
		t.Errorf("%s is %q", p.Argv[4], at.hostPath())
	}
	if p.Init.Limit != 2.5 || !slices.Equal(p.Argv[len(p.Argv)-4:], append([]string{"20"}, "sh", "-c", "echo 'hello, world'")) {
		t.Errorf("%q", p.Argv)
	}
}

// The command comes to bwrap word for word, and nothing of the policy or the
// environment stands in the arguments.
func TestCommandIsUntouched(t *testing.T) {
	words := []string{"sh", "", "-c", "--", "a b", "\xff\n", "$HOME", "--bind", "*"}
	m := user(debian + home("/home/u", "1000"))
	m.command = words
	stage := []string{"bwrap", "--args", "29", "--", "/run/sbx/sbx", "--stage-of-sandbox", "20"}
	for _, direct := range []bool{false, true} {
		m.request.Direct = direct
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		before := stage
		if direct {
			before = []string{"bwrap", "--args", "22", "--"}
		}
		if d := cmp.Diff(append(before, words...), p.Argv); d != "" {
			t.Error(d)
		}
	}
}

func TestTooManyArguments(t *testing.T) {
	m := user(debian + home("/home/u", "1000"))
	m.command = append([]string{"sh"}, make([]string, 9000)...)
	p, _, err := m.plan(t)
	if err != nil || !slices.Equal(p.Init.Argv, m.command) || len(p.Argv) != 8 || p.Argv[7] != "sh" {
		t.Error(err, p)
	}
	m.request.Direct = true
	_, _, err = m.plan(t)
	if s := statusOf(err); s.Status != 125 || !strings.HasPrefix(s.Text, "bwrap takes no more than 9000 arguments") {
		t.Error(s)
	}
}

func TestSeccompOffNeedsANewBwrap(t *testing.T) {
	m := user(debian + home("/home/u", "1000"))
	m.over.Seccomp = "off"
	m.version = bwrapargs.Version{Minor: 7}
	_, _, err := m.plan(t)
	want := status{125, "bwrap 0.7.0 cannot refuse nested user namespaces without seccomp", `install bubblewrap 0.8 or newer, or leave seccomp = "default"`}
	if d := cmp.Diff(want, statusOf(err)); d != "" {
		t.Error(d)
	}
}

func TestWorkspace(t *testing.T) {
	for _, c := range []struct {
		path string
		fail bool
	}{
		{"/workspace", false}, {"/w/x y", false}, {"/home/u/src/app", false}, {"/mnt", false},
		{"/", true}, {"relative", true}, {"/usr", true}, {"/usr/x", true}, {"/tmp", true}, {"/tmp/x", true},
		{"/proc/x", true}, {"/dev/x", true}, {"/run/x", true}, {"/home/u/x", true}, {"/home/u/src/app/sub", true},
	} {
		t.Run(c.path, func(t *testing.T) {
			m := user(debian + home("/home/u", "1000"))
			m.request.Remap = c.path
			m.fds = nil
			p, fs, err := m.plan(t)
			if (err != nil) != c.fail {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			s, err := simulate(fs, p)
			if err != nil || len(s.bad) > 0 {
				t.Fatal(err, s.bad)
			}
			for path, want := range map[string]string{"/main.go": "/home/u/src/app/main.go", "/.env": ""} {
				if at, _, _ := s.walk(c.path+path, true); at.hostPath() != want {
					t.Errorf("%s is %q, want %q", c.path+path, at.hostPath(), want)
				}
			}
			if pwd, _ := host.LookupEnv(p.Env, "PWD"); pwd != c.path {
				t.Errorf("PWD=%s", pwd)
			}
		})
	}
}

func TestWorkspaceCommands(t *testing.T) {
	for _, c := range []struct {
		name, want string
		fail       status
	}{
		{"./run", "/home/u/src/app/./run", status{}},
		{"/home/u/src/app/run", "", status{127, "/home/u/src/app/run: the working directory is at /workspace inside", "name it as /workspace/run"}},
		{"sh", "/usr/bin/sh", status{}},
	} {
		m := user(debian + home("/home/u", "1000"))
		m.more, m.request.Remap, m.command = "/home/u/src/app/run x", "/workspace", []string{c.name}
		p, _, err := m.plan(t)
		if d := cmp.Diff(c.fail, statusOf(err)); d != "" {
			t.Error(d)
		} else if err == nil && p.Report.Command != c.want {
			t.Errorf("%s, want %s", p.Report.Command, c.want)
		}
	}
}

// TestCacheOfOneRun: where none can be kept the command gets an empty one, and
// nothing is made on the host (issue 15).
func TestCacheOfOneRun(t *testing.T) {
	for _, c := range []struct {
		name, home, more, why string
	}{
		{"no home", "/nonexistent", "", "/nonexistent does not exist"},
		{"the root directory", "/", "", "/.cache does not exist"},
		{"no file system for files", "/proc", "/proc/ uid=0", "/proc keeps no files"},
		{"root's", "/srv/x", "/srv/x/ uid=0", "/srv/x cannot be written"},
		{"another user's cache", "/home/u", "/home/u/.cache/sbx/ uid=1001", "/home/u/.cache/sbx belongs to another user"},
		{"root's cache of the project", "/home/u", "/home/u/.cache/sbx/projects/e5b8f493bd443740/ uid=0", "/home/u/.cache/sbx/projects/e5b8f493bd443740 belongs to another user"},
	} {
		for _, abi := range []int{0, 6} {
			m := user(debian + home("/home/u", "1000"))
			m.home, m.cwd, m.more, m.landlock = c.home, "/home/u/src/app", c.more, abi
			p, fs, err := m.plan(t)
			if err != nil {
				t.Fatal(c.name, err)
			}
			if p.Report.Unkept != c.why {
				t.Errorf("%s: %q", c.name, p.Report.Unkept)
			}
			cache, _ := host.LookupEnv(p.Env, "XDG_CACHE_HOME")
			if abi > 0 {
				if tmp, _ := host.LookupEnv(p.Env, "TMPDIR"); cache != tmp+"/cache" || !slices.Contains(p.Dirs, cache) {
					t.Errorf("%s, Landlock: %s, %q", c.name, cache, p.Dirs)
				}
				continue
			}
			s, err := simulate(fs, p)
			if err != nil || len(s.bad) > 0 {
				t.Fatal(c.name, err, s.bad)
			}
			if at, _, _ := s.walk(cache, true); cache != host.Join(c.home, ".cache") || at.m.ro || at.hostPath() != "" || len(p.Dirs) > 0 {
				t.Errorf("%s: %s is %+v, directories %q", c.name, cache, at, p.Dirs)
			}
		}
	}
}

func TestPrivateCache(t *testing.T) {
	const dir = "/home/u/.cache/sbx"
	const project = dir + "/projects/e5b8f493bd443740"
	own := func(path string) status {
		return status{125, "private cache: " + path + " is not a directory of the caller's own", "move it away, or use --cache none"}
	}
	for _, c := range []struct {
		name, more string
		dirs       []string
		fail       status
	}{
		{"nothing there", "", []string{dir, dir + "/projects", project}, status{}},
		{"no ~/.cache either", "/home/u/.cache gone", []string{dir, dir + "/projects", project}, status{}},
		{"all there", project + "/", nil, status{}},
		{"the project is new", dir + "/projects/", []string{project}, status{}},
		{"~/.cache is a link", "/home/u/.cache gone\n/home/u/.cache -> /srv/cache\n/srv/cache/ uid=1000", []string{dir, dir + "/projects", project}, status{}},
		{"a link", dir + " -> /home/u/src/app", nil, own(dir)},
		{"a link below", dir + "/projects -> /home/u/.ssh", nil, own(dir + "/projects")},
		{"a link for the project", project + " -> /home/u/.ssh", nil, own(project)},
		{"a file", dir + "/projects", nil, own(dir + "/projects")},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := user(debian + home("/home/u", "1000"))
			m.more = c.more
			p, fs, err := m.plan(t)
			if d := cmp.Diff(c.fail, statusOf(err)); d != "" {
				t.Fatal(d)
			}
			if err != nil {
				return
			}
			if d := cmp.Diff(c.dirs, p.Dirs); d != "" {
				t.Error(d)
			}
			s, err := simulate(fs, p)
			if err != nil || len(s.bad) > 0 {
				t.Fatal(err, s.bad)
			}
			if at, _, _ := s.walk("/home/u/.cache", true); at.m.ro || !strings.HasSuffix(at.hostPath(), "/sbx/projects/e5b8f493bd443740") {
				t.Errorf("%+v", at)
			}
		})
	}
}

func TestManifest(t *testing.T) {
	type path struct {
		Path, Hex, Access, Source, Layer, Rule string
		Pin                                    bool
	}
	type variable struct{ Name, Action, Source string }
	type manifest struct {
		SBX      int `json:"sbx"`
		Profiles []string
		Engine   string
		Tier     string
		Git      string
		Sources  map[string]string
		Paths    []path
		Env      []variable
	}
	m := user(debian + home("/home/u", "1000"))
	m.more, m.cwd = "/home/u/src/a\\s\"b\\\xff/.env.x = secret\n/home/u/src/a\\s\"b\\\xff/.vscode/", "/home/u/src/a \"b\\\xff"
	m.over = policy.Profile{Git: "full", Where: map[string]string{"git": "--git"}, Block: flagPaths("--block", "/opt/tool/bin")}
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(p.FDs, func(fd bwrapargs.FD) bool { return fd.Name == host.ManifestDir+"/policy.json" })
	var got manifest
	if err := json.Unmarshal(p.FDs[i].Data, &got); err != nil {
		t.Fatal(err)
	}
	// What is hidden where no one sees it has no mount, and no mention.
	for _, e := range got.Paths {
		if strings.Contains(e.Path, ".ssh") || strings.Contains(e.Path, "shadow") || e.Path == "/etc/sudoers" {
			t.Errorf("the manifest names the hidden %s", e.Path)
		}
	}
	if strings.Contains(string(p.FDs[i].Data), "s3cret") {
		t.Error("a value is in the manifest")
	}
	got.Paths = slices.DeleteFunc(got.Paths, func(e path) bool {
		return !strings.HasPrefix(e.Path, "/home/u/src") && !strings.HasPrefix(e.Path, "/opt")
	})
	if !slices.Contains(got.Env, variable{"GOMODCACHE", "set", "private cache (go)"}) {
		t.Error("no word of what is set for tools")
	}
	got.Env = slices.DeleteFunc(got.Env, func(v variable) bool { return strings.HasSuffix(v.Source, ")") })
	const odd = "/home/u/src/a \"b\\\ufffd"
	raw := hex.EncodeToString([]byte(m.cwd))
	want := manifest{
		SBX: 1, Profiles: []string{"moderate"}, Engine: "bwrap", Tier: "full", Git: "full",
		Sources: map[string]string{"allow_network": "moderate", "cache": "moderate", "environment": "moderate", "git": "--git", "min_tier": "moderate",
			"new_session": "moderate", "seccomp": "moderate", "share_pid": "moderate"},
		Paths: []path{
			{Path: odd, Hex: raw, Access: "write", Source: "moderate"},
			{Path: odd + "/.env.x", Hex: raw + hex.EncodeToString([]byte("/.env.x")), Access: "block", Source: "secrets", Rule: odd + "/.env.*"},
			{Path: odd + "/.vscode", Hex: raw + hex.EncodeToString([]byte("/.vscode")), Access: "protect", Source: "moderate"},
			{Path: "/opt", Access: "read", Source: "moderate"},
			{Path: "/opt/tool/bin", Access: "block", Source: "--block", Layer: "flag"},
		},
		Env: []variable{{"GH_TOKEN", "drop", "secrets drops *_TOKEN"}, {"SBX_PROFILE", "set", "sbx"}, {"SBX_TIER", "set", "sbx"},
			{"SSH_AUTH_SOCK", "drop", "secrets drops SSH_*"}, {"XDG_CACHE_HOME", "set", "sbx"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// What inherits nothing tells the command no names either.
func TestManifestOfAList(t *testing.T) {
	m := user(debian + home("/home/u", "1000"))
	m.profiles = []string{"strict"}
	m.env = []string{"HOME=/home/u", "PATH=/usr/bin", "PLAIN=1", "CLIENT_NAME=x", "A_TOKEN=y"}
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(p.FDs, func(fd bwrapargs.FD) bool { return fd.Name == host.ManifestDir+"/policy.json" })
	if text := string(p.FDs[i].Data); strings.Contains(text, "PLAIN") || strings.Contains(text, "CLIENT_NAME") || !strings.Contains(text, `{"name":"A_TOKEN","action":"drop","source":"secrets drops *_TOKEN"}`) {
		t.Error(text)
	}
}

// Grants through links: who made the link decides.
func TestGrantsThroughLinks(t *testing.T) {
	base := user(debian + home("/home/u", "1000"))
	base.more = `
/srv/data/x
/srv/out/ uid=1000
/home/u/datalink -> /srv/data
/home/u/sshlink -> /home/u/.ssh
/home/u/keylink -> /home/u/.ssh/id_rsa
/home/u/outlink -> /srv/out
/home/u/docs/outlink -> ../../../srv/out
/home/u/theirs -> /srv/out uid=1001
/srv/rootlink -> /srv/out
/home/u/src/app/planted -> /srv/data
/home/u/src/app/plantedkey -> /home/u/.ssh/id_rsa
/home/u/src/app/inner -> sub
/home/u/src/app/loop -> loop
/home/u/etclink -> /etc
`
	for _, c := range []struct {
		name string
		over policy.Profile
		fail string
	}{
		{"read through one's own link", policy.Profile{Read: flagPaths("-r", "/home/u/datalink")}, ""},
		{"read a secret by its name", policy.Profile{Read: flagPaths("-r", "/home/u/.ssh")}, ""},
		{"read a secret through a link", policy.Profile{Read: flagPaths("-r", "/home/u/sshlink")}, "-r: /home/u/sshlink leads to /home/u/.ssh, which is hidden (secrets); to open it, name it"},
		{"read in a secret through a link", policy.Profile{Read: flagPaths("-r", "/home/u/keylink")}, "-r: /home/u/keylink leads to /home/u/.ssh/id_rsa, which is hidden (secrets); to open it, name it"},
		{"read through a planted link", policy.Profile{Read: flagPaths("-r", "/home/u/src/app/planted/x")}, "-r: /home/u/src/app/planted is a link to /srv/data in a directory the sandbox can write; to open the target, name it: /srv/data/x"},
		{"read a secret through a planted link", policy.Profile{Read: flagPaths("-r", "/home/u/src/app/plantedkey")}, "-r: /home/u/src/app/plantedkey leads to /home/u/.ssh/id_rsa, which is hidden (secrets); to open it, name it"},
		{"read through a link that stays in the tree", policy.Profile{Read: flagPaths("-r", "/home/u/src/app/inner")}, ""},
		{"write by name", policy.Profile{Write: flagPaths("-w", "/srv/out")}, ""},
		{"write through one's own link", policy.Profile{Write: flagPaths("-w", "/home/u/outlink")}, ""},
		{"write through a link in a directory that may have been a project", policy.Profile{Write: flagPaths("-w", "/home/u/docs/outlink")}, "-w: /home/u/docs/outlink is a link to ../../../srv/out, and a command could have made it; to make the target writable, name it: /srv/out"},
		{"write through another user's link", policy.Profile{Write: flagPaths("-w", "/home/u/theirs")}, "-w: /home/u/theirs is a link to /srv/out, and a command could have made it; to make the target writable, name it: /srv/out"},
		{"write what does not exist in a writable tree", policy.Profile{Write: flagPaths("-w", "/home/u/src/app/build/out")}, ""},
		{"write what does not exist elsewhere", policy.Profile{Write: flagPaths("-w", "/srv/no such")}, `-w: "/srv/no such": no such file or directory`},
		{"write what does not exist through a planted link", policy.Profile{Write: flagPaths("-w", "/home/u/src/app/planted/new")}, "-w: /home/u/src/app/planted/new: no such file or directory"},
		{"write through root's link", policy.Profile{Write: flagPaths("-w", "/srv/rootlink")}, ""},
		{"write to the system", policy.Profile{Write: flagPaths("-w", "/usr/lib")}, "-w: /usr/lib belongs to the system (/usr) and is never made writable"},
		{"write to the system through a link", policy.Profile{Write: flagPaths("-w", "/home/u/etclink")}, "-w: /etc belongs to the system (/etc) and is never made writable"},
		{"write to the home directory", policy.Profile{Write: flagPaths("-w", "/home/u")}, "-w: /home/u is or holds the home directory and is never made writable"},
		{"write to everything", policy.Profile{Write: flagPaths("-w", "/")}, "-w: / is shared with everything else on this machine and is never made writable"},
		{"read /proc", policy.Profile{Read: flagPaths("-r", "/proc/1")}, "-r: /proc/1: no such file or directory"},
		{"read /proc/sys", policy.Profile{Read: flagPaths("-r", "/proc/sys")}, "-r: /proc/sys: /proc is the sandbox's own and cannot be opened"},
		{"read /dev", policy.Profile{Read: flagPaths("-r", "/dev/null")}, "-r: /dev/null: /dev is the sandbox's own and cannot be opened"},
		{"a loop", policy.Profile{Read: flagPaths("-r", "/home/u/src/app/loop")}, "-r: /home/u/src/app/loop: too many levels of symbolic links"},
		{"absent", policy.Profile{Read: flagPaths("-r", "/no such")}, `-r: "/no such": no such file or directory`},
		{"absent to be hidden", policy.Profile{Block: flagPaths("--block", "/nosuch")}, "--block: /nosuch: no such file or directory"},
		{"hide", policy.Profile{Block: flagPaths("--block", "/home/u/src/app/sub")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := base
			m.over = c.over
			p, fs, err := m.plan(t)
			if s := statusOf(err); s.Text != c.fail || err != nil && s.Status != host.StatusFailed {
				t.Fatalf("%+v, want %q", s, c.fail)
			}
			if err != nil {
				return
			}
			for _, b := range judge(newOracle(fs, p.Report.Policy), p) {
				t.Error(b)
			}
		})
	}
}

// A run of sbx itself differs from one of a command in the words that are
// executed and in the mount that shows sbx, when there is no init anyway.
func TestSelf(t *testing.T) {
	minor := 11
	plan := func(self []string, seconds float64) *engine.Plan {
		m := user(debian + home("/home/u", "1000"))
		m.request.Self, m.over.TimeoutSeconds, m.version.Minor = self, seconds, minor
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	given := func(p *engine.Plan) string { return string(p.FDs[0].Data) }
	plain, self, timed := plan(nil, 0), plan([]string{"--probe"}, 0), plan([]string{"--probe"}, 2.5)
	if d := cmp.Diff(given(plain), given(self)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(plain.Env, self.Env); d != "" {
		t.Error(d)
	}
	words := []string{"/run/sbx/sbx", pid1.InitName, "20", "/run/sbx/sbx", "--probe"}
	for _, p := range []*engine.Plan{self, timed} {
		if d := cmp.Diff(words, p.Argv[4:]); d != "" {
			t.Error(d)
		}
		if o := p.Init; o.Path != "/run/sbx/sbx" || o.Limit != p.Limit || o.Expected != nil {
			t.Errorf("%+v", o)
		}
	}
	minor = 8
	if self = plan([]string{"--probe"}, 0); self.Init.Expected == nil {
		t.Error("bwrap 0.8 binds by name, and nothing looks at it")
	}
}
