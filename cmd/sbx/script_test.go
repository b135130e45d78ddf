// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sbx-sandbox/sbx/internal/jailtest"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/testenv"
)

// The scripts in testdata/script run the real sbx, built once, in a project
// below $WORK with a home directory of its own. Each refusal stands beside its
// positive control: the same act, outside.
//
// SBX_TEST_REQUIRE=bwrap makes a host without a working bwrap a failure.
// SBX_TEST_BINARY names an sbx to test in place of a fresh build.
func TestMain(m *testing.M) {
	jailtest.Enter()
	syscall.Umask(0o022)
	if filepath.Base(os.Args[0]) == "bwrap" {
		if name := os.Getenv("BWRAP_MUTANT"); name != "" {
			mutantBwrap(name)
		}
		fakeBwrap() // jail put the test binary there; not a helper, since those go on PATH
		return
	}
	testscript.Main(withSbx{m}, helpers)
}

// withSbx builds sbx and puts it on PATH. The program is not the test binary
// under another name: it executes itself, and what is tested is what ships.
type withSbx struct{ m *testing.M }

var sbxPath string

func (w withSbx) Run() int {
	dir, err := os.MkdirTemp("", "sbx-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	sbxPath = filepath.Join(dir, "sbx")
	if given := os.Getenv("SBX_TEST_BINARY"); given != "" {
		err = os.Symlink(given, sbxPath)
	} else {
		err = testenv.Build(sbxPath, ".", testenv.Start()...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbx for the tests:", err)
		return 1
	}
	os.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return w.m.Run()
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Setup:               setup,
		Condition:           condition,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": status, "listen": listen, "sparse": sparse, "nest": nest},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// setup gives a script its project, home and run directories, and nothing of
// the caller's environment but PATH.
func setup(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, "home")
	for _, dir := range []string{"home/bin", "proj", "out", "run", "tmp", "everyone"} {
		if err := os.MkdirAll(filepath.Join(e.WorkDir, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(e.WorkDir, "everyone"), 0o777|os.ModeSticky); err != nil {
		return err
	}
	// The helpers are seen inside: a profile shows ~/bin.
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for name := range helpers {
		if err := linkOrCopy(self, filepath.Join(home, "bin", name)); err != nil {
			return err
		}
	}
	e.Vars = []string{
		"GIT_CONFIG_NOSYSTEM=1", "HOME=" + home, "LANG=C.UTF-8", "PATH=" + home + "/bin:" + os.Getenv("PATH"), "TERM=dumb", "TMPDIR=" + e.WorkDir + "/tmp", "WORK=" + e.WorkDir,
		"XDG_CACHE_HOME=" + home + "/.cache", "XDG_CONFIG_HOME=" + home + "/.config", "XDG_DATA_HOME=" + home + "/.local/share", "XDG_RUNTIME_DIR=" + e.WorkDir + "/run", "XDG_STATE_HOME=" + home + "/.local/state",
	}
	e.Cd = filepath.Join(e.WorkDir, "proj")
	return nil
}

func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

func condition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Geteuid() == 0, nil
	case "user":
		return os.Geteuid() != 0, nil
	case "linux5.14":
		var u syscall.Utsname
		var major, minor int
		if err := syscall.Uname(&u); err != nil {
			return false, err
		}
		var release []byte
		for _, c := range u.Release {
			release = append(release, byte(c))
		}
		_, err := fmt.Sscanf(string(release), "%d.%d", &major, &minor)
		return err == nil && (major > 5 || major == 5 && minor >= 14), nil
	case "groups":
		err := legacyGroups()
		if err != nil && required("groups") {
			return false, fmt.Errorf("SBX_TEST_REQUIRE: %w", err)
		}
		return err == nil, nil
	case "landlock": // with scopes for abstract sockets and signals
		abi := landlock.ABI()
		if abi < 6 && required("landlock") {
			return false, fmt.Errorf("SBX_TEST_REQUIRE: Landlock has version %d here, and 6 is needed", abi)
		}
		return abi >= 6, nil
	case "barren":
		return barren(), nil
	case "overlay": // of bwrap 0.11, over the home directory
		out, err := exec.Command("bwrap", "--ro-bind", "/", "/", "--overlay-src", os.TempDir(), "--tmp-overlay", "/mnt", "mkdir", "/mnt/of-this-test").CombinedOutput()
		if err != nil && required("overlay") {
			return false, fmt.Errorf("SBX_TEST_REQUIRE: %w: %s", err, out)
		}
		return err == nil, nil
	case "bwrap":
		err := bwrapWorks()
		if err != nil && required("bwrap") {
			return false, fmt.Errorf("SBX_TEST_REQUIRE: %w", err)
		}
		return err == nil, nil
	}
	return false, fmt.Errorf("no such condition: %s", name)
}

func required(what string) bool {
	return slices.Contains(strings.Split(os.Getenv("SBX_TEST_REQUIRE"), ","), what)
}

// bwrapWorks tries a bwrap as sbx uses it, without asking sbx.
var bwrapWorks = sync.OnceValue(func() error {
	out, err := exec.Command("bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true").CombinedOutput()
	if err != nil {
		return fmt.Errorf("bwrap does not work here: %w: %s", err, out)
	}
	return nil
})

// legacyGroups makes a control group in each hierarchy of v1 that limits need,
// where such hierarchies usually are, without asking sbx.
func legacyGroups() error {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err
	}
	for _, c := range []string{"memory", "pids", "cpu"} {
		_, rest, ok := strings.Cut(string(data), ":"+c+":")
		if !ok {
			return fmt.Errorf("no hierarchy of %s alone", c)
		}
		own, _, _ := strings.Cut(rest, "\n")
		dir, err := os.MkdirTemp("/sys/fs/cgroup/"+c+own, "test-sbx-")
		if err != nil {
			return err
		}
		if err := syscall.Rmdir(dir); err != nil {
			return err
		}
	}
	return nil
}

// barren reports whether a plain user has no control group to make others in,
// nor a systemd that would.
func barren() bool {
	run := "/run/user/" + strconv.Itoa(os.Geteuid())
	for _, socket := range []string{run + "/systemd/private", run + "/bus"} {
		if _, err := os.Stat(socket); err == nil {
			return false
		}
	}
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil || os.Geteuid() == 0 {
		return false
	}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		f := strings.SplitN(line, ":", 3)
		for _, top := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/" + f[1]} {
			for dir := top + f[2]; len(dir) >= len(top); dir = filepath.Dir(dir) {
				if syscall.Access(dir, 2) == nil {
					return false
				}
			}
		}
	}
	return true
}

