// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Kind is a type of file.
type Kind uint8

const (
	Absent Kind = iota
	Dir
	File
	Link
	Socket
	Fifo
	Device  // a character device
	Disk    // a block device
	Unknown // it exists, but may not be looked at
)

// Info is what lstat(2) says of a path.
type Info struct {
	Kind Kind
	Mode uint32 // permission bits, set-uid and sticky included
	UID  int
	GID  int
	Size int64 // bytes; of a directory, as the file system counts
	Ino  uint64
	Dev  uint64

	Refused bool // of one that is Absent: the system would not say (TCC of macOS)
}

// Entry is a name in a directory.
type Entry struct {
	Name string
	Kind Kind // Absent where the file system does not tell
}

// FS answers questions about files of the host. Paths are absolute and
// cleaned; links are not followed in the last element.
type FS interface {
	// Lstat returns an Info of kind Absent for a path that does not exist,
	// ErrDenied when the directory may not be searched, and other errors.
	Lstat(path string) (Info, error)
	// Readlink returns the text of a link.
	Readlink(path string) (string, error)
	// ReadDir returns the entries of a directory, in any order.
	ReadDir(path string) ([]Entry, error)
	// Access reports whether the caller may read (r), write (w) or execute or
	// search (x) the path, links followed.
	Access(path string, rwx byte) bool
	// Mounts lists what is mounted, in the order of mounting.
	Mounts() ([]Mount, error)
	// Head returns up to n first bytes of a regular file.
	Head(path string, n int) ([]byte, error)
	// Content returns what is in a regular file that is still the one of want, and
	// has at most n bytes.
	Content(path string, want Info, n int) ([]byte, error)
}

// Speller is an FS of a volume that folds case: names are found however they
// are written, and rules count by the name that is on the disk.
type Speller interface {
	// Spell returns a canonical path that exists as the file system has it.
	Spell(path string) string
}

// Resolver follows symbolic links. It remembers where paths lead and what is in
// directories: each is asked for once, so that a plan is about one state of the files.
type Resolver struct {
	fs   FS
	seen map[string]*answer
	dirs map[string]*listing
	made []string // see Make
}

// listing is what is in a directory, sorted.
type listing struct {
	entries []Entry
	asked   bool // by List
	whole   bool // what it does not have does not exist
}

// Resolved is a path with all links followed.
type Resolved struct {
	Path  string // canonical
	Info  Info
	Links []Hop // followed on the way, outermost first
}

type Hop struct {
	Path string // canonical but for its last element, which is the link
	Text string // what it holds
	UID  int    // owner of the link
	Dir  int    // owner of the directory it lies in
}

type answer struct {
	res Resolved
	err error
}

// absent is the answer for most names that are asked for.
var absent = &answer{}

// of is what the path is that was asked for.
func (a *answer) of(path string) Resolved {
	if a == absent {
		return Resolved{Path: path}
	}
	return a.res
}

// ErrDenied is what Lstat says of names in a directory that may not be
// searched.
var ErrDenied = errors.New("permission denied")

// DeniedError is a path that goes through a directory which may not be
// searched. Its owner can change that at any time.
type DeniedError struct {
	Dir string
	UID int
}

func (e DeniedError) Error() string {
	return text.Plain(e.Dir) + " may not be searched, but its owner can change that and find what is in it; chmod u+rwx " + text.Plain(e.Dir)
}

// maxLinks is the kernel's own limit, MAXSYMLINKS.
const maxLinks = 40

type LoopError struct{ path string }

func (e LoopError) Error() string {
	return text.Plain(e.path) + ": too many levels of symbolic links"
}

func NewResolver(fs FS) *Resolver {
	return &Resolver{fs: fs, seen: make(map[string]*answer, 128), dirs: make(map[string]*listing)}
}

