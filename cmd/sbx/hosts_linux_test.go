// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/jailtest"
	"github.com/sbx-sandbox/sbx/internal/landlock"
)

// TestHosts runs sbx on hosts that lack something (internal/jailtest): what
// doctor says, and that a run there is sandboxed at the tier that it says, or
// is none. A verdict that was kept on the whole host has to change nothing.
//
// As root it is done for root and for a plain user; as a plain user in user
// namespaces of its own, where root's bwrap belongs to the user nobody and so one of the
// user's takes its place.
func TestHosts(t *testing.T) {
	needBwrap(t)
	users := []int{os.Geteuid()}
	if users[0] == 0 {
		users = append(users, 54321) // in no file of users
	}
	for _, uid := range users {
		t.Run(map[bool]string{true: "root", false: "user"}[uid == 0], func(t *testing.T) {
			t.Parallel()
			for _, r := range hosts {
				if uid == 0 && r.user || uid != 0 && r.root || os.Geteuid() != 0 && r.asRoot {
					continue
				}
				t.Run(r.name, func(t *testing.T) {
					t.Parallel()
					newPlace(t, uid).try(t, r)
				})
			}
		})
	}
}

// hostRow is a host and what sbx is to make of it.
type hostRow struct {
	name   string
	host   jailtest.Host
	bwrap  string // text of a script in place of bwrap
	mode   os.FileMode
	owner  int // of it, when root runs the test
	path   bool
	real   bool // a copy of the real bwrap is in place of bwrap
	user   bool // for plain users only
	root   bool // for root only
	asRoot bool // needs root to be made
	slow   bool

	cause  string // "" where bwrap works
	bare   bool   // Landlock does not work either
	abi0   bool   // it is not even there
	reason string // part of the message of a run
	hint   string // part of the first hint, "" for any
}

const answers = "#!/bin/sh\ncase $1 in --version) echo bubblewrap 0.9.0; exit ;; esac\n"

