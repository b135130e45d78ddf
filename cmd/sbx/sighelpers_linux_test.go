// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// launch HOW CMD ARG... starts a command as some caller would and writes to
// descriptor 3 what becomes of it, a line each: "pid N", "stopped N",
// "continued", and at last "exit N" or "signal N". HOW says where the command
// stands: in a "session" of its own, in a "group" of its own, or "shared" with
// this program, which outlives the signals that the group is sent.
func launchMain() {
	syscall.CloseOnExec(3)
	report := os.NewFile(3, "report")
	signal.Notify(make(chan os.Signal, 1))
	path, err := exec.LookPath(os.Args[2])
	die(err)
	attr := &syscall.SysProcAttr{Setsid: os.Args[1] == "session", Setpgid: os.Args[1] == "group"}
	pid, err := syscall.ForkExec(path, os.Args[2:], &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: attr})
	die(err)
	fmt.Fprintln(report, "pid", pid)
	for {
		var ws syscall.WaitStatus
		_, err := syscall.Wait4(pid, &ws, syscall.WUNTRACED|syscall.WCONTINUED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			die(err)
		case ws.Stopped():
			fmt.Fprintln(report, "stopped", int(ws.StopSignal()))
		case ws.Continued():
			fmt.Fprintln(report, "continued")
		case ws.Signaled():
			fmt.Fprintln(report, "signal", int(ws.Signal()))
			return
		default:
			fmt.Fprintln(report, "exit", ws.ExitStatus())
			return
		}
	}
}

// inherit [block=N,...] [ignore=N,...] [alarm=SECONDS] [sigpending=N] CMD ARG...
// becomes a command that inherits blocked and ignored signals, a timer, and a
// limit on queued signals.
func inheritMain() {
	runtime.LockOSThread() // the one whose mask the command gets
	args := os.Args[1:]
	for ; strings.Contains(args[0], "="); args = args[1:] {
		key, value, _ := strings.Cut(args[0], "=")
		for _, v := range strings.Split(value, ",") {
			n := atoi(v)
			switch key {
			case "block":
				mask := uint64(1) << (n - 1)
				_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, 0, uintptr(unsafe.Pointer(&mask)), 0, 8, 0, 0)
				if errno != 0 {
					die(errno)
				}
			case "ignore":
				signal.Ignore(syscall.Signal(n))
			case "alarm":
				_, err := unix.Setitimer(unix.ITIMER_REAL, unix.Itimerval{Value: unix.Timeval{Sec: int64(n)}})
				die(err)
			case "sigpending":
				die(unix.Setrlimit(unix.RLIMIT_SIGPENDING, &unix.Rlimit{Cur: uint64(n), Max: uint64(n)}))
			}
		}
	}
	path, err := exec.LookPath(args[0])
	die(err)
	die(syscall.Exec(path, args, os.Environ()))
}

// countable are the signals that tally counts.
var countable = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGTERM, syscall.SIGWINCH,
	syscall.Signal(34), syscall.Signal(35), syscall.Signal(36), syscall.Signal(63), syscall.Signal(64),
}

// tally NAME... writes NAME.ready when it would notice a signal and NAME.gotN at
// the Nth one, cleans up for half a second from the last one on, writes to NAME
// how often each came, and exits with 9. For each further NAME it starts another one in its group.
func tallyMain() {
	got := make(chan os.Signal, 10_000)
	signal.Notify(got, countable...)
	if len(os.Args) > 2 {
		cmd := exec.Command("/proc/self/exe", os.Args[2:]...)
		cmd.Args = append([]string{"tally"}, os.Args[2:]...)
		die(cmd.Start())
		defer func() { _ = cmd.Wait(); os.Exit(9) }()
		appears(os.Args[2] + ".ready")
	} else {
		defer os.Exit(9)
	}
	die(os.WriteFile(os.Args[1]+".ready", nil, 0o644))
	counts, all := map[int]int{}, 0
	var over <-chan time.Time
	for {
		select {
		case s := <-got:
			counts[int(s.(syscall.Signal))]++
			all++
			die(os.WriteFile(fmt.Sprint(os.Args[1], ".got", all), nil, 0o644))
			over = time.After(500 * time.Millisecond)
			continue
		case <-over:
		}
		break
	}
	writeCounts(os.Args[1], counts)
}

