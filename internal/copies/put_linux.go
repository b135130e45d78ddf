// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"bytes"
	"crypto/rand"
	"errors"
	"maps"
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

// putter puts back what a record keeps.
type putter struct {
	Result
	store Store
	dirs  []keptDir
	aside int // descriptor of Aside; 0 is none yet
	moves int
}

// restore puts back what a record keeps; held says that the descriptors in it are open.
func (s Store) restore(r *record, held bool) Result {
	p := &putter{store: s, dirs: r.Dirs}
	if held {
		for _, d := range r.Dirs {
			p.returned(d)
		}
	}
	for _, k := range r.Kept {
		at, err := p.parent(policy.Dir(k.Path), k.Node.Kind != absent)
		if err == unix.ENOENT || k.Node.Kind == absent && notDir(err) { // by a link that was there before the run
			continue
		}
		if err == nil {
			err = p.put(at, k.Path, k.Node)
			unix.Close(at)
		}
		if err != nil {
			p.Failed = append(p.Failed, errors.New(text.Plain(k.Path)+": "+err.Error()))
		}
	}
	return p.Result
}

// returned moves a directory back that was moved away.
func (p *putter) returned(d keptDir) {
	var st unix.Stat_t
	if d.FD < 0 || unix.Lstat(d.Path, &st) == nil && uint64(st.Dev) == d.Dev && st.Ino == d.Ino {
		return
	}
	where, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(d.FD))
	if err != nil || unix.Lstat(where, &st) != nil || uint64(st.Dev) != d.Dev || st.Ino != d.Ino {
		return // it is gone
	}
	from, err := openat.Dir(policy.Dir(where))
	if err != nil {
		return
	}
	defer unix.Close(from)
	to, err := p.parent(policy.Dir(d.Path), true)
	if err != nil {
		return
	}
	defer unix.Close(to)
	if openat.Stat(to, base(d.Path), &st) == nil && p.move(to, d.Path) != nil {
		return
	}
	open(from)
	if unix.Renameat(from, base(where), to, base(d.Path)) == nil {
		p.Back = append(p.Back, d.Path)
	}
}

// parent opens a directory by a path that has no links in it. What the command put in
// the place of one that it could move is moved away, and what it closed is opened.
func (p *putter) parent(path string, make bool) (int, error) {
	at, err := openat.Dir(path)
	if err == nil {
		p.open(at, path)
		return at, nil
	}
	if at, err = openat.Dir("/"); err != nil {
		return -1, err
	}
	done := ""
	for _, name := range strings.Split(path[1:], "/") {
		done += "/" + name
		mine := slices.ContainsFunc(p.dirs, func(d keptDir) bool { return d.Path == done })
		next, err := openat.Open(at, name, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err == unix.EACCES {
			p.open(at, policy.Dir(done))
			next, err = openat.Open(at, name, unix.O_PATH|unix.O_DIRECTORY, 0)
		}
		if mine && notDir(err) {
			if err = p.move(at, done); err == nil {
				p.Moved, err = append(p.Moved, done), unix.ENOENT
			}
		}
		if err == unix.ENOENT && make && mine {
			if err = unix.Mkdirat(at, name, 0o755); err == nil {
				next, err = openat.Open(at, name, unix.O_PATH|unix.O_DIRECTORY, 0)
			}
		}
		unix.Close(at)
		if at = next; err != nil {
			return -1, err
		}
	}
	p.open(at, path)
	return at, nil
}

// notDir reports whether a link or a file is where a directory was to be opened.
func notDir(err error) bool { return err == unix.ELOOP || err == unix.ENOTDIR }

// open lets the user use a directory that is kept, or leads to one, again.
func (p *putter) open(fd int, path string) {
	if open(fd) {
		for _, d := range p.dirs {
			if d.Path == path && d.Mode&0o700 == 0o700 {
				_ = unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), d.Mode)
			}
		}
	}
}

// open lets the user use a directory of theirs, whatever its mode was made, and
// reports whether it had to.
func open(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&0o700 != 0o700 && int(st.Uid) == os.Geteuid() &&
		unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), st.Mode&0o7777|0o700) == nil
}

// put makes a name in a directory what it was.
func (p *putter) put(at int, path string, want *node) error {
	var st unix.Stat_t
	name := base(path)
	err := openat.Stat(at, name, &st)
	if err != nil && err != unix.ENOENT {
		return err
	}
	there, is := err == nil, st.Mode&unix.S_IFMT
	switch {
	case want.Kind == absent && !there:
		return nil
	case want.Kind == absent:
		p.Moved = append(p.Moved, path)
		return p.move(at, path)
	case want.Kind == file && there && is == unix.S_IFREG && want.same(at, name, &st):
		return nil
	case want.Kind == link && there && is == unix.S_IFLNK:
		if now, err := openat.Readlink(at, name); err == nil && now == string(want.Data) {
			return nil
		}
	case want.Kind == dir && there && is == unix.S_IFDIR:
		return p.dir(at, path, want)
	case want.Kind == other && there:
		return nil
	}
	p.Back = append(p.Back, path)
	switch want.Kind {
	case file:
		return p.file(at, path, want, there && is == unix.S_IFREG && st.Nlink == 1)
	case other:
		return errors.New("it is gone")
	}
	if there {
		if err := p.move(at, path); err != nil {
			return err
		}
	}
	if want.Kind == link {
		return unix.Symlinkat(string(want.Data), at, name)
	}
	if err := unix.Mkdirat(at, name, want.Mode|0o700); err != nil {
		return err
	}
	return p.dir(at, path, want)
}