var hosts = []hostRow{
	{name: "whole"},
	{name: "no bwrap", host: jailtest.Host{Bwrap: jailtest.None}, cause: "missing", reason: "bubblewrap (bwrap) is not installed", hint: "bubblewrap"},
	{name: "not executable", bwrap: answers, mode: 0o644, cause: "no-exec", reason: "/usr/bin/bwrap cannot be executed"},
	{name: "too old", bwrap: "#!/bin/sh\necho bubblewrap 0.3.0\n", cause: "too-old", reason: "/usr/bin/bwrap is version 0.3.0; sbx needs 0.4.0 or newer", hint: "bubblewrap"},
	{name: "fails with a message", bwrap: answers + "echo 'bwrap: out of luck' >&2; exit 1\n", cause: "other", reason: "bwrap does not work here: out of luck", hint: "run it by hand: /usr/bin/bwrap "},
	{name: "fails at once with a message", bwrap: "#!/bin/sh\necho 'bwrap: out of luck' >&2; exit 1\n", cause: "other", reason: "bwrap does not work here: out of luck"},
	{name: "fails without a word", bwrap: answers + "exit 3\n", cause: "other", reason: "bwrap does not work here: exit status 3"},
	{name: "dies", bwrap: answers + "kill -SEGV $$\n", cause: "busy", reason: "could not be tried: it was ended by signal 11"},
	{name: "runs nothing", bwrap: answers + "exit 0\n", cause: "not-bwrap", reason: "/usr/bin/bwrap is not bubblewrap: it does not run what it is told", hint: "move it away"},
	{name: "hangs", bwrap: answers + "exec sleep MARK\n", slow: true, user: true, cause: "hangs", reason: "/usr/bin/bwrap gives no answer"},
	{name: "hangs in a child", bwrap: answers + "sleep MARK; exit 0\n", slow: true, root: true, cause: "hangs", reason: "/usr/bin/bwrap gives no answer"},
	{name: "lies about its version", bwrap: "#!/bin/sh\ncase $1 in --version) echo bubblewrap 99.0.0; exit ;; esac\necho \"bwrap: Unknown option $1\" >&2\nexit 1\n", cause: "other", reason: "Unknown option"},
	{name: "something else", bwrap: "#!/bin/sh\necho GNU coreutils 9\n", cause: "not-bwrap", reason: `/usr/bin/bwrap is not bubblewrap: it says "GNU coreutils 9"`},
	{name: "drives the terminal", bwrap: answers + "printf 'bwrap: \\033[2Jgone\\n' >&2; exit 1\n", cause: "other", reason: "bwrap does not work here: ?[2Jgone"},
	{name: "writable by others", bwrap: answers, mode: 0o777, cause: "unsafe", reason: "/usr/bin/bwrap could have been put there by another user"},
	{name: "of another user", bwrap: answers, owner: 4711, asRoot: true, cause: "unsafe", reason: "/usr/bin/bwrap could have been put there by another user"},
	{name: "on PATH, where others write", host: jailtest.Host{Bwrap: jailtest.None}, path: true, real: true, mode: 0o777, cause: "unsafe", reason: "bin/bwrap could have been put there by another user"},
	{name: "on PATH, of another user", host: jailtest.Host{Bwrap: jailtest.None}, path: true, real: true, owner: 4711, asRoot: true, cause: "unsafe", reason: "bin/bwrap could have been put there by another user"},
	{name: "set-uid", real: true, mode: 0o755 | os.ModeSetuid, user: true, asRoot: true, cause: "setuid", reason: "/usr/bin/bwrap is set-uid root", hint: "chmod u-s /usr/bin/bwrap"},
	{name: "set-uid, for root", real: true, mode: 0o755 | os.ModeSetuid, root: true},

	{name: "user namespaces used up", host: jailtest.Host{Spent: true}, real: true, cause: "max", reason: "no further user namespace is allowed here (user.max_user_namespaces = 0)"},
	{name: "user namespaces refused", host: jailtest.Host{Filters: []jailtest.Filter{jailtest.NoUserns}}, cause: "seccomp", reason: "does not allow user namespaces"},
	{name: "Docker's filter", host: jailtest.Host{Filters: []jailtest.Filter{jailtest.Docker}}, cause: "seccomp", reason: "does not allow user namespaces"},
	{name: "Docker's filter, eased", host: jailtest.Host{Filters: []jailtest.Filter{jailtest.Eased}}},
	{name: "Docker's filter, eased, and its /proc", host: jailtest.Host{Covered: true, Filters: []jailtest.Filter{jailtest.Eased}}, real: true, cause: "proc", reason: "a new /proc cannot be mounted here"},
	{name: "covered /proc", host: jailtest.Host{Covered: true}, real: true, cause: "proc", reason: "a new /proc cannot be mounted here"},
	{name: "chroot", host: jailtest.Host{Root: "make"}, real: true, cause: "chroot", reason: "the kernel makes no user namespaces in a chroot"},
	{name: "no /proc", host: jailtest.Host{NoProc: true}, cause: "no-proc", bare: true, reason: "is /proc mounted?", hint: "mount -t proc proc /proc"},

	{name: "no Landlock", host: jailtest.Host{Filters: []jailtest.Filter{jailtest.NoLandlock}}, abi0: true},
	{name: "no Landlock, no bwrap", host: jailtest.Host{Bwrap: jailtest.None, Filters: []jailtest.Filter{jailtest.NoLandlock}}, bare: true, abi0: true, cause: "missing", reason: "bubblewrap (bwrap) is not installed"},
	{name: "no Landlock, no user namespaces", host: jailtest.Host{Filters: []jailtest.Filter{jailtest.NoLandlock, jailtest.NoUserns}}, bare: true, abi0: true, cause: "seccomp", reason: "does not allow user namespaces"},
	{name: "no filters", host: jailtest.Host{Filters: []jailtest.Filter{jailtest.NoSeccomp}}, bare: true, cause: "no-seccomp", reason: "no system call filter can be set here (seccomp)"},
	{name: "no filters, no bwrap", host: jailtest.Host{Bwrap: jailtest.None, Filters: []jailtest.Filter{jailtest.NoSeccomp}}, bare: true, cause: "missing", reason: "bubblewrap (bwrap) is not installed"},
}

// place is a home, a project and a sbx that a user has.
type place struct {
	dir string
	uid int
	env []string
}

