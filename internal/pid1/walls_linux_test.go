package pid1

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/landlock"
)

// refuse is a filter that answers the calls with an errno and lets the others
// through.
func refuse(errno uint32, calls ...int) []byte {
	var b []byte
	op := func(code uint16, jt, jf byte, k uint32) {
		b = binary.LittleEndian.AppendUint16(b, code)
		b = binary.LittleEndian.AppendUint32(append(b, jt, jf), k)
	}
	op(0x20, 0, 0, 0) // the number of the call
	for i, nr := range calls {
		op(0x15, byte(len(calls)-i), 0, uint32(nr))
	}
	op(0x06, 0, 0, 0x7fff0000)    // SECCOMP_RET_ALLOW
	op(0x06, 0, 0, 0x50000|errno) // SECCOMP_RET_ERRNO
	return b
}

// needLandlock skips a test where the kernel has no such version, or fails it.
func needLandlock(t *testing.T, version int) {
	t.Helper()
	if abi := landlock.ABI(); abi < version {
		if slices.Contains(strings.Split(os.Getenv("SBX_TEST_REQUIRE"), ","), "landlock") {
			t.Fatalf("SBX_TEST_REQUIRE: Landlock has version %d here, and this needs %d", abi, version)
		}
		t.Skipf("Landlock has version %d here, and this needs %d", abi, version)
	}
}

// runOrder lets this program, started anew, be the stage of an order: as process
// that becomes the command, or as one that starts it. The order is descriptor 3.
func runOrder(t *testing.T, o *Order, stays bool, stdin *os.File, four ...*os.File) (output string, status int) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "order"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(o.Encode()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestBeTheStage$")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "SBX_TEST_ORDER=" + strconv.FormatBool(stays)}
	cmd.ExtraFiles = append([]*os.File{f}, four...)
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	timer := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err = cmd.Run()
	if exit, ok := err.(*exec.ExitError); ok {
		ws := exit.Sys().(syscall.WaitStatus)
		if ws.Signaled() {
			return out.String(), 128 + int(ws.Signal())
		}
		return out.String(), ws.ExitStatus()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), 0
}

