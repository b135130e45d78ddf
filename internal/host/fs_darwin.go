// SPDX-License-Identifier: Apache-2.0

package host

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Spell returns the path by which the system itself calls what lies at a canonical
// path: most volumes take any case of letters, and rules count as the disk has
// them. Nothing is opened: the system asks people before it lets a program open
// what is theirs (calendars, photos, documents).
func (o OS) Spell(path string) string {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return path
	}
	name, err := fullPath(path)
	if err != nil || name == "" || name[0] != '/' || filepath.Clean(name) != name {
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
	// place of one meanwhile is another file.
	if !same(name, &st) || !sameSpelling(asked, name, st.Nlink > 1 && st.Mode&unix.S_IFMT == unix.S_IFREG) {
		return o.below(asked)
	}
	return name
}

// fullPath is ATTR_CMN_FULLPATH of getattrlist(2), links in the last element not
// followed.
func fullPath(path string) (string, error) {
	const (
		getattrlist     = 220 // SYS_getattrlist of sys/syscall.h
		attrBitMapCount = 5
		attrFullPath    = 0x08000000
		noFollow        = 1
		header          = 4 + 8 // length of all, attrreference_t
	)
	list := struct {
		count, reserved                  uint16
		common, volume, dir, file, forks uint32
	}{count: attrBitMapCount, common: attrFullPath}
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return "", err
	}
	buf := make([]byte, header+unix.PathMax)
	if _, _, errno := unix.Syscall6(getattrlist, uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&list)),
		uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), noFollow, 0); errno != 0 {
		return "", errno
	}
	at := 4 + int(int32(binary.LittleEndian.Uint32(buf[4:])))
	if at < header || at >= len(buf) {
		return "", unix.ERANGE
	}
	return unix.ByteSliceToString(buf[at:]), nil
}

// below spells the directory that something lies in, and the name as the directory
// has it.
func (o OS) below(path string) string {
	if path == "/" {
		return path
	}
	parent, name := o.Spell(policy.Dir(path)), Base(path)
	dir, err := os.Open(parent)
	if err != nil {
		return Join(parent, name)
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) }); i >= 0 &&
		!slices.Contains(names, name) {
		name = names[i]
	}
	return Join(parent, name)
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