func newPlace(t *testing.T, uid int) *place {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "hosts")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &place{dir: dir, uid: uid}
	must(t, os.Chmod(dir, 0o755))
	for _, name := range []string{"home", "proj", "bin", "sbx", "root"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		if name == "home" || name == "proj" {
			must(t, os.Chown(filepath.Join(dir, name), uid, uid))
		}
	}
	// Where the user cannot write, as it would be installed.
	if os.Link(sbxPath, filepath.Join(dir, "sbx/sbx")) != nil { // a copy is busy while another test forks
		data, err := os.ReadFile(sbxPath)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "sbx/sbx"), data, 0o755))
	}
	p.env = []string{"HOME=" + dir + "/home", "PATH=" + dir + "/sbx:/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TERM=dumb"}
	return p
}

// run runs sbx on a host.
func (p *place) run(h jailtest.Host, args ...string) (stdout, stderr string, status int) {
	cmd := h.Command(p.dir+"/sbx/sbx", args...)
	jailtest.SetEnv(cmd, p.env)
	var out, said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir+"/proj", &out, &said
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		return "", err.Error(), -1
	}
	return out.String(), said.String(), shellStatus(err)
}

func (p *place) try(t *testing.T, r hostRow) {
	h := r.host
	h.UID = p.uid
	if r.cause == "seccomp" && host.GatherDiagnostics(nil).Container != "" {
		r.cause = "container" // which has a filter of its own
	}
	if landlock.ABI() == 0 {
		r.bare, r.abi0 = true, true
	}
	if h.Root != "" {
		h.Root = p.dir + "/root"
	}
	// The verdict of better days: on the whole host bwrap works.
	if _, said, status := p.run(jailtest.Host{UID: p.uid}, "--", "true"); status != 0 {
		t.Fatalf("on the whole host: status %d: %s", status, said)
	}
	m := mark()
	r.bwrap = strings.ReplaceAll(r.bwrap, "MARK", m)
	p.put(t, &r, &h)

	var done sync.WaitGroup
	each := func(f func()) {
		if r.slow {
			done.Go(f)
		} else {
			f()
		}
	}
	each(func() { p.runs(t, r, h) })
	each(func() { p.engine(t, r, h) })
	each(func() { p.minTier(t, r, h) })
	each(func() { p.doctor(t, r, h) })
	done.Wait()
	if left := survivors(m, 0); len(left) > 0 {
		t.Errorf("left running: %+v", left)
	}
	// What failed is not kept, and what was kept comes back with the host.
	if _, said, status := p.run(jailtest.Host{UID: p.uid}, "--", "true"); status != 0 {
		t.Errorf("on the whole host, afterwards: status %d: %s", status, said)
	}
}

// put makes the bwrap that a row asks for.
func (p *place) put(t *testing.T, r *hostRow, h *jailtest.Host) {
	t.Helper()
	if !r.real && r.bwrap == "" {
		return
	}
	if r.real && r.mode == 0 && !r.path && os.Geteuid() == 0 {
		return // root's own is root's here, too
	}
	file := p.dir + "/bin/bwrap"
	text := []byte(r.bwrap)
	if r.real {
		path, err := exec.LookPath("bwrap")
		must(t, err)
		text, err = os.ReadFile(path)
		must(t, err)
	}
	must(t, os.WriteFile(file, text, 0o755))
	if r.owner != 0 {
		must(t, os.Chown(file, r.owner, r.owner))
	}
	if r.mode != 0 {
		must(t, os.Chmod(file, r.mode))
	}
	if r.path {
		p.env[1] += ":" + p.dir + "/bin"
	} else {
		h.Bwrap = file
	}
}

func (r *hostRow) tier() string {
	switch {
	case r.cause == "":
		return "full"
	case r.cause == "hangs" || r.cause == "busy":
		return "none" // what may be over in a moment makes no run weaker
	case !r.bare:
		return "reduced"
	}
	return "none"
}

// refused checks a run that is none.
func refused(t *testing.T, what string, r hostRow, out, said string, status int) {
	t.Helper()
	if out != "" || status != 125 || !strings.Contains(said, r.reason) || !strings.HasPrefix(said, "sbx: error: ") || !strings.Contains(said, "\nsbx: hint: ") {
		t.Errorf("%s: status %d, want 125 and %q: %s%s", what, status, r.reason, out, said)
	}
	if strings.Contains(said, "bwrap: ") || strings.ContainsAny(said, "\x1b\x00") {
		t.Errorf("%s: %q", what, said)
	}
}

