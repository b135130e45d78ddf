// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// sim is a small bwrap: it performs mount operations over a fake host, with
// mounts that cover each other and links that are followed as the kernel does,
// and notes what no plan may ask for.
type sim struct {
	host *fakeFS
	on   map[simKey]*simMount // what is mounted at a place
	root simPlace
	last int
	bad  []string
}

type simMount struct {
	id  int
	at  string // where, for people
	src string // of the host, "" for a tmpfs or data
	ro  bool
	own *simNode // content of a tmpfs, or a data file
}

// simNode is a file that is not the host's.
type simNode struct {
	kind host.Kind
	text string
	kids map[string]*simNode
}

type simKey struct {
	mount int
	rel   string
}

// simPlace is a file: a mount and the path in it, "" for its root.
type simPlace struct {
	m   *simMount
	rel string
}

func newSim(host *fakeFS) *sim {
	s := &sim{host: host, on: map[simKey]*simMount{}}
	s.root = simPlace{m: s.tmpfs("/")}
	return s
}

func (s *sim) tmpfs(at string) *simMount {
	s.last++
	return &simMount{id: s.last, at: at, own: &simNode{kind: host.Dir, kids: map[string]*simNode{}}}
}

func (s *sim) complain(format string, args ...any) {
	s.bad = append(s.bad, fmt.Sprintf(format, args...))
}

// enter goes up to the topmost mount at a place.
func (s *sim) enter(p simPlace) simPlace {
	for {
		m := s.on[simKey{p.m.id, p.rel}]
		if m == nil {
			return p
		}
		p = simPlace{m: m}
	}
}

// hostPath is the file of the host at a place, "" when it is not the host's.
func (p simPlace) hostPath() string {
	switch {
	case p.m.src == "":
		return ""
	case p.m.src == "/" && p.rel != "":
		return p.rel
	}
	return p.m.src + p.rel
}

func (s *sim) node(p simPlace) (kind host.Kind, text string) {
	if h := p.hostPath(); h != "" {
		n := s.host.nodes[h]
		if n == nil {
			return host.Absent, ""
		}
		return n.Kind, n.Text
	}
	n := p.m.own
	for _, elem := range strings.Split(p.rel, "/") {
		if elem == "" {
			continue
		}
		if n = n.kids[elem]; n == nil {
			return host.Absent, ""
		}
	}
	return n.kind, n.text
}

func (s *sim) make(p simPlace, n *simNode) {
	dir := p.m.own
	elems := strings.Split(p.rel, "/")[1:]
	for _, e := range elems[:len(elems)-1] {
		dir = dir.kids[e]
	}
	dir.kids[elems[len(elems)-1]] = n
}

func (s *sim) kids(p simPlace) []string {
	if h := p.hostPath(); h != "" {
		entries, _ := s.host.ReadDir(h)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name)
		}
		slices.Sort(names)
		return names
	}
	n := p.m.own
	for _, elem := range strings.Split(p.rel, "/") {
		if elem != "" {
			n = n.kids[elem]
		}
	}
	return slices.Sorted(maps.Keys(n.kids))
}

// walk follows a path inside. Links are followed but for one at the end when
// last is false.
func (s *sim) walk(path string, last bool) (at simPlace, kind host.Kind, links int) {
	todo := strings.Split(path, "/")
	stack := []simPlace{s.enter(s.root)}
	for len(todo) > 0 {
		elem := todo[0]
		todo = todo[1:]
		at = stack[len(stack)-1]
		if k, _ := s.node(at); k != host.Dir && elem != "" && elem != "." {
			return at, host.Absent, links
		}
		switch elem {
		case "", ".":
			continue
		case "..":
			stack = stack[:max(1, len(stack)-1)]
			continue
		}
		next := s.enter(simPlace{at.m, at.rel + "/" + elem})
		kind, text := s.node(next)
		if kind == host.Link && (last || len(strings.Trim(strings.Join(todo, ""), "./")) > 0) {
			if links++; links > 40 {
				return next, host.Absent, links
			}
			if strings.HasPrefix(text, "/") {
				stack = stack[:1]
			}
			todo = append(strings.Split(text, "/"), todo...)
			continue
		}
		stack = append(stack, next)
		if kind == host.Absent && len(strings.Trim(strings.Join(todo, ""), "./")) > 0 {
			return next, host.Absent, links
		}
	}
	at = stack[len(stack)-1]
	kind, _ = s.node(at)
	return at, kind, links
}

