// SPDX-License-Identifier: Apache-2.0

package gitdir

import (
	"crypto/sha1"
	"crypto/sha256"
	"errors"
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

// ReadIndex reads an index as git 2.39 does, which believes nearly everything:
// checksums are not compared, what follows the last extension is not looked at,
// the length of a name is what the entry says. What git could read in two ways, or
// beyond the end, is an error. hash is the size of an object name, 20 or 32. shared
// opens the file that a split index names.
func ReadIndex(data []byte, hash int, shared func(name string) ([]byte, error)) (*Index, error) {
	x := &indexReader{data: data, hash: hash}
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
	x = &indexReader{data: base, hash: hash}
	at := 0
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
	for _, size := range []int{sha1.Size, sha256.Size} {
		found, ok = nil, true
		at := make(map[string]int, len(names))
		x := &indexReader{data: index, hash: size}
		err := x.entries(func(e *indexEntry) {
			ok = ok && e.kind() != treeMode
			if !names[string(e.name)] {
				return
			}
			switch i, again := at[string(e.name)]; {
			case again:
				found[i].Hash = nil
			case e.staged || e.kind() != fileMode:
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

// Unwritten lists the files of an index that git has not written since it put them
// there: those without times. A checkout leaves that of a file it could not replace.
func Unwritten(index []byte) (names []string) {
	for _, size := range []int{sha1.Size, sha256.Size} {
		names = nil
		x := &indexReader{data: index, hash: size}
		if x.entries(func(e *indexEntry) {
			if e.unwritten && !e.staged && e.mode&0o170000 == fileMode && len(names) < maxUnwritten {
				names = append(names, string(e.name))
			}
		}) == nil {
			return names
		}
	}
	return nil
}

const maxUnwritten = 1024

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
	switch e.kind() {
	case linkMode:
		out.Links = append(out.Links, string(e.name))
	case treeMode:
		out.Trees = append(out.Trees, string(e.name))
	}
}

// The kinds of entries.
const (
	linkMode = 0o160000
	fileMode = 0o100000
	treeMode = 0o040000
)

const (
	indexHeader = 12
	// maxEntryName bounds a name in the format that makes each name of the one
	// before. The system knows none above 4096.
	maxEntryName = 64 << 10
	// maxLinks bounds the entries that are kept.
	maxLinks = 1 << 16
)

var (
	errIndex = errors.New("it is damaged")
	errLarge = errors.New("it is too large")
)
