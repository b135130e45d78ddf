// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/openat"
)

// seeded ends the name of a link beside a cache, which holds the state of the host's
// npm cache that was taken over. It leads nowhere.
const seeded = ".npm"

// maxIndex bounds a file of npm's index: a line for each time a package was looked up.
const maxIndex = 1 << 20

var errLate = errors.New("there was no time for more")

// SeedNpm gives the npm cache in the private cache to what the host's has, the _cacache
// at from: links to contents, which npm names by their hash and never changes, and copies
// of its index, which it appends to. Commands may have left anything in to, or move it
// about meanwhile: nothing there is followed, opened or replaced but directories. What
// does not fit into the limit the next call adds.
func SeedNpm(from, to string, limit time.Duration) error {
	src, err := openat.Dir(from)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	dst, err := openat.Dir(to)
	for _, name := range []string{"npm", "_cacache"} {
		if err != nil {
			return err
		}
		above := dst
		dst, err = enter(above, name)
		unix.Close(above)
	}
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	var tmp, top, own, have unix.Stat_t
	_ = openat.Stat(src, "tmp", &tmp) // in which npm makes whatever it adds
	if err := errors.Join(unix.Fstat(src, &top), unix.Fstat(dst, &own)); err != nil {
		return err
	}
	mark := strconv.FormatInt(tmp.Mtim.Nano(), 36) + "." + strconv.FormatInt(top.Mtim.Nano(), 36) + "." +
		strconv.FormatUint(own.Ino, 36)
	if last, _ := os.Readlink(to + seeded); last == mark && openat.Stat(dst, "content-v2", &have) == nil {
		return nil
	}
	end := time.Now().Add(limit)
	link := func(_, dst int, path, name string) error { return unix.Symlinkat(path, dst, name) }
	if err := each(src, dst, "content-v2", from, 3, end, link); err != nil {
		return err
	}
	if err := each(src, dst, "index-v5", from, 2, end, copyNew); err != nil {
		return err
	}
	_ = os.Remove(to + seeded)
	return os.Symlink(mark, to+seeded)
}

// enter opens a directory, and makes it if nothing has its name.
func enter(dir int, name string) (int, error) {
	if err := unix.Mkdirat(dir, name, 0o700); err != nil && err != unix.EEXIST {
		return -1, err
	}
	return openat.Open(dir, name, openat.Path|unix.O_DIRECTORY, 0)
}

// each calls do for the regular files that lie depth directories below name in src. A
// directory in dst that is something else is left out.
func each(src, dst int, name, path string, depth int, end time.Time, do func(src, dst int, path, name string) error) error {
	to, err := enter(dst, name)
	if err == unix.ENOTDIR || err == unix.ELOOP || err == unix.EACCES {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(to)
	path += "/" + name
	return openat.EachName(src, name, func(src int, name string) error {
		var st unix.Stat_t
		switch {
		case time.Now().After(end):
			return errLate
		case strings.Trim(name, "0123456789abcdefghijklmnopqrstuvwxyz") != "" || openat.Stat(src, name, &st) != nil:
			return nil // npm gives no other names
		case depth > 0 && openat.Is(&st, unix.S_IFDIR):
			return each(src, to, name, path, depth-1, end, do)
		case depth == 0 && openat.Is(&st, unix.S_IFREG):
			if err := do(src, to, path+"/"+name, name); err != unix.EEXIST {
				return err
			}
		}
		return nil
	})
}

// copyNew copies a file of the index unless something has its name. npm passes over a
// line that is cut off.
func copyNew(src, dst int, _, name string) error {
	data, err := openat.ReadFile(src, name, maxIndex)
	if err != nil || len(data) > maxIndex {
		return nil
	}
	fd, err := openat.Open(dst, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return openat.Write(fd, data)
}
