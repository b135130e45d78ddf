// SPDX-License-Identifier: Apache-2.0

package ptytest

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	_ "github.com/sbx-sandbox/sbx/internal/testenv" // no signal is ignored
)

// Patience is how long a test waits for what has to come. It is long, since
// only a failure waits for all of it.
const Patience = 15 * time.Second

// Keys that the terminal itself acts upon, as it is set up by default.
const (
	CtrlC         = "\x03"
	CtrlD         = "\x04"
	CtrlZ         = "\x1a"
	CtrlBackslash = "\x1c"
	Enter         = "\r"
	Escape        = "\x1b"
)

// Terminal is a terminal with a program on it.
type Terminal struct {
	t      testing.TB
	master *os.File
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the program has ended

	mu      sync.Mutex
	text    []byte        // all that was written to the terminal
	seen    int           // how much of it was waited for
	changed chan struct{} // closed when text grows
}

// Start opens a terminal of 24 rows and 200 columns and starts a program on
// it, as the leader of a session whose terminal it is. When the test ends, the
// terminal is hung up and the program killed.
func Start(t testing.TB, cmd *exec.Cmd) *Terminal {
	t.Helper()
	master, slave, err := open()
	if err != nil {
		t.Fatal("terminal: ", err)
	}
	p := &Terminal{t: t, master: master, cmd: cmd, ended: make(chan struct{}), changed: make(chan struct{})}
	p.Resize(24, 200)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	err = cmd.Start()
	// The terminal stays open by those who use it alone, as one on a desk does.
	slave.Close()
	if err != nil {
		master.Close()
		t.Fatal("terminal: ", err)
	}
	go p.read()
	go func() {
		_ = cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.end)
	return p
}

// open makes a pair of ends. Neither is passed on to a program by accident,
// since a copy of the master would keep the terminal alive.
func open() (master, slave *os.File, err error) {
	m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: "/dev/ptmx", Err: err}
	}
	err = unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0)
	s := -1
	if err == nil {
		// By number, not by name: /dev/pts may be of another mount.
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(m), unix.TIOCGPTPEER,
			unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if s = int(n); errno != 0 {
			err = errno
		}
	}
	if err != nil {
		unix.Close(m)
		return nil, nil, err
	}
	return os.NewFile(uintptr(m), "/dev/ptmx"), os.NewFile(uintptr(s), "terminal"), nil
}

// read takes in what is written until no process has the terminal open any more.
func (p *Terminal) read() {
	var f filter
	buf := make([]byte, 4096)
	for {
		n, err := p.master.Read(buf)
		text, asked := f.text(buf[:n])
		p.mu.Lock()
		p.text = append(p.text, text...)
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
		for range asked { // some programs wait for the answer
			_, _ = p.master.WriteString("\x1b[?62c")
		}
		if err != nil {
			return
		}
	}
}

func (p *Terminal) end() {
	p.master.Close()
	select {
	case <-p.ended:
	case <-time.After(time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// Type types keys.
func (p *Terminal) Type(keys string) {
	p.t.Helper()
	if err := p.master.SetWriteDeadline(time.Now().Add(Patience)); err != nil {
		p.t.Fatal("terminal: ", err)
	}
	if _, err := p.master.WriteString(keys); err != nil {
		p.t.Fatalf("typing %q: %v\non the screen:\n%s", keys, err, p.Screen())
	}
}

// Expect waits for a text that comes after all that was waited for before.
func (p *Terminal) Expect(text string) {
	p.t.Helper()
	p.ExpectMatch(regexp.QuoteMeta(text))
}

// ExpectMatch does so for a regular expression, and returns the text that
// matched and its groups.
func (p *Terminal) ExpectMatch(expr string) []string {
	p.t.Helper()
	re := regexp.MustCompile(expr)
	late := time.After(Patience)
	for {
		p.mu.Lock()
		rest, changed := p.text[p.seen:], p.changed
		at := re.FindSubmatchIndex(rest)
		if at != nil {
			p.seen += at[1]
		}
		p.mu.Unlock()
		if at != nil {
			var groups []string
			for i := 0; i < len(at); i += 2 {
				groups = append(groups, string(rest[max(at[i], 0):max(at[i+1], 0)]))
			}
			return groups
		}
		select {
		case <-changed:
		case <-late:
			p.t.Fatalf("not seen within %v: %q\n"+
				"on the screen after what was waited for:\n%s\non the screen before:\n%s", Patience, expr, rest,
				p.before())
		}
	}
}

// Until waits for a text, and returns what came before it.
func (p *Terminal) Until(text string) string {
	p.t.Helper()
	return p.ExpectMatch("(?s)^(.*?)" + regexp.QuoteMeta(text))[1]
}

// Count reports how often a text appears after what was waited for, when
// nothing more is written for a while.
func (p *Terminal) Count(text string, while time.Duration) int {
	late := time.After(Patience)
	re := regexp.MustCompile(regexp.QuoteMeta(text))
	for {
		p.mu.Lock()
		changed, n := p.changed, len(re.FindAllIndex(p.text[p.seen:], -1))
		p.mu.Unlock()
		select {
		case <-changed:
		case <-time.After(while):
			return n
		case <-late:
			return n
		}
	}
}

// Screen returns all that was written so far.
func (p *Terminal) Screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.text)
}

func (p *Terminal) before() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.text[:p.seen])
}

