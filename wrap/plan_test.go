package wrap

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/policy"
	"github.com/sbx-sandbox/sbx/stage"
)

func TestDescriptors(t *testing.T) {
	const own = "/home/u/src/app/main.go"
	for _, c := range []struct {
		name       string
		fd         FD
		keep       []int
		kept, copy []int
		fail       status
	}{
		{name: "a pipe", fd: FD{Num: 5, Kind: FDPipe}, kept: []int{5}},
		{name: "a socket pair", fd: FD{Num: 5, Kind: FDPair}, kept: []int{5}},
		{name: "a file for writing", fd: FD{Num: 5, Kind: FDFile, Path: "/etc/passwd", Writes: true}, kept: []int{5}},
		{name: "a file that may not be written", fd: FD{Num: 5, Kind: FDFile, Path: "/etc/passwd"}, kept: []int{5}, copy: []int{5}},
		{name: "a file that is not visible", fd: FD{Num: 5, Kind: FDFile, Path: "/var/log/syslog"}, kept: []int{5}, copy: []int{5}},
		{name: "a file that may be written", fd: FD{Num: 5, Kind: FDFile, Path: own}, kept: []int{5}},
		{name: "a protected file", fd: FD{Num: 5, Kind: FDFile, Path: "/home/u/src/app/.envrc"}, kept: []int{5}, copy: []int{5}},
		{name: "a deleted file", fd: FD{Num: 5, Kind: FDFile, Path: "/tmp/x (deleted)", Deleted: true}, kept: []int{5}, copy: []int{5}},
		{name: "a big file", fd: FD{Num: 5, Kind: FDFile, Path: "/etc/passwd", Size: MaxCopy + 1},
			fail: status{125, "descriptor 5 is a file of more than 64 MiB that the policy does not let the command write", "pipe it instead: cat FILE | sbx …"}},
		{name: "a file of the largest size", fd: FD{Num: 5, Kind: FDFile, Path: "/etc/passwd", Size: MaxCopy}, kept: []int{5}, copy: []int{5}},
		{name: "a big file that may be written", fd: FD{Num: 5, Kind: FDFile, Path: own, Size: MaxCopy + 1}, kept: []int{5}},
		{name: "a directory", fd: FD{Num: 5, Kind: FDDir}},
		{name: "O_PATH", fd: FD{Num: 5, Kind: FDPathRef}},
		{name: "a device or a service", fd: FD{Num: 5, Kind: FDOther}},
		{name: "close-on-exec", fd: FD{Num: 5, Kind: FDPipe, CloseOn: true}},
		{name: "a directory that is named", fd: FD{Num: 5, Kind: FDDir}, keep: []int{5}, kept: []int{5}},
		{name: "a file that is named", fd: FD{Num: 5, Kind: FDFile, Path: "/etc/passwd"}, keep: []int{5}, kept: []int{5}},
		{name: "one that is not open", fd: FD{Num: 5, Kind: FDPipe}, keep: []int{6}, fail: status{125, "--keep-fd 6: the descriptor is not open", ""}},
		{name: "stdin is named", fd: FD{Num: 0, Kind: FDPipe}, keep: []int{0}},
		{name: "stdin is a terminal", fd: FD{Num: 0, Kind: FDOther}},
		{name: "stdin is a file", fd: FD{Num: 0, Kind: FDFile, Path: "/etc/passwd"}, copy: []int{0}},
		{name: "stdin is a file of the project", fd: FD{Num: 0, Kind: FDFile, Path: own}},
		{name: "stdout is a file elsewhere", fd: FD{Num: 1, Kind: FDFile, Path: "/srv/data/log", Writes: true}},
		{name: "stdin is a directory", fd: FD{Num: 0, Kind: FDDir}, fail: status{125, "standard input is a directory, which would lead out of the sandbox", ""}},
		{name: "stdout is a directory", fd: FD{Num: 1, Kind: FDDir}, fail: status{125, "standard output is a directory, which would lead out of the sandbox", ""}},
		{name: "stderr is O_PATH", fd: FD{Num: 2, Kind: FDPathRef}, fail: status{125, "standard error is a directory, which would lead out of the sandbox", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := user(debian + home("/home/u", "1000"))
			m.fds, m.request.KeepFDs = []FD{c.fd}, c.keep
			p, _, err := m.plan(t)
			if d := cmp.Diff(c.fail, statusOf(err)); d != "" || err != nil {
				if d != "" {
					t.Error(d)
				}
				return
			}
			if !slices.Equal(p.Keep, c.kept) || !slices.Equal(p.Copy, c.copy) {
				t.Errorf("keep %v, copy %v; want %v, %v", p.Keep, p.Copy, c.kept, c.copy)
			}
		})
	}
}