func TestBeTheStage(t *testing.T) {
	stays := os.Getenv("SBX_TEST_ORDER")
	if stays == "" {
		t.Skip("only what other tests start")
	}
	if stays == "false" {
		os.Exit(Run([]string{Name, "3"}))
	}
	// As process 1 does it, without the wires that bwrap's namespaces need.
	runtime.LockOSThread()
	data, err := readAll(3)
	if err != nil {
		os.Exit(99)
	}
	o, err := decode(data)
	if err != nil {
		os.Exit(98)
	}
	w, err := o.walls()
	if err != nil {
		os.Exit(broken(err.Error()))
	}
	defaults()
	setMask(2, everySignal)
	s := &stage{order: o}
	if status, err := s.start(w); err != nil {
		os.Exit(status)
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(s.pid, &ws, 0, nil); err != nil {
		os.Exit(97)
	}
	// The walls are the command's alone.
	if _, err := os.ReadDir("/"); err != nil {
		os.Exit(96)
	}
	if ws.Signaled() {
		os.Exit(128 + int(ws.Signal()))
	}
	os.Exit(ws.ExitStatus())
}

func shellOrder(group Group, script string) *Order {
	return &Order{Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Group: group, OOM: -1, Wires: NoWires}
}

// both runs an order in the two ways in which a stage can have a command.
func both(t *testing.T, run func(t *testing.T, group Group, stays bool)) {
	t.Run("becomes", func(t *testing.T) { run(t, Look, false) })
	t.Run("stays", func(t *testing.T) { run(t, Apart, true) })
}

// A filter is in force in the command, and refuses nothing before it.
func TestFilter(t *testing.T) {
	both(t, func(t *testing.T, group Group, stays bool) {
		o := shellOrder(group, "kill -0 $$ && echo signalled")
		if out, status := runOrder(t, o, stays, nil); status != 0 || out != "signalled\n" {
			t.Errorf("without: %q, %d", out, status)
		}
		// All that the stage calls on the way, and what the command is refused.
		o.Filter = refuse(1, syscall.SYS_KILL, syscall.SYS_PRCTL, syscall.SYS_RT_SIGPROCMASK, syscall.SYS_SETSID, syscall.SYS_GETPID, syscall.SYS_PRLIMIT64,
			syscall.SYS_FUTEX, syscall.SYS_TGKILL, unix.SYS_SECCOMP, unix.SYS_LANDLOCK_RESTRICT_SELF)
		o.Rlimits = []Rlimit{{1, 1 << 30}}
		if out, status := runOrder(t, o, stays, nil); status == 0 || !strings.Contains(out, "not permitted") || strings.Contains(out, "signalled") {
			t.Errorf("with: %q, %d", out, status)
		}
		// A script without a first line is executed twice, the filter loaded for each.
		script := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(script, []byte("kill -0 $$ || echo refused\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		o.Path, o.Argv = script, []string{script}
		if out, status := runOrder(t, o, stays, nil); status != 0 || !strings.HasSuffix(out, "refused\n") {
			t.Errorf("a script: %q, %d", out, status)
		}
	})
}

// What cannot be put up keeps the command from running.
func TestWallsThatFail(t *testing.T) {
	both(t, func(t *testing.T, group Group, stays bool) {
		for name, c := range map[string]struct {
			change func(o *Order)
			want   string
			status int
		}{
			"no program":       {func(o *Order) { o.Filter = make([]byte, 8) }, "the system call filter: invalid argument", 125},
			"jumps out":        {func(o *Order) { o.Filter = refuse(1, 1)[:16] }, "the system call filter: invalid argument", 125},
			"no such right":    {func(o *Order) { o.Wall = &landlock.Ruleset{FS: 1 << 60} }, "landlock_create_ruleset: invalid argument", 125},
			"nothing denied":   {func(o *Order) { o.Wall = &landlock.Ruleset{} }, "landlock_create_ruleset: ", 125},
			"a path not there": {func(o *Order) { o.Wall = readAlso("/proc/nonexistent") }, "landlock: open /proc/nonexistent: no such file or directory", 125},
			"a link":           {func(o *Order) { o.Wall = readAlso("/proc/self/exe") }, "landlock: open /proc/self/exe: too many levels of symbolic links", 125},
			"refuses execve":   {func(o *Order) { o.Filter = refuse(1, syscall.SYS_EXECVE) }, "sh: operation not permitted", 126},
			"and then the end": {func(o *Order) {
				o.Filter, o.Path = refuse(1, syscall.SYS_EXIT, syscall.SYS_EXIT_GROUP), "/proc/nonexistent"
			}, "sh: no such file or directory", 127},
			"a file not mounted": {func(o *Order) { o.Reopen = []int{0} }, "descriptor 0: no such file or directory", 125},
		} {
			t.Run(name, func(t *testing.T) {
				if strings.Contains(c.want, "landlock") {
					needLandlock(t, 1)
				}
				if stays && len(c.want) > 10 && c.want[:10] == "descriptor" {
					return // before the two ways part
				}
				o := shellOrder(group, "echo ran")
				c.change(o)
				if name == "and then the end" && !stays {
					return // this very process has the filter then
				}
				out, status := runOrder(t, o, stays, nil)
				if status != c.status || !strings.Contains(out, c.want) || strings.Contains(out, "ran") || strings.Count(out, "\n") != 1 {
					t.Errorf("%q, %d; want %q, %d", out, status, c.want, c.status)
				}
			})
		}
	})
}

func readAlso(path string) *landlock.Ruleset {
	return &landlock.Ruleset{FS: landlock.ReadFile, Rules: []landlock.Rule{{Path: "/usr", Allow: landlock.Read}, {Path: path, Allow: landlock.Read}}}
}

// A wall about files holds for the command and all that it starts, is not put
// around the stage, and leaves no descriptor; what the command was given can be
// opened anew as far as it was open.
func TestWall(t *testing.T) {
	needLandlock(t, 3)
	dir := t.TempDir()
	for name, text := range map[string]string{"shown": "seen\n", "hidden": "secret\n", "given": "given\n", "log": "before\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const acts = `cat "$D/shown"; (cat "$D/hidden") || echo refused; (echo x >>"$D/shown") || echo kept
cat /dev/stdin; (echo x >>/dev/stdin) || echo read-only; ls -l /proc/self/fd | grep -c landlock
(echo x >&4) && (cat /proc/self/fd/4) || echo write-only; echo again >>/proc/self/fd/4 && echo reopened; true`
	both(t, func(t *testing.T, group Group, stays bool) {
		run := func(wall *landlock.Ruleset) string {
			given, err := os.Open(filepath.Join(dir, "given"))
			if err != nil {
				t.Fatal(err)
			}
			defer given.Close()
			o := shellOrder(group, "D='"+dir+"'; exec 2>/dev/null; "+acts)
			o.Wall, o.Keep = wall, []int{4}
			log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			out, status := runOrder(t, o, stays, given, log)
			if status != 0 {
				t.Errorf("status %d", status)
			}
			return out
		}
		bare := run(nil)
		if want := "seen\nsecret\ngiven\n0\n"; !strings.HasPrefix(bare, want) || strings.Contains(bare, "refused") || strings.Contains(bare, "write-only") {
			t.Errorf("without a wall: %q", bare)
		}
		if err := os.WriteFile(filepath.Join(dir, "shown"), []byte("seen\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "given"), []byte("given\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		fs, _, _ := landlock.Known(landlock.ABI())
		wall := (&landlock.Ruleset{FS: fs &^ landlock.ResolveUnix, Rules: []landlock.Rule{
			{Path: "/", Allow: landlock.ReadDir}, {Path: "/usr", Allow: landlock.Read}, {Path: filepath.Join(dir, "shown"), Allow: landlock.Read},
			{Path: "/proc", Allow: landlock.ReadFile}, {Path: "/dev", Allow: landlock.ReadFile | landlock.WriteFile}, {Path: "/etc/ld.so.cache", Allow: landlock.ReadFile},
		}}).For(landlock.ABI())
		if _, err := os.Stat("/etc/ld.so.cache"); err != nil {
			wall.Rules = wall.Rules[:len(wall.Rules)-1]
		}
		for _, lib := range []string{"/lib", "/lib64", "/bin"} {
			if info, err := os.Lstat(lib); err == nil && info.IsDir() {
				wall.Rules = append(wall.Rules, landlock.Rule{Path: lib, Allow: landlock.Read})
			}
		}
		got := run(&wall)
		if want := "seen\nrefused\nkept\ngiven\nread-only\n0\nwrite-only\nreopened\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
