// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// host is the side of a fixture that is outside: who listens at its sockets,
// and a process whose arguments and environment hold something.
type host struct {
	Places
	token    string
	tcp, udp string // addresses
	tcp6     string

	mu    sync.Mutex
	heard map[string]bool // addresses that a token arrived at

	victim *exec.Cmd
	gone   chan struct{} // closed when the victim has ended

	ends []func()
}

// close ends what the fixture has opened, last things first.
func (h *host) close() {
	for i := len(h.ends) - 1; i >= 0; i-- {
		h.ends[i]()
	}
	h.ends = nil
}

func (h *host) atEnd(f func()) { h.ends = append(h.ends, f) }

// newHost makes a fixture and what belongs to it.
func newHost(t *testing.T) *host {
	t.Helper()
	// Not the caller's TMPDIR: what becomes of /tmp is in the profiles.
	dir, err := os.MkdirTemp(temporary, "sbx-")
	if err != nil {
		t.Fatal(err)
	}
	h := &host{token: "token-" + rand.Text(), heard: map[string]bool{}}
	t.Cleanup(h.close)
	h.atEnd(func() { os.RemoveAll(dir) })
	if h.Places, err = Build(dir); err != nil {
		t.Fatal(err)
	}
	for _, n := range Layout() {
		if n.Kind == Socket {
			path := h.Expand(n.Path)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			h.serve(t, "unix", path)
		}
	}
	h.tcp, h.tcp6 = h.serve(t, "tcp", "127.0.0.1:0"), h.serve(t, "tcp", "[::1]:0")
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.atEnd(func() { c.Close() })
	h.udp = c.LocalAddr().String()
	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			h.hear(h.udp, string(buf[:n]))
			_, _ = c.WriteTo(buf[:n], from)
		}
	}()
	return h
}

// serve says back what is said, once it has been noted.
func (h *host) serve(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	h.atEnd(func() { l.Close() })
	address = l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(c).ReadString('\n')
			h.hear(address, line)
			_, _ = io.WriteString(c, line)
			c.Close()
		}
	}()
	return address
}

func (h *host) hear(address, line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if strings.TrimSpace(line) == h.token {
		h.heard[address] = true
	}
}

// heardAt reports whether a token arrived since the last question.
func (h *host) heardAt(address string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer delete(h.heard, address)
	return h.heard[address]
}

// start is a process of the host's, with the token among its arguments and in
// its environment.
func (h *host) start(t *testing.T) {
	t.Helper()
	h.victim = exec.Command(self(t), "victim", "argument-"+h.token)
	h.victim.Env = append(os.Environ(), "VICTIM=environ-"+h.token)
	stdin, err := h.victim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := h.victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.victim.Start(); err != nil {
		t.Fatal(err)
	}
	// Its own words: before, the arguments are not yet the new program's.
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	h.gone = gone
	go func() {
		_ = h.victim.Wait()
		close(gone)
	}()
	h.atEnd(func() {
		stdin.Close()
		<-gone
	})
}

// act is a row for this fixture.
func (h *host) act(t *testing.T, r Row) Act {
	a := Act{Op: r.Op, Token: h.token}
	for _, arg := range r.Args {
		if r.Op == "connect-ip" {
			arg = map[string]string{"tcp4": "tcp " + h.tcp, "tcp6": "tcp " + h.tcp6, "udp4": "udp " + h.udp}[arg]
		}
		a.Args = append(a.Args, h.Expand(arg))
	}
	if strings.HasSuffix(r.Op, "-outside") {
		if h.victim == nil {
			h.start(t)
		}
		a.Outside = h.victim.Process.Pid
	}
	return a
}

