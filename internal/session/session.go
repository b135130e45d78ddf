// SPDX-License-Identifier: Apache-2.0

// Package session keeps what a person agreed to when an agent was started
// (sbx agent) for the many commands that the agent starts later (sbx-sh).
//
// The environment and the working directory of such a command come from the
// client, and with it from the project that it works on: they can choose among
// the sessions that exist, and never make one or change what it says. So a
// session is a file, in a place that no variable names, that only the user can
// write and that no sandbox shows:
//
//	/var/tmp/sbx-agent-UID/ID/session.json   what was agreed to
//	/var/tmp/sbx-agent-UID/ID/tmp            /tmp of the commands, and there under its own name, too
//	/var/tmp/sbx-agent-UID/ID/client         TMPDIR of the client
//	/var/tmp/sbx-agent-UID/ID/line           a link to a shell, see [Line]
//
// It does not protect against programs that run as the user outside of any
// sandbox: those need no session to do what they want.
package session

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sbx-sandbox/sbx/internal/ownfile"
	"github.com/sbx-sandbox/sbx/internal/procfs"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Session is what holds for all commands of one client. The lists are those of
// the flags of a run that have their names, paths absolute.
type Session struct {
	Client string `json:"client"` // "claude"
	Root   string `json:"root"`   // canonical: the only tree that commands can write, wherever they are started
	CWD    string `json:"cwd"`    // canonical: the working directory at the start, in Root

	// The user's directories at the start, "" for an unset variable. Policy and
	// configuration are looked up with these, whatever a command's variables say.
	Home   string   `json:"home"`
	Config string   `json:"config"`
	Cache  string   `json:"cache"`
	Data   string   `json:"data"`
	State  string   `json:"state"`
	Path   string   `json:"path"`
	Files  []string `json:"files,omitempty"` // config.Digests: what was agreed to holds as long as they say the same

	Profile    []string `json:"profile,omitempty"`
	AllowRead  []string `json:"allow_read,omitempty"`
	AllowWrite []string `json:"allow_write,omitempty"`
	Block      []string `json:"block,omitempty"`
	Device     []string `json:"device,omitempty"`
	Env        []string `json:"env,omitempty"`
	Net        bool     `json:"net,omitempty"`
	NoNet      bool     `json:"no_net,omitempty"`
}

// Var is the variable by which a client passes on which session it is of.
const Var = "SBX_SESSION"

// Store is the directory of a user's sessions, which no command may write.
func Store(uid int) string { return base(uid) }

// base is where the sessions of a user are: not in /tmp, since a session's own
// directory stands in its place inside. It is a link on macOS.
func base(uid int) string {
	for _, tmp := range []string{"/var/tmp", "/tmp"} {
		if to, err := filepath.EvalSymlinks(tmp); err == nil {
			return to + "/sbx-agent-" + strconv.Itoa(uid)
		}
	}
	return "/var/tmp/sbx-agent-" + strconv.Itoa(uid)
}

// Tmp is the directory for temporary files that the commands of a session share.
func Tmp(dir string) string { return dir + "/tmp" }

// Private is the client's own, which no command sees: what programs keep there,
// compiled code for one, is run by the next one that the client starts.
func Private(dir string) string { return dir + "/client" }

const file = "session.json"

// Line is the name in the directory of a session by which a client hands command
// lines to a shell: a link to it. It says by itself which session it is of,
// whatever the variables are that a project's settings gave a program.
const Line = "line"

// Told reports whether the commands of a client have said a text within the last
// hour, as the last one of its kind, and notes in a directory that this one does:
// a client reads the same line after each command otherwise. Where nothing can be
// noted it is said again.
func Told(dir, text string) bool {
	path := dir + "/told"
	info, err := os.Lstat(path)
	if err == nil && time.Since(info.ModTime()) < time.Hour {
		if last, err := os.ReadFile(path); err == nil && string(last) == text {
			return true
		}
	}
	part := path + "." + strconv.Itoa(os.Getpid())
	if os.WriteFile(part, []byte(text), 0o600) == nil {
		_ = os.Rename(part, path)
	}
	return false
}

