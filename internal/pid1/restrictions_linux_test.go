// SPDX-License-Identifier: Apache-2.0

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

// runConfig lets this program, started anew, be process 1 of a configuration: as process
// that becomes the command, or as one that starts it. The order is descriptor 3.
func runConfig(t *testing.T, cfg *InitConfig, stays bool, stdin *os.File, four ...*os.File) (output string,
	status int) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "order"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(cfg.Encode()); err != nil {
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
		os.Exit(Run([]string{InitName, "3"}))
	}
	// As process 1 does it, without the descriptors that bwrap's namespaces need.
	runtime.LockOSThread()
	data, err := readAll(3)
	if err != nil {
		os.Exit(99)
	}
	cfg, err := decode(data)
	if err != nil {
		os.Exit(98)
	}
	w, err := cfg.restrictions()
	if err != nil {
		os.Exit(broken(err.Error()))
	}
	defaults()
	setMask(2, everySignal)
	s := &supervisor{config: cfg}
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

func shellConfig(group Group, script string) *InitConfig {
	return &InitConfig{Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Group: group, OOM: -1, Parent: NoParentFDs}
}

// both runs a configuration in the two ways in which a process 1 can have a command.
func both(t *testing.T, run func(t *testing.T, group Group, stays bool)) {
	t.Run("becomes", func(t *testing.T) { run(t, NoInit, false) })
	t.Run("stays", func(t *testing.T) { run(t, NewSession, true) })
}

// A filter is in force in the command, and refuses nothing before it.
func TestFilter(t *testing.T) {
	both(t, func(t *testing.T, group Group, stays bool) {
		cfg := shellConfig(group, "kill -0 $$ && echo signalled")
		if out, status := runConfig(t, cfg, stays, nil); status != 0 || out != "signalled\n" {
			t.Errorf("without: %q, %d", out, status)
		}
		// All that process 1 calls on the way, and what the command is refused.
		cfg.Filter = refuse(1, syscall.SYS_KILL, syscall.SYS_PRCTL, syscall.SYS_RT_SIGPROCMASK, syscall.SYS_SETSID,
			syscall.SYS_GETPID, syscall.SYS_PRLIMIT64,
			syscall.SYS_FUTEX, syscall.SYS_TGKILL, unix.SYS_SECCOMP, unix.SYS_LANDLOCK_RESTRICT_SELF)
		cfg.Rlimits = []Rlimit{{1, 1 << 30}}
		if out, status := runConfig(t, cfg, stays, nil); status == 0 || !strings.Contains(out, "not permitted") ||
			strings.Contains(out, "signalled") {
			t.Errorf("with: %q, %d", out, status)
		}
		// A script without a first line is executed twice, the filter loaded for each.
		script := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(script, []byte("kill -0 $$ || echo refused\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		cfg.Path, cfg.Argv = script, []string{script}
		if out, status := runConfig(t, cfg, stays, nil); status != 0 || !strings.HasSuffix(out, "refused\n") {
			t.Errorf("a script: %q, %d", out, status)
		}
	})
}

// What cannot be put up keeps the command from running.
func TestWallsThatFail(t *testing.T) {
	both(t, func(t *testing.T, group Group, stays bool) {
		for name, c := range map[string]struct {
			change func(cfg *InitConfig)
			want   string
			status int
		}{
			"no program": {func(cfg *InitConfig) { cfg.Filter = make([]byte, 8) },
				"the system call filter: invalid argument", 125},
			"jumps out": {func(cfg *InitConfig) { cfg.Filter = refuse(1, 1)[:16] },
				"the system call filter: invalid argument", 125},
			"no such right": {func(cfg *InitConfig) { cfg.Ruleset = &landlock.Ruleset{FS: 1 << 60} },
				"landlock_create_ruleset: invalid argument", 125},
			"nothing denied": {func(cfg *InitConfig) { cfg.Ruleset = &landlock.Ruleset{} },
				"landlock_create_ruleset: ", 125},
			"a path not there": {func(cfg *InitConfig) { cfg.Ruleset = readAlso("/proc/nonexistent") },
				"landlock: open /proc/nonexistent: no such file or directory", 125},
			"a link": {func(cfg *InitConfig) { cfg.Ruleset = readAlso("/proc/self/exe") },
				"landlock: open /proc/self/exe: too many levels of symbolic links", 125},
			"refuses execve": {func(cfg *InitConfig) { cfg.Filter = refuse(1, syscall.SYS_EXECVE) },
				"sh: operation not permitted", 126},
			"and then the end": {func(cfg *InitConfig) {
				cfg.Filter, cfg.Path = refuse(1, syscall.SYS_EXIT, syscall.SYS_EXIT_GROUP), "/proc/nonexistent"
			}, "sh: no such file or directory", 127},
			"a file not mounted": {func(cfg *InitConfig) { cfg.Reopen = []int{0} },
				"descriptor 0: no such file or directory", 125},
		} {
			t.Run(name, func(t *testing.T) {
				if strings.Contains(c.want, "landlock") {
					needLandlock(t, 1)
				}
				if stays && len(c.want) > 10 && c.want[:10] == "descriptor" {
					return // before the two ways part
				}
				cfg := shellConfig(group, "echo ran")
				c.change(cfg)
				if name == "and then the end" && !stays {
					return // this very process has the filter then
				}
				out, status := runConfig(t, cfg, stays, nil)
				if status != c.status || !strings.Contains(out, c.want) || strings.Contains(out, "ran") ||
					strings.Count(out, "\n") != 1 {
					t.Errorf("%q, %d; want %q, %d", out, status, c.want, c.status)
				}
			})
		}
	})
}

func readAlso(path string) *landlock.Ruleset {
	return &landlock.Ruleset{FS: landlock.ReadFile,
		Rules: []landlock.Rule{{Path: "/usr", Allow: landlock.Read}, {Path: path, Allow: landlock.Read}}}
}

// A restriction about files holds for the command and all that it starts, is not put
// around process 1, and leaves no descriptor; what the command was given can be
// opened anew as far as it was open.
func TestWall(t *testing.T) {
	needLandlock(t, 3)
	dir := t.TempDir()
	for name, text := range map[string]string{"shown": "seen\n", "hidden": "secret\n", "given": "given\n",
		"log": "before\n"} {
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
			cfg := shellConfig(group, "D='"+dir+"'; exec 2>/dev/null; "+acts)
			cfg.Ruleset, cfg.Keep = wall, []int{4}
			log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			out, status := runConfig(t, cfg, stays, given, log)
			if status != 0 {
				t.Errorf("status %d", status)
			}
			return out
		}
		bare := run(nil)
		if want := "seen\nsecret\ngiven\n0\n"; !strings.HasPrefix(bare, want) || strings.Contains(bare, "refused") ||
			strings.Contains(bare, "write-only") {
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
			{Path: "/", Allow: landlock.ReadDir}, {Path: "/usr", Allow: landlock.Read},
			{Path: filepath.Join(dir, "shown"), Allow: landlock.Read},
			{Path: "/proc", Allow: landlock.ReadFile}, {Path: "/dev", Allow: landlock.ReadFile | landlock.WriteFile},
			{Path: "/etc/ld.so.cache", Allow: landlock.ReadFile},
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
