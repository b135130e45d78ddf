// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// masks sees to it that no mask goes without notice while the command runs.
// Inside, a mount point can be neither renamed nor removed. On the host it is a
// name like any other. What is renamed over it, or removes it, takes the mount
// out of this namespace, of which poll(2) of /proc/self/mountinfo tells. What
// moves it away takes the mount along, and frees the name; of that F_NOTIFY
// (fcntl(2)) tells, by a signal. inotify(7) would tell of both, but a process
// that has used it takes 10 ms to end, in which the kernel waits for itself.
type masks struct {
	mounts  int // /proc/self/mountinfo, -1 when there is nothing to watch
	moves   int // a signalfd for moved
	watched []watched
	list    []mask
	exposed bool // something hidden is not any more, and nothing runs any more
}

type mask struct {
	Mask
	state  maskState
	source fileID  // what is there at the start
	before content // of one that no longer protects, as it was found
}

// watched is a directory in which a mask can be taken away. It stays open: the
// command can make a directory of the user's own one that nothing can open.
type watched struct {
	path string
	fd   int   // of the last one that could be opened, -1 for none
	shut error // why what is there now is not watched
}

type maskState byte

const (
	inPlace   maskState = iota
	awaited             // gone, and nothing has taken the name yet
	unwatched           // the same, and told: what takes the name would not be seen
	told
)

// Directory notification of fcntl(2).
const (
	dnCreate    = 0x4
	dnDelete    = 0x8 // or moved away
	dnMultishot = 0x80000000

	moved = 30 // SIGPWR, which nothing else here is about

	maskEvent = 1 // in process 1's epoll, 0 being signals
)

// open begins to watch, before the command is there, and compares with what was
// mounted. It reports whether all masks are in place.
func (m *masks) open(cfg *InitConfig) bool {
	m.mounts, m.moves = -1, -1
	if len(cfg.Masks) == 0 {
		return true
	}
	for _, dir := range watchedDirs(cfg.Masks) {
		m.watched = append(m.watched, watched{path: dir, fd: -1})
	}
	err := m.watch(cfg.Parent.Epoll)
	if err == nil {
		err = m.arm(dnDelete)
	}
	if err != nil {
		say("warning: a hidden or read-only file that is replaced on the host while the command runs " +
			"may go without notice: " + err.Error())
	}
	for _, w := range m.watched {
		if w.shut != nil {
			failed(plain(w.path) + " holds something hidden or read-only and cannot be watched: " + w.shut.Error())
			return false
		}
	}
	var table mountTable
	for _, k := range cfg.Masks {
		if table.at(k.Path) != mounted {
			failed(plain(k.Path) + ": replaced while the sandbox was being set up")
			return false
		}
		m.list = append(m.list, mask{Mask: k, source: idOf(k.Path)})
	}
	return true
}

func (m *masks) watch(epoll int) (err error) {
	if m.mounts, err = syscall.Open("/proc/self/mountinfo", syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err != nil {
		return err
	}
	if m.moves, err = signalfd(bit(moved)); err != nil {
		return err
	}
	ev := syscall.EpollEvent{Events: pollPri | epollEdge, Fd: maskEvent}
	return syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, m.mounts, &ev)
}

// thisThread is struct f_owner_ex, where no growing stack moves it.
var thisThread [2]int32

// arm has the directories watched that are there now, by the descriptors that it
// has of them, or by new ones.
func (m *masks) arm(events uintptr) (err error) {
	thisThread = [2]int32{0 /* F_OWNER_TID */, int32(syscall.Gettid())}
	for i := range m.watched {
		w := &m.watched[i]
		var fd int
		if fd, w.shut = w.open(); w.shut != nil {
			err = w.shut
			continue
		}
		if fd < 0 {
			continue
		}
		for _, c := range [3][2]uintptr{{syscall.F_SETSIG, moved},
			{syscall.F_SETOWN_EX, uintptr(unsafe.Pointer(&thisThread))}, {syscall.F_NOTIFY, events | dnMultishot}} {
			if _, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), c[0], c[1]); errno != 0 {
				err = errno
			}
		}
		if w.fd >= 0 && w.fd != fd {
			_ = syscall.Close(w.fd)
		}
		w.fd = fd
	}
	return err
}