// needBwrap skips a Go test, or fails it, where bwrap does not work.
func needBwrap(t *testing.T) {
	t.Helper()
	ok, err := condition("bwrap")
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Skip(bwrapWorks())
	}
}

// status runs a program and wants an exit status, as a shell would show it:
// 128+n for death by signal n.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := shellStatus(ts.Exec(args[1], args[2:]...))
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func shellStatus(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return -1
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return exit.ExitCode()
}

// listen starts a server in the test's process that says "answer" to each who
// connects, and puts its address into a variable.
func listen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: listen VAR tcp | listen VAR unix PATH | listen VAR abstract")
	}
	network, addr := "unix", ""
	switch args[1] {
	case "tcp":
		network, addr = "tcp", "127.0.0.1:0"
	case "unix":
		addr = ts.MkAbs(args[2])
	case "abstract":
		addr = "@sbx-test-" + strconv.Itoa(os.Getpid()) + "-" + ts.Name()
	}
	l, err := net.Listen(network, addr)
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answer(c)
		}
	}()
	ts.Setenv(args[0], l.Addr().String())
}

func answer(c net.Conn) {
	defer c.Close()
	_, _ = io.WriteString(c, "answer\n")
	// Who is cut off in the middle of a request loses the answer, too.
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, c)
}

// sparse makes a file of a size in bytes with nothing in it.
func sparse(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sparse PATH SIZE")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(path, nil, 0o644))
	ts.Check(os.Truncate(path, n))
}

// nest writes a file that repeats an opening and a closing text N times.
func nest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 6 {
		ts.Fatalf("usage: nest PATH N HEAD OPEN MIDDLE CLOSE")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := args[2] + strings.Repeat(args[3], n) + args[4] + strings.Repeat(args[5], n) + "\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}