func (p *place) runs(t *testing.T, r hostRow, h jailtest.Host) {
	out, said, status := p.run(h, "--", "sh", "-c", "echo tier $SBX_TIER; echo x >made")
	made := readText(p.dir + "/proj/made")
	if tier := r.tier(); tier != "none" {
		if out != "tier "+tier+"\n" || status != 0 || made != "x\n" {
			t.Errorf("run: status %d, want tier %s: %s%s", status, tier, out, said)
		}
		return
	}
	refused(t, "run", r, out, said, status)
	if made != "" {
		t.Error("the command ran")
	}
}

func (p *place) engine(t *testing.T, r hostRow, h jailtest.Host) {
	out, said, status := p.run(h, "--engine", "bwrap", "--", "sh", "-c", "echo tier $SBX_TIER")
	if r.cause != "" {
		refused(t, "--engine bwrap", r, out, said, status)
	} else if out != "tier full\n" || status != 0 {
		t.Errorf("--engine bwrap: status %d: %s%s", status, out, said)
	}
}

func (p *place) minTier(t *testing.T, r hostRow, h jailtest.Host) {
	out, said, status := p.run(h, "--min-tier", "full", "--", "sh", "-c", "echo tier $SBX_TIER")
	if r.cause != "" {
		refused(t, "--min-tier full", r, out, said, status)
	} else if out != "tier full\n" || status != 0 {
		t.Errorf("--min-tier full: status %d: %s%s", status, out, said)
	}
}

func (p *place) doctor(t *testing.T, r hostRow, h jailtest.Host) {
	out, said, status := p.run(h, "doctor", "--json")
	var d diagnosis
	if err := json.Unmarshal([]byte(out), &d); err != nil || said != "" {
		t.Errorf("doctor: %v: %s%s", err, out, said)
		return
	}
	tier := r.tier()
	want := map[string]int{"none": 125}[tier]
	engine := map[string]string{"full": "bwrap", "reduced": "landlock"}[tier]
	if d.Tier != tier || d.OK != (want == 0) || status != want || d.Cause != r.cause || d.Engine != engine || d.Wanted != "reduced" {
		t.Errorf("doctor: status %d, %+v; want %d, cause %q, tier %s", status, d, want, r.cause, tier)
	}
	if (d.Landlock == 0) != r.abi0 {
		t.Errorf("doctor: Landlock %d", d.Landlock)
	}
	if len(d.Checks) == 0 || d.Checks[len(d.Checks)-1].Name != "result" {
		t.Errorf("doctor: no result: %+v", d.Checks)
	}
	for _, c := range d.Checks {
		if c.Status == "bad" && (c.Name == "bwrap" || c.Name == "host") {
			if len(c.Hints) == 0 || !strings.Contains(c.Hints[0], r.hint) || strings.ContainsAny(c.Text+strings.Join(c.Hints, ""), "\n\x1b") {
				t.Errorf("doctor: %+v, want a hint with %q", c, r.hint)
			}
			if p.uid == 0 && strings.Contains(strings.Join(c.Hints, "\n"), "sudo ") {
				t.Errorf("sudo for root: %q", c.Hints)
			}
		}
	}
	if r.slow {
		return
	}
	// At the tier that is wanted, or not.
	_, _, status = p.run(h, "doctor", "--min-tier", "full")
	if want := map[bool]int{false: 125}[tier == "full"]; status != want {
		t.Errorf("doctor --min-tier full: status %d, want %d", status, want)
	}
}