// open returns a descriptor of the directory that is there now: the one that it has
// where that is the same, -1 for none.
func (w *watched) open() (fd int, err error) {
	var st, had syscall.Stat_t
	switch err := syscall.Lstat(w.path, &st); {
	case absent(err), err == syscall.EACCES && w.fd < 0: // another user's, and so is what happens in it
		return -1, nil
	case err == nil && st.Mode&syscall.S_IFMT == syscall.S_IFLNK:
		return -1, syscall.ELOOP // and on the way to where it leads nothing is watched
	case err != nil:
		return -1, err
	}
	if w.fd >= 0 && syscall.Fstat(w.fd, &had) == nil && st.Dev == had.Dev && st.Ino == had.Ino {
		return w.fd, nil
	}
	fd, err = syscall.Open(w.path, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if absent(err) || err == syscall.EACCES && int(st.Uid) != syscall.Getuid() {
		return -1, nil
	}
	return fd, err
}

// absent reports whether an error says that nothing is at a path.
func absent(err error) bool { return err == syscall.ENOENT || err == syscall.ENOTDIR }

// fds are the descriptors that have to stay open.
func (m *masks) fds() []int {
	fds := []int{m.mounts, m.moves}
	for _, w := range m.watched {
		fds = append(fds, w.fd)
	}
	return fds
}

// changed waits for ns at most, and reports whether something has happened that
// may have taken a mask away.
func (m *masks) changed(ns int64) bool {
	if m.mounts < 0 && ns == 0 {
		return false
	}
	p := []pollFD{{int32(m.mounts), pollPri, 0}, {int32(m.moves), pollIn, 0}}
	n := poll(p, ns)
	if n > 0 && p[1].revents != 0 {
		takePending(bit(moved))
	}
	return n > 0
}

// look finds out which masks are gone. What is hidden no longer ends everything
// before a word is said: the kernel hands SIGKILL to the whole namespace in one
// go, and what forks just then does not get away.
func (m *masks) look() {
	var found []*mask
	for armed := false; ; armed = true {
		var table mountTable
		waits := false
		for i := range m.list {
			k := &m.list[i]
			if k.state >= unwatched {
				continue
			}
			waits = waits || k.state == awaited // and may be back, in a directory that is not watched
			if k.state = m.judge(k, table.at(k.Path)); k.state >= unwatched {
				found = append(found, k)
			}
			waits = waits || k.state == awaited
		}
		if !waits || armed {
			break
		}
		// From here on what is made counts as well, and it may have been made by now.
		_ = m.arm(dnDelete | dnCreate)
	}
	for _, k := range found {
		k.tell()
	}
}

// shut reports whether what takes a name would go without notice.
func (m *masks) shut(path string) bool {
	return slices.ContainsFunc(m.watched, func(w watched) bool {
		return w.shut != nil && path != w.path && below(path, w.path)
	})
}

func (m *masks) judge(k *mask, at presence) (state maskState) {
	state = told
	switch {
	case at == mounted:
		return inPlace
	case at == vacant && k.Kind != Protects:
		if !m.shut(k.Path) {
			return awaited
		}
		state = unwatched
	}
	switch {
	case k.Kind.ends():
		_ = syscall.Kill(-1, syscall.SIGKILL)
		m.exposed = true
	case k.Kind == Protects:
		k.before = m.found(k.Path, k.source)
	}
	return state
}

// found reads what took the place of source. rename(2) removes the mount a
// moment before the name leads to the new file.
func (m *masks) found(path string, source fileID) (c content) {
	c.read(path)
	for range 10 {
		if idOf(path) != source {
			c = content{}
			c.read(path)
			break
		}
		sleep(1e6)
	}
	return c
}

// fileID tells one file from another, and is zero for none.
type fileID struct{ dev, ino uint64 }

func idOf(path string) fileID {
	var st syscall.Stat_t
	if syscall.Lstat(path, &st) != nil {
		return fileID{}
	}
	return fileID{uint64(st.Dev), st.Ino}
}

func (k *mask) tell() {
	level, when := "warning: ", " while the command runs"
	if k.Kind.ends() {
		level, when = "error: ", ""
	}
	what, now := "replaced on the host", k.Kind.exposure()
	switch {
	case k.state == unwatched:
		what, now = "moved away", "what takes its place is not hidden, and a directory above it cannot be watched"
	case k.before.absent:
		what = "removed on the host"
	}
	say(level + near(k.Path) + " was " + what + when + "; " + now)
}

// last looks once more, when nothing runs any more, and tells what has changed
// where a protection was lost.
func (m *masks) last() {
	if m.changed(0) {
		m.look()
	}
	for i := range m.list {
		k := &m.list[i]
		if k.Kind != Protects || k.state != told {
			continue
		}
		var now content
		now.read(k.Path)
		how := " has changed while it was not read-only, by the command or on the host"
		if k.before.cut || now.cut {
			how = " was not read-only for a while, and is too large to be compared"
		} else if string(now.data) == string(k.before.data) {
			continue
		}
		say("warning: " + near(k.Path) + how + ": look at it before anything uses it")
	}
}

// presence is what is at the path of a mask.
type presence byte

const (
	mounted presence = iota
	gone             // something else is there
	vacant           // nothing is
)

// mountTable is read when the kernel cannot say of one path whether something is
// mounted there (before Linux 5.8).
type mountTable struct{ text string }

func (t *mountTable) at(path string) presence {
	root, known, err := mountRoot(path)
	if !known && !absent(err) {
		if t.text == "" {
			t.text, _ = procfs.Read("/proc/self/mountinfo")
		}
		root = mountedAt(t.text, path)
	}
	if root {
		return mounted
	}
	// unlink(2) and rmdir(2) take the mount away a moment before the name.
	for range 20 {
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); absent(err) {
			return vacant
		} else if err != nil || st.Nlink > 0 {
			break
		}
		sleep(1e6)
	}
	return gone
}

