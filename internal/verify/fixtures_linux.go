// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// fixtures are what this process puts outside for the probe to look for: sockets
// that listen, a process, variables and open descriptors. Each is known to be
// within reach here.
type fixtures struct {
	nonce  string   // part of names
	word   string   // on the command line of the process
	mark   string   // in the values of the variables
	env    []string // NAME=value
	dir    string   // of the socket that has a path
	helper int      // process id

	listeners []*listener
	idle      *run  // the process
	fds       []int // open without close-on-exec
}

// random is a word that no one else uses.
func random() (string, error) {
	var b [16]byte
	_, err := unix.Getrandom(b[:], 0)
	return hex.EncodeToString(b[:]), err
}

// newFixtures puts everything in place. close takes it away again, also what was
// in place before an error.
func newFixtures() (*fixtures, error) {
	f := &fixtures{}
	for _, word := range []*string{&f.nonce, &f.word, &f.mark} {
		var err error
		if *word, err = random(); err != nil {
			return f, err
		}
	}
	f.env = []string{
		"SBX_VERIFY_" + f.nonce + "_TOKEN=" + f.mark,
		"VERIFY_" + f.nonce + "_PASSWORD=" + f.mark,
		"AWS_VERIFY_" + f.nonce + "=" + f.mark,
		"LD_VERIFY_" + f.nonce + "=" + f.mark, // of the loader's kind, which it does not know
		"VERIFY_" + f.nonce + "_URL=https://user:" + f.mark + "@sbx.invalid/",
	}
	for _, step := range []func() error{f.listen, f.help, f.leaveOpen} {
		if err := step(); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (f *fixtures) close() {
	if f.helper != 0 {
		t := time.AfterFunc(time.Second, func() { _ = f.idle.cmd.Process.Kill() })
		_ = f.idle.end()
		t.Stop()
	}
	for _, fd := range f.fds {
		unix.Close(fd)
	}
	for _, l := range f.listeners {
		if l.fd >= 0 {
			unix.Close(l.fd)
		}
	}
	if f.dir != "" {
		_ = os.Remove(f.dir + "/socket")
		_ = os.Remove(f.dir + "/other")
		_ = os.Remove(f.dir)
	}
}

// help starts a process with a word on its command line, and proves that the word
// is found and that a signal reaches it.
func (f *fixtures) help() error {
	var err error
	if f.idle, err = startSelf(context.Background(), nil, probeName, wordIdle, f.word); err != nil {
		return err
	}
	f.helper = f.idle.cmd.Process.Pid
	b := make([]byte, 1)
	if _, err := f.idle.out.Read(b); err != nil {
		return err
	}
	seen := (&question{Act: actSearch, Text: f.word}).answer()
	if len(seen.Found) == 0 {
		return &os.PathError{Op: "search", Path: "/proc", Err: unix.ESRCH}
	}
	signalled := (&question{Act: actSignal, Args: []int{f.helper}, Text: f.word}).answer()
	if signalled.Errno != 0 {
		return unix.Errno(signalled.Errno)
	}
	_, err = f.idle.out.Read(b)
	return err
}

// leaveOpen leaves a directory, a socket, a file of the kernel's and one whose name
// no policy can know open for the run, at numbers that no one else uses.
func (f *fixtures) leaveOpen() error {
	for _, open := range []func() (int, error){
		func() (int, error) { return unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) },
		f.connected,
		func() (int, error) { return unix.Open("/proc/self/status", unix.O_RDONLY|unix.O_CLOEXEC, 0) },
		f.renamed,
	} {
		fd, err := open()
		if err != nil {
			return err
		}
		if fd < 0 {
			continue
		}
		n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD, 200)
		unix.Close(fd)
		if err != nil {
			return err
		}
		f.fds = append(f.fds, n)
	}
	return nil
}

// connected is a socket that leads to one of the listeners.
func (f *fixtures) connected() (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	l := f.listeners[len(f.listeners)-1]
	err = unix.Connect(fd, unixAddr(string(l.Path)))
	l.heard() // this one does not count
	return fd, err
}

// renamed is a file that was opened by a name that it has no more; it has another.
// A file system without hard links does without it.
func (f *fixtures) renamed() (int, error) {
	name := f.dir + "/opened"
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return -1, err
	}
	if unix.Link(name, f.dir+"/other") != nil {
		unix.Close(fd)
		fd = -1
	}
	return fd, unix.Unlink(name)
}

// listener is a socket of this process that no process inside may reach.
type listener struct {
	server
	fd int // -1 for none
}

// listen opens the sockets, the one with a path last.
func (f *fixtures) listen() error {
	dir, err := os.MkdirTemp("", "sbx-verify-")
	if err == nil && len(dir) > 90 { // no room for the name of a socket
		err = unix.ENAMETOOLONG
		_ = os.Remove(dir)
	}
	if err != nil {
		if dir, err = os.MkdirTemp("/tmp", "sbx-verify-"); err != nil {
			return err
		}
	}
	f.dir = dir
	for _, s := range []struct{ name, act, text, path string }{
		{"TCP 127.0.0.1", actTCP, "4", f.nonce}, {"TCP ::1", actTCP, "6", f.nonce},
		{"UDP 127.0.0.1", actUDP, "4", f.nonce}, {"UDP ::1", actUDP, "6", f.nonce},
		{"abstract socket", actConnect, "", "\x00sbx-verify-" + f.nonce},
		{"socket in a directory outside", actConnect, "", dir + "/socket"},
	} {
		l := &listener{server: server{Name: s.name, question: question{Act: s.act, Path: []byte(s.path), Text: s.text}},
			fd: -1}
		l.Heard = l.heard
		f.listeners = append(f.listeners, l)
		if err := l.open(); err != nil && s.text == "6" {
			l.Absent = "no IPv6 on this host"
		} else if err != nil {
			return &os.PathError{Op: "listen", Path: s.name, Err: err}
		}
	}
	return nil
}

// open opens the socket and reaches it from here, so that it is known to answer.
func (l *listener) open() (err error) {
	family, kind, addr := unix.AF_UNIX, unix.SOCK_STREAM, unixAddr(string(l.Path))
	if l.Act != actConnect {
		family, kind, addr = l.loopback(0)
	}
	var port int
	if l.fd, port, _, err = serve(family, kind, addr); err != nil {
		return err
	}
	l.Args = []int{port}
	if a := l.answer(); a.Errno != 0 {
		return unix.Errno(a.Errno)
	}
	for range 50 {
		if l.heard() {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return unix.ETIMEDOUT
}

// heard reports whether a process reached the socket since it was last asked. On
// ports that anyone may try, only who knows the word counts.
func (l *listener) heard() bool {
	reached := false
	buf := make([]byte, 256)
	for range 256 {
		n, err := 0, error(nil)
		if l.Act == actUDP {
			n, _, err = unix.Recvfrom(l.fd, buf, unix.MSG_DONTWAIT)
		} else {
			n, err = l.accept(buf)
		}
		if err != nil {
			break
		}
		reached = reached || l.Act == actConnect || bytes.Contains(buf[:max(n, 0)], l.Path)
	}
	return reached
}

// accept takes a connection, and what is said on one that anyone may make.
func (l *listener) accept(buf []byte) (n int, err error) {
	c, _, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC)
	if err != nil {
		return 0, err
	}
	defer unix.Close(c)
	if l.Act == actTCP {
		impatient(c)
		n, _ = unix.Read(c, buf)
	}
	return n, nil
}
