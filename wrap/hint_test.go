package wrap

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// hinted is what the plan of a run with a script has to say, but for what all
// runs have.
func hinted(t *testing.T, m machine, script string) []string {
	t.Helper()
	m.command = []string{"sh", "-c", script}
	m.request.Hints.On = true
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, h := range p.Stage.Hints {
		switch h.When {
		case pid1.Always:
			if !strings.HasPrefix(h.Text, "hidden here, ") { // see TestUsualHints
				out = append(out, h.Text)
			}
		case pid1.Missing:
			out = append(out, "without "+h.Path+": "+h.Text)
		case pid1.NotFound:
			out = append(out, "127: "+h.Text)
		}
	}
	return out
}

func developer() machine {
	return user(debian + home("/home/u", "1000") + repo("/home/u/src/app") + `
/home/u/bin2/tool x
/home/u/notes
/home/u/odd\sname
/home/u/locked mode=0
/home/u/link -> /home/u/notes
/srv/data/x uid=1000
/srv/data/shared/ uid=1000
/usr/bin/sudo x mode=4755
/home/u/src/app/out -> /srv/data/shared
/home/u/src/app/n.txt -> /home/u/notes
/home/u/src/n
`)
}

func TestHintsOnFiles(t *testing.T) {
	for script, want := range map[string]string{
		// Hidden, and whether it is there is not told.
		"cat ~/.ssh/id_rsa":      "without /home/u/.ssh/id_rsa: ~/.ssh/id_rsa is hidden (secrets: blocked_paths ~/.ssh): -r ~/.ssh/id_rsa shows it",
		"cat ~/.ssh/none":        "without /home/u/.ssh/none: ~/.ssh/none is hidden (secrets: blocked_paths ~/.ssh): -r ~/.ssh/none shows it",
		"grep A .env":            "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env): -r ~/src/app/.env shows it",
		"grep A .env.none":       "",
		"echo A=b >> .env":       "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env): -w ~/src/app/.env lets it be written",
		"openssl x -in tls.key":  "~/src/app/tls.key is hidden (secrets: blocked_paths ~/src/app/*.key): -r ~/src/app/tls.key shows it",
		"echo x > ~/.ssh/config": "without /home/u/.ssh: ~/.ssh is hidden (secrets: blocked_paths ~/.ssh): -w ~/.ssh opens it for writing",
		"cat ~/.ssh/*":           "without /home/u/.ssh: ~/.ssh is hidden (secrets: blocked_paths ~/.ssh): -r ~/.ssh shows it",
		// There, and not inside.
		"cat ~/notes":             "without /home/u/notes: ~/notes is not visible in the sandbox (moderate: private_paths ~): -r ~/notes shows it",
		"cat ~/link":              "without /home/u/link: ~/link is not visible in the sandbox (moderate: private_paths ~): -r ~/link shows it", // what it leads to would not be there by that name
		"cat ../other/x ../other": "without /home/u/src/other: ~/src/other is not visible in the sandbox (moderate: private_paths ~): -r ~/src/other shows it",
		"cat '/home/u/odd name'":  `without /home/u/odd name: "/home/u/odd name" is not visible in the sandbox (moderate: private_paths ~): -r '/home/u/odd name' shows it`,
		"cat /tmp/other":          "without /tmp/other: /tmp/other is not visible in the sandbox (moderate: private_paths /tmp): -r /tmp/other shows it",
		"cat /srv/data/x":         "without /srv/data/x: /srv/data/x is not visible in the sandbox (no rule opens it): -r /srv/data/x shows it",
		"cd ~/src/other && make":  "without /home/u/src/other: ~/src/other is not visible in the sandbox (moderate: private_paths ~): -r ~/src/other shows it",
		"cp a ~/src/other/b":      "without /home/u/src/other: ~/src/other is not visible in the sandbox (moderate: private_paths ~): -w ~/src/other opens it for writing",
		// A link in the project that leads out of it.
		"ls out/":                      "without /srv/data/shared: ~/src/app/out leads to /srv/data/shared, which is not visible in the sandbox (no rule opens it): -r /srv/data/shared shows it",
		"cat n.txt":                    "without /home/u/notes: ~/src/app/n.txt leads to ~/notes, which is not visible in the sandbox (moderate: private_paths ~): -r ~/notes shows it",
		"make n.txt":                   "without /home/u/notes: ~/src/app/n.txt leads to ~/notes, which is not visible in the sandbox (moderate: private_paths ~): -r ~/notes shows it",
		"cp a out/b":                   "without /srv/data/shared: /srv/data/shared is not visible in the sandbox (no rule opens it): -w /srv/data/shared opens it for writing",
		"cp a ~/src/other/":            "without /home/u/src/other: ~/src/other is not visible in the sandbox (moderate: private_paths ~): -w ~/src/other opens it for writing",
		"cp a ~/src/none/ ~/src/other": "",
		"cd .. && cat n":               "without /home/u/src/n: ~/src/n is not visible in the sandbox (moderate: private_paths ~): -r ~/src/n shows it",
		"cd .. && make n":              "",
		"cc -I$HOME/src/other x.c":     "without /home/u/src/other: ~/src/other is not visible in the sandbox (moderate: private_paths ~): -r ~/src/other shows it",
		"node --env-file=.env x":       "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env): -r ~/src/app/.env shows it",
		// A file that is mounted by itself can be changed, and not be replaced.
		"chmod 600 ~/notes":              "without /home/u/notes: ~/notes is not visible in the sandbox (moderate: private_paths ~): -w ~/notes opens it for writing",
		"rm ~/notes":                     "",
		"rm -f ~/notes; sed -i x ~/none": "",
		"rm /srv/data/x":                 "without /srv/data/x: /srv/data/x is not visible in the sandbox (no rule opens it): -w /srv/data opens it for writing",
		"sed -i s,a,b, .vscode/set":      "~/src/app/.vscode/set is protected, since the host may run or read it later (moderate: protected_paths ~/src/app/.vscode): -w ~/src/app/.vscode lets it be written",
		// Words that are no files, and commands that have no part in the status.
		"pytest -q --ignore ~/notes":        "",
		"pytest -q --ignore=/home/u/notes":  "",
		"grep -r zz . --exclude .env":       "",
		"git check-ignore .env":             "",
		"git ls-files --error-unmatch .env": "",
		"git add .env":                      "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env): -r ~/src/app/.env shows it",
		"test ~/notes = b":                  "",
		"test -s ~/notes":                   "without /home/u/notes: ~/notes is not visible in the sandbox (moderate: private_paths ~): -r ~/notes shows it",
		"[ -s ~/notes -a b = ~/link ]":      "without /home/u/notes: ~/notes is not visible in the sandbox (moderate: private_paths ~): -r ~/notes shows it",
		"rm -r ~/src/other/x; gcc e.c":      "",
		"ls .env; gcc e.c":                  "",
		"ls .env | head && gcc e.c":         "",
		"set -e; ls .env; gcc e.c":          "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env): -r ~/src/app/.env shows it",
		"command -v sudo; exit 3":           "",
		"command -v sudo":                   "",
		"sudo x; exit 3":                    "",
		"source .env":                       "", // this shell need not have it
		". ./.env":                          "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env): -r ~/src/app/.env shows it",
		"strace --bogus":                    "",
		"gdb --bogus":                       "",
		"cat ~/none ~/locked /etc/shadow ~ / /tmp /home /root/x /proc/1/mem /dev/kmem": "",
		"mkdir -p /tmp/other && cat /tmp/other":                                        "",
		"echo ~/notes; false":                                                          "",
		"cat ~/notes 2>/dev/null; false":                                               "",
		// Read-only, where the caller may write.
		"echo x > .vscode/new":                 "~/src/app/.vscode/new is protected, since the host may run or read it later (moderate: protected_paths ~/src/app/.vscode): -w ~/src/app/.vscode lets it be written",
		"mkdir -p .vscode; false":              "",
		"rm .envrc":                            "~/src/app/.envrc is protected, since the host may run or read it later (moderate: protected_paths ~/src/app/.envrc): -w ~/src/app/.envrc lets it be written",
		"echo x > .git/hooks/pre-commit":       "~/src/app/.git/hooks/pre-commit is protected, since the host may run or read it later (git = commit): --git full lets it be written",
		"touch ~/.gitconfig":                   "~/.gitconfig is read-only (moderate: readonly_paths ~/.gitconfig): -w ~/.gitconfig lets it be written",
		"touch /usr/x /etc/x; rm /usr/bin/env": "",
		"touch a; rm -rf sub; sed -i s,a,b, main.go; echo x > sub/y": "",
		"touch /tmp/x ~/x; mkdir -p ~/a/b":                           "",
		// Programs.
		"sudo make install": "sudo gains no privileges in a sandbox: run what needs them outside",
		"doas make install": "",
		"strace -f make":    "no process looks into another here (moderate: seccomp = default): --seccomp dev lets strace work",
	} {
		if got := strings.Join(hinted(t, developer(), script), "\n"); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
}

func TestHintsOnPrograms(t *testing.T) {
	m := developer()
	m.env = []string{"HOME=/home/u", "PATH=/home/u/bin2:/usr/bin:/nowhere"}
	for script, want := range map[string]string{
		"tool x":          "127: ~/bin2/tool is not visible in the sandbox: -r ~/bin2 shows its directory",
		"env A=b tool":    "127: ~/bin2/tool is not visible in the sandbox: -r ~/bin2 shows its directory",
		"git x; none":     "",
		"echo tool; true": "",
	} {
		if got := strings.Join(hinted(t, m, script), "\n"); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
}

// Where the working directory has another name inside, words are about that
// one and levers about the host's.
func TestHintsElsewhere(t *testing.T) {
	m := developer()
	m.request.Remap = "/workspace"
	for script, want := range map[string]string{
		"grep A /workspace/.env": "/workspace/.env is hidden (secrets: blocked_paths ~/src/app/.env): -r ~/src/app/.env shows it",
		"grep A .env":            "/workspace/.env is hidden (secrets: blocked_paths ~/src/app/.env): -r ~/src/app/.env shows it",
		"cat ~/src/app/main.go":  "",
		"echo x > .vscode/new":   "/workspace/.vscode/new is protected, since the host may run or read it later (moderate: protected_paths ~/src/app/.vscode): -w ~/src/app/.vscode lets it be written",
	} {
		if got := strings.Join(hinted(t, m, script), "\n"); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
}

// Who pastes a lever runs nothing by it, whatever a file is called.
func TestLeversAreShellWords(t *testing.T) {
	for word, want := range map[string]string{
		"/a/b-c.d_e": "/a/b-c.d_e", "/a b": "'/a b'", "/$(x)`y`": "'/$(x)`y`'", "/it's": `'/it'\''s'`, "": "''", "/é": "'/é'",
		"/z\x01$(touch P)'`y`\\!": `$'/z\001$(touch P)\047` + "`y`" + `\134\041'`, "/\xff": `$'/\377'`, "/\u202e": `$'/\342\200\256'`, "/a\nb": `$'/a\012b'`,
	} {
		if got := host.ShellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
	m := developer()
	m.files += "/srv/data/z$(touch\\sP)\n"
	m.command = []string{"git", "add", "/srv/data/z$(touch P)"}
	m.request.Hints.On = true
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	want := `"/srv/data/z$(touch P)" is not visible in the sandbox (no rule opens it): -r '/srv/data/z$(touch P)' shows it`
	if !slices.ContainsFunc(p.Stage.Hints, func(h pid1.Hint) bool { return h.Text == want }) {
		t.Errorf("%+v", p.Stage.Hints)
	}
}

// A shim hands all words on: flags stand in a variable.
func TestHintsOfAShim(t *testing.T) {
	m := developer()
	m.request.Hints.Tool = "git"
	for script, want := range map[string]string{
		"cat ~/notes":            "without /home/u/notes: ~/notes is not visible in the sandbox (moderate: private_paths ~): SBX_FLAGS='-r ~/notes' git … shows it",
		"cat '/home/u/odd name'": `without /home/u/odd name: "/home/u/odd name" is not visible in the sandbox (moderate: private_paths ~): SBX_FLAGS='-r '\''/home/u/odd name'\''' git … shows it`,
		"strace -f make":         "no process looks into another here (moderate: seccomp = default): SBX_FLAGS='--seccomp dev' git … lets strace work",
		"touch .git/hooks/x":     "~/src/app/.git/hooks/x is protected, since the host may run or read it later (git = commit): SBX_FLAGS='--git full' git … lets it be written",
	} {
		if got := strings.Join(hinted(t, m, script), "\n"); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
	m.env = []string{"HOME=/home/u", "PATH=/usr/bin", "SBX_FLAGS=-q"}
	if got := strings.Join(hinted(t, m, "strace -f make"), "\n"); !strings.HasSuffix(got, `: SBX_FLAGS="$SBX_FLAGS"' --seccomp dev' git … lets strace work`) {
		t.Error(got)
	}
}

// What npx would have to fetch is about the network; what the project has is not.
func TestHintsOnBorrowedPrograms(t *testing.T) {
	m := developer()
	m.files += "/home/u/src/app/node_modules/.bin/jest x\n"
	for script, want := range map[string]pid1.When{"npx -y cowsay": pid1.Unheard, "npx cowsay hi": pid1.Unheard, "npm exec cowsay": pid1.Unheard, "npx jest": pid1.Often, "npm exec -- jest": pid1.Often, "cd sub && npx jest": pid1.Often, "npx create-x@latest y": pid1.Unheard, "npx -c 'x y'": pid1.Often} {
		m := m
		m.command, m.request.Hints.On = []string{"sh", "-c", script}, true
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(p.Stage.Hints, func(h pid1.Hint) bool { return h.When == want && strings.HasPrefix(h.Text, "the network is off") }) {
			t.Errorf("%s: %v", script, p.Stage.Hints)
		}
	}
}

// The root user may write the system, and no sandbox lets it.
func TestHintsForRoot(t *testing.T) {
	m := machine{files: debian + home("/root", "0") + repo("/root/src/app")}
	want := "/usr/x is read-only (moderate: readonly_paths /usr): /usr belongs to the system (/usr) and is never made writable"
	if got := strings.Join(hinted(t, m, "touch /usr/x"), "\n"); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// Who has no flags is told of the file.
func TestHintsOfTheConfig(t *testing.T) {
	m := developer()
	m.request.Hints.Config = true
	for script, want := range map[string]string{
		"cat ~/notes":                    "without /home/u/notes: ~/notes is not visible in the sandbox (moderate: private_paths ~): readonly_paths = [\"/home/u/notes\"] in a profile shows it",
		"cp a ~/src/other/b":             "without /home/u/src/other: ~/src/other is not visible in the sandbox (moderate: private_paths ~): writable_paths = [\"/home/u/src/other\"] in a profile opens it for writing",
		"grep A .env":                    "~/src/app/.env is hidden (secrets: blocked_paths ~/src/app/.env): no configuration file can undo that; sbx -r ~/src/app/.env -- COMMAND does",
		"cat ~/.ssh/id_rsa":              "without /home/u/.ssh/id_rsa: ~/.ssh/id_rsa is hidden (secrets: blocked_paths ~/.ssh): readonly_paths = [\"/home/u/.ssh/id_rsa\"] in a profile shows it",
		"echo x > .git/hooks/pre-commit": "~/src/app/.git/hooks/pre-commit is protected, since the host may run or read it later (git = commit): git = \"full\" in a profile lets it be written",
		"gdb x":                          "no process looks into another here (moderate: seccomp = default): seccomp = \"dev\" in a profile lets gdb work",
	} {
		if got := strings.Join(hinted(t, m, script), "\n"); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
}

// What the administrator locked is no lever.
func TestHintsOfLockedKeys(t *testing.T) {
	m := developer()
	for key, want := range map[string]string{
		"readonly_paths":  "(secrets: blocked_paths ~/.ssh); the administrator has locked that",
		"blocked_paths":   "(secrets: blocked_paths ~/.ssh); the administrator has locked that",
		"default_profile": "(secrets: blocked_paths ~/.ssh); the administrator has locked that",
		"writable_paths":  "(secrets: blocked_paths ~/.ssh): -r ~/.ssh/id_rsa shows it",
	} {
		m.request.Hints.Locked = []string{key}
		if got := strings.Join(hinted(t, m, "cat ~/.ssh/id_rsa"), "\n"); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s", key, got)
		}
	}
}

// What every run with a stage may have to say.
func TestUsualHints(t *testing.T) {
	text := func(m machine) (out []string) {
		m.command = []string{"git"}
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		if p.Stage == nil {
			return nil
		}
		for _, h := range p.Stage.Hints {
			out = append(out, fmt.Sprint(h.When, h.Path, ": ", h.Text))
		}
		return out
	}
	trapped := fmt.Sprint(pid1.Trapped) + ": the system call filter ended it (moderate: seccomp = default), as it does programs for another architecture, 32-bit ones among them: --seccomp off takes the filter away"
	full := func(dir, shown string) string {
		return fmt.Sprint(pid1.Full) + dir + ": " + shown + " is full, a directory of the sandbox's own in memory (tmpfs_limit_mb = 2048): a larger tmpfs_limit_mb in a profile makes room"
	}
	fulls := []string{full("/dev/shm", "/dev/shm"), full("/home/u", "~"), full("/tmp", "/tmp"), full("/var/tmp", "/var/tmp")}
	// The last: it holds after any failure.
	hidden := fmt.Sprint(pid1.Always) + ": hidden here, and reads as empty: .env, .env.local: -r ~/src/app/.env shows .env"
	off := fmt.Sprint(pid1.Cut) + ": the network is off (moderate: allow_network = false): --net turns it on"

	m := developer()
	m.command = []string{"git"}
	m.request.Hints.On = true
	if d := cmp.Diff(append(append([]string{trapped}, fulls...), off, hidden), text(m)); d != "" {
		t.Error(d)
	}
	on := m
	on.over = policy.Profile{AllowNetwork: policy.Yes}
	if d := cmp.Diff(append(append([]string{trapped}, fulls...), hidden), text(on)); d != "" {
		t.Error("with the network: ", d)
	}
	for script, want := range map[string]pid1.When{"make": pid1.Cut, "npm test": pid1.Often, "cd x && npm run a": pid1.Often, "npm ci && npm test": pid1.Unheard, "curl http://x": pid1.Unheard} {
		m := m
		m.command = []string{"sh", "-c", script}
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(p.Stage.Hints, func(h pid1.Hint) bool { return h.When == want && strings.HasPrefix(h.Text, "the network is off") }) {
			t.Errorf("%s: %v", script, p.Stage.Hints)
		}
	}
	locked := m
	locked.request.Hints.Locked = []string{"allow_network"}
	if got := text(locked); got[len(got)-2] != fmt.Sprint(pid1.Cut)+": the network is off (moderate: allow_network = false); the administrator has locked that" {
		t.Error(got)
	}
	for name, change := range map[string]func(*machine){
		"off":     func(m *machine) { m.request.Hints.On = false },
		"direct":  func(m *machine) { m.request.Direct = true },
		"one pid": func(m *machine) { m.over.SharePID = policy.Yes },
		"new bwrap, one pid": func(m *machine) {
			m.over.SharePID, m.version = policy.Yes, bwrapargs.Version{Minor: 11}
		},
	} {
		m := m
		change(&m)
		if got := text(m); got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestNoHintsForAnInteractiveShell(t *testing.T) {
	for words, want := range map[string]bool{"bash": true, "-bash": false, "bash -l": true, "/bin/zsh -i": true, "bash -c x": false, "bash -lc x": false, "bash file": false, "cat": false} {
		if got := interactive(strings.Fields(words)); got != want {
			t.Errorf("%s: %v", words, got)
		}
	}
}