// same reports whether a file is as it was, and has no further name by which it could
// be changed.
func (n *node) same(at int, name string, st *unix.Stat_t) bool {
	if st.Mode&0o7777 != n.Mode || st.Size != int64(len(n.Data)) || uint64(st.Nlink) > n.Links {
		return false
	}
	now, err := openat.ReadFile(at, name, int(st.Size))
	return err == nil && bytes.Equal(now, n.Data)
}

// dir makes what is in a directory what it was.
func (p *putter) dir(at int, path string, want *node) error {
	fd, err := openat.Open(at, base(path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	open(fd)
	var news []string
	err = openat.EachName(fd, ".", func(_ int, name string) error {
		if want.Below[name] == nil {
			news = append(news, name)
		}
		return nil
	})
	for _, name := range news {
		p.Moved = append(p.Moved, path+"/"+name)
		err = errors.Join(err, p.move(fd, path+"/"+name))
	}
	for _, name := range slices.Sorted(maps.Keys(want.Below)) {
		err = errors.Join(err, p.put(fd, path+"/"+name, want.Below[name]))
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Mode&0o7777 != want.Mode {
		err = errors.Join(err, unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), want.Mode))
	}
	return err
}

// file writes a new file and renames it over the old one. On a full disk one that is there
// gives its own room.
func (p *putter) file(at int, path string, want *node, inPlace bool) error {
	next := ".sbx-" + rand.Text() // which the command cannot have taken
	err := writeNew(at, next, want)
	if err == nil {
		err = p.replace(at, next, path)
	}
	if err == nil {
		return nil
	}
	_ = unix.Unlinkat(at, next, 0)
	if full := err == unix.ENOSPC || err == unix.EDQUOT; full && inPlace {
		fd, e := openat.Open(at, base(path), unix.O_WRONLY, 0)
		if e != nil {
			return err
		}
		defer unix.Close(fd)
		if _, e = unix.Pwrite(fd, want.Data, 0); e == nil {
			e = errors.Join(unix.Ftruncate(fd, int64(len(want.Data))), unix.Fchmod(fd, want.Mode&0o777))
		}
		return e
	} else if full {
		_ = p.move(at, path)
	}
	return err
}

// replace puts a new file where something else is, which it moves away.
func (p *putter) replace(at int, next, path string) error {
	err := unix.Renameat2(at, next, at, base(path), unix.RENAME_EXCHANGE)
	if err == nil {
		return p.moveAs(at, next, base(path))
	}
	if err != unix.ENOENT { // not on this file system
		if err = p.move(at, path); err != nil {
			return err
		}
	}
	return unix.Renameat(at, next, at, base(path))
}

// writeNew makes a file, which is the caller's: a bit that another owner set would run it
// as the caller.
func writeNew(at int, name string, want *node) error {
	fd, err := openat.Open(at, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := openat.Write(fd, want.Data); err != nil {
		return err
	}
	return unix.Fchmod(fd, want.Mode&0o777)
}

// move moves a name away: to the store, and where that is not on the same file system
// and it is no small file, or there is no room, to a name beside that means nothing.
func (p *putter) move(at int, path string) error { return p.moveAs(at, base(path), base(path)) }

func (p *putter) moveAs(at int, name, as string) error {
	if p.aside == 0 && p.Aside == "" {
		dir := policy.Dir(p.store.Dir) + "/aside/" + time.Now().Format("2006-01-02T15.04.05") + "." + strconv.Itoa(os.Getpid())
		if _, err := ownfile.Make(dir, p.store.UID); err == nil {
			p.Aside = dir
			p.aside, _ = unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
	}
	p.moves++
	as = as[:min(len(as), 200)] // of 255
	to := strconv.Itoa(p.moves) + "-" + as
	err := unix.Renameat(at, name, p.aside, to)
	if err == unix.EXDEV {
		err = moveFar(at, name, p.aside, to)
	}
	if err == nil || err == unix.ENOENT {
		return err
	}
	return unix.Renameat(at, name, at, as+".sbx-"+rand.Text())
}

func moveFar(at int, name string, aside int, to string) error {
	n, err := (&budget{1, maxBytes}).node(at, name)
	switch {
	case err != nil:
	case n.Kind == file:
		err = writeNew(aside, to, n)
	case n.Kind == link:
		err = unix.Symlinkat(string(n.Data), aside, to)
	default:
		err = unix.EXDEV
	}
	if err == nil {
		err = unix.Unlinkat(at, name, 0)
	}
	return err
}

// base is the last element of a path.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
