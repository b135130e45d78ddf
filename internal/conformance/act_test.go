// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sbx-sandbox/sbx/internal/verify"
)

// Act is what an actor is asked to do: a row whose targets are those of a
// fixture. Outside is a process of the host's, Token what its arguments and its
// environment hold, and what is sent and written.
type Act struct {
	Op      string
	Args    []string
	Outside int
	Token   string
}

// Done is how an act went. Data is what was learned by it.
type Done struct {
	OK   bool
	Err  string
	Data string
}

// Serve does the acts that come in, one JSON value a line, and answers each by
// another. It is the command of a sandboxed run, and of the control outside.
func Serve(r io.Reader, w io.Writer) error {
	in, out := json.NewDecoder(bufio.NewReader(r)), json.NewEncoder(w)
	a := actor{}
	defer a.close()
	for {
		var act Act
		if err := in.Decode(&act); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		a.close()
		data, err := a.do(act)
		done := Done{OK: err == nil, Data: data}
		if err != nil {
			done.Err = err.Error()
		}
		if err := out.Encode(done); err != nil {
			return err
		}
	}
}

// actor keeps what an act has opened for others until the next one.
type actor struct{ open []io.Closer }

func (a *actor) close() {
	for _, c := range a.open {
		c.Close()
	}
	a.open = nil
}

func (a *actor) do(act Act) (string, error) {
	args := append(act.Args, "", "")
	for i := range args {
		if rest, ok := strings.CutPrefix(args[i], "$TMP/"); ok {
			args[i] = filepath.Join(os.Getenv("TMPDIR"), rest)
		}
	}
	path, to := args[0], args[1]
	switch act.Op {
	case "read":
		data, err := os.ReadFile(path)
		return string(data), err
	case "list":
		entries, err := os.ReadDir(path)
		names := make([]string, len(entries))
		for i, e := range entries {
			names[i] = e.Name()
		}
		return strings.Join(names, "\n"), err
	case "stat":
		return identity(path)
	case "write":
		return "", put(path, os.O_WRONLY|os.O_APPEND, act.Token)
	case "device":
		return "", put(path, os.O_WRONLY, act.Token)
	case "truncate":
		return "", os.Truncate(path, 0)
	case "create", "mkdir", "unlink", "rmdir", "rename", "link", "symlink":
		return "", verify.Do(act.Op, path, to)
	case "chmod":
		return "", os.Chmod(path, 0o711)
	case "exec":
		out, err := exec.Command(path).Output()
		return string(out), err
	case "fork":
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		return "", exec.Command(self).Run()
	case "tmp":
		f, err := os.CreateTemp("", "sbx")
		if err != nil {
			return "", err
		}
		f.Close()
		return "", os.Remove(f.Name())
	case "env":
		if v, ok := os.LookupEnv(path); ok {
			return v, nil
		}
		return "", errors.New("not set")
	case "connect-unix":
		return a.connect("unix", path, act.Token)
	case "connect-ip":
		network, address, _ := strings.Cut(path, " ")
		return a.connect(network, address, act.Token)
	case "bind-unix":
		return a.listen("unix", path, act.Token)
	case "listen-ip":
		return a.listen("tcp", path, act.Token)
	case "signal-outside":
		// In a namespace of its own the number may be this process.
		if act.Outside == os.Getpid() || act.Outside == os.Getppid() {
			return "", errors.New("that number is a process of the sandbox")
		}
		return "", syscall.Kill(act.Outside, syscall.SIGTERM)
	case "see-outside":
		return arguments(act.Outside)
	case "environ-outside":
		return environment(act.Outside)
	}
	return "", fmt.Errorf("%s: no such act", act.Op)
}

func put(path string, flags int, text string) error {
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// identity is what tells a file from another that stands in its place.
func identity(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	st := info.Sys().(*syscall.Stat_t)
	return fmt.Sprint(st.Ino, info.Size(), info.ModTime().UnixNano()), nil
}

// patience is for what arrives at once or never.
const patience = 2 * time.Second

// connect says the token and wants to hear it.
func (a *actor) connect(network, address, token string) (string, error) {
	c, err := net.DialTimeout(network, address, patience)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, token+"\n"); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}

// listen waits until the next act for a process that wants the token.
func (a *actor) listen(network, address, token string) (string, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return "", err
	}
	a.open = append(a.open, l)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, token+"\n")
			c.Close()
		}
	}()
	return l.Addr().String(), nil
}
