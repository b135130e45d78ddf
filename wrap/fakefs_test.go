// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// fakeFS is a machine that does not exist. It walks paths with code of its
// own, so that it is an oracle for the resolver, too.
type fakeFS struct {
	nodes  map[string]*fakeNode
	uid    int // whose permissions Access and Lstat have
	mounts []host.Mount
	order  *rand.Rand // shuffles ReadDir; nil gives sorted names
}

type fakeNode struct {
	host.Info
	Text string // of a link, or the content of a file
}

// newFS reads one file per line:
//
//	/dir/                    a directory; parents are made
//	/dir/file = text         a file with content
//	/dir/link -> text
//	/dir/sock socket         or fifo, device
//
// A space in a name is written \s. Each takes uid=N and mode=OCTAL before the
// " = ". The owner is otherwise that of the directory, the mode 755 for
// directories and 644 for files; "x" is mode=755, and "gone" takes away.
func newFS(t testing.TB, uid int, specs ...string) *fakeFS {
	t.Helper()
	f := &fakeFS{nodes: map[string]*fakeNode{"/": {Info: host.Info{Kind: host.Dir, Mode: 0o755, Ino: 1}}}, uid: uid}
	for _, spec := range specs {
		for _, line := range strings.Split(spec, "\n") {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				f.add(t, line)
			}
		}
	}
	return f
}

func (f *fakeFS) add(t testing.TB, line string) {
	t.Helper()
	head, content, _ := strings.Cut(line, " = ")
	content = strings.ReplaceAll(content, `\n`, "\n")
	head, link, isLink := strings.Cut(head, " -> ")
	words := strings.Fields(head)
	if isLink {
		more := strings.Fields(link)
		words, link = append(words, more[1:]...), more[0]
	}
	path := strings.ReplaceAll(words[0], `\s`, " ")
	n := &fakeNode{Info: host.Info{Kind: host.File, Mode: 0o644, UID: -1, Size: int64(len(content))}, Text: content}
	switch {
	case isLink:
		n.Kind, n.Mode, n.Text = host.Link, 0o777, link
	case path == "/":
		n.Kind, n.Mode = host.Dir, 0o755
	case strings.HasSuffix(path, "/"):
		n.Kind, n.Mode, path = host.Dir, 0o755, strings.TrimSuffix(path, "/")
	}
	for _, w := range words[1:] {
		switch key, value, _ := strings.Cut(w, "="); key {
		case "uid":
			n.UID, _ = strconv.Atoi(value)
		case "gid":
			n.GID, _ = strconv.Atoi(value)
		case "mode":
			m, err := strconv.ParseUint(value, 8, 32)
			if err != nil {
				t.Fatal(line, err)
			}
			n.Mode = uint32(m)
		case "x":
			n.Mode, n.Size = 0o755, max(n.Size, 1)
		case "empty":
			n.Size = 0
		case "socket":
			n.Kind = host.Socket
		case "fifo":
			n.Kind = host.Fifo
		case "device":
			n.Kind = host.Device
		case "gone":
			for p := range f.nodes {
				if policy.Within(p, path) {
					delete(f.nodes, p)
				}
			}
			return
		default:
			t.Fatalf("%q: %q is not known", line, w)
		}
	}
	f.put(path, n)
}

// put makes a node and the directories above it.
func (f *fakeFS) put(path string, n *fakeNode) {
	if path != "/" {
		up := policy.Dir(path)
		if f.nodes[up] == nil {
			f.put(up, &fakeNode{Info: host.Info{Kind: host.Dir, Mode: 0o755, UID: -1}})
		}
		if n.UID < 0 {
			n.UID = f.nodes[up].UID
		}
	}
	n.Ino = uint64(len(f.nodes) + 1)
	f.nodes[path] = n
}

func (f *fakeFS) paths() []string { return slices.Sorted(maps.Keys(f.nodes)) }

