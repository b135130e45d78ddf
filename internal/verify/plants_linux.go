package verify

import (
	"bytes"
	"encoding/hex"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Plants are what this process puts outside for the probe to look for:
// listening sockets, a process, variables and open descriptors.
type Plants struct {
	Nonce  string   // part of names
	Word   string   // on the command line of the process
	Mark   string   // in the values of the variables
	Env    []string // NAME=value
	FDs    []int    // open without close-on-exec
	Helper int      // process id
	Dir    string   // of the socket that has a path
	file   string   // in Dir, left open

	listeners []*listener
	cmd       *exec.Cmd
	input     *os.File
	output    *os.File
}

// random is a word that nobody else uses.
func random() (string, error) {
	var b [16]byte
	if _, err := unix.Getrandom(b[:], 0); err != nil {
		return "", err
	}
	return hex.EncodeToString(b[:]), nil
}

// NewPlants puts everything in place. Close takes it away again.
func NewPlants() (*Plants, error) {
	p := &Plants{}
	for _, word := range []*string{&p.Nonce, &p.Word, &p.Mark} {
		var err error
		if *word, err = random(); err != nil {
			return nil, err
		}
	}
	p.Env = []string{
		"SBX_VERIFY_" + p.Nonce + "_TOKEN=" + p.Mark,
		"VERIFY_" + p.Nonce + "_PASSWORD=" + p.Mark,
		"AWS_VERIFY_" + p.Nonce + "=" + p.Mark,
		"LD_VERIFY_" + p.Nonce + "=" + p.Mark, // of the loader's kind, which it does not know
		"VERIFY_" + p.Nonce + "_URL=https://user:" + p.Mark + "@sbx.invalid/",
	}
	if err := p.start(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Plants) start() error {
	if err := p.listen(); err != nil {
		return err
	}
	if err := p.helper(); err != nil {
		return err
	}
	return p.leaveOpen()
}

// holds reports whether a variable is one of those planted.
func (p *Plants) holds(name string) bool { return strings.Contains(name, p.Nonce) }

// helper starts a process with a word on its command line, and proves that
// the word is found and that a signal reaches it.
func (p *Plants) helper() error {
	p.cmd = exec.Command("/proc/self/exe", probeName, wordIdle, p.Word)
	p.cmd.Args[0] = "sbx"
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.input, _ = in.(*os.File)
	p.output, _ = out.(*os.File)
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.Helper = p.cmd.Process.Pid
	b := make([]byte, 1)
	if _, err := out.Read(b); err != nil {
		return err
	}
	var a Answer
	if search(p.Word, &a); len(a.Found) == 0 {
		return &os.PathError{Op: "search", Path: "/proc", Err: unix.ESRCH}
	}
	if err := signalOther(p.Helper, p.Word, ""); err != nil {
		return err
	}
	_, err = out.Read(b)
	return err
}

// leaveOpen leaves a directory, a socket, a file of the kernel's and one whose
// name no policy can know open for the run, at numbers that nobody else uses.
func (p *Plants) leaveOpen() error {
	dir, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	sock, err := open(unix.AF_UNIX, unix.SOCK_STREAM)
	if err != nil {
		return err
	}
	defer unix.Close(sock)
	for _, l := range p.listeners {
		if l.network == "unix" && l.fd >= 0 {
			if err := unix.Connect(sock, &unix.SockaddrUnix{Name: strings.Replace(l.path, "\x00", "@", 1)}); err != nil {
				return err
			}
			l.heard() // this one does not count
			break
		}
	}
	kernels, err := unix.Open("/proc/self/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(kernels)
	file, err := p.elsewhere()
	if err != nil {
		return err
	}
	defer unix.Close(file)
	for _, fd := range []int{dir, sock, kernels, file} {
		if fd < 0 {
			continue
		}
		n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD, 200)
		if err != nil {
			return err
		}
		p.FDs = append(p.FDs, n)
	}
	return nil
}

// elsewhere opens a file by a name that it loses; it has another.
func (p *Plants) elsewhere() (int, error) {
	name, other := p.Dir+"/opened", p.Dir+"/other"
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return -1, err
	}
	p.file = other
	if err := unix.Link(name, other); err != nil {
		p.file = "" // a file system without hard links: it does without this one
		unix.Close(fd)
		fd = -1
	}
	return fd, unix.Unlink(name)
}

// Close ends the process and removes the sockets.
func (p *Plants) Close() {
	if p.input != nil {
		p.input.Close()
	}
	if p.cmd != nil && p.cmd.Process != nil {
		t := time.AfterFunc(time.Second, func() { _ = p.cmd.Process.Kill() })
		_ = p.cmd.Wait()
		t.Stop()
	}
	for _, fd := range p.FDs {
		unix.Close(fd)
	}
	for _, l := range p.listeners {
		if l.fd >= 0 {
			unix.Close(l.fd)
		}
		if l.path != "" && l.path[0] == '/' {
			_ = unix.Unlink(l.path)
		}
	}
	if p.file != "" {
		_ = unix.Unlink(p.file)
	}
	if p.Dir != "" {
		_ = unix.Rmdir(p.Dir)
	}
}

// listener is a socket of this process that nobody inside may reach.
type listener struct {
	name, network string // tcp, udp, unix
	six           bool
	path          string // of a unix socket; a leading NUL byte is an abstract name
	fd            int    // -1 for none
	port          int
	why           string // there is none
	word          string // that a message has to hold
}

// listen opens the sockets and proves that each can be reached from here.
func (p *Plants) listen() error {
	dir, err := os.MkdirTemp("", "sbx-verify-")
	if err != nil || len(dir) > 90 {
		if err == nil {
			_ = unix.Rmdir(dir)
		}
		if dir, err = os.MkdirTemp("/tmp", "sbx-verify-"); err != nil {
			return err
		}
	}
	p.Dir = dir
	p.listeners = []*listener{
		{name: "TCP 127.0.0.1", network: "tcp"}, {name: "TCP ::1", network: "tcp", six: true},
		{name: "UDP 127.0.0.1", network: "udp"}, {name: "UDP ::1", network: "udp", six: true},
		{name: "abstract socket", network: "unix", path: "\x00sbx-verify-" + p.Nonce}, {name: "socket in a directory outside", network: "unix", path: dir + "/socket"},
	}
	for _, l := range p.listeners {
		l.word = p.Nonce
		if err := l.open(); err != nil {
			if l.six {
				l.why = "no IPv6 on this host"
				continue
			}
			return &os.PathError{Op: "listen", Path: l.name, Err: err}
		}
	}
	return nil
}

func (l *listener) open() (err error) {
	l.fd = -1
	family, kind := unix.AF_UNIX, unix.SOCK_STREAM
	var addr unix.Sockaddr = &unix.SockaddrUnix{Name: strings.Replace(l.path, "\x00", "@", 1)}
	if l.network != "unix" {
		family, addr = loopback(l.six, 0)
	}
	if l.network == "udp" {
		kind = unix.SOCK_DGRAM
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
			l.fd = -1
		}
	}()
	l.fd = fd
	if err := unix.Bind(fd, addr); err != nil {
		return err
	}
	if kind == unix.SOCK_STREAM {
		if err := unix.Listen(fd, 64); err != nil {
			return err
		}
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	switch at := at.(type) {
	case *unix.SockaddrInet4:
		l.port = at.Port
	case *unix.SockaddrInet6:
		l.port = at.Port
	}
	return l.control()
}

// control reaches the socket from here, so that it is known to answer.
func (l *listener) control() error {
	var err error
	switch l.network {
	case "tcp":
		err = sendTCP(l.six, l.port, []byte(l.word))
	case "udp":
		err = sendUDP(l.six, l.port, []byte(l.word))
	default:
		err = connectUnix(l.path)
	}
	if err != nil {
		return err
	}
	for range 50 {
		if l.heard() {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return unix.ETIMEDOUT
}

// heard reports whether somebody reached the socket since it was last asked.
// On ports that anyone may try, only who knows the word counts.
func (l *listener) heard() bool {
	reached := false
	buf := make([]byte, 256)
	for range 256 {
		if l.network == "udp" {
			n, _, err := unix.Recvfrom(l.fd, buf, unix.MSG_DONTWAIT)
			if err != nil {
				break
			}
			reached = reached || bytes.Contains(buf[:n], []byte(l.word))
			continue
		}
		c, _, err := unix.Accept4(l.fd, unix.SOCK_CLOEXEC)
		if err != nil {
			break
		}
		if l.network == "unix" {
			reached = true
		} else {
			tv := unix.NsecToTimeval(patience.Nanoseconds())
			_ = unix.SetsockoptTimeval(c, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv)
			n, err := unix.Read(c, buf)
			reached = reached || err == nil && bytes.Contains(buf[:n], []byte(l.word))
		}
		unix.Close(c)
	}
	return reached
}

// servers describes the sockets for the checks.
func (p *Plants) servers(m mounts, walls bool) []Server {
	var out []Server
	for _, l := range p.listeners {
		s := Server{Name: l.name, Port: l.port, Absent: l.why, Heard: l.heard, Text: "4", Shared: l.network != "unix" || l.path[0] == 0 && !walls}
		switch {
		case l.network == "tcp":
			s.Act = actTCP
		case l.network == "udp":
			s.Act = actUDP
		default:
			s.Act, s.Path = actConnect, []byte(l.path)
			if l.path[0] == '/' && !walls {
				if a := m.at(canonical(l.path)); a.shows() {
					s.Opened = a.rule
				}
			}
		}
		if l.six {
			s.Text = "6"
		}
		out = append(out, s)
	}
	return out
}

// listening reports whether an abstract name is in use.
func listening(path string) bool {
	data, _ := os.ReadFile("/proc/net/unix")
	for line := range strings.Lines(string(data)) {
		if strings.HasSuffix(strings.TrimSpace(line), " @"+path[1:]) {
			return true
		}
	}
	return false
}