// Create makes the directory of a new session for this process, which is about
// to become the client. Sessions that began a week ago and whose client has ended go.
func Create(uid int, s Session) (dir string, err error) {
	top := base(uid)
	if err := os.Mkdir(top, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	if err := own(top, uid, os.ModeDir|0o700); err != nil {
		return "", err
	}
	sweep(top, uid, time.Hour)
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return "", err
	}
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	pid := os.Getpid()
	dir = top + "/" + strconv.Itoa(pid) + "." + started(pid) + "." + processes() + "." + hex.EncodeToString(id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if err := fill(dir, data); err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}

// fill writes the file under another name first: it is there whole or not.
func fill(dir string, data []byte) error {
	for _, d := range []string{Tmp(dir), Private(dir)} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	part := dir + "/." + file
	if err := os.WriteFile(part, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(part, dir+"/"+file)
}

// Open reads the session that a client passed on the directory of. Whatever is
// not exactly as [Create] makes it is an error.
func Open(dir string, uid int) (*Session, error) {
	top := base(uid)
	name, ok := strings.CutPrefix(dir, top+"/")
	if !ok || !validID(name) {
		return nil, fmt.Errorf("%s=%s is not an sbx session", Var, strconv.Quote(dir))
	}
	for _, d := range []string{top, dir} {
		if err := own(d, uid, os.ModeDir|0o700); err != nil {
			return nil, gone(err)
		}
	}
	// Its mode is the commands' to change: it is their /tmp.
	if info, err := os.Lstat(Tmp(dir)); err != nil || !info.IsDir() {
		return nil, gone(cmp.Or(err, error(fmt.Errorf("%s is not a directory", text.Plain(Tmp(dir))))))
	}
	path := dir + "/" + file
	if err := own(path, uid, 0o600); err != nil {
		return nil, gone(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var s Session
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("%s: %w", text.Plain(path), err)
	}
	if !strings.HasPrefix(s.Root, "/") || s.CWD != "" && !strings.HasPrefix(s.CWD+"/", s.Root+"/") || !strings.HasPrefix(s.Home, "/") {
		return nil, fmt.Errorf("%s: without root or home", text.Plain(path))
	}
	return &s, nil
}

func gone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("its directory is gone: start the agent again with sbx agent")
	}
	return err
}

// own refuses what is not the user's alone: another user may have made a
// directory of this name in /tmp first.
func own(path string, uid int, mode os.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&(os.ModeType|os.ModePerm) != mode:
		return fmt.Errorf("%s is not what sbx made: its mode is %v", text.Plain(path), info.Mode())
	case !ok || int(st.Uid) != uid:
		return fmt.Errorf("%s belongs to another user", text.Plain(path))
	case info.Mode().IsRegular() && st.Nlink != 1:
		return fmt.Errorf("%s has a second name", text.Plain(path))
	}
	return nil
}

// validID reports whether a name is one that [Create] gives: process, its
// start, namespace of processes, 16 hexadecimal digits.
func validID(name string) bool {
	f := strings.Split(name, ".")
	const digits, letters = "0123456789", "abcdefghijklmnopqrstuvwxyz"
	of := func(s, signs string) bool { return s != "" && strings.Trim(s, signs) == "" }
	return len(f) == 4 && of(f[0], digits) && of(f[1], digits+letters) && of(f[2], digits) &&
		len(f[3]) == 16 && of(f[3], digits+"abcdef")
}

// sweep removes sessions that are over: the client has ended, and some time has
// passed for what it left running. Of clients in other namespaces of processes
// nothing is known here: their sessions go after a week.
func sweep(top string, uid int, rest time.Duration) {
	ownfile.Sweep(top, uid, 2*time.Second, func(name string, age func() time.Duration) bool {
		return over(name, age(), rest)
	})
}

// over reports whether a session of that name and age is.
func over(name string, age, rest time.Duration) bool {
	if !validID(name) || age < rest {
		return false
	}
	f := strings.Split(name, ".")
	if f[2] != processes() {
		return age > 7*24*time.Hour
	}
	return ownfile.Ended(f[0], f[1])
}

// started is when a process began; "0" where that is hidden.
func started(pid int) string { return cmp.Or(ownfile.Started(pid), "0") }

// processes is the number of this namespace of processes, "0" where there is none.
func processes() string { return procfs.Namespace("pid") }