// TestForgottenVerdict: doctor asks bwrap and not what was kept, and takes away
// what was kept and is wrong.
func TestForgottenVerdict(t *testing.T) {
	needBwrap(t)
	p := newPlace(t, os.Geteuid())
	works := p.dir + "/works"
	sbx := func(args ...string) (string, string, int) {
		t.Helper()
		return p.run(jailtest.Host{Bwrap: p.dir + "/bin/bwrap"}, args...)
	}
	// bwrap that works as long as a file is there: nothing that a key could hold.
	real, err := exec.LookPath("bwrap")
	must(t, err)
	data, err := os.ReadFile(real)
	must(t, err)
	must(t, os.WriteFile(p.dir+"/bin/real", data, 0o755))
	must(t, os.WriteFile(p.dir+"/bin/bwrap", []byte("#!/bin/sh\n[ -e "+works+" ] && exec "+p.dir+"/bin/real \"$@\"\nprintf 'bwrap: ' >&2; printf 'gone wrong' >&2; echo >&2; exit 1\n"), 0o755))
	must(t, os.WriteFile(works, nil, 0o644))
	verdict := p.dir + "/home/.cache/sbx/probe-" + strconv.Itoa(os.Geteuid())
	if out, said, status := sbx("--", "echo", "ran"); out != "ran\n" || status != 0 {
		t.Fatalf("status %d: %s%s", status, out, said)
	}
	// Each jail has a mount namespace of its own, which is part of the key; so all
	// of what comes next is one.
	script := fmt.Sprintf(`sbx=%s/sbx/sbx
$sbx -- true || exit 1
[ -s %s ] || exit 2
rm %s
$sbx -- touch made; echo run $?
$sbx doctor | grep -c 'a saved verdict'; [ -e %[2]s ] && echo kept
$sbx --min-tier full -- touch made; echo run $?
$sbx doctor | grep -c 'a saved verdict'
[ -e made ] && echo made
exit 0`, p.dir, verdict, works)
	cmd := jailtest.Host{Bwrap: p.dir + "/bin/bwrap"}.Command("/bin/sh", "-c", script)
	jailtest.SetEnv(cmd, p.env)
	cmd.Dir = p.dir + "/proj"
	out, err := cmd.CombinedOutput()
	want := "sbx: error: Failed to initialize sandbox: gone wrong\nsbx: hint: sbx doctor tries what bwrap can do here\nrun 125\n1\nsbx: error: Sandbox unavailable: bwrap does not work here: gone wrong. Execution blocked.\nsbx: hint: run it by hand: /usr/bin/bwrap --unshare-user --ro-bind / / true\nrun 125\n0\n"
	if err != nil || string(out) != want {
		t.Errorf("%v: %s\nwant %s", err, out, want)
	}
}

// TestDoctorFurther: without a home directory, without a terminal, and with
// others of sbx's name.
func TestDoctorFurther(t *testing.T) {
	needBwrap(t)
	p := newPlace(t, os.Geteuid())
	whole := jailtest.Host{}
	if os.Geteuid() == 0 {
		whole.UID = 54321 // in no file of users
		p.uid = 54321
		for _, name := range []string{"home", "proj"} {
			must(t, os.Chown(filepath.Join(p.dir, name), p.uid, p.uid))
		}
		env := p.env
		p.env = env[1:]
		out, said, status := p.run(whole, "doctor")
		if status != 125 || said != "" || !strings.Contains(out, "bad   host") || !strings.Contains(out, "there is no home directory") || !strings.Contains(out, "bad   result") {
			t.Errorf("no home: status %d: %s%s", status, out, said)
		}
		p.env = env
	}
	out, said, status := p.run(whole, "doctor")
	if status != 0 || said != "" || strings.Contains(out, "\x1b") || !strings.Contains(out, "ok    PATH") || !strings.Contains(out, "/sbx/sbx answers to sbx: this program\n") {
		t.Errorf("status %d: %s%s", status, out, said)
	}
	other := p.dir + "/bin/sbx"
	must(t, os.WriteFile(other, []byte("#!/bin/sh\necho other\n"), 0o755))
	env := p.env
	p.env = append([]string{}, env...)
	p.env[1] = env[1] + ":" + p.dir + "/bin"
	if out, _, status := p.run(whole, "doctor"); status != 0 || !strings.Contains(out, "another program called sbx is at "+other+"; it does not answer") {
		t.Errorf("another later: status %d: %s", status, out)
	}
	p.env[1] = "PATH=.:" + p.dir + "/bin:" + strings.TrimPrefix(env[1], "PATH=")
	out, _, status = p.run(whole, "doctor")
	for _, want := range []string{other + " answers to sbx, and is another program than this", p.dir + "/sbx/sbx is this program, and does not answer", `not absolute (".")`} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("another first: status %d, want %q: %s", status, want, out)
		}
	}
	p.env[1] = "PATH=/usr/bin:/bin"
	if out, _, status := p.run(whole, "doctor"); status != 0 || !strings.Contains(out, "sbx is not on PATH") {
		t.Errorf("not on PATH: status %d: %s", status, out)
	}
}

