// SPDX-License-Identifier: Apache-2.0

// Package bwrapargs writes the command line of bwrap(1): a sandbox as a value
// in, words and file descriptor contents out.
//
// bwrap performs its mount operations in the order in which they are given,
// and a later one covers an earlier one at the same path or above it. So the
// order of [Args.Ops] is the policy: a mask that comes before the bind it is
// meant to cover hides nothing. Callers give parents before children, masks
// after the binds they lie in, and [RemountRO] last of all, since it freezes
// a directory in which mount points still have to be made.
//
// The package protects nothing by itself and knows no host: it does not look
// whether a path exists, is a link, or is safe to mount. It has no build tags.
//
// Start with [Args.Words].
package bwrapargs

import (
	"cmp"
	"strconv"
)

// Kind is a mount operation of bwrap.
type Kind uint8

const (
	Bind      Kind = iota // --bind SRC DST
	ROBind                // --ro-bind SRC DST
	Tmpfs                 // [--perms] [--size] --tmpfs DST
	Dir                   // --dir DST
	Symlink               // --symlink SRC DST, SRC being the link's text
	Proc                  // --proc DST
	Dev                   // --dev DST
	ROData                // [--perms] --ro-bind-data FD DST, the content being Data
	RemountRO             // --remount-ro DST, not recursive
	DevBind               // --dev-bind SRC DST: devices can be opened
	Overlay               // --overlay-src SRC --tmp-overlay DST: what is written over SRC ends with the sandbox
)

// Op is one mount operation. Paths are absolute; one element per word of the
// command line, with no quoting of any kind.
type Op struct {
	Kind Kind
	Src  string
	Dst  string
	Data []byte // content of an ROData file
	Shut bool   // of an ROData file: it cannot be opened at all
	Perm uint32 // mode bits of a Tmpfs or ROData; 0 is bwrap's own choice
	Size int64  // bytes; bounds a Tmpfs, 0 is no bound

	// Held is the identity of Src when it has to be the very file that was looked
	// at: where bwrap can, it is bound by a descriptor.
	Held *Identity
}

// Identity tells files apart (stat(2)).
type Identity struct{ Dev, Ino uint64 }

// Version is a release of bwrap, as printed by bwrap --version.
type Version struct{ Major, Minor, Patch int }

// Options that came with a release. They are modifiers or extra walls, so an
// older bwrap runs without them; the caller tells the user what is missing.
var (
	Oldest        = Version{0, 4, 0}  // the first release with everything needed here
	hasPerms      = Version{0, 5, 0}  // --perms
	HasTwoFilters = Version{0, 6, 0}  // --add-seccomp-fd
	HasSize       = Version{0, 7, 0}  // --size
	HasUserns     = Version{0, 8, 0}  // --disable-userns
	HasBindFD     = Version{0, 10, 0} // --bind-fd, --ro-bind-fd
	HasOverlay    = Version{0, 11, 0} // --tmp-overlay
	FixedSymlink  = Version{0, 12, 0} // CVE-2026-87766
)

// Less reports whether v is older than o.
func (v Version) Less(o Version) bool {
	return cmp.Or(v.Major-o.Major, v.Minor-o.Minor, v.Patch-o.Patch) < 0
}

// String returns "0.8.0".
func (v Version) String() string {
	return strconv.Itoa(v.Major) + "." + strconv.Itoa(v.Minor) + "." + strconv.Itoa(v.Patch)
}

// ParseVersion reads what bwrap --version prints, "bubblewrap 0.8.0". Missing
// numbers are 0; ok is false when there is no number at all.
func ParseVersion(s string) (v Version, ok bool) {
	i := 0
	for i < len(s) && (s[i] < '0' || s[i] > '9') {
		i++
	}
	for _, n := range []*int{&v.Major, &v.Minor, &v.Patch} {
		start := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' && i-start < 6 {
			*n = *n*10 + int(s[i]-'0')
			i++
		}
		ok = ok || i > start
		if i == start || i >= len(s) || s[i] != '.' {
			break
		}
		i++
	}
	return v, ok
}

// Args is a whole sandbox.
type Args struct {
	Version   Version // of the bwrap that will read the words
	ShareNet  bool    // keep the network namespace
	SharePID  bool    // keep the process namespace
	NewUserns bool    // allow further user namespaces inside
	Session   bool    // --new-session
	Init      bool    // the command is process 1 instead of bwrap's reaper, and ends the sandbox when bwrap dies
	Ops       []Op
	Seccomp   []byte   // a struct sock_filter array; nil for none
	Filter    []byte   // a second one, which only holds more; nil for none. See HasTwoFilters
	Chdir     string   // absolute, as seen inside
	Unsetenv  []string // names that bwrap itself sees and the command does not
	Setenv    []Var    // set for the command only; bwrap itself does not see them

	// Descriptors of the caller's, 0 for none: one that bwrap reads from and closes
	// when nearly everything is set up, one that process 1 keeps open and the command
	// does not get, and one that bwrap writes its child's number to.
	Block, Sync, Info int
}

