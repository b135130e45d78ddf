// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"

	"github.com/sbx-sandbox/sbx/internal/openat"
	"golang.org/x/sys/unix"
)

// Bounds of what is read for a State. A command must not be able to make the
// next start of sbx slow.
const (
	maxFile    = 1 << 20 // bytes of a file
	maxEntries = 512     // names below a directory
	maxDepth   = 4       // directories in directories
	maxBytes   = 4 << 20 // bytes of all files below a directory
)

// fileText is the SHA-256 of a file, or what else tells it from others when it
// is larger than limit or cannot be read: size and times. The time of the last
// change of the inode is one that a command cannot set.
func fileText(dir int, name string, st *unix.Stat_t, limit int64) string {
	if st.Size <= limit {
		data, err := openat.ReadFile(dir, name, int(limit))
		if err == nil && int64(len(data)) <= limit {
			return sum(data)
		}
	}
	return number(st.Size) + " " + number(mtime(st)) + " " + number(ctime(st))
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// digest adds up a directory. It goes by sorted names, so that the same files
// give the same digest, cut off or not.
type digest struct {
	hash    hash.Hash
	entries int   // that may still come
	bytes   int64 // that may still be read
	depth   int   // directories in directories
	cut     bool
	lost    bool // something was not looked at at all

	// stamps, when set, is given each entry, and the digest is one of stamps: no
	// file is read for it.
	stamps *stamps
}

func newDigest(s *stamps) *digest {
	return &digest{hash: sha256.New(), entries: maxEntries, bytes: maxBytes, depth: maxDepth, stamps: s}
}

func (d *digest) sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }

func dirState(dir int, name string, st *unix.Stat_t) string {
	d := newDigest(nil)
	d.sub(dir, name, st, 0)
	if d.cut {
		return "dir " + d.sum() + " truncated"
	}
	return "dir " + d.sum()
}

// add writes one entry. Neither names nor texts hold a NUL.
func (d *digest) add(kind byte, name, text string) {
	d.hash.Write([]byte{kind})
	d.hash.Write([]byte(name))
	d.hash.Write([]byte{0})
	d.hash.Write([]byte(text))
	d.hash.Write([]byte{0})
}

// sub adds what is in a directory. One that cannot be listed stands for itself
// by the time of its last change.
func (d *digest) sub(dir int, name string, st *unix.Stat_t, depth int) {
	if depth == d.depth {
		d.cut, d.lost = true, true
		return
	}
	f, err := openat.List(dir, name, name)
	var names []string
	if err == nil {
		defer f.Close()
		names, err = f.Readdirnames(-1)
	}
	if err != nil {
		d.cut, d.lost = true, true
		d.add('?', "", number(ctime(st)))
		names = nil
	}
	for _, n := range sorted(names) {
		if d.entries == 0 {
			d.cut, d.lost = true, true
			break
		}
		d.entries--
		d.entry(int(f.Fd()), n, depth)
	}
	d.add('.', "", "")
}

func (d *digest) entry(dir int, name string, depth int) {
	var st unix.Stat_t
	if err := openat.Stat(dir, name, &st); err != nil {
		d.add('?', name, "")
		return
	}
	if d.stamps != nil {
		d.stamps.see(dir, name, &st)
		d.add('s', name, stamp(&st))
		if openat.Is(&st, unix.S_IFDIR) {
			d.sub(dir, name, &st, depth+1)
		}
		return
	}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFLNK:
		text, _ := openat.Readlink(dir, name)
		d.add('l', name, text)
	case unix.S_IFREG:
		kind := byte('f')
		if st.Mode&0o111 != 0 {
			kind = 'x' // a hook runs only when it is executable
		}
		d.cut = d.cut || st.Size > min(d.bytes, maxFile)
		d.add(kind, name, fileText(dir, name, &st, min(d.bytes, maxFile)))
		d.bytes -= min(d.bytes, st.Size)
	case unix.S_IFDIR:
		d.add('d', name, "")
		d.sub(dir, name, &st, depth+1)
	default:
		d.add('o', name, kindName(uint32(st.Mode)))
	}
}
