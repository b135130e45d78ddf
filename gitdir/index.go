package gitdir

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
)

// Gitlinks lists the entries of an index that are repositories of their own:
// `git status` in the work tree runs git in each (gitformat-index(5)). ok is
// false for what cannot be read, a split index for instance.
func Gitlinks(index []byte) (paths []string, ok bool) {
	return entries(index, func(mode uint32, _, _ []byte) bool { return mode == 0o160000 })
}

// Entry is a file that an index holds.
type Entry struct {
	Path string // relative to the work tree
	Hash []byte // of the blob, SHA-1 or SHA-256 by its length
}

// Tracked lists those of some names, relative to the work tree, that an index
// holds. ok is as with [Gitlinks].
func Tracked(index []byte, names map[string]bool) (found []Entry, ok bool) {
	for _, size := range []int{sha1.Size, sha256.Size} {
		found = nil
		_, ok = entriesOf(index, size, func(mode uint32, name, hash []byte) bool {
			if names[string(name)] && mode&0o170000 == 0o100000 {
				found = append(found, Entry{string(name), slices.Clone(hash)})
			}
			return false
		})
		if ok {
			return found, true
		}
	}
	return nil, false
}

// Blob is the name of an object with a content (git-hash-object(1)), of as many
// bytes as the repository's other names have.
func Blob(data []byte, size int) []byte {
	h := sha1.New()
	if size == sha256.Size {
		h = sha256.New()
	}
	h.Write(strconv.AppendInt([]byte("blob "), int64(len(data)), 10))
	h.Write([]byte{0})
	h.Write(data)
	return h.Sum(nil)
}

// maxName bounds the name of an entry, in bytes: PATH_MAX.
const maxName = 4096

// entries lists the names in an index that are wanted.
func entries(index []byte, wanted func(mode uint32, name, hash []byte) bool) (paths []string, ok bool) {
	for _, hash := range []int{20, 32} {
		if paths, ok = entriesOf(index, hash, wanted); ok {
			return paths, true
		}
	}
	return nil, false
}

// entriesOf reads an index whose object names have so many bytes.
func entriesOf(index []byte, hash int, wanted func(mode uint32, name, hash []byte) bool) (paths []string, ok bool) {
	const header, modeAt = 12, 24
	if len(index) < header+hash || string(index[:4]) != "DIRC" {
		return nil, false
	}
	version, n := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	if version < 2 || version > 4 {
		return nil, false
	}
	data := index[header : len(index)-hash]
	name := ""
	for range n {
		fixed := 40 + hash + 2
		if len(data) < fixed {
			return nil, false
		}
		mode := binary.BigEndian.Uint32(data[modeAt:])
		if version > 2 && binary.BigEndian.Uint16(data[fixed-2:])&0x4000 != 0 {
			fixed += 2
		}
		rest := data[min(fixed, len(data)):]
		if version == 4 {
			strip, used := offset(rest)
			if used == 0 || strip > len(name) {
				return nil, false
			}
			name, rest, fixed = name[:len(name)-strip], rest[used:], fixed+used
			// Each name is made of the one before: long ones would take for ever.
			if len(name) > maxName {
				return nil, false
			}
		}
		end := bytes.IndexByte(rest[:min(len(rest), maxName+1)], 0)
		if end < 0 {
			return nil, false
		}
		size := fixed + end + 1
		if version == 4 {
			name += string(rest[:end])
		} else {
			size = (fixed + end + 8) &^ 7
		}
		whole := rest[:end]
		if version == 4 {
			whole = []byte(name)
		}
		if wanted(mode, whole, data[40:40+hash]) {
			paths = append(paths, string(whole))
		}
		if size > len(data) {
			return nil, false
		}
		data = data[size:]
	}
	return paths, extensions(data)
}

// offset reads how many bytes of the name before are left out: git's variable
// width encoding, each further byte adding one.
func offset(data []byte) (n, used int) {
	for i, c := range data {
		if i > 4 {
			break
		}
		if i > 0 {
			n++
		}
		n = n<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return n, i + 1
		}
	}
	return 0, 0
}

// extensions reports whether what follows the entries is well-formed and says of
// no other file that it holds more entries.
func extensions(data []byte) bool {
	for len(data) >= 8 {
		size := binary.BigEndian.Uint32(data[4:])
		if string(data[:4]) == "link" || uint64(size) > uint64(len(data)-8) {
			return false
		}
		data = data[8+size:]
	}
	return len(data) == 0
}