// Make has a directory there that will be when the plan is executed.
func (r *Resolver) Make(path string, uid int) {
	r.made = append(r.made, path)
	maps.DeleteFunc(r.seen, func(asked string, a *answer) bool { return policy.Within(a.of(asked).Path, path) })
	r.seen[path] = &answer{res: Resolved{Path: path, Info: Info{Kind: Dir, Mode: 0o700, UID: uid}}}
}

// Makes reports whether a path is such a directory.
func (r *Resolver) Makes(path string) bool { return slices.Contains(r.made, path) }

// Lstat is that of the file system, of a path in a canonical directory.
func (r *Resolver) Lstat(path string) (Info, error) {
	if to, err := r.Resolve(path); err == nil && len(to.Links) == 0 && to.Path == path {
		return to.Info, nil
	}
	return r.fs.Lstat(path)
}

// Resolve follows the links in an absolute, cleaned path. A path that does not
// exist has an Info of kind Absent and a Path whose existing part is canonical.
func (r *Resolver) Resolve(path string) (Resolved, error) { return r.step(path, 0) }

func (r *Resolver) step(path string, depth int) (Resolved, error) {
	if path == "/" {
		return Resolved{Path: "/", Info: Info{Kind: Dir, Mode: 0o755}}, nil
	}
	if a, ok := r.seen[path]; ok {
		return a.of(path), a.err
	}
	if l := r.dirs[policy.Dir(path)]; l != nil && l.whole && l.lacks(Base(path)) {
		return Resolved{Path: path}, nil
	}
	res, err := r.walk(path, depth)
	if err == nil || depth == 0 {
		// That a path is too deep at the end of a chain of links says nothing
		// of the path itself.
		a := absent
		if err != nil || res.Path != path || res.Info != (Info{}) || len(res.Links) > 0 {
			a = &answer{res, err}
		}
		r.seen[path] = a
	}
	return res, err
}

func (r *Resolver) walk(path string, depth int) (Resolved, error) {
	if depth > maxLinks {
		return Resolved{}, LoopError{path}
	}
	dir, here := policy.Dir(path), path
	parent, err := r.step(dir, depth)
	if err != nil {
		return Resolved{}, err
	}
	if parent.Path != dir {
		here = Join(parent.Path, Base(path))
	}
	if parent.Info.Kind != Dir {
		return Resolved{Path: here, Links: parent.Links}, nil
	}
	if here != path { // what is there is asked by one name alone
		to, err := r.step(here, depth)
		if err != nil {
			return Resolved{}, err
		}
		if len(parent.Links)+len(to.Links) > maxLinks && len(to.Links) > 0 {
			return Resolved{}, LoopError{to.Links[0].Path}
		}
		to.Links = slices.Concat(parent.Links, to.Links)
		return to, nil
	}
	info, err := r.fs.Lstat(path)
	if err == ErrDenied {
		return Resolved{}, DeniedError{parent.Path, parent.Info.UID}
	}
	if err != nil {
		return Resolved{}, err
	}
	if info.Kind != Link {
		if s, ok := r.fs.(Speller); ok && info.Kind != Absent {
			path = s.Spell(path)
		}
		return Resolved{Path: path, Info: info}, nil
	}
	text, err := r.fs.Readlink(path)
	if err != nil {
		return Resolved{}, err
	}
	return r.follow(parent, Hop{path, text, info.UID, parent.Info.UID}, depth)
}

