// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"cmp"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/procfs"
	"github.com/sbx-sandbox/sbx/internal/text"

	"github.com/sbx-sandbox/sbx/internal/engine"
)

// Left tells of the files that the command left in directories which end with the
// sandbox, "" when no one misses them. It looks until a time at maxEntries names, and
// enters no other mount; mounts is the text of /proc/self/mountinfo.
func Left(b *Sandbox, say engine.Hints, words []string, mounts string, until time.Time) string {
	l := &look{home: b.Home, own: make(map[string]bool), until: until, rest: maxEntries}
	l.look(say.Left, say.Made, mounts)
	h := &hinter{b, say, words}
	return strings.ReplaceAll(text.Escape(h.gone(l)), "\n", `\n`)
}

// maxEntries is how many names Left looks at.
const maxEntries = 10_000

// look is a look at what was left, directory by directory.
type look struct {
	home   string
	own    map[string]bool // names that sbx made: mount points, true, and the directories above them
	until  time.Time
	rest   int // of maxEntries
	places []*place
	queue  []step
}

// place is a name that the command made and no directory above it, or a directory that
// sbx made and the command's files in that.
type place struct {
	path  string
	made  bool // by the command
	files int
	bytes int64
	last  string // of the files the last one
	more  bool   // there is more than was looked at
}

// step is a directory that is still to be listed, and the place to which its files
// count.
type step struct {
	dir string
	in  *place
}

func (l *look) look(dirs, links []string, mounts string) {
	for m := range procfs.Mounts(mounts) {
		if m.Type == "tmpfs" && slices.Contains(dirs, m.Point) {
			l.enter(m.Point, false)
		}
		l.setOwn(m.Point)
	}
	for _, link := range links {
		l.setOwn(link)
	}
	for len(l.queue) > 0 && l.rest > 0 {
		next := l.queue[0]
		l.queue = l.queue[1:]
		if !l.list(next) {
			next.in.more = true
		}
	}
}

// setOwn notes a mount point or link and the directories above it.
func (l *look) setOwn(name string) {
	l.own[name] = true
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if !l.own[dir] {
			l.own[dir] = false
		}
	}
}

// enter makes a directory a place.
func (l *look) enter(dir string, made bool) {
	p := &place{path: dir, made: made}
	l.places, l.queue = append(l.places, p), append(l.queue, step{dir, p})
}

// list looks at the names in a directory, and reports whether it saw them all. What is
// deeper comes later, so that one large directory hides no other.
func (l *look) list(at step) (all bool) {
	dir, err := os.OpenFile(at.dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer dir.Close()
	for l.rest > 0 {
		entries, err := dir.ReadDir(min(l.rest, 256))
		for _, e := range entries {
			l.entry(at, e)
		}
		if err != nil {
			return err == io.EOF
		}
		if l.rest -= len(entries); time.Now().After(l.until) {
			l.rest = 0
		}
	}
	return false
}

func (l *look) entry(at step, e fs.DirEntry) {
	name := path.Join(at.dir, e.Name())
	mounted, own := l.own[name]
	if mounted || !own && l.isScratch(name) {
		return
	}
	switch {
	case e.IsDir() && at.in.made:
		l.queue = append(l.queue, step{name, at.in})
	case e.IsDir():
		rest, inHome := strings.CutPrefix(name, l.home+"/")
		l.enter(name, !own && !(inHome && slices.Contains(containers, rest)))
	case e.Type().IsRegular(), e.Type() == fs.ModeSymlink:
		at.in.files++
		at.in.last = e.Name()
		if info, err := e.Info(); err == nil {
			at.in.bytes += min(info.Size(), info.Sys().(*syscall.Stat_t).Blocks*512) // a sparse one takes less
		}
	}
}

// gone puts a look into words.
func (h *hinter) gone(l *look) string {
	places := slices.DeleteFunc(l.places, func(p *place) bool { return p.files == 0 && !p.more })
	if len(places) == 0 {
		return ""
	}
	slices.SortStableFunc(places, func(a, b *place) int {
		return cmp.Or(-cmp.Compare(a.bytes, b.bytes), -cmp.Compare(a.files, b.files), cmp.Compare(a.path, b.path))
	})
	elsewhere, all := 0, 0
	var named []string
	for i, p := range places {
		if all += p.files; i < maxNamed {
			named = append(named, h.leftIn(p))
		} else {
			elsewhere += p.files
		}
	}
	if elsewhere > 0 {
		named = append(named, files(elsewhere)+" elsewhere")
	}
	verb, keeps := " are", "; to keep them: "
	switch first := places[0]; {
	case len(places) > 1:
		keeps = "; to keep what is in " + h.shown(first.path) + ": "
	case first.files == 1 && !first.more, first.files == 0:
		verb, keeps = " is", "; to keep it: "
	}
	if len(l.queue) > 0 || slices.ContainsFunc(places, func(p *place) bool { return p.more && p.files > 0 }) {
		named = append(named, "more")
	}
	const gone = " gone with the sandbox"
	if line := text.And(named) + verb + gone + h.keep(places[0], keeps); len(line) <= maxLine {
		return line
	}
	return files(all) + verb + gone
}

// maxLine bounds a line, in bytes, before it is escaped: process 1 shows none that is
// much longer. Names that are escaped are quoted by then.
const maxLine = 900

// leftIn names the files of a place.
func (h *hinter) leftIn(p *place) string {
	size := ""
	if p.bytes >= 1<<20 {
		size = " (" + strconv.FormatInt(p.bytes>>20, 10) + " MB)"
	}
	switch {
	case p.files == 0:
		return h.shown(p.path)
	case p.files == 1 && !p.made:
		return h.shown(path.Join(p.path, p.last)) + size
	}
	return files(p.files) + size + " in " + h.shown(p.path)
}

func files(n int) string {
	if n == 1 {
		return "1 file"
	}
	return strconv.Itoa(n) + " files"
}

// keep is what makes the files of a place last.
func (h *hinter) keep(p *place, to string) string {
	python := strings.HasPrefix(p.path, h.Home+"/.local/lib/python")
	shared := p.path == "/tmp" || p.path == "/var/tmp"
	switch {
	case python:
		return "; a venv in the project lasts"
	case shared || h.Host.Grantable(p.path) != nil || h.Secret(p.path) || h.sbxOwn(p.path):
		if h.Secret(p.path) {
			return "; secrets are kept there: outside of the sandbox it stays"
		}
		if h.Ask(h.CWD).Write {
			return "; what is in the project stays"
		}
		return ""
	}
	if p.made {
		return h.remedy("mkdir -p", p.path, policy.Private, nil, to)
	}
	return h.remedy("write", p.path, policy.Private, nil, to)
}