// heed NAME appends a line to NAME every few milliseconds, and to NAME.got the
// number of each signal that it gets.
func heedMain() {
	got := make(chan os.Signal, 10_000)
	signal.Notify(got, countable...)
	line := func(name, text string) {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		die(err)
		_, err = f.WriteString(text + "\n")
		die(err)
		die(f.Close())
	}
	for {
		line(os.Args[1], "")
		select {
		case s := <-got:
			line(os.Args[1]+".got", fmt.Sprint(int(s.(syscall.Signal))))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func writeCounts(name string, counts map[int]int) {
	var lines []string
	for n, c := range counts {
		lines = append(lines, fmt.Sprintf("%d*%d", c, n))
	}
	slices.Sort(lines)
	die(os.WriteFile(name, []byte(strings.Join(lines, " ")), 0o644))
}

// stubborn HOW WORD... ignores every signal that can be ignored and never ends.
// HOW is "here", "setsid" (in a session of its own) or "daemon" (and has
// forked one that forked one in a session of its own, and ended).
func stubbornMain() {
	signal.Ignore()
	switch os.Args[1] {
	case "setsid":
		_, _ = syscall.Setsid()
	case "daemon", "forked":
		next := map[string]string{"daemon": "forked", "forked": "setsid"}[os.Args[1]]
		cmd := exec.Command("/proc/self/exe", append([]string{next}, os.Args[2:]...)...)
		cmd.Args[0] = "stubborn"
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		die(cmd.Start())
		if next == "setsid" {
			return
		}
	}
	fmt.Println("ready", os.Args[1])
	time.Sleep(10 * time.Minute)
}

// told prints what a program is told when it starts.
func toldMain() {
	fmt.Printf("argv[0] %q argc %d sum %x\n", os.Args[0], len(os.Args), sha256.Sum256([]byte(strings.Join(os.Args, "\x00"))))
}

// assail PID attacks a process in every way there is to reach one, prints what
// worked, a line each, and exits with 42 when it is still alive. What it does
// to itself by that is told, too: "got N". PID 0 is a child of its own, which
// has to be open to all of it.
func assailMain() {
	pid := atoi(os.Args[1])
	got := make(chan os.Signal, 10_000)
	signal.Notify(got, countable...)
	v := &victim{pid: pid}
	if pid == 0 {
		v.again()
	}
	for _, name := range []string{"mem", "environ", "maps", "smaps", "auxv", "syscall", "stack", "io", "cwd", "root", "exe", "fd", "fdinfo", "map_files", "ns/pid", "ns/mnt", "task/1/mem"} {
		if look(fmt.Sprintf("/proc/%d/%s", v.pid, name)) == nil {
			fmt.Println("read", name)
		}
	}
	var b [8]byte
	local, remote := []unix.Iovec{{Base: &b[0], Len: 8}}, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&b[0])), Len: 8}}
	if _, err := unix.ProcessVMReadv(v.pid, local, remote, 0); err == nil || err == syscall.EFAULT {
		fmt.Println("process_vm_readv")
	}
	if fd, err := unix.PidfdOpen(v.pid, 0); err == nil {
		if _, err := unix.PidfdGetfd(fd, 2, 0); err == nil {
			fmt.Println("pidfd_getfd")
		}
	}
	if unix.PtraceSeize(v.pid) == nil {
		fmt.Println("ptrace")
		v.again()
	}
	for n := 1; n <= 64; n++ {
		_ = syscall.Kill(v.pid, syscall.Signal(n))
		if n == int(syscall.SIGSTOP) && stopped(v.pid) {
			fmt.Println("stopped")
		}
		if v.cmd != nil && v.again() == syscall.SIGKILL && n == int(syscall.SIGKILL) || v.cmd == nil && syscall.Kill(v.pid, 0) == syscall.ESRCH {
			fmt.Println("killed")
		}
	}
	time.Sleep(300 * time.Millisecond)
	counts := map[int]int{}
	for len(got) > 0 {
		counts[int((<-got).(syscall.Signal))]++
	}
	for n := range counts {
		fmt.Println("got", n)
	}
	v.end()
	os.Exit(42)
}

// victim is a process to be attacked, a child when it was made here.
type victim struct {
	pid int
	cmd *exec.Cmd
}

// again ends the last child, makes another and returns what the last one died
// of.
func (v *victim) again() syscall.Signal {
	s := v.end()
	v.cmd = exec.Command("sleep", "60")
	die(v.cmd.Start())
	v.pid = v.cmd.Process.Pid
	return s
}

func (v *victim) end() syscall.Signal {
	if v.cmd == nil {
		return 0
	}
	_ = syscall.Kill(v.pid, syscall.SIGKILL)
	for {
		var ws syscall.WaitStatus
		_, err := syscall.Wait4(v.pid, &ws, syscall.WALL, nil)
		if err == nil && ws.Signaled() {
			return ws.Signal()
		}
		if err != nil && err != syscall.EINTR {
			return 0
		}
	}
}

// stopped reports whether a process stops within a while.
func stopped(pid int) bool {
	return eventually(200*time.Millisecond, func() bool {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(data), ") ")
		return err == nil && strings.HasPrefix(rest, "T")
	})
}

// look opens what may be a file, a directory or a link, and reads from it.
func look(path string) error {
	if to, err := os.Readlink(path); err == nil && to != "" {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil || strings.HasSuffix(path, "mem") { // that it can be opened is enough
		return err
	}
	defer f.Close()
	if !info.IsDir() {
		_, err = f.Read(make([]byte, 1))
		return err
	}
	names, err := f.Readdirnames(-1)
	if err != nil || strings.HasSuffix(path, "map_files") {
		return err
	}
	// As root the numbers of another's descriptors can be listed. They say nothing
	// without what is behind them.
	for _, name := range names {
		if err = look(path + "/" + name); err == nil {
			return nil
		}
	}
	return err
}
