package verify

import (
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// patience is how long a connection may take. What is refused is refused at
// once; a service that is busy counts as one that does not answer.
const patience = 500 * time.Millisecond

// open returns a socket that does not wait for ever.
func open(family, kind int) (int, error) {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	tv := unix.NsecToTimeval(patience.Nanoseconds())
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv)
	return fd, nil
}

// connectUnix connects to a socket, whatever its type, and hangs up. A leading
// NUL byte is an abstract name.
func connectUnix(path string) error {
	if len(path) > 0 && path[0] == 0 {
		path = "@" + path[1:]
	} else if len(path) >= 108 {
		// More than an address takes: go by the directory.
		dir, err := unix.Open(policy.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		path = "/proc/self/fd/" + strconv.Itoa(dir) + "/" + base(path)
	}
	var err error
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET} {
		var fd int
		if fd, err = open(unix.AF_UNIX, kind); err != nil {
			return err
		}
		err = connect(fd, &unix.SockaddrUnix{Name: path})
		unix.Close(fd)
		if err != unix.EPROTOTYPE {
			return err
		}
	}
	return err
}

// connect goes on after a signal: on a socket with a time limit connect(2) is not
// restarted, and what was interrupted is no refusal.
func connect(fd int, addr unix.Sockaddr) error {
	err := unix.Connect(fd, addr)
	for err == unix.EINTR {
		err = unix.Connect(fd, addr)
	}
	if err == unix.EISCONN {
		return nil
	}
	return err
}

func loopback(six bool, port int) (int, unix.Sockaddr) {
	if six {
		return unix.AF_INET6, &unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}}
	}
	return unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

func sendTCP(six bool, port int, word []byte) error {
	family, addr := loopback(six, port)
	fd, err := open(family, unix.SOCK_STREAM)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := connect(fd, addr); err != nil {
		return err
	}
	_, err = unix.Write(fd, word)
	return err
}

func sendUDP(six bool, port int, word []byte) error {
	family, addr := loopback(six, port)
	fd, err := open(family, unix.SOCK_DGRAM)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, word, 0, addr)
}

// talk listens on a loopback address and connects to itself.
func talk(a *Answer) {
	family, addr := loopback(false, 0)
	l, err := open(family, unix.SOCK_STREAM)
	if err != nil {
		a.fail("socket", err)
		return
	}
	defer unix.Close(l)
	if err := unix.Bind(l, addr); err != nil {
		a.fail("bind", err)
		return
	}
	if err := unix.Listen(l, 1); err != nil {
		a.fail("listen", err)
		return
	}
	at, err := unix.Getsockname(l)
	if err != nil {
		a.fail("getsockname", err)
		return
	}
	in, ok := at.(*unix.SockaddrInet4)
	if !ok {
		a.fail("getsockname", unix.EINVAL)
		return
	}
	a.fail("connect", sendTCP(false, in.Port, []byte("x")))
}

// pair makes a pair of sockets, and sends a byte through it.
func pair(kind int) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	_, err = unix.Write(fds[0], []byte("x"))
	return err
}

func trySocket(args []int) error {
	if len(args) != 3 {
		return unix.EINVAL
	}
	fd, err := unix.Socket(args[0], args[1]|unix.SOCK_CLOEXEC, args[2])
	if err == nil && fd > 2 {
		unix.Close(fd)
	}
	return err
}
