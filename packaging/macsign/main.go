// SPDX-License-Identifier: Apache-2.0

// Command macsign signs a program for macOS ad hoc, with the hardened runtime, on
// any system: the same as `codesign --sign - --options runtime`. The hardened
// runtime keeps DYLD_* from loading something into sbx before it begins. Go's
// linker signs for arm64 without it, and for amd64 not at all.
//
// It is a module of its own, so that what it needs is no part of sbx.
//
//	macsign IDENTIFIER PROGRAM
package main

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/goreleaser/quill/quill/macho"
	"github.com/goreleaser/quill/quill/pki"
	"github.com/goreleaser/quill/quill/sign"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: macsign IDENTIFIER PROGRAM")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "macsign:", err)
		os.Exit(1)
	}
}

// run signs the file, and looks at what it wrote.
func run(identifier, path string) error {
	if err := adHoc(identifier, path); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	s, err := read(path)
	if err != nil {
		return fmt.Errorf("%s, signed: %w", path, err)
	}
	if s.identifier != identifier || s.flags != flagsWanted {
		return fmt.Errorf("%s: signed as %q with flags %#x", path, s.identifier, s.flags)
	}
	fmt.Printf("%s: %s, flags %#x (adhoc,runtime), %d pages\n", path, s.identifier, s.flags, s.pages)
	return nil
}

// strip removes a signature, and shortens the file by it: quill alone leaves
// zeros, which would stay between the symbols and the new signature.
func strip(path string) error {
	m, err := macho.NewFile(path)
	if err != nil {
		return err
	}
	defer m.Close()
	command, _, err := m.CodeSigningCmd()
	if err != nil || command == nil {
		return err
	}
	if err := m.RemoveSigningContent(); err != nil {
		return err
	}
	last := m.Segment("__LINKEDIT")
	last.Filesz = uint64(command.DataOffset) - last.Offset
	if err := m.UpdateSegmentHeader(last.SegmentHeader); err != nil {
		return err
	}
	return os.Truncate(path, int64(command.DataOffset))
}

// adHoc replaces the signature of a program, or adds one.
func adHoc(identifier, path string) error {
	if err := strip(path); err != nil {
		return err
	}
	m, err := macho.NewFile(path)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := m.AddEmptyCodeSigningCmd(); err != nil {
		return err
	}
	// The sizes in the header are part of what is hashed: once for the size, once
	// for the hashes.
	size, blob, err := sign.GenerateSigningSuperBlob(identifier, m, pki.SigningMaterial{}, "", 0)
	if err != nil {
		return err
	}
	if err := sign.UpdateSuperBlobOffsetReferences(m, uint64(len(blob))); err != nil {
		return err
	}
	if _, blob, err = sign.GenerateSigningSuperBlob(identifier, m, pki.SigningMaterial{}, "", size); err != nil {
		return err
	}
	// No other part of an ad hoc signature depends on the code directory's bytes.
	directory, err := slot(blob, slotDirectory)
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(directory[12:], flagsWanted)
	command, _, err := m.CodeSigningCmd()
	if err != nil {
		return err
	}
	return m.Patch(blob, len(blob), uint64(command.DataOffset))
}
