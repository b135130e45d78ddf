package wrap

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/policy"
)

// Spell returns the path by which the system itself calls a directory or a
// regular file that is given by a canonical path: most volumes take any case of
// letters, and rules count as the disk has them. What cannot be opened, and all
// that opening might wait on or set off, is looked up in the directory.
func (o OS) Spell(path string) string {
	var st, there unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return path
	}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFDIR && kind != unix.S_IFREG || st.Flags&dataless != 0 {
		return o.below(path)
	}
	// Only to be told of events: that does not count as use of a volume.
	fd, err := unix.Open(path, unix.O_EVTONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return o.below(path)
	}
	defer unix.Close(fd)
	name, err := pathOf(fd)
	if err != nil || name == "" || name[0] != '/' || policy.Clean(name) != name {
		return path
	}
	if short, ok := firmlinked(name); ok && same(short, &st) {
		name = short
	}
	asked := path
	if short, ok := firmlinked(path); ok && same(short, &st) {
		asked = short
	}
	// A file with several names may be given by another of them, and what was put in
	// the place of one meanwhile is another file.
	if unix.Fstat(fd, &there) != nil || there.Ino != st.Ino || there.Dev != st.Dev || !respelled(asked, name, st.Nlink > 1 && st.Mode&unix.S_IFMT == unix.S_IFREG) {
		return o.below(asked)
	}
	return name
}

// dataless is what the system fetches from elsewhere once it is opened
// (SF_DATALESS of sys/stat.h).
const dataless = 0x40000000

// below spells the directory that something lies in, and the name as the directory
// has it.
func (o OS) below(path string) string {
	if path == "/" {
		return path
	}
	parent, name := o.Spell(policy.Dir(path)), base(path)
	dir, err := os.Open(parent)
	if err != nil {
		return join(parent, name)
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) }); i >= 0 && !slices.Contains(names, name) {
		name = names[i]
	}
	return join(parent, name)
}

// same reports whether something lies at a path, too.
func same(path string, st *unix.Stat_t) bool {
	var there unix.Stat_t
	return unix.Lstat(path, &there) == nil && there.Ino == st.Ino && there.Dev == st.Dev
}

// ReadDir lists a directory.
func (OS) ReadDir(path string) ([]Entry, error) {
	list, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(list))
	for i, e := range list {
		entries[i].Name = e.Name()
		switch t := e.Type(); {
		case t.IsRegular():
			entries[i].Kind = File
		case t.IsDir():
			entries[i].Kind = Dir
		case t&os.ModeSymlink != 0:
			entries[i].Kind = Link
		}
	}
	return entries, nil
}

// Mounts returns nothing: a directory cannot be mounted twice here.
func (OS) Mounts() ([]Mount, error) { return nil, nil }

// missed reports whether an error of lstat(2) says that nothing is there. What
// the system keeps even from the user's own programs (EPERM: Mail, Safari, the
// consent for cameras) is not there for the command, either, and rules hold for
// its path as for one that is to come.
func missed(err error) bool {
	return err == syscall.ENOENT || err == syscall.ENOTDIR || err == syscall.EPERM
}