// destination makes the mount point of an operation, as bwrap does, with the
// directories above it. The host must never be changed by that.
func (s *sim) destination(path string, want host.Kind) (simPlace, bool) {
	if path == "" || path[0] != '/' || filepath.Clean(path) != path {
		s.complain("destination %q is not a clean absolute path", path)
		return simPlace{}, false
	}
	at := s.enter(s.root)
	done := ""
	elems := strings.Split(path, "/")[1:]
	if path == "/" {
		elems = nil
	}
	for i, elem := range elems {
		done += "/" + elem
		next := s.enter(simPlace{at.m, at.rel + "/" + elem})
		k := want
		if i < len(elems)-1 {
			k = host.Dir
		}
		switch kind, _ := s.node(next); {
		case kind == host.Link:
			s.complain("destination %s: %s is a link inside", path, done)
			return simPlace{}, false
		case kind == host.Absent && at.m.src != "":
			s.complain("residue: the mount point %s would be made on the host", done)
			return simPlace{}, false
		case kind == host.Absent && at.m.ro:
			s.complain("the mount point %s cannot be made in a read-only directory", done)
			return simPlace{}, false
		case kind == host.Absent:
			s.make(next, &simNode{kind: k, kids: map[string]*simNode{}})
		case (kind == host.Dir) != (k == host.Dir):
			s.complain("destination %s: %s is of the wrong kind", path, done)
			return simPlace{}, false
		}
		at = next
	}
	return at, true
}

// run performs one operation.
func (s *sim) run(op bwrapargs.Op) {
	switch op.Kind {
	case bwrapargs.Bind, bwrapargs.ROBind:
		n := s.host.nodes[op.Src]
		if canon, _, _, err := s.host.namei(op.Src, true); err != nil || canon != op.Src || n == nil {
			s.complain("source %s is not a canonical path of the host", op.Src)
			return
		}
		if at, ok := s.destination(op.Dst, n.Kind); ok {
			s.last++
			m := &simMount{id: s.last, at: op.Dst, src: op.Src, ro: op.Kind == bwrapargs.ROBind}
			if n.Kind == host.Device { // mounted so that it cannot be opened
				m.src, m.own = "", &simNode{kind: host.Device}
			}
			s.on[simKey{at.m.id, at.rel}] = m
		}
	case bwrapargs.Tmpfs, bwrapargs.Proc, bwrapargs.Dev, bwrapargs.Dir:
		at, ok := s.destination(op.Dst, host.Dir)
		if !ok || op.Kind == bwrapargs.Dir {
			return
		}
		m := s.tmpfs(op.Dst)
		if op.Kind == bwrapargs.Dev {
			for _, name := range []string{"shm", "pts"} {
				m.own.kids[name] = &simNode{kind: host.Dir, kids: map[string]*simNode{}}
			}
		}
		s.on[simKey{at.m.id, at.rel}] = m
	case bwrapargs.ROData:
		if at, ok := s.destination(op.Dst, host.File); ok {
			s.last++
			s.on[simKey{at.m.id, at.rel}] = &simMount{id: s.last, at: op.Dst, ro: true, own: &simNode{kind: host.File, text: string(op.Data)}}
		}
	case bwrapargs.Symlink:
		up, ok := s.destination(policy.Dir(op.Dst), host.Dir)
		if !ok {
			return
		}
		at := s.enter(simPlace{up.m, up.rel + "/" + host.Base(op.Dst)})
		switch kind, _ := s.node(at); {
		case kind != host.Absent:
			s.complain("the link %s is already there", op.Dst)
		case up.m.src != "":
			s.complain("residue: the link %s would be made on the host", op.Dst)
		case up.m.ro:
			s.complain("the link %s cannot be made in a read-only directory", op.Dst)
		default:
			s.make(at, &simNode{kind: host.Link, text: op.Src})
		}
	case bwrapargs.RemountRO:
		at, kind, links := s.walk(op.Dst, true)
		if kind == host.Absent || at.rel != "" || links > 0 {
			s.complain("%s is no mount point to be made read-only", op.Dst)
			return
		}
		at.m.ro = true
	}
}

// seen is one file as the command finds it.
type seen struct {
	path  string // inside
	host  string // the host's file that it is, or ""
	kind  host.Kind
	text  string
	write bool
	mount bool // it is a mount point, and cannot be renamed
}

// all lists everything that exists inside.
func (s *sim) all() []seen {
	var out []seen
	var visit func(path string, at simPlace)
	visit = func(path string, at simPlace) {
		kind, text := s.node(at)
		out = append(out, seen{path, at.hostPath(), kind, text, !at.m.ro, at.rel == ""})
		if kind != host.Dir {
			return
		}
		for _, name := range s.kids(at) {
			visit(host.Join(path, name), s.enter(simPlace{at.m, at.rel + "/" + name}))
		}
	}
	visit("/", s.enter(s.root))
	return out
}

// simulate performs a plan.
func simulate(h *fakeFS, p *engine.Plan) (*sim, error) {
	box, err := read(p)
	if err != nil {
		return nil, err
	}
	s := newSim(h)
	for _, dir := range p.Dirs { // Exec makes these first
		if h.nodes[dir] == nil {
			h = &fakeFS{nodes: maps.Clone(h.nodes), uid: h.uid}
			canon, _, _, _ := h.namei(dir, true)
			h.put(canon, &fakeNode{Info: host.Info{Kind: host.Dir, Mode: 0o700, UID: h.uid}})
			s.host = h
		}
	}
	for _, op := range box.ops {
		s.run(op)
	}
	if _, kind, _ := s.walk(box.chdir, true); kind != host.Dir {
		s.complain("the working directory %s does not exist inside", box.chdir)
	}
	return s, nil
}
