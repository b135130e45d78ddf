// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/openat"
	"github.com/sbx-sandbox/sbx/internal/ownfile"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// begin begins the names of records.
const begin = "run-"

// lockTime bounds the wait for another sbx, which needs some milliseconds.
const lockTime = 10 * time.Second

// Take keeps what is at some paths, and which directories some others are. It returns
// descriptors to be kept open until the run has ended: of the record, which is locked
// by it, first.
func (s Store) Take(paths, dirs []string) (fds []int, err error) {
	if _, err := ownfile.Make(s.Dir, s.UID); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			closeAll(fds)
			fds = nil
		}
	}()
	err = s.locked(func(d *ownfile.Dir) error {
		r := &record{}
		b := &budget{maxNodes, maxBytes}
		paths := slices.Clone(paths)
		slices.Sort(paths)
		for _, path := range slices.Compact(paths) {
			n, err := b.look(path)
			if err != nil {
				return errors.New(text.Plain(path) + ": " + err.Error())
			}
			r.Kept = append(r.Kept, kept{path, n})
		}
		others := s.live(d)
		for _, other := range others {
			for i := range r.Kept {
				r.Kept[i].adopt(other.Kept)
			}
		}
		name := begin + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
		fd, err := openat.Open(unix.AT_FDCWD, s.Dir+"/"+name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		fds = append(fds, fd)
		if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
			return err
		}
		for _, path := range slices.Sorted(slices.Values(dirs)) { // one that was moved goes back before what is in it
			var st unix.Stat_t
			at, err := openat.Dir(path)
			switch {
			case err == nil:
				err = unix.Fstat(at, &st)
			case notDir(err): // it is not what the command can replace
				continue
			case err == unix.ENOENT:
				at, err = -1, nil
			}
			if err != nil {
				return errors.New(text.Plain(path) + ": " + err.Error())
			}
			k := keptDir{path, uint64(st.Dev), st.Ino, st.Mode & 0o7777, at}
			if at >= 0 && (len(fds) > maxDirs || k.adopt(others)) {
				unix.Close(at)
				k.FD = -1
			} else if at >= 0 {
				fds = append(fds, at)
			}
			r.Dirs = append(r.Dirs, k)
		}
		data, err := json.Marshal(r)
		if err == nil {
			err = openat.Write(fd, data)
		}
		if err != nil {
			_ = d.Remove(name)
		}
		return err
	})
	return fds, err
}

// Finish puts back what a run kept, by the descriptors that Take gave.
func (s Store) Finish(fd int) (res Result, err error) {
	err = s.locked(func(d *ownfile.Dir) error {
		name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err != nil {
			return err
		}
		r, err := read(fd)
		if err != nil {
			return err
		}
		if res = s.restore(r, true); len(res.Failed) == 0 {
			return os.Remove(name)
		}
		return nil
	})
	return res, err
}

// Recover does what runs that were killed did not come to.
func (s Store) Recover() (res Result, err error) {
	var st unix.Stat_t
	if s.Dir == "" || unix.Lstat(s.Dir, &st) != nil || st.Nlink == 0 {
		return res, nil
	}
	d, err := ownfile.Open(s.Dir, s.UID)
	if err != nil {
		return res, err
	}
	names, err := d.Names()
	d.Close()
	if err != nil || !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, begin) }) {
		return res, err
	}
	err = s.locked(func(d *ownfile.Dir) error {
		return s.each(d, func(name string, fd int, free bool) {
			if !free {
				return
			}
			r, err := read(fd)
			if err != nil { // killed before anything was started
				_ = d.Remove(name)
				return
			}
			one := s.restore(r, false)
			if len(one.Failed) == 0 {
				_ = d.Remove(name)
			}
			res.Back, res.Moved = append(res.Back, one.Back...), append(res.Moved, one.Moved...)
			res.Failed = append(res.Failed, one.Failed...)
			if one.Aside != "" {
				res.Aside = one.Aside
			}
		})
	})
	return res, err
}

// live are the records of runs that go on.
func (s Store) live(d *ownfile.Dir) (out []*record) {
	_ = s.each(d, func(_ string, fd int, free bool) {
		if r, err := read(fd); err == nil && !free {
			out = append(out, r)
		}
	})
	return out
}

// each opens the records, and says of each whether its run has ended.
func (s Store) each(d *ownfile.Dir, do func(name string, fd int, free bool)) error {
	names, err := d.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, begin) {
			continue
		}
		fd, err := openat.Open(unix.AT_FDCWD, s.Dir+"/"+name, unix.O_RDWR, 0)
		if err != nil {
			continue
		}
		do(name, fd, unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil)
		unix.Close(fd)
	}
	return nil
}

// locked does something while no other sbx does.
func (s Store) locked(do func(d *ownfile.Dir) error) error {
	d, err := ownfile.Open(s.Dir, s.UID)
	if err != nil {
		return err
	}
	defer d.Close()
	unlock, err := d.Lock("lock", lockTime)
	if err != nil {
		return err
	}
	defer unlock()
	return do(d)
}

func read(fd int) (*record, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return nil, err
	}
	data, err := openat.Read(fd, st.Size, int(st.Size))
	if err != nil {
		return nil, err
	}
	r := new(record)
	return r, json.Unmarshal(data, r)
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// budget bounds what is read.
type budget struct{ nodes, bytes int }

var errMuch = errors.New("it is too large for a copy to be kept")

// look reads what is at a path.
func (b *budget) look(path string) (*node, error) {
	at, err := openat.Dir(policy.Dir(path))
	if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP {
		return &node{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(at)
	return b.node(at, base(path))
}

func (b *budget) node(at int, name string) (*node, error) {
	var st unix.Stat_t
	err := openat.Stat(at, name, &st)
	if err == unix.ENOENT {
		return &node{}, nil
	}
	if b.nodes--; err != nil || b.nodes < 0 {
		return nil, errors.Join(err, errMuch)
	}
	n := &node{Mode: st.Mode & 0o7777, Links: uint64(st.Nlink)}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		n.Kind = file
		if b.bytes -= int(min(st.Size, maxBytes+1)); b.bytes < 0 {
			return nil, errMuch
		}
		n.Data, err = openat.ReadFile(at, name, int(st.Size))
	case unix.S_IFLNK:
		n.Kind = link
		var text string
		text, err = openat.Readlink(at, name)
		n.Data = []byte(text)
	case unix.S_IFDIR:
		n.Kind, n.Below = dir, map[string]*node{}
		err = openat.EachName(at, name, func(fd int, name string) error {
			below, err := b.node(fd, name)
			n.Below[name] = below
			return err
		})
	default:
		n.Kind = other
	}
	return n, err
}
