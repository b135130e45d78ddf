// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"debug/macho"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

const (
	loadSignature  = 0x1d       // LC_CODE_SIGNATURE
	superBlob      = 0xfade0cc0 // CSMAGIC_EMBEDDED_SIGNATURE
	codeDirectory  = 0xfade0c02 // CSMAGIC_CODEDIRECTORY
	slotDirectory  = 0
	hashSHA256     = 2
	flagsWanted    = 0x2 | 0x10000 // adhoc, runtime
	directoryBytes = 44            // of its header, version 0x20100 and newer have more
)

type signature struct {
	identifier string
	flags      uint32
	pages      int
}

// read checks the hash of each page of a program against its signature, as the
// kernel does when it loads the page.
func read(path string) (*signature, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := macho.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for _, l := range f.Loads {
		raw := l.Raw()
		if f.ByteOrder.Uint32(raw) != loadSignature || len(raw) < 16 {
			continue
		}
		offset, size := uint64(f.ByteOrder.Uint32(raw[8:])), uint64(f.ByteOrder.Uint32(raw[12:]))
		if last := f.Segment("__LINKEDIT"); last == nil || last.Offset+last.Filesz != uint64(len(data)) {
			return nil, errors.New("its last segment does not end with the file")
		}
		if offset+size != uint64(len(data)) || offset%16 != 0 {
			return nil, fmt.Errorf("the signature has bytes %d to %d of %d", offset, offset+size, len(data))
		}
		directory, err := slot(data[offset:], slotDirectory)
		if err != nil {
			return nil, err
		}
		return directory.check(data[:offset])
	}
	return nil, errors.New("it has no signature")
}

type blob []byte

// slot is a part of an embedded signature.
func slot(super []byte, kind uint32) (blob, error) {
	word := func(at uint64) uint32 {
		if at+4 > uint64(len(super)) {
			return 0
		}
		return binary.BigEndian.Uint32(super[at:])
	}
	if word(0) != superBlob {
		return nil, fmt.Errorf("magic %#x", word(0))
	}
	for i := range uint64(word(8)) {
		if word(12+8*i) != kind {
			continue
		}
		at := uint64(word(16 + 8*i))
		if end := at + uint64(word(at+4)); end <= uint64(len(super)) && end-at >= directoryBytes {
			return super[at:end], nil
		}
	}
	return nil, errors.New("it has no code directory")
}

func (b blob) check(code []byte) (*signature, error) {
	word := func(at int) int { return int(binary.BigEndian.Uint32(b[at:])) }
	hashes, name, count, limit := word(16), word(20), word(28), word(32)
	page := 1 << b[39]
	if word(0) != codeDirectory || b[36] != sha256.Size || b[37] != hashSHA256 {
		return nil, errors.New("its code directory is not one of SHA-256")
	}
	if limit != len(code) || count != (limit+page-1)/page || hashes+count*sha256.Size > len(b) {
		return nil, fmt.Errorf("%d pages of %d bytes for %d bytes", count, page, len(code))
	}
	for i := range count {
		sum := sha256.Sum256(code[i*page : min((i+1)*page, limit)])
		if !bytes.Equal(sum[:], b[hashes+i*sha256.Size:][:sha256.Size]) {
			return nil, fmt.Errorf("page %d does not have its hash", i)
		}
	}
	identifier, _, _ := bytes.Cut(b[name:], []byte{0})
	return &signature{string(identifier), uint32(word(12)), count}, nil
}
