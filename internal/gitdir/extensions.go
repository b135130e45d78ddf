// SPDX-License-Identifier: Apache-2.0

package gitdir

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"
)

// threads reads what git goes by to read the entries of a large index in several
// threads: where they end, 0 when that is not said, and where each thread
// begins. Those that read one after the other must not find something else.
func (x *indexReader) threads() (end int, blocks []block, err error) {
	const size = 4 + 4 + 4 + 20
	at := len(x.data) - x.hash - size
	if at < indexHeader {
		return 0, nil, nil
	}
	data := x.data[at:]
	if string(data[:4]) != "EOIE" || binary.BigEndian.Uint32(data[4:]) != size-8 {
		return 0, nil, nil
	}
	if end = int(binary.BigEndian.Uint32(data[8:])); end < indexHeader || end >= at {
		return 0, nil, nil // git does not go by it then
	}
	err = x.extensions(end, func(name string, off, size int) error {
		if name != "IEOT" || blocks != nil {
			return nil
		}
		data, err := x.at(off, max(size, 4))
		if err != nil || binary.BigEndian.Uint32(data) != 1 {
			return err
		}
		n := 0
		for data = data[4:]; len(data) >= 8; data = data[8:] {
			blocks = append(blocks, block{int(binary.BigEndian.Uint32(data)), n})
			n += int(binary.BigEndian.Uint32(data[4:]))
		}
		return nil
	})
	return end, blocks, err
}

// extensions calls f for each extension from a place on: its name, and where its
// content is.
func (x *indexReader) extensions(off int, f func(name string, off, size int) error) error {
	for off <= len(x.data)-x.hash-8 {
		name, size := string(x.data[off:off+4]), int(binary.BigEndian.Uint32(x.data[off+4:]))
		if err := f(name, off+8, size); err != nil {
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
	err := x.extensions(x.off, func(name string, off, size int) error {
		switch {
		case name == "sdir" || 'A' <= name[0] && name[0] <= 'Z':
			return nil
		case name != "link": // git wants to know it
			return errIndex
		case l != nil || size < x.hash || size > maxBitmap:
			return errIndex
		}
		data, err := x.at(off, size)
		if err != nil {
			return err
		}
		l = &link{}
		if id := data[:x.hash]; len(bytes.Trim(id, "\x00")) > 0 {
			l.base = hex.EncodeToString(id)
		}
		if data = data[x.hash:]; len(data) == 0 {
			return nil
		}
		if l.deleted, data, err = readBitmap(data); err == nil {
			l.replaced, _, err = readBitmap(data)
		}
		return err
	})
	return l, err
}

const (
	maxBitmap = 1 << 20 // bytes of the maps of a split index
	maxWords  = 1 << 17 // more than the entries of an index need
)

// bitmap is a set of numbers.
type bitmap []uint64

func (b bitmap) has(n int) bool { return n/64 < len(b) && b[n/64]>>(n%64)&1 != 0 }

// readBitmap takes a map from the front of a text, compressed as git has it
// (gitformat-bitmap(5), "EWAH"): words that say how many words of the same bits
// follow, and how many of any bits.
func readBitmap(data []byte) (b bitmap, rest []byte, err error) {
	if len(data) < 8 {
		return nil, nil, errIndex
	}
	n := 8 * int(binary.BigEndian.Uint32(data[4:]))
	if rest = data[8:]; len(rest) < n+4 {
		return nil, nil, errIndex
	}
	words, rest := rest[:n], rest[n+4:]
	for len(words) > 0 {
		head := binary.BigEndian.Uint64(words)
		same, any := int(head>>1&0xffffffff), int(head>>33)
		b = append(b, slices.Repeat(bitmap{-(head & 1)}, max(0, min(same, maxWords-len(b))))...)
		if words = words[8:]; any > len(words)/8 {
			return nil, nil, errIndex
		}
		for ; any > 0; any, words = any-1, words[8:] {
			b = append(b, binary.BigEndian.Uint64(words))
		}
	}
	return b, rest, nil
}
