// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/openat"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// indexes reads the indexes of repositories, and remembers what was in those that
// are unchanged: they cost one stat each.
type indexes struct {
	known map[string]*indexed // by path
	used  map[string]*indexed // what is to be remembered
	fresh bool                // one was read
	newer bool                // a newer sbx remembers here
	spent int                 // bytes read so far
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
	stamps, settled := "", true
	load := func(path string) ([]byte, error) {
		data, stamp, rests, err := readIndex(path, maxIndex-x.spent)
		x.spent += len(data)
		stamps, settled = stamps+stamp, settled && rests
		return data, err
	}
	data, err := load(path)
	if err != nil {
		return nil, now, err
	}
	index, err := gitdir.ReadIndex(data, hash(), func(name string) ([]byte, error) {
		return load(join(policy.Dir(path), name))
	})
	if err == nil && settled {
		x.used[path], x.fresh = &indexed{stamps, *index}, true
	}
	return index, stamps, err
}

// maxIndex bounds the bytes of all indexes that one look reads: a command can make
// many large ones that take no space on disk.
const maxIndex = 256 << 20

// readIndex reads an index and its stamp. It rests when that tells it from what it
// may become: not when it is young, nor when a process has it open for writing: what
// is written to memory that the file is mapped to changes its time but once.
func readIndex(path string, limit int) (data []byte, text string, rests bool, err error) {
	fd, err := openat.Open(unix.AT_FDCWD, path, unix.O_RDONLY, 0)
	if err != nil {
		return nil, "", false, fail(path, err)
	}
	defer unix.Close(fd)
	var st, after unix.Stat_t
	if err = unix.Fstat(fd, &st); err != nil || !openat.Is(&st, unix.S_IFREG) {
		return nil, "", false, cmp.Or(err, errors.New("it is not a regular file"))
	}
	text = stamp(&st)
	rests = time.Since(time.Unix(0, ctime(&st))) > young && unwritten(fd)
	if st.Size > int64(limit) {
		return nil, text, false, errLong
	}
	if data, err = openat.Read(fd, st.Size, limit); err == nil && len(data) > limit {
		err = errLong
	}
	return data, text, rests && unix.Fstat(fd, &after) == nil && stamp(&after) == text, err
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
		_ = f.dir.Write(indexName(root), []byte(text), false)
	}
}