// follow walks the text of a link from the directory it lies in. ".." is
// taken where the walk stands, not in the text: the element before it may be
// a link itself.
func (r *Resolver) follow(dir Resolved, l Hop, depth int) (Resolved, error) {
	at := dir
	if len(l.Text) > 0 && l.Text[0] == '/' {
		at = Resolved{Path: "/", Info: Info{Kind: Dir, Mode: 0o755}}
	}
	links := append(dir.Links[:len(dir.Links):len(dir.Links)], l)
	for elem := range strings.SplitSeq(l.Text, "/") {
		switch {
		case elem == "":
			continue
		case at.Info.Kind != Dir && (elem == "." || elem == ".."): // leads nowhere
			return Resolved{Path: Join(at.Path, elem), Links: links}, nil
		case at.Info.Kind != Dir:
			at = Resolved{Path: Join(at.Path, elem)}
			continue
		case elem == ".":
			continue
		case elem == "..":
			at = Resolved{Path: policy.Dir(at.Path), Info: Info{Kind: Dir, Mode: 0o755}}
			continue
		}
		next, err := r.step(Join(at.Path, elem), depth+1)
		if err != nil {
			return Resolved{}, err
		}
		links = append(links, next.Links...)
		if len(links) > maxLinks {
			return Resolved{}, LoopError{l.Path}
		}
		at = next
	}
	return Resolved{Path: at.Path, Info: at.Info, Links: links}, nil
}

// Entries returns what is in a directory, sorted and read once.
func (r *Resolver) Entries(dir string) ([]Entry, error) {
	if l := r.dirs[dir]; l != nil {
		return l.entries, nil
	}
	entries, err := r.fs.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	r.dirs[dir] = &listing{entries: entries}
	return entries, nil
}

// List reads a directory so that names which are not in it need no look of
// their own. A large one, which costs more than that, stays as it is, and so does one
// that cannot be read or searched, or in which names are not all ASCII.
func (r *Resolver) List(dir string) {
	const large, many = 8 << 10, 256
	if l := r.dirs[dir]; l != nil && l.asked {
		return
	}
	to, err := r.Resolve(dir)
	if err != nil || to.Info.Kind != Dir || to.Info.Size > large || !r.fs.Access(to.Path, 'x') {
		return
	}
	if entries, err := r.Entries(to.Path); err == nil {
		l := r.dirs[to.Path]
		l.asked = true
		l.whole = len(entries) <= many && !slices.ContainsFunc(entries, func(e Entry) bool { return !ascii(e.Name) })
	}
}

// lacks reports whether a name is not in a directory. Case is folded: a file system may
// find .ENV under the name .env, and what is not ASCII by rules of its own.
func (l *listing) lacks(name string) bool {
	return ascii(name) && !slices.ContainsFunc(l.entries, func(e Entry) bool { return strings.EqualFold(e.Name, name) })
}

func ascii(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf })
}

func Cut(s string) (elem, rest string) {
	elem, rest, _ = strings.Cut(s, "/")
	return elem, rest
}

func Base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func Join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// Child is the entry of dir that path is or lies in.
func Child(dir, path string) string {
	if dir == "/" {
		dir = ""
	}
	name, _ := Cut(path[min(len(dir)+1, len(path)):])
	return path[:min(len(dir)+1+len(name), len(path))]
}

// The kernel's own limits, PATH_MAX and NAME_MAX.
const (
	MaxPath = 4096
	MaxName = 255
)

// OneLine makes a text, as of an error of the system, one line that no terminal obeys.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfffe || r == 0xffff {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

func Digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// ProcFS shows /proc/self as a directory: the number behind it is another for
// each process. Of the links of the kernel in it only the working directory and
// the root are followed, which are those of the command, too.
type ProcFS struct{ FS }

// Lstat implements [FS].
func (f ProcFS) Lstat(path string) (Info, error) {
	info, err := f.FS.Lstat(path)
	if info.Kind != Link || !policy.Within(path, "/proc") {
		return info, err
	}
	switch path {
	case "/proc/self", "/proc/thread-self":
		info.Kind, info.Mode = Dir, 0o555
	case "/proc/self/cwd", "/proc/self/root", "/proc/thread-self/cwd", "/proc/thread-self/root":
	default:
		if top, rest := Cut(path[len("/proc/"):]); rest != "" &&
			(Digits(top) || top == "self" || top == "thread-self") {
			info.Kind = File
		}
	}
	return info, err
}