// Var is an environment variable.
type Var struct{ Name, Value string }

// FD is a descriptor that bwrap gets: its number and the bytes in it, or the
// file that it leads to (O_PATH).
type FD struct {
	Num  int
	Name string // for people: what the content is
	Data []byte
	Path string    // "" for one with bytes in it
	Held *Identity // of Path
}

// Words returns the options of bwrap, without the program's name and without
// the command, and the descriptors they refer to. next returns a number for
// each descriptor in turn.
func (a *Args) Words(next func() int) (words []string, fds []FD) {
	w := writer{version: a.Version, next: next}
	w.words = make([]string, 0, 32+4*len(a.Ops))
	w.namespaces(a)
	for i := range a.Ops {
		w.op(&a.Ops[i])
	}
	w.filters(a)
	for _, name := range a.Unsetenv {
		w.add("--unsetenv", name)
	}
	for _, v := range a.Setenv {
		w.add("--setenv", v.Name, v.Value)
	}
	if a.Chdir != "" {
		w.add("--chdir", a.Chdir)
	}
	if a.Block != 0 {
		w.add("--block-fd", strconv.Itoa(a.Block))
	}
	if a.Sync != 0 {
		w.add("--sync-fd", strconv.Itoa(a.Sync))
	}
	if a.Info != 0 {
		w.add("--info-fd", strconv.Itoa(a.Info))
	}
	return w.words, w.fds
}

// filters writes the filters. bwrap loads them in this order, and the second may
// refuse the call that loads one.
func (w *writer) filters(a *Args) {
	option := "--seccomp"
	if a.Filter != nil {
		option = "--add-seccomp-fd"
	}
	if a.Seccomp != nil {
		w.add(option, w.fd("seccomp filter", a.Seccomp))
	}
	if a.Filter != nil {
		w.add(option, w.fd("seccomp filter from a file", a.Filter))
	}
}

type writer struct {
	version Version
	next    func() int
	words   []string
	fds     []FD
}

func (w *writer) add(words ...string) { w.words = append(w.words, words...) }

func (w *writer) fd(name string, data []byte) string {
	n := w.next()
	w.fds = append(w.fds, FD{Num: n, Name: name, Data: data})
	return strconv.Itoa(n)
}

// bind writes a bind mount, of a descriptor where the source must not have been
// replaced since it was looked at.
func (w *writer) bind(word string, o *Op) {
	if o.Held == nil || w.version.Less(HasBindFD) {
		w.add(word, o.Src, o.Dst)
		return
	}
	n := w.next()
	w.fds = append(w.fds, FD{Num: n, Name: o.Src, Path: o.Src, Held: o.Held})
	w.add(word+"-fd", strconv.Itoa(n), o.Dst)
}

// namespaces writes what is unshared. Capabilities are dropped in every run:
// as root bwrap would otherwise keep all of them, and with CAP_SYS_ADMIN any
// read-only mount can be remounted.
func (w *writer) namespaces(a *Args) {
	w.add("--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
	if !a.SharePID {
		w.add("--unshare-pid")
	}
	if !a.ShareNet {
		w.add("--unshare-net")
	}
	if !a.NewUserns && !a.Version.Less(HasUserns) {
		w.add("--disable-userns")
	}
	if !a.Init {
		w.add("--die-with-parent")
	}
	w.add("--cap-drop", "ALL")
	if a.Session {
		w.add("--new-session")
	}
	if a.Init {
		w.add("--as-pid-1")
	}
}

func (w *writer) op(o *Op) {
	switch o.Kind {
	case Bind:
		w.bind("--bind", o)
	case ROBind:
		w.bind("--ro-bind", o)
	case DevBind:
		w.bind("--dev-bind", o)
	case Overlay:
		w.add("--overlay-src", o.Src, "--tmp-overlay", o.Dst)
	case Tmpfs:
		w.perm(o)
		if o.Size > 0 && !w.version.Less(HasSize) {
			w.add("--size", strconv.FormatInt(o.Size, 10))
		}
		w.add("--tmpfs", o.Dst)
	case Dir:
		w.add("--dir", o.Dst)
	case Symlink:
		w.add("--symlink", o.Src, o.Dst)
	case Proc:
		w.add("--proc", o.Dst)
	case Dev:
		w.add("--dev", o.Dst)
	case ROData:
		switch {
		case o.Shut && w.version.Less(hasPerms):
			// bwrap mounts everything without devices, so that one cannot be opened.
			w.add("--ro-bind", "/dev/null", o.Dst)
			return
		case o.Shut:
			w.add("--perms", "0000")
		default:
			w.perm(o)
		}
		w.add("--ro-bind-data", w.fd(o.Dst, o.Data), o.Dst)
	case RemountRO:
		w.add("--remount-ro", o.Dst)
	}
}

func (w *writer) perm(o *Op) {
	if o.Perm != 0 && !w.version.Less(hasPerms) {
		s := strconv.FormatUint(uint64(o.Perm), 8)
		w.add("--perms", "0000"[min(len(s), 4):]+s)
	}
}