// mountedAt reports whether a table of mounts has one at a path.
func mountedAt(table, path string) bool {
	for m := range procfs.Mounts(table) {
		if m.Point == path {
			return true
		}
	}
	return false
}

// mountRoot asks statx(2) whether a path is where something is mounted.
func mountRoot(path string) (root, known bool, err error) {
	const (
		noFollow, noAutomount, dontSync = 0x100, 0x800, 0x4000
		isRoot                          = 0x2000 // STATX_ATTR_MOUNT_ROOT
		attributes, attributesMask      = 8, 56
	)
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return false, false, err
	}
	var buf [256]byte
	at := -100 // AT_FDCWD
	_, _, errno := syscall.RawSyscall6(statxNr, uintptr(at), uintptr(unsafe.Pointer(p)), noFollow|noAutomount|dontSync,
		0, uintptr(unsafe.Pointer(&buf[0])), 0)
	if errno != 0 {
		return false, false, errno
	}
	set, mask := *(*uint64)(unsafe.Pointer(&buf[attributes])), *(*uint64)(unsafe.Pointer(&buf[attributesMask]))
	return set&isRoot != 0, mask&isRoot != 0, nil
}

// near names a path as a person in the working directory would.
func near(path string) string {
	if dir, err := syscall.Getwd(); err == nil && dir != "/" && dir != path && below(path, dir) {
		path = path[len(dir)+1:]
	}
	return plain(path)
}

// content is what a file or directory holds, for comparison.
type content struct {
	data   []byte
	absent bool // nothing is there
	cut    bool // there is more than was read
}

// Bounds of what is read of one mask.
const (
	maxContent = 256 << 10
	maxDepth   = 8
)

func (c *content) read(path string) { c.absent = !c.add(path, 0) }

func (c *content) put(text string) {
	c.data = append(append(strconv.AppendInt(c.data, int64(len(text)), 10), ' '), text...)
}

// add reports whether something is at the path.
func (c *content) add(path string, depth int) bool {
	var st syscall.Stat_t
	if syscall.Lstat(path, &st) != nil {
		return false
	}
	var holds string
	var names []string
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFREG:
		if st.Size <= int64(maxContent-len(c.data)) {
			// What cannot be read no command of this user's can read either, but replace.
			holds, _ = procfs.Head(path, int(st.Size))
			break
		}
		// The time of the last change stands for the content: no command can set it.
		holds = strconv.FormatUint(st.Ino, 10) + " " + strconv.FormatInt(st.Ctim.Nano(), 10)
	case syscall.S_IFLNK:
		holds, _ = procfs.Readlink(path)
	case syscall.S_IFDIR:
		names, _ = procfs.Names(path)
		holds = strconv.Itoa(len(names))
	}
	c.put(strconv.Itoa(int(st.Mode)))
	c.put(holds)
	if depth == maxDepth || len(names) > 1024 {
		c.cut = c.cut || len(names) > 0
		return true
	}
	slices.Sort(names)
	for _, name := range names {
		if len(c.data) >= maxContent {
			c.cut = true
			break
		}
		c.put(name)
		c.add(path+"/"+name, depth+1)
	}
	return true
}

// ends reports whether the run ends when the mask is gone.
func (k MaskKind) ends() bool { return k == Hides || k == Copies }

// exposure says what follows when the mask is gone.
func (k MaskKind) exposure() string {
	switch k {
	case Protects:
		return "it is no longer read-only"
	case Copies, CopiesWarn:
		return "the new file would be shown whole, and what is written to it later"
	}
	return "it is no longer hidden"
}
