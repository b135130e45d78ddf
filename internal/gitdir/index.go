package gitdir

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strconv"
)

// Index is what an index says of repositories of their own (gitformat-index(5)):
// `git status` in the work tree runs git in each.
type Index struct {
	Links []string // the entries that are repositories
	// Trees are directories of a sparse index: git takes what is in them from its
	// objects once they are on the disk.
	Trees  []string
	Shared string // the name of the file that holds the rest of a split index, "" for none
}

// Source is an index that is read bit by bit.
type Source interface {
	io.ReaderAt
	Size() int64
}

// ReadIndex reads an index as git 2.39 does, which believes nearly everything:
// checksums are not compared, what follows the last extension is not looked at,
// the length of a name is what the entry says. What git could read in two ways, or
// beyond the end, is an error. hash is the size of an object name, 20 or 32. shared
// opens the file that a split index names.
func ReadIndex(src Source, hash int, shared func(name string) (Source, error)) (*Index, error) {
	x := &indexReader{src: src, hash: int64(hash)}
	out := &Index{}
	var empty []uint32 // modes of the entries without a name
	err := x.entries(func(e *indexEntry) {
		if len(e.name) > 0 {
			out.add(e)
		} else {
			empty = append(empty, e.mode)
		}
	})
	if err != nil {
		return nil, err
	}
	split, err := x.link()
	if err != nil || split == nil || split.base == "" {
		for _, mode := range empty {
			out.add(&indexEntry{mode: mode})
		}
		return out, err
	}
	out.Shared = "sharedindex." + split.base
	base, err := shared(out.Shared)
	if err != nil {
		return nil, err
	}
	x = &indexReader{src: base, hash: int64(hash), all: true}
	at := int64(0)
	err = x.entries(func(e *indexEntry) {
		// Entries without a name take the place of those that the map names, in order.
		if split.replaced.has(at) && len(empty) > 0 {
			e.mode, empty = empty[0], empty[1:]
		}
		if !split.deleted.has(at) {
			out.add(e)
		}
		at++
	})
	return out, err
}

// Entry is a file that an index holds.
type Entry struct {
	Path string // relative to the work tree
	Hash []byte // of the blob, SHA-1 or SHA-256 by its length; nil for one that counts for nothing
}

