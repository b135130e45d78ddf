// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// question is one act for the probe to try. It holds names and addresses, and
// never the content of anything. Paths are bytes, which JSON keeps as base64:
// a file name need not be UTF-8.
type question struct {
	ID   int    `json:"id"`
	Act  string `json:"act"`
	Path []byte `json:"path,omitempty"`
	To   []byte `json:"to,omitempty"`
	Text string `json:"text,omitempty"`
	Args []int  `json:"args,omitempty"`
}

// answer is how an act went. Errno is 0 when it could be done; otherwise it is
// the kernel's, and Step says at which part of the act.
type answer struct {
	ID    int    `json:"id"`
	Errno int    `json:"errno,omitempty"`
	Step  string `json:"step,omitempty"`

	File  *fileInfo  `json:"file,omitempty"`
	Guard *guardInfo `json:"guard,omitempty"`
	Self  *selfInfo  `json:"self,omitempty"`
	Found []string   `json:"found,omitempty"`
	Read  int        `json:"read,omitempty"` // how many processes a search could read

	End bool `json:"end,omitempty"` // of all answers
}

// guardInfo is what keeps a path in place beside its mode.
type guardInfo struct {
	ReadOnly bool `json:"ro,omitempty"`    // the mount is read-only
	Mount    bool `json:"mount,omitempty"` // the path is a mount point, which cannot be renamed
	Own      bool `json:"own,omitempty"`   // the file, or the directory it is in, belongs to the command's user
	May      bool `json:"may,omitempty"`   // permissions alone allow the act
}

// act is something that can be tried inside. Where it is not refused it does no
// damage: it undoes at once what it did, or, as create, at the end. undo does so,
// also from outside, should the probe have died; nil is for what leaves nothing.
type act struct {
	name string
	done string // what is said of something protected where it could be done
	try  func(q *question, a *answer) error
	undo func(path, to string) error
}

// The acts that a probe knows.
const (
	actLook    = "look"    // Path: what is there, and its content
	actRead    = "read"    // Path: open for reading, and read nothing
	actOpen    = "open"    // Path: open for writing, without truncating
	actCreate  = "create"  // Path, a free name, Text: the kind of what to make; it stays until the end
	actRename  = "rename"  // Path to To, a free name, and back
	actLink    = "link"    // hard link of Path at To, a free name, opened for writing and removed
	actRemove  = "remove"  // Path: as what it is not, so that it stays
	actMode    = "mode"    // Path: give it the mode that it has
	actConnect = "connect" // Path: socket; a leading NUL byte is an abstract name
	actTCP     = "tcp"     // Text: 4 or 6, Args: port; sends Path
	actUDP     = "udp"     // the same
	actLocal   = "local"   // listen and connect on a loopback of one's own
	actSocket  = "socket"  // Args: family, type, protocol
	actPair    = "pair"    // Args: type of a pair of sockets
	actCall    = "call"    // Text: one of the trials
	actSelf    = "self"    // what the process is and was given
	actSearch  = "search"  // Text: look for it in what all processes show
	actSignal  = "signal"  // Args: a process id, Text: a word on its command line, To: by which call
	actTrace   = "trace"   // Args: a process id, Text: by which call to look into it
)

// acts is the table of them. The last one is for a name that is none of theirs.
var acts = [...]act{
	{name: actLook, try: look},
	{name: actRead, try: openForReading},
	{actOpen, "it can be opened for writing", openForWriting, nil},
	{actCreate, "a file can be made in it", create, removeMade},
	{actRename, "it can be moved away", rename, func(path, to string) error { return move(to, path) }},
	{actLink, "a hard link of it can be opened for writing", link, removeLink},
	{actRemove, "it can be removed", removeNot, nil},
	{name: actMode, try: sameMode},
	{name: actConnect, try: func(q *question, _ *answer) error { return connectUnix(string(q.Path)) }},
	{name: actTCP, try: sayWord},
	{name: actUDP, try: sayWord},
	{name: actLocal, try: talk},
	{name: actSocket, try: oneSocket},
	{name: actPair, try: pair},
	{name: actCall, try: tryCall},
	{name: actSelf, try: aboutSelf},
	{name: actSearch, try: search},
	{name: actSignal, try: signalOther},
	{name: actTrace, try: lookInto},
	{try: func(_ *question, a *answer) error { a.Step = "no such act"; return unix.ENOSYS }},
}

func (q *question) act() *act {
	i := 0
	for i < len(acts)-1 && acts[i].name != q.Act {
		i++
	}
	return &acts[i]
}

// textOwn is the text of an actOpen of a file of the run's own: it gets a mode
// first that lets the command write.
const textOwn = "own"

// answer tries what is asked. No input makes it panic.
func (q *question) answer() (a answer) {
	a.ID = q.ID
	defer func() {
		if r := recover(); r != nil {
			a = answer{ID: q.ID, Errno: int(unix.EINVAL), Step: "panic"}
		}
	}()
	a.Errno = int(errnoOf(q.act().try(q, &a)))
	return a
}

func (q *question) path() string { return ofRun(q.Path) }
func (q *question) to() string   { return ofRun(q.To) }

func (q *question) arg(i int) int {
	if i >= len(q.Args) {
		return 0
	}
	return q.Args[i]
}

// ofRun puts the directory of a run with Landlock in place of its name.
func ofRun(path []byte) string {
	rest, ok := strings.CutPrefix(string(path), runDir)
	if !ok {
		return string(path)
	}
	return filepath.Dir(os.Getenv("SBX_MANIFEST")) + rest
}