// judge has a row done and says whether it had its effect: on the host where
// there is one, and else for who did it.
func (h *host) judge(t *testing.T, r Row, do func(Act) (Done, error)) (allowed bool, detail string, err error) {
	a := h.act(t, r)
	path, to := "", ""
	if len(a.Args) > 0 {
		path, to = a.Args[0], a.Args[len(a.Args)-1]
	}
	content, names, id := "", []string(nil), ""
	switch a.Op {
	case "read":
		data, err := os.ReadFile(path)
		if err != nil || len(data) == 0 {
			return false, "", fmt.Errorf("nothing to read on the host: %w", err)
		}
		content = string(data)
	case "list":
		entries, err := os.ReadDir(path)
		if err != nil || len(entries) == 0 {
			return false, "", fmt.Errorf("nothing to list on the host: %w", err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	case "stat", "rename":
		if id, err = identity(path); err != nil {
			return false, "", err
		}
	}

	// What shows on the host must not be so before.
	info := func(path string) os.FileInfo { info, _ := os.Lstat(path); return info }
	var shows func() bool
	switch a.Op {
	case "write":
		shows = func() bool { data, _ := os.ReadFile(path); return strings.Contains(string(data), h.token) }
	case "truncate":
		shows = func() bool { return info(path) != nil && info(path).Size() == 0 }
	case "create", "mkdir", "symlink", "link":
		shows = func() bool { return info(to) != nil }
	case "unlink", "rmdir":
		shows = func() bool { return info(path) == nil }
	case "rename":
		shows = func() bool {
			now, _ := identity(to)
			return info(path) == nil && (now == id || info(to) != nil && info(to).IsDir())
		}
	case "chmod":
		shows = func() bool { return info(path) != nil && info(path).Mode().Perm() == 0o711 }
	}
	if shows != nil && shows() {
		return false, "", errors.New("it is so already")
	}

	done, err := do(a)
	if err != nil {
		return false, "", err
	}
	detail = done.Err
	if done.OK {
		detail = "done, without the effect"
	}
	switch a.Op {
	case "write", "truncate", "create", "mkdir", "symlink", "link", "unlink", "rmdir", "rename", "chmod":
		allowed = shows()
	case "read":
		allowed = done.OK && done.Data == content
	case "list":
		seen := strings.Split(done.Data, "\n")
		allowed = done.OK && !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(seen, name) })
	case "stat":
		allowed = done.OK && done.Data == id
	case "exec":
		allowed = done.OK && strings.TrimSpace(done.Data) == Marker
	case "connect-unix":
		allowed = h.heardAt(path)
	case "connect-ip":
		_, address, _ := strings.Cut(path, " ")
		allowed = h.heardAt(address)
	case "listen-ip":
		allowed = done.OK && h.hears("tcp", done.Data)
	case "bind-unix":
		allowed = done.OK && h.hears("unix", path)
	case "signal-outside":
		select {
		case <-h.gone:
			allowed = true
			h.victim = nil
		case <-time.After(50 * time.Millisecond):
		}
	case "see-outside":
		allowed = strings.Contains(done.Data, "argument-"+h.token)
	case "environ-outside":
		allowed = strings.Contains(done.Data, "environ-"+h.token)
	case "env":
		allowed = done.OK && done.Data == settings[path]
	case "device", "fork", "tmp":
		allowed = done.OK
	default:
		return false, "", fmt.Errorf("%s: nobody knows how that shows", a.Op)
	}
	if allowed {
		detail = "done"
	}
	return allowed, detail, nil
}

// restore makes the fixture what it was before an act, where that is less work
// than a new one.
func (h *host) restore(a Act) (restored bool, err error) {
	for _, path := range a.Args {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			real = path
		}
		for _, path := range []string{path, real} {
			if !strings.HasPrefix(path, filepath.Dir(h.CWD)+"/") {
				return false, fmt.Errorf("%s is not of this fixture", path)
			}
			if err := os.RemoveAll(path); err != nil {
				return false, err
			}
			for _, n := range Layout() {
				if at := h.Expand(n.Path); at == path || strings.HasPrefix(at, path+"/") {
					if n.Kind == Socket {
						return false, nil
					}
					if err := h.build(n); err != nil {
						return false, err
					}
				}
			}
		}
	}
	return true, nil
}

// hears asks a program of the sandbox for the token.
func (h *host) hears(network, address string) bool {
	c, err := net.DialTimeout(network, address, patience)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	line, _ := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line) == h.token
}
