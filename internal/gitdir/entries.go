// SPDX-License-Identifier: Apache-2.0

package gitdir

import (
	"bytes"
	"encoding/binary"
	"io"
)

// indexEntry is one entry. name is valid until the next one; a long one of a file
// is not read unless the reader wants all.
type indexEntry struct {
	mode       uint32
	staged     bool // it is one of several of a merge
	hash, name []byte
}

// special reports whether it is no file.
func (e *indexEntry) special() bool {
	return e.mode&formatBits == linkMode || e.mode&formatBits == treeMode
}

// block is where git starts to read in a thread of its own.
type block struct{ offset, entries int64 }

type indexReader struct {
	src  Source
	hash int64
	all  bool // long names of files, too

	compressed bool // version 4: a name goes on from the one before
	name       []byte

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
	x.off, x.compressed = indexHeader, version == 4
	var e indexEntry
	kept := 0
	for i := range n {
		thread := len(blocks) > 0 && blocks[0].entries == i
		if thread {
			if blocks[0].offset != x.off {
				return errIndex
			}
			blocks = blocks[1:]
		}
		if x.off > maxIndexBytes {
			return errLarge
		}
		if err := x.entry(&e, i == 0, thread); err != nil {
			return err
		}
		if e.special() {
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

// entry reads the next one: the first of all, or the first of a thread.
func (x *indexReader) entry(e *indexEntry, first, thread bool) error {
	start, fixed := x.off, int(40+x.hash+2)
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
	if x.compressed {
		if keep, err = x.prefix(first); err != nil {
			return err
		}
		if thread && keep > 0 { // a thread does not know the name before
			return errIndex
		}
	}
	size := int64(flags & 0xfff)
	if size == 0xfff {
		if size, err = x.text(); err != nil {
			return err
		}
		size += int64(keep)
	}
	if err := x.readName(e, keep, size); err != nil {
		return err
	}
	if x.compressed {
		x.off += size - int64(keep) + 1
	} else {
		x.off = start + (x.off-start+size+8)&^7
	}
	if x.off > x.src.Size() {
		return errIndex
	}
	return nil
}

// readName reads a name of a size that begins with some bytes of the name before.
func (x *indexReader) readName(e *indexEntry, keep int, size int64) error {
	rest := size - int64(keep)
	switch {
	case rest < 0:
		return errIndex
	case !x.compressed && !e.special() && !x.all && size >= 0xfff:
		e.name = []byte{'/'} // a file whose name does not matter
		return nil
	case size > maxEntryName:
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
	x.name = append(x.name[:keep], data[:rest]...)
	e.name = x.name
	return nil
}

// prefix is how many bytes an entry's name has from the one before.
func (x *indexReader) prefix(first bool) (int, error) {
	data, err := x.peek(1)
	if err == nil && len(data) < 5 {
		data, err = x.peek(int(min(5, x.src.Size()-x.off)))
	}
	if err != nil {
		return 0, err
	}
	strip, used := offset(data)
	keep := len(x.name) - strip
	if first {
		keep = 0
	}
	if used == 0 || keep < 0 {
		return 0, errIndex
	}
	x.off += int64(used)
	return keep, nil
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
