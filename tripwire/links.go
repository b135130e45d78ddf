package tripwire

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/gitdir"
)

// maxIndex bounds the bytes of an index that is read.
const maxIndex = 64 << 20

// Stamp is what tells whether an index is the one that was read, "" when there
// is none. ctime cannot be set.
func Stamp(index string) string {
	var st unix.Stat_t
	if unix.Lstat(index, &st) != nil || uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG {
		return ""
	}
	return stamp(&st)
}

func stamp(st *unix.Stat_t) string {
	b := make([]byte, 0, 64)
	for _, n := range []int64{int64(st.Ino), st.Size, mtime(st), ctime(st)} {
		b = append(strconv.AppendInt(b, n, 36), '.')
	}
	return string(b)
}

// indexOf is the index of a work tree.
func indexOf(tree string) string {
	git := join(tree, ".git")
	if data, err := readFile(git, 4200); err == nil {
		if dir, ok := gitdir.Pointer(data); ok {
			if dir[0] != '/' {
				dir = join(tree, dir)
			}
			return join(dir, "index")
		}
	}
	return join(git, "index")
}

// linksOf lists the repositories in the index of a work tree, escaped and
// sorted. What cannot be read holds none: git cannot read it either, or it is
// of a kind that is documented as not looked at.
func linksOf(tree string) []string {
	data, err := readFile(indexOf(tree), maxIndex)
	if err != nil || len(data) > maxIndex {
		return nil
	}
	links, _ := gitdir.Gitlinks(data)
	for i, l := range links {
		links[i] = escape(l)
	}
	return sorted(links)
}

// links completes the watches of indexes: the state of an entry begins with the
// stamp of the index that was read last, behind it are the repositories that
// were in it. An index with others in it is read again each time.
func (s Store) links(own *record, watches []Watch) []Watch {
	for i := range watches {
		w := &watches[i]
		if w.Kind != Gitlinks {
			continue
		}
		e := own.find(w.Kind, w.Path)
		switch {
		case e == nil:
			w.State = strings.Join(append([]string{w.State}, linksOf(w.Path)...), "/")
		case stampOf(e.state) == w.State:
			w.State = e.state
		default:
			now := linksOf(w.Path)
			_, rest, _ := strings.Cut(e.state, "/")
			if known := split(rest); !slices.ContainsFunc(now, func(l string) bool { return !slices.Contains(known, l) }) {
				w.State = strings.Join(append([]string{w.State}, now...), "/")
			} else {
				w.State = e.state
			}
		}
	}
	return watches
}

func (r *record) find(kind Kind, path string) *entry {
	for i := range r.entries {
		if e := &r.entries[i]; e.kind == kind && e.path == path {
			return e
		}
	}
	return nil
}

func stampOf(state string) string {
	first, _, _ := strings.Cut(state, "/")
	return first
}

// linked adds the repositories in an index that were not there and would make
// git run something.
func (s Store) linked(out []Change, e *entry, stamp string) []Change {
	if stamp == stampOf(e.state) {
		return out
	}
	_, rest, _ := strings.Cut(e.state, "/")
	known := split(rest)
	for _, l := range linksOf(e.path) {
		if slices.Contains(known, l) {
			continue
		}
		path := join(join(e.path, unescape(l)), ".git")
		now, err := Look(Name, path)
		if err != nil {
			now = unseen(err)
		}
		if now != "" && !s.harmless(Gitlinks, path) {
			out = append(out, Change{Path: path, Now: now, Since: time.Unix(e.time, 0)})
		}
	}
	return out
}