// errnoOf is the kernel's answer in an error, 0 for nil.
func errnoOf(err error) syscall.Errno {
	var e syscall.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e
	}
	return unix.EINVAL
}

// guarded returns err, and notes what keeps a path as it is beside it: the mount
// and the permissions of in, the owner of owner, and whether path itself is a
// mount point.
func (a *answer) guarded(err error, path, in, owner string, mode uint32) error {
	if err == nil {
		return nil
	}
	g := &guardInfo{May: permitted(in, mode)}
	var fs unix.Statfs_t
	if unix.Statfs(in, &fs) == nil {
		g.ReadOnly = fs.Flags&unix.ST_RDONLY != 0
	}
	var st unix.Stat_t
	if unix.Lstat(owner, &st) == nil {
		g.Own = int(st.Uid) == os.Geteuid()
	}
	var sx unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, 0, &sx) == nil {
		g.Mount = sx.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 && sx.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
	}
	a.Guard = g
	return err
}

// inDir is guarded for acts on the names in a directory.
func (a *answer) inDir(err error, path string) error {
	dir := policy.Dir(path)
	return a.guarded(err, path, dir, dir, unix.W_OK|unix.X_OK)
}

// permitted reports what permissions say, of which Landlock is no part: no hook
// of it is asked by access(2).
func permitted(path string, mode uint32) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS) == nil
}

// quietly opens without waiting for anyone and without taking a terminal.
const quietly = unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

// openForWriting opens an existing file and closes it again: it is neither made,
// nor truncated, nor written.
func openForWriting(q *question, a *answer) error {
	if q.Text == textOwn {
		_ = os.Chmod(q.path(), 0o600)
	}
	return a.opened(q.path(), unix.O_WRONLY, unix.W_OK)
}

func openForReading(q *question, a *answer) error {
	return a.opened(q.path(), unix.O_RDONLY, unix.R_OK)
}

func (a *answer) opened(path string, flag int, mode uint32) error {
	fd, err := unix.Open(path, flag|quietly, 0)
	if err == nil {
		unix.Close(fd)
	}
	return a.guarded(err, path, path, path, mode)
}

// create makes something of a kind at a name that is free.
func create(q *question, a *answer) error {
	var err error
	switch path := q.path(); q.Text {
	case "", "file":
		err = makeFile(path)
	case "directory":
		err = Do("mkdir", path, "")
	case "link":
		err = Do("symlink", "nowhere", path)
	default: // fifo, socket
		err = Do(q.Text, path, "")
	}
	if err != nil {
		a.Step = q.Text
	}
	return a.inDir(err, q.path())
}

// makeFile makes an empty file. With Landlock one may be made and not be opened
// then: that is no refusal.
func makeFile(path string) error {
	if lkind(path) != "" {
		return unix.EEXIST
	}
	err := Do("create", path, "")
	if errors.Is(err, unix.EACCES) && lkind(path) != "" {
		return nil
	}
	return err
}

// removeMade removes something of a random name that the probe has made, of
// whatever kind; a directory has to be empty, and so has a file.
func removeMade(path, _ string) error {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	switch kind := kindOf(st.Mode); {
	case err != nil:
		return err
	case kind == kindDir:
		return unix.Rmdir(path)
	case kind == kindFile && st.Size > 0:
		return unix.EEXIST // nothing of the probe's
	}
	return unix.Unlink(path)
}

// rename moves a path to a free name beside it and back at once.
func rename(q *question, a *answer) error {
	if err := move(q.path(), q.to()); err != nil {
		return a.inDir(err, q.path())
	}
	if err := move(q.to(), q.path()); err != nil {
		// Whoever asked puts it back. That it could be moved is the answer.
		a.Step = "moved back: " + errnoName(int(errnoOf(err)))
	}
	return nil
}

// move is rename(2) that overwrites nothing.
func move(from, to string) error {
	if lkind(to) != "" {
		return unix.EEXIST
	}
	return Do("rename", from, to)
}

// link makes a second name for a file, opens it for writing by that name, and
// removes the name.
func link(q *question, a *answer) error {
	path, to := q.path(), q.to()
	err := Do("link", path, to)
	if err != nil {
		owner := path
		if errors.Is(err, unix.EACCES) {
			owner = policy.Dir(to)
		}
		return a.guarded(err, path, policy.Dir(to), owner, unix.W_OK|unix.X_OK)
	}
	defer unix.Unlink(to)
	return a.opened(to, unix.O_WRONLY, unix.W_OK)
}

// removeLink removes a second name of a file, or an empty file.
func removeLink(path, to string) error {
	var st, first unix.Stat_t
	if unix.Lstat(to, &st) == nil && unix.Lstat(path, &first) == nil && first.Ino == st.Ino && first.Dev == st.Dev &&
		st.Nlink > 1 {
		return unix.Unlink(to)
	}
	return removeMade(to, "")
}

// removeNot removes a directory as if it were a file, and a file as if it were a
// directory: who may remove hears that it is not. Security modules are asked
// before that.
func removeNot(q *question, a *answer) error {
	path, act, no := q.path(), "rmdir", unix.ENOTDIR
	if lkind(path) == kindDir {
		act, no = "unlink", unix.EISDIR
	}
	err := Do(act, path, "")
	if err == no {
		return nil
	}
	return a.inDir(err, path)
}

// sameMode gives a path the mode that it has.
func sameMode(q *question, _ *answer) error {
	var st unix.Stat_t
	if err := unix.Stat(q.path(), &st); err != nil {
		return err
	}
	return unix.Fchmodat(unix.AT_FDCWD, q.path(), st.Mode&0o7777, 0)
}
