// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// hintTime is how long the process that explains a failure may take, in
// nanoseconds: it needs some milliseconds. lookTime is how much of it is for looking
// at what the command left.
const (
	hintTime = 500e6
	lookTime = 80e6
)

// lastWords tells what the command left in directories that end with the sandbox,
// and explains a failure that was its own, in a process that is started only now:
// nothing of the command runs any more, and the words are those in the memory of this
// process. What is gone is told however the command ended.
func (s *supervisor) lastWords(outOfMemory bool) {
	if s.config.Hints == nil {
		return
	}
	status, left := 0, s.left()
	switch {
	case s.timedOut:
	case outOfMemory:
		status = Starved
	default:
		status = s.fault()
	}
	if status == 0 && left == nil {
		return
	}
	text := s.explain(status, left)
	for said := 0; text != ""; {
		var line string
		switch line, text = procfs.Cut(text, '\n'); {
		case !showable(line):
			continue
		case line[0] == ' ' && said > 0:
			write(line + "\n")
			continue
		case said == maxLines:
			return
		}
		said++
		if kind, rest := procfs.Cut(line, ':'); kind == "hint" && slices.Contains(s.config.Hints, HintColour) {
			write("\x1b[36msbx: hint:\x1b[0m" + rest + "\n")
		} else {
			say(line)
		}
	}
}

// columns is the width of the terminal that standard error is, 0 for no terminal.
func columns() int {
	var size struct{ rows, columns, x, y uint16 }
	_, _, _ = syscall.RawSyscall(syscall.SYS_IOCTL, 2, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	return int(size.columns)
}

// fault is the status of a failure that was the command's own, or [Succeeded], else 0.
func (s *supervisor) fault() int {
	exited, n := s.status.Exited(), s.status.ExitStatus()
	if !exited {
		n = int(s.status.Signal())
	}
	status, ok := ownFault(exited, n)
	if exited && n == 0 && slices.Contains(s.config.Hints, HintAlways) {
		status, ok = Succeeded, true
	}
	if !ok || s.meddled() {
		return 0
	}
	return status
}

// explain runs the process and returns what it writes, "" when it takes too long,
// or when someone sends a signal meanwhile.
func (s *supervisor) explain(status int, left []string) string {
	calm := status != 0 || !s.meddled()
	var p [2]int
	if syscall.Pipe2(p[:], syscall.O_CLOEXEC) != nil {
		return ""
	}
	defer syscall.Close(p[0])
	out, err := fcntl(p[1], syscall.F_DUPFD_CLOEXEC, 3) // 0 and 1 are free here
	_ = syscall.Close(p[1])
	if err != nil {
		return ""
	}
	argv := slices.Concat([]string{"sbx", hintName, strconv.Itoa(status)}, s.config.Hints, left,
		[]string{"until=" + strconv.FormatInt(now()+lookTime, 10), "first=" + strconv.Itoa(s.pid),
			"columns=" + strconv.Itoa(columns()), "--"}, s.config.Argv)
	// Of the command's variables it looks at two.
	env := slices.DeleteFunc(syscall.Environ(), func(v string) bool {
		name, _ := procfs.Cut(v, '=')
		return name != "HOME" && name != "PATH"
	})
	c := child{path: "/proc/self/exe", argv: argv, env: env, mask: everySignal, output: out}
	pid, err := c.start()
	_ = syscall.Close(out)
	if err != nil {
		return ""
	}
	// Where memory is short the kernel ends this process, and neither process 1 nor bwrap.
	if fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", syscall.O_WRONLY, 0); err == nil {
		_, _ = syscall.Write(fd, []byte("1000"))
		_ = syscall.Close(fd)
	}
	var buf [2 * maxLines * (maxHint + 1)]byte // with spaces before lines that are wrapped
	n := 0
	for until := now() + hintTime; ; {
		if now() >= until || calm && s.meddled() {
			n = 0
			break
		}
		if !readable(p[0], 10e6) {
			continue
		}
		k, _ := syscall.Read(p[0], buf[n:]) // 0 when it is full
		if k <= 0 {
			break
		}
		n += k
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	reapOne(pid)
	return string(buf[:n])
}

// meddled reports whether a process outside ended the command, or talked to it, by
// a signal, also one that came together with its end: what fails then does not
// fail by itself.
func (s *supervisor) meddled() bool {
	const harmless = uint64(1<<(sigCONT-1) | 1<<(sigWINCH-1) | 1<<(sigCHLD-1) | 1<<(marker-1))
	return (s.relay.passed|s.told|s.parent.state().pending&s.forward|s.own())&^harmless != 0
}