// Tracked lists those of some names, relative to the work tree, that an index
// holds. A name that it holds twice, or for a merge, has no hash: git writes none
// twice, and each would be a guess. ok is false for what cannot be read, a split or
// sparse index for instance.
func Tracked(index []byte, names map[string]bool) (found []Entry, ok bool) {
	for _, size := range []int64{sha1.Size, sha256.Size} {
		found, ok = nil, true
		at := make(map[string]int, len(names))
		x := &indexReader{src: bytes.NewReader(index), hash: size, all: true}
		err := x.entries(func(e *indexEntry) {
			ok = ok && e.mode&formatBits != treeMode
			if !names[string(e.name)] {
				return
			}
			switch i, again := at[string(e.name)]; {
			case again:
				found[i].Hash = nil
			case e.staged || e.mode&formatBits != fileMode:
				at[string(e.name)] = len(found)
				found = append(found, Entry{Path: string(e.name)})
			default:
				at[string(e.name)] = len(found)
				found = append(found, Entry{string(e.name), slices.Clone(e.hash)})
			}
		})
		if err == nil && ok {
			if split, err := x.link(); err == nil && split == nil {
				return found, true
			}
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

func (out *Index) add(e *indexEntry) {
	switch e.mode & formatBits {
	case linkMode:
		out.Links = append(out.Links, string(e.name))
	case treeMode:
		out.Trees = append(out.Trees, string(e.name))
	}
}

// The kinds of entries: git looks at no other bits of a mode.
const (
	formatBits = 0o170000
	linkMode   = 0o160000
	fileMode   = 0o100000
	treeMode   = 0o040000
)

const (
	indexHeader = 12
	// maxIndexBytes bounds what is read of entries.
	maxIndexBytes = 512 << 20
	// maxEntryName bounds the name of a repository, and every name in the format
	// that makes each name of the one before. The system knows none above 4096.
	maxEntryName = 64 << 10
	// maxLinks bounds the entries that are kept.
	maxLinks = 1 << 16
	// maxBlocks bounds the parts that git reads at the same time.
	maxBlocks = 1 << 16
)

var (
	errIndex = errors.New("it is damaged")
	errLarge = errors.New("it is too large")
)

// indexEntry is one entry. name is valid until the next one; a long one of a file
// is not read unless the reader wants all.
type indexEntry struct {
	mode       uint32
	staged     bool // it is one of several of a merge
	hash, name []byte
}

// block is where git starts to read in a thread of its own.
type block struct{ offset, entries int64 }

type indexReader struct {
	src  Source
	hash int64
	all  bool // long names of files, too

	buf        []byte
	start, off int64 // of buf, and of the next byte
}

// at reads n bytes at a place.
func (x *indexReader) at(off int64, n int) ([]byte, error) {
	b := make([]byte, n)
	if m, err := x.src.ReadAt(b, off); m < n {
		return nil, cut(err)
	}
	return b, nil
}

// cut is the error for a file that ends, or of one that cannot be read.
func cut(err error) error {
	if err == nil || err == io.EOF {
		return errIndex
	}
	return err
}

// peek returns at least n bytes at the present place, without going on.
func (x *indexReader) peek(n int) ([]byte, error) {
	if have := x.start + int64(len(x.buf)) - x.off; have < int64(n) {
		if cap(x.buf) < n || x.buf == nil {
			x.buf = make([]byte, 0, max(64<<10, n))
		}
		rest := copy(x.buf[:cap(x.buf)], x.buf[int64(len(x.buf))-max(have, 0):])
		if have < 0 {
			rest = 0
		}
		x.start = x.off
		m, err := x.src.ReadAt(x.buf[rest:cap(x.buf)], x.off+int64(rest))
		x.buf = x.buf[:rest+m]
		if len(x.buf) < n {
			return nil, cut(err)
		}
	}
	return x.buf[x.off-x.start:], nil
}

// text is the number of bytes before the next NUL.
func (x *indexReader) text() (int64, error) {
	defer func(off int64) { x.off = off }(x.off)
	for n := int64(0); ; {
		data, err := x.peek(1)
		if err != nil {
			return 0, err
		}
		if i := bytes.IndexByte(data, 0); i >= 0 {
			return n + int64(i), nil
		}
		n += int64(len(data))
		x.off += int64(len(data))
	}
}

// entries calls f for each entry. f gets the name of what is no file.
func (x *indexReader) entries(f func(*indexEntry)) error {
	head, err := x.at(0, indexHeader)
	if err != nil {
		return err
	}
	version, n := binary.BigEndian.Uint32(head[4:]), int64(binary.BigEndian.Uint32(head[8:]))
	if string(head[:4]) != "DIRC" || version < 2 || version > 4 || x.src.Size() < indexHeader+x.hash {
		return errIndex
	}
	end, blocks, err := x.threads()
	if err != nil {
		return err
	}
	x.off = indexHeader
	var e indexEntry
	var name []byte
	kept := 0
	fixed := int(40 + x.hash + 2)
	for i := range n {
		first := len(blocks) > 0 && blocks[0].entries == i
		if first {
			if blocks[0].offset != x.off {
				return errIndex
			}
			blocks = blocks[1:]
		}
		if x.off > maxIndexBytes {
			return errLarge
		}
		start := x.off
		data, err := x.peek(fixed + 2)
		if err != nil {
			return err
		}
		e.mode = binary.BigEndian.Uint32(data[24:])
		e.hash = append(e.hash[:0], data[40:40+x.hash]...)
		flags := binary.BigEndian.Uint16(data[fixed-2:])
		e.staged = flags&0x3000 != 0
		x.off += int64(fixed)
		if flags&0x4000 != 0 {
			x.off += 2
		}
		keep := 0 // bytes of the name before
		if version == 4 {
			if data, err = x.peek(1); err == nil && len(data) < 5 {
				data, err = x.peek(int(min(5, x.src.Size()-x.off)))
			}
			if err != nil {
				return err
			}
			strip, used := offset(data)
			if keep = len(name) - strip; i == 0 {
				keep = 0
			}
			// A thread does not know the name before.
			if used == 0 || keep < 0 || first && keep > 0 {
				return errIndex
			}
			x.off += int64(used)
		}
		size := int64(flags & 0xfff)
		if size == 0xfff {
			if size, err = x.text(); err != nil {
				return err
			}
			size += int64(keep)
		}
		rest := size - int64(keep)
		special := e.mode&formatBits == linkMode || e.mode&formatBits == treeMode
		switch {
		case rest < 0:
			return errIndex
		case version == 4 || special || x.all || size < 0xfff:
			if size > maxEntryName {
				return errLarge
			}
			data, err := x.peek(int(rest) + 1)
			if err != nil {
				return err
			}
			// git takes the length on trust and then the name up to its end.
			if bytes.IndexByte(data[:rest+1], 0) != int(rest) {
				return errIndex
			}
			name = append(name[:keep], data[:rest]...)
			e.name = name
		default:
			e.name = []byte{'/'} // a file whose name matters to nobody
		}
		if version == 4 {
			x.off += rest + 1
		} else {
			x.off = start + (x.off-start+size+8)&^7
		}
		if x.off > x.src.Size() {
			return errIndex
		}
		if special {
			if kept++; kept > maxLinks {
				return errLarge
			}
		}
		f(&e)
	}
	if len(blocks) > 0 || end != 0 && end != x.off {
		return errIndex
	}
	return nil
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

// threads reads what git goes by to read the entries of a large index in several
// threads: where they end, 0 when that is not said, and where each thread
// begins. Those that read one after the other must not find something else.
func (x *indexReader) threads() (end int64, blocks []block, err error) {
	const size = 4 + 4 + 4 + 20
	at := x.src.Size() - x.hash - size
	if at < indexHeader {
		return 0, nil, nil
	}
	data, err := x.at(at, size)
	if err != nil || string(data[:4]) != "EOIE" || binary.BigEndian.Uint32(data[4:]) != size-8 {
		return 0, nil, err
	}
	if end = int64(binary.BigEndian.Uint32(data[8:])); end < indexHeader || end >= at {
		return 0, nil, nil // git does not go by it then
	}
	err = x.extensions(end, func(name string, off, size int64) error {
		if name != "IEOT" || blocks != nil {
			return nil
		}
		if size/8 > maxBlocks {
			return errLarge
		}
		data, err := x.at(off, int(max(size, 4)))
		if err != nil || binary.BigEndian.Uint32(data) != 1 {
			return err
		}
		n := int64(0)
		for data = data[4:]; len(data) >= 8; data = data[8:] {
			blocks = append(blocks, block{int64(binary.BigEndian.Uint32(data)), n})
			n += int64(binary.BigEndian.Uint32(data[4:]))
		}
		return nil
	})
	return end, blocks, err
}

// extensions calls f for each extension from a place on: its name, and where its
// content is.
func (x *indexReader) extensions(off int64, f func(name string, off, size int64) error) error {
	for n := 0; off <= x.src.Size()-x.hash-8; n++ {
		data, err := x.at(off, 8)
		if err != nil {
			return err
		}
		if n > 1<<12 {
			return errLarge
		}
		size := int64(binary.BigEndian.Uint32(data[4:]))
		if err := f(string(data[:4]), off+8, size); err != nil {
			return err
		}
		off += 8 + size
	}
	return nil
}

// link is what a split index says of the file with the other entries.
type link struct {
	base              string // "" for none
	deleted, replaced bitmap // entries of that file
}

// link reads the extensions behind the entries, which have been read. It is nil
// when the index is not split.
func (x *indexReader) link() (*link, error) {
	var l *link
	err := x.extensions(x.off, func(name string, off, size int64) error {
		switch {
		case name == "sdir" || 'A' <= name[0] && name[0] <= 'Z':
			return nil
		case name != "link":
			return errIndex // git wants to know it
		}
		if l != nil || size < x.hash || size > maxBitmap {
			return errIndex
		}
		data, err := x.at(off, int(size))
		if err != nil {
			return err
		}
		l = &link{}
		if id := data[:x.hash]; bytes.ContainsFunc(id, func(r rune) bool { return r != 0 }) {
			l.base = hex.EncodeToString(id)
		}
		if data = data[x.hash:]; len(data) == 0 {
			return nil
		}
		if data, err = l.deleted.read(data); err == nil {
			_, err = l.replaced.read(data)
		}
		return err
	})
	return l, err
}

// maxBitmap bounds, in bytes, the maps of a split index.
const maxBitmap = 1 << 20

// bitmap is a set of numbers, compressed as git has it (gitformat-bitmap(5),
// "EWAH"): words that say how many words of the same bits follow, and how many
// of any bits.
type bitmap struct{ runs []run }

// run is words of the same bits, or one word.
type run struct {
	first, words int64
	word         uint64
}

// read takes a map from the front of a text.
func (b *bitmap) read(data []byte) (rest []byte, err error) {
	if len(data) < 8 {
		return nil, errIndex
	}
	n := int64(binary.BigEndian.Uint32(data[4:]))
	if rest = data[8:]; n > int64(len(rest))/8 || int64(len(rest)) < 8*n+4 {
		return nil, errIndex
	}
	words, rest := rest[:8*n], rest[8*n+4:]
	at := int64(0)
	for len(words) > 0 {
		head := binary.BigEndian.Uint64(words)
		words = words[8:]
		same, any := int64(head>>1&0xffffffff), int64(head>>33)
		if same > 0 && head&1 != 0 {
			b.runs = append(b.runs, run{at, same, ^uint64(0)})
		}
		at += same
		if any > int64(len(words))/8 {
			return nil, errIndex
		}
		for range any {
			b.runs = append(b.runs, run{at, 1, binary.BigEndian.Uint64(words)})
			words = words[8:]
			at++
		}
	}
	return rest, nil
}

// has is asked for one number after the other.
func (b *bitmap) has(n int64) bool {
	for len(b.runs) > 0 && b.runs[0].first+b.runs[0].words <= n/64 {
		b.runs = b.runs[1:]
	}
	return len(b.runs) > 0 && b.runs[0].first <= n/64 && b.runs[0].word>>(n%64)&1 != 0
}
