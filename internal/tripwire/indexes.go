// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

var errLong = errors.New("it is too large")

// indexes reads the indexes of repositories, and remembers what was in those that
// are unchanged: they cost one stat each.
type indexes struct {
	known map[string]*indexed // by path
	used  map[string]*indexed // what is to be remembered
	fresh bool                // one was read
	newer bool                // a newer sbx remembers here
}

// indexed is what was in an index when it had this stamp.
type indexed struct {
	stamp string // of the index, and behind it of the file that a split one shares
	gitdir.Index
}

func noIndexes() *indexes {
	return &indexes{known: map[string]*indexed{}, used: map[string]*indexed{}}
}

func stamp(st *unix.Stat_t) string {
	b := make([]byte, 0, 64)
	for _, n := range []int64{int64(st.Dev), int64(st.Ino), st.Size, int64(st.Mode), mtime(st), ctime(st)} {
		b = append(strconv.AppendInt(b, n, 36), '.')
	}
	return string(b)
}

func stampFile(path string) (string, error) {
	st, err := lstat(path)
	return stamp(&st), err
}

// read returns what an index holds, and its stamp. hash tells the size of an object
// name.
func (x *indexes) read(path string, hash func() int) (*gitdir.Index, string, error) {
	now, err := stampFile(path)
	if err != nil {
		return nil, "", err
	}
	if k := x.known[path]; k != nil {
		whole := now
		if k.Shared != "" {
			shared, _ := stampFile(join(policy.Dir(path), k.Shared))
			whole += shared
		}
		if k.stamp == whole {
			x.used[path] = k
			return &k.Index, whole, nil
		}
	}
	src, err := openIndex(path)
	if err != nil {
		return nil, now, err
	}
	defer src.file.Close()
	files := []*indexFile{src}
	index, err := gitdir.ReadIndex(src, hash(), func(name string) (gitdir.Source, error) {
		shared, err := openIndex(join(policy.Dir(path), name))
		if err == nil {
			files = append(files, shared)
		}
		return shared, err
	})
	now = ""
	settled := err == nil && len(files) < 3
	for i, f := range files {
		now += f.stamp
		settled = settled && f.settled()
		if i > 0 {
			f.file.Close()
		}
	}
	if settled {
		x.used[path], x.fresh = &indexed{now, *index}, true
	}
	return index, now, err
}

// indexFile is an open index.
type indexFile struct {
	file  *os.File
	size  int64
	stamp string
	quiet bool // the stamp tells it from what it may become
}

// young is an age at which a file can still be changed without another time of
// change: file systems count in steps of up to two seconds.
const young = 2 * time.Second

// openIndex opens an index. Its stamp is worth nothing when it is young, and when
// a process has it open for writing: what is written to memory that the file is
// mapped to changes its time but once.
func openIndex(path string) (*indexFile, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(int(f.Fd()), &st); err == nil && !is(&st, unix.S_IFREG) {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	quiet := time.Since(time.Unix(0, ctime(&st))) > young && unwritten(int(f.Fd()))
	return &indexFile{f, st.Size, stamp(&st), quiet}, nil
}

func (f *indexFile) ReadAt(p []byte, off int64) (int, error) { return f.file.ReadAt(p, off) }
func (f *indexFile) Size() int64                             { return f.size }

// settled reports whether the file is the one that was opened, to its end.
func (f *indexFile) settled() bool {
	var st unix.Stat_t
	return f.quiet && unix.Fstat(int(f.file.Fd()), &st) == nil && stamp(&st) == f.stamp
}

// What is remembered of indexes is a file of its own beside a record. It can be
// lost, and what is damaged is not believed: it begins with the sum of the rest.
const indexMagic = "sbx index 1 "

func indexName(root string) string { return FileName(root) + ".index" }

// indexes reads what is remembered for a root.
func (f *files) indexes(root string) *indexes {
	x := noIndexes()
	text, _, err := f.read(indexName(root))
	x.newer = strings.HasPrefix(text, "sbx index ") && !strings.HasPrefix(text, indexMagic)
	rest, ok := strings.CutPrefix(text, indexMagic)
	head, rest, ok2 := strings.Cut(rest, "\n")
	if err != nil || !ok || !ok2 || head != sum([]byte(rest)) {
		return x
	}
	fields := strings.Split(rest, "\x00")
	for len(fields) > 4 {
		k := &indexed{stamp: fields[1]}
		k.Shared = fields[2]
		links, err := strconv.Atoi(fields[3])
		trees, err2 := strconv.Atoi(fields[4])
		path := fields[0]
		if fields = fields[5:]; err != nil || err2 != nil || links < 0 || trees < 0 || links+trees > len(fields) {
			break
		}
		k.Links, k.Trees, fields = fields[:links], fields[links:links+trees], fields[links+trees:]
		x.known[path] = k
	}
	return x
}

// keepIndexes remembers what was read.
func (f *files) keepIndexes(root string, x *indexes) {
	if !x.fresh || x.newer {
		return
	}
	var b strings.Builder
	for path, k := range x.used {
		head := []string{path, k.stamp, k.Shared, strconv.Itoa(len(k.Links)), strconv.Itoa(len(k.Trees))}
		for _, field := range slices.Concat(head, k.Links, k.Trees) {
			b.WriteString(field)
			b.WriteByte(0)
		}
	}
	text := b.String()
	if text = indexMagic + sum([]byte(text)) + "\n" + text; len(text) <= maxRecord {
		_ = f.write(indexName(root), []byte(text), false)
	}
}
