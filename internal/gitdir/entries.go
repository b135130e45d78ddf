// SPDX-License-Identifier: Apache-2.0

package gitdir

import (
	"bytes"
	"encoding/binary"
)

// indexEntry is one entry. name is valid until the next one.
type indexEntry struct {
	mode       uint32
	staged     bool // it is one of several of a merge
	unwritten  bool // it has no times
	hash, name []byte
}

// kind is all that git looks at of a mode.
func (e *indexEntry) kind() uint32 { return e.mode & 0o170000 }

// block is where git starts to read in a thread of its own.
type block struct{ offset, entries int }

type indexReader struct {
	data []byte
	hash int
	off  int // of the next byte

	compressed bool // version 4: a name goes on from the one before
	name       []byte
}

// at returns n bytes at a place.
func (x *indexReader) at(off, n int) ([]byte, error) {
	if n < 0 || off > len(x.data)-n {
		return nil, errIndex
	}
	return x.data[off : off+n], nil
}

// entries calls f for each entry.
func (x *indexReader) entries(f func(*indexEntry)) error {
	head, err := x.at(0, indexHeader+x.hash)
	if err != nil {
		return err
	}
	version, n := binary.BigEndian.Uint32(head[4:]), int(binary.BigEndian.Uint32(head[8:]))
	if string(head[:4]) != "DIRC" || version < 2 || version > 4 {
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
		if err := x.entry(&e, i == 0, thread); err != nil {
			return err
		}
		if e.kind() == linkMode || e.kind() == treeMode {
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
	start, fixed := x.off, 40+x.hash+2
	data, err := x.at(start, fixed+2)
	if err != nil {
		return err
	}
	e.mode = binary.BigEndian.Uint32(data[24:])
	e.unwritten = len(bytes.Trim(data[:24], "\x00")) == 0
	e.hash = data[40 : 40+x.hash]
	flags := binary.BigEndian.Uint16(data[fixed-2:])
	e.staged = flags&0x3000 != 0
	x.off += fixed
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
	// git takes the length on trust and then the name up to its end.
	rest := bytes.IndexByte(x.data[x.off:], 0)
	if size := int(flags & 0xfff); rest < 0 || size != 0xfff && size != keep+rest {
		return errIndex
	}
	e.name = x.data[x.off : x.off+rest]
	if !x.compressed {
		x.off = start + (x.off-start+rest+8)&^7
	} else {
		if keep+rest > maxEntryName {
			return errLarge
		}
		x.name = append(x.name[:keep], e.name...)
		e.name = x.name
		x.off += rest + 1
	}
	if x.off > len(x.data) {
		return errIndex
	}
	return nil
}

// prefix is how many bytes an entry's name has from the one before: all but a
// number in git's variable width encoding, each further byte adding one.
func (x *indexReader) prefix(first bool) (int, error) {
	strip := 0
	for i, c := range x.data[x.off:min(x.off+5, len(x.data))] {
		if i > 0 {
			strip++
		}
		strip = strip<<7 | int(c&0x7f)
		if c&0x80 != 0 {
			continue
		}
		x.off += i + 1
		if first {
			return 0, nil
		}
		if keep := len(x.name) - strip; keep >= 0 {
			return keep, nil
		}
		break
	}
	return 0, errIndex
}
