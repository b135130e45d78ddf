// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a connection may take. What is refused is refused at once;
// a service that is busy counts as one that does not answer.
const patience = 500 * time.Millisecond

// dial connects a socket, or points it at an address, and says a word; it does not
// wait for ever. It goes on after a signal: on a socket with a time limit
// connect(2) is not restarted, and what was interrupted is no refusal.
func dial(family, kind int, addr unix.Sockaddr, word []byte) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	impatient(fd)
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Connect(fd, addr)
	}
	if err == unix.EISCONN {
		err = nil
	}
	if err == nil && len(word) > 0 {
		_, err = unix.Write(fd, word)
	}
	return err
}

func impatient(fd int) {
	tv := unix.NsecToTimeval(patience.Nanoseconds())
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv)
}

// connectUnix connects to a socket, whatever its type, and hangs up. A leading NUL
// byte is an abstract name.
func connectUnix(path string) error {
	if len(path) >= 108 && path[0] != 0 {
		// More than an address takes: go by the directory.
		dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		path = "/proc/self/fd/" + strconv.Itoa(dir) + "/" + filepath.Base(path)
	}
	var err error
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET} {
		if err = dial(unix.AF_UNIX, kind, unixAddr(path), nil); err != unix.EPROTOTYPE {
			break
		}
	}
	return err
}

// unixAddr is an address of a socket: package unix writes abstract names with an @.
func unixAddr(path string) unix.Sockaddr {
	if len(path) > 0 && path[0] == 0 {
		path = "@" + path[1:]
	}
	return &unix.SockaddrUnix{Name: path}
}

// loopback is an address of the loopback: by the act its type, by the text its family.
func (q *question) loopback(port int) (family, kind int, addr unix.Sockaddr) {
	family, kind, addr = unix.AF_INET, unix.SOCK_STREAM, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
	if q.Text == "6" {
		family, addr = unix.AF_INET6, &unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}}
	}
	if q.Act == actUDP {
		kind = unix.SOCK_DGRAM
	}
	return family, kind, addr
}

// sayWord says a word to a port of a loopback.
func sayWord(q *question, _ *answer) error {
	family, kind, addr := q.loopback(q.arg(0))
	return dial(family, kind, addr, q.Path)
}

// serve opens a socket that listens, or receives, at an address; it is not waited
// for. Port is the one that it got. Step says where it failed.
func serve(family, kind int, addr unix.Sockaddr) (fd, port int, step string, err error) {
	fd, err = unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, 0, "socket", err
	}
	if step, err = "bind", unix.Bind(fd, addr); err == nil && kind == unix.SOCK_STREAM {
		step, err = "listen", unix.Listen(fd, 64)
	}
	var at unix.Sockaddr
	if err == nil {
		step = "getsockname"
		at, err = unix.Getsockname(fd)
	}
	if err != nil {
		unix.Close(fd)
		return -1, 0, step, err
	}
	switch at := at.(type) {
	case *unix.SockaddrInet4:
		port = at.Port
	case *unix.SockaddrInet6:
		port = at.Port
	}
	return fd, port, "", nil
}

// talk listens on a loopback address and connects to itself.
func talk(q *question, a *answer) error {
	fd, port, step, err := serve(q.loopback(0))
	if err != nil {
		a.Step = step
		return err
	}
	defer unix.Close(fd)
	family, kind, addr := q.loopback(port)
	if err = dial(family, kind, addr, []byte("x")); err != nil {
		a.Step = "connect"
	}
	return err
}

// pair makes a pair of sockets, and sends a byte through it.
func pair(q *question, _ *answer) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, q.arg(0)|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	_, err = unix.Write(fds[0], []byte("x"))
	return err
}

func oneSocket(q *question, _ *answer) error {
	if len(q.Args) != 3 {
		return unix.EINVAL
	}
	fd, err := unix.Socket(q.arg(0), q.arg(1)|unix.SOCK_CLOEXEC, q.arg(2))
	if err == nil && fd > 2 { // a filter may say 0, which is the probe's own
		unix.Close(fd)
	}
	return err
}