// TestForgedVerdict: whatever lies where a verdict is kept, a run is sandboxed
// or is none.
func TestForgedVerdict(t *testing.T) {
	needBwrap(t)
	p := newPlace(t, os.Geteuid())
	whole := jailtest.Host{}
	verdict := p.dir + "/home/.cache/sbx/probe-" + strconv.Itoa(os.Geteuid())
	run := func() (string, string, int) { return p.run(whole, "--", "sh", "-c", "echo tier $SBX_TIER") }
	if out, said, status := run(); out != "tier full\n" || status != 0 {
		t.Fatalf("status %d: %s%s", status, out, said)
	}
	good := readText(verdict)
	cut := strings.LastIndexByte(strings.TrimSuffix(good, "\n"), '\n') + 1
	if cut < 2 {
		t.Fatalf("%q", good)
	}
	for _, c := range []struct {
		name  string
		plant func() error
		may   string // what the run may say in place of going on
	}{
		{"a newer version than there is", func() error { return os.WriteFile(verdict, []byte(good[:cut]+"99.0.0\n"), 0o600) }, "sbx: error: Failed to initialize sandbox: Unknown option"},
		{"an older one", func() error { return os.WriteFile(verdict, []byte(good[:cut]+"0.4.0\n"), 0o600) }, ""},
		{"one that is too old", func() error { return os.WriteFile(verdict, []byte(good[:cut]+"0.0.1\n"), 0o600) }, ""},
		{"words around the version", func() error { return os.WriteFile(verdict, []byte(good[:cut]+"bubblewrap 0.4.0\n"), 0o600) }, ""},
		{"another line", func() error { return os.WriteFile(verdict, []byte(good+"0.4.0\n"), 0o600) }, ""},
		{"huge", func() error {
			return os.WriteFile(verdict, []byte(good+strings.Repeat("0.4.0\n", 1<<20)), 0o600)
		}, ""},
		{"a sparse one of a terabyte", func() error { return os.Truncate(verdict, 1<<40) }, ""},
		{"a fifo", func() error { return syscall.Mkfifo(verdict, 0o600) }, ""},
		{"a directory", func() error { return os.Mkdir(verdict, 0o700) }, ""},
		{"a link to a good one", func() error {
			return firstError(os.WriteFile(verdict+"x", []byte(good), 0o600), os.Symlink(verdict+"x", verdict))
		}, ""},
		{"a link to itself", func() error { return os.Symlink(verdict, verdict) }, ""},
		{"writable by others", func() error { return firstError(os.WriteFile(verdict, []byte(good), 0o600), os.Chmod(verdict, 0o622)) }, ""},
		{"unreadable", func() error { return os.WriteFile(verdict, []byte(good), 0o000) }, ""},
	} {
		if c.name != "a sparse one of a terabyte" {
			must(t, os.RemoveAll(verdict))
		}
		must(t, c.plant())
		out, said, status := run()
		if c.may != "" && status == 125 && strings.HasPrefix(said, c.may) && out == "" {
			continue
		}
		if out != "tier full\n" || status != 0 || said != "" {
			t.Errorf("%s: status %d: %s%s", c.name, status, out, said)
		}
	}
	// A forged older version leaves options out, and no wall with them.
	must(t, os.RemoveAll(verdict))
	must(t, os.WriteFile(verdict, []byte(good[:cut]+"0.4.0\n"), 0o600))
	if out, _, status := p.run(whole, "--", "unshare", "--user", "true"); status == 0 {
		t.Errorf("a user namespace inside: %s", out)
	}
	if out, err := exec.Command("unshare", "--user", "true").CombinedOutput(); err != nil {
		t.Errorf("outside it works: %v: %s", err, out)
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