// Numbers of the caller's descriptors are never taken.
func TestDescriptorNumbers(t *testing.T) {
	m := user(debian + home("/home/u", "1000"))
	for _, n := range []int{0, 1, 2, 20, 22, 23, 25} {
		m.fds = append(m.fds, FD{Num: n, Kind: FDPipe})
	}
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, fd := range p.FDs {
		got = append(got, fd.Num)
	}
	w := p.Stage.Wires
	got = append(got, w.Status, w.Epoll, w.Signal, w.Read, w.Write, w.Stat)
	want := []int{32, 33, 34, 35, 36, 37, 21, 24, 26, 27, 28, 29, -1}
	if d := cmp.Diff(want, got); d != "" || p.Argv[2] != "32" || p.Argv[6] != "21" {
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
	if p.Stage.Limit != 2.5 || !slices.Equal(p.Argv[len(p.Argv)-4:], append([]string{"20"}, "sh", "-c", "echo 'hello, world'")) {
		t.Errorf("%q", p.Argv)
	}
}

// The command comes to bwrap word for word, and nothing of the policy or the
// environment stands in the arguments.
func TestCommandIsUntouched(t *testing.T) {
	words := []string{"sh", "", "-c", "--", "a b", "\xff\n", "$HOME", "--bind", "*"}
	m := user(debian + home("/home/u", "1000"))
	m.command = words
	stage := []string{"bwrap", "--args", "28", "--", "/run/sbx/sbx", "--stage-of-sandbox", "20"}
	for _, direct := range []bool{false, true} {
		m.request.Direct = direct
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		before := stage
		if direct {
			before = []string{"bwrap", "--args", "20", "--"}
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
	if err != nil || !slices.Equal(p.Stage.Argv, m.command) || len(p.Argv) != 8 || p.Argv[7] != "sh" {
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
			if pwd, _ := lookupEnv(p.Env, "PWD"); pwd != c.path {
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
		{"somebody else's", dir + "/ uid=1001", nil, own(dir)},
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
	i := slices.IndexFunc(p.FDs, func(fd bwrapargs.FD) bool { return fd.Name == ManifestDir+"/policy.json" })
	var got manifest
	if err := json.Unmarshal(p.FDs[i].Data, &got); err != nil {
		t.Fatal(err)
	}
	// What is hidden where nobody sees it has no mount, and no mention.
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
	i := slices.IndexFunc(p.FDs, func(fd bwrapargs.FD) bool { return fd.Name == ManifestDir+"/policy.json" })
	if text := string(p.FDs[i].Data); strings.Contains(text, "PLAIN") || strings.Contains(text, "CLIENT_NAME") || !strings.Contains(text, `{"name":"A_TOKEN","action":"drop","source":"secrets drops *_TOKEN"}`) {
		t.Error(text)
	}
}

func TestJSONText(t *testing.T) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\t\x00\x1f\x7f", "é 😀", "\xff\xfe", "\u2028 </script>", "\ufffd"} {
		var got string
		if err := json.Unmarshal(appendJSON(nil, s), &got); err != nil || got != strings.ToValidUTF8(s, "\ufffd") && s != "\xff\xfe" {
			t.Errorf("%q: %q, %v", s, got, err)
		}
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
		{"read through a planted link", policy.Profile{Read: flagPaths("-r", "/home/u/src/app/planted/x")}, "-r: /home/u/src/app/planted is a link to /srv/data/x in a directory the sandbox can write; to open the target, name it"},
		{"read a secret through a planted link", policy.Profile{Read: flagPaths("-r", "/home/u/src/app/plantedkey")}, "-r: /home/u/src/app/plantedkey leads to /home/u/.ssh/id_rsa, which is hidden (secrets); to open it, name it"},
		{"read through a link that stays in the tree", policy.Profile{Read: flagPaths("-r", "/home/u/src/app/inner")}, ""},
		{"write by name", policy.Profile{Write: flagPaths("-w", "/srv/out")}, ""},
		{"write through one's own link", policy.Profile{Write: flagPaths("-w", "/home/u/outlink")}, "-w: /home/u/outlink is a link to /srv/out; to make the target writable, name it"},
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
			if s := statusOf(err); s.Text != c.fail || err != nil && s.Status != StatusFailed {
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
// executed and in the mount that shows sbx, when there is no stage anyway.
func TestSelf(t *testing.T) {
	minor := 11
	plan := func(self []string, seconds float64) *Plan {
		m := user(debian + home("/home/u", "1000"))
		m.request.Self, m.over.TimeoutSeconds, m.version.Minor = self, seconds, minor
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	given := func(p *Plan) string { return string(p.FDs[0].Data) }
	plain, self, timed := plan(nil, 0), plan([]string{"--probe"}, 0), plan([]string{"--probe"}, 2.5)
	if d := cmp.Diff(given(plain), given(self)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(plain.Env, self.Env); d != "" {
		t.Error(d)
	}
	words := []string{"/run/sbx/sbx", stage.Name, "20", "/run/sbx/sbx", "--probe"}
	for _, p := range []*Plan{self, timed} {
		if d := cmp.Diff(words, p.Argv[4:]); d != "" {
			t.Error(d)
		}
		if o := p.Stage; o.Path != "/run/sbx/sbx" || o.Limit != p.Limit || o.Expected != nil {
			t.Errorf("%+v", o)
		}
	}
	minor = 8
	if self = plan([]string{"--probe"}, 0); self.Stage.Expected == nil {
		t.Error("bwrap 0.8 binds by name, and nothing looks at it")
	}
}