func (f *fakeFS) String() string {
	var b strings.Builder
	for _, p := range f.paths() {
		n := f.nodes[p]
		fmt.Fprintf(&b, "%s uid=%d mode=%o", p, n.UID, n.Mode)
		switch n.Kind {
		case host.Link:
			b.WriteString(" -> " + n.Text)
		case host.Dir:
			b.WriteString(" dir")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var (
	errFakeLoop = errors.New("ELOOP")
	errFakeNone = errors.New("ENOENT")
)

// namei walks a path as the kernel does. It returns the canonical path, also
// of one whose last element does not exist, and the links it followed.
func (f *fakeFS) namei(path string, followLast bool) (canon string, n *fakeNode, links []string, err error) {
	todo := strings.Split(path, "/")
	at := "/"
	for len(todo) > 0 {
		elem := todo[0]
		todo = todo[1:]
		dir := f.nodes[at]
		switch {
		case elem == "" || elem == ".":
			continue
		case dir == nil || dir.Kind != host.Dir || !f.may(dir, 'x'):
			return host.Join(at, elem), nil, links, errFakeNone
		case elem == "..":
			at = policy.Dir(at)
			continue
		}
		next := host.Join(at, elem)
		if l := f.nodes[next]; l != nil && l.Kind == host.Link && (followLast || len(strings.Trim(strings.Join(todo, ""), "./")) > 0) {
			if links = append(links, next); len(links) > 40 {
				return "", nil, links, errFakeLoop
			}
			if strings.HasPrefix(l.Text, "/") {
				at = "/"
			}
			todo = append(strings.Split(l.Text, "/"), todo...)
			continue
		}
		at = next
	}
	if n = f.nodes[at]; n == nil {
		return at, nil, links, errFakeNone
	}
	return at, n, links, nil
}

func (f *fakeFS) may(n *fakeNode, rwx byte) bool {
	if f.uid == 0 {
		return rwx != 'x' || n.Kind == host.Dir || n.Mode&0o111 != 0
	}
	bit := map[byte]uint32{'r': 4, 'w': 2, 'x': 1}[rwx]
	if n.UID == f.uid {
		bit <<= 6
	}
	return n.Mode&bit != 0
}

func (f *fakeFS) Lstat(path string) (host.Info, error) {
	_, n, _, err := f.namei(path, false)
	switch {
	case err == errFakeNone:
		return host.Info{}, nil
	case err != nil:
		return host.Info{}, err
	}
	return n.Info, nil
}

func (f *fakeFS) Readlink(path string) (string, error) {
	_, n, _, err := f.namei(path, false)
	if err != nil || n.Kind != host.Link {
		return "", fmt.Errorf("readlink %s: not a link", path)
	}
	return n.Text, nil
}

func (f *fakeFS) ReadDir(path string) ([]host.Entry, error) {
	canon, n, _, err := f.namei(path, true)
	if err != nil || n.Kind != host.Dir || !f.may(n, 'r') {
		return nil, fmt.Errorf("readdir %s: cannot be read", path)
	}
	var names []host.Entry
	for _, p := range f.paths() {
		if p != "/" && policy.Dir(p) == canon {
			names = append(names, host.Entry{Name: host.Base(p), Kind: f.nodes[p].Kind})
			if f.order != nil && f.order.IntN(2) == 0 {
				names[len(names)-1].Kind = host.Absent
			}
		}
	}
	if f.order != nil {
		f.order.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	return names, nil
}

func (f *fakeFS) Access(path string, rwx byte) bool {
	_, n, _, err := f.namei(path, true)
	return err == nil && f.may(n, rwx)
}

func (f *fakeFS) Head(path string, n int) ([]byte, error) {
	_, node, _, err := f.namei(path, true)
	if err != nil || node.Kind != host.File || !f.may(node, 'r') {
		return nil, fmt.Errorf("open %s: cannot be read", path)
	}
	return []byte(node.Text[:min(n, len(node.Text))]), nil
}

func (f *fakeFS) Content(path string, want host.Info, n int) ([]byte, error) {
	canon, node, links, err := f.namei(path, true)
	if err != nil || node.Kind != host.File || !f.may(node, 'r') || canon != path || len(links) > 0 || node.Ino != want.Ino || len(node.Text) > n {
		return nil, fmt.Errorf("open %s: cannot be read", path)
	}
	return []byte(node.Text), nil
}

func (f *fakeFS) Mounts() ([]host.Mount, error) { return f.mounts, nil }