// Resize gives the window another size. The kernel tells the programs in the
// foreground with SIGWINCH.
func (p *Terminal) Resize(rows, cols uint16) {
	p.t.Helper()
	err := p.control(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	})
	if err != nil {
		p.t.Fatal("window size: ", err)
	}
}

// Modes returns how the terminal is set up: echo, lines, keys for signals.
func (p *Terminal) Modes() unix.Termios {
	p.t.Helper()
	var modes *unix.Termios
	err := p.control(func(fd int) (err error) {
		modes, err = unix.IoctlGetTermios(fd, unix.TCGETS)
		return err
	})
	if err != nil {
		p.t.Fatal("terminal: ", err)
	}
	return *modes
}

// Echo reports whether the terminal shows what is typed.
func (p *Terminal) Echo() bool { return p.Modes().Lflag&unix.ECHO != 0 }

// Foreground returns the number of the process group in the foreground.
func (p *Terminal) Foreground() int {
	p.t.Helper()
	group := 0
	err := p.control(func(fd int) (err error) {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	if err != nil {
		p.t.Fatal("foreground group: ", err)
	}
	return group
}

func (p *Terminal) control(do func(fd int) error) error {
	raw, err := p.master.SyscallConn()
	if err != nil {
		return err
	}
	err2 := raw.Control(func(fd uintptr) { err = do(int(fd)) })
	return errors.Join(err, err2)
}

// HangUp takes the terminal away from all who use it.
func (p *Terminal) HangUp() { p.master.Close() }

// PID is the process id of the program that was started.
func (p *Terminal) PID() int { return p.cmd.Process.Pid }

// Wait waits for the end of the program that was started.
func (p *Terminal) Wait() *os.ProcessState {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(Patience):
		p.t.Fatalf("%v did not end within %v\non the screen:\n%s", p.cmd.Args, Patience, p.Screen())
	}
	return p.cmd.ProcessState
}

// EndsWithin reports whether the program that was started ends in time.
func (p *Terminal) EndsWithin(d time.Duration) bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// Eventually waits until something holds, and fails the test with what it
// last said when it never does.
func (p *Terminal) Eventually(within time.Duration, what string, holds func() (bool, string)) {
	p.t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		ok, said := holds()
		if ok {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("not within %v: %s: %s\non the screen:\n%s", within, what, said, p.Screen())
		}
	}
}

// Output runs a program on a terminal of its own, types keys, and returns every
// byte that reached the terminal, as it is.
func Output(t testing.TB, cmd *exec.Cmd, keys string) []byte {
	t.Helper()
	master, slave, err := open()
	if err != nil {
		t.Fatal("terminal: ", err)
	}
	defer master.Close()
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 200}); err != nil {
		t.Fatal("terminal: ", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	err = cmd.Start()
	slave.Close()
	if err != nil {
		t.Fatal("terminal: ", err)
	}
	defer time.AfterFunc(2*Patience, func() { _ = cmd.Process.Kill() }).Stop()
	_, _ = master.WriteString(keys)
	out, _ := io.ReadAll(master) // ends with EIO when no process has the terminal open
	_ = cmd.Wait()
	return out
}
