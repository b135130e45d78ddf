// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"slices"
)

// Profile is one named set of rules as written, before variables are expanded
// and parents are added. The zero value says nothing at all.
type Profile struct {
	Name    string
	Source  string // "built-in", or file:line:col
	Layer   Layer
	Extends []string // parents, added in this order before the profile itself
	Module  bool     // a built-in one that only adds to others: it opens what one kind of tool needs

	AllowNetwork Switch
	SharePID     Switch
	ReadOnly     Switch // of the working directory
	Workspace    string // where the working directory is shown; "" for where it is
	NewSession   string // yes, no, auto
	Seccomp      string // default, strict, dev, off, or a path as in lists
	Git          string // none, commit, full
	Cache        string // none, private
	Scope        string // cwd, project
	Protected    string // enforce, auto
	Environment  string // inherit, list
	Limits       string // enforce, best-effort
	MinTier      string // full, reduced
	OnUnmasked   string // end, warn

	TimeoutSeconds float64 // seconds; 0 says nothing
	MemoryLimitMB  int     // mebibytes; 0 says nothing
	CPUs           float64 // processors; 0 says nothing
	Procs          int     // processes; 0 says nothing
	FileSizeMB     float64 // mebibytes for each file; 0 says nothing
	TmpfsLimitMB   int     // mebibytes for each private directory; 0 says nothing

	Lent []Item // of built-in profiles: paths after a variable of the tools' own, to be read, see [Lent]

	Private, Write, Read, Protect, Block List // absolute paths, or starting with ~ or $VARIABLE

	Sorted []PathRef // of built-in profiles: all paths above in the order of their rules, see [SortPaths]

	Devices          List  // gpu, kvm, or paths in /dev
	EnvPass, EnvDrop List  // names, or patterns with *
	EnvSet           []Var // sorted by name

	// Where has the source of each scalar key, env_set.NAME and extends.NAME, as
	// written in a file; nil in built-in profiles.
	Where map[string]string
}

// Switch is a bool that can be left unsaid.
type Switch uint8

const (
	Unsaid Switch = iota
	No
	Yes
)

// SwitchOf returns Yes or No.
func SwitchOf(b bool) Switch {
	if b {
		return Yes
	}
	return No
}

// List is a list of a profile. It adds to the parents' list unless Replace is
// set, which a file says with "!" as the first element.
type List struct {
	Replace bool
	Items   []Item
}

// Item is one element of a list. In a list of patterns a leading "!" takes
// back what the patterns match.
type Item struct {
	Text    string
	Source  string // "" means the profile's own source
	Layer   Layer
	Must    bool // the path has to exist
	Offline bool // see [Rule.Offline]; of built-in profiles only
}

// Var is an environment variable that a profile sets.
type Var struct{ Name, Value string }

// Words makes a list of plain texts; the built-in profiles are made of these.
func Words(texts ...string) List {
	l := List{Items: make([]Item, len(texts))}
	for i, t := range texts {
		l.Items[i].Text = t
	}
	return l
}

// list is a list-valued key, by the name files use.
type list struct {
	key    string
	of     func(*Profile) *List
	access Access // of paths
}

var lists = []list{
	{"private_paths", func(p *Profile) *List { return &p.Private }, Private},
	{"writable_paths", func(p *Profile) *List { return &p.Write }, Write},
	{"readonly_paths", func(p *Profile) *List { return &p.Read }, Read},
	{"protected_paths", func(p *Profile) *List { return &p.Protect }, Protect},
	{"blocked_paths", func(p *Profile) *List { return &p.Block }, Block},
	{"devices", func(p *Profile) *List { return &p.Devices }, 0},
	{"env_pass", func(p *Profile) *List { return &p.EnvPass }, 0},
	{"env_drop", func(p *Profile) *List { return &p.EnvDrop }, 0},
}

// The others are names of devices and variables.
var pathLists, nameLists = lists[:Block], lists[Block:]

// List returns the list with the given key as files name it, or nil.
func (p *Profile) List(key string) *List {
	for _, l := range lists {
		if l.key == key {
			return l.of(p)
		}
	}
	return nil
}

// ListKeys returns the keys of the lists in a fixed order.
func ListKeys() []string {
	keys := make([]string, len(lists))
	for i, l := range lists {
		keys[i] = l.key
	}
	return keys
}

// add lays src over p: single values replace, lists add or replace.
func (p *Profile) add(src *Profile) {
	p.addValues(src)
	for _, l := range pathLists {
		l.of(p).add(l.of(src), src)
	}
	if src.Read.Replace {
		p.Lent = nil // they were among the paths to read
	}
	p.addLent(src)
}

func (p *Profile) addLent(src *Profile) {
	for _, it := range src.Lent {
		it.Source = cmp.Or(it.Source, src.source(""))
		p.Lent = append(p.Lent, it)
	}
}

// addValues is add for all but paths.
func (p *Profile) addValues(src *Profile) {
	for i := range keys {
		k := &keys[i]
		if said := k.Field(src); valueText(said) != "" {
			assign(k.Field(p), said)
			p.where(k.Name, src.source(k.Name))
		}
	}
	for _, l := range nameLists {
		l.of(p).add(l.of(src), src)
	}
	for _, v := range src.EnvSet {
		p.setEnv(v)
		p.where("env_set."+v.Name, src.source("env_set."+v.Name))
	}
}

func (p *Profile) setEnv(v Var) {
	for i := range p.EnvSet {
		if p.EnvSet[i].Name == v.Name {
			p.EnvSet[i] = v
			return
		}
	}
	p.EnvSet = append(p.EnvSet, v)
}

func (p *Profile) where(key, source string) {
	if p.Where == nil {
		p.Where = make(map[string]string, 16)
	}
	p.Where[key] = source
}

func (p *Profile) source(key string) string {
	if s := p.Where[key]; s != "" {
		return s
	}
	if p.Layer == Builtin {
		return p.Name
	}
	return p.Source
}

func (l *List) add(src *List, from *Profile) {
	if src.Replace {
		l.Items = nil
	}
	l.Items = slices.Grow(l.Items, len(src.Items))
	for _, it := range src.Items {
		if it.Source == "" {
			it.Source = from.source("")
		}
		it.Layer = max(it.Layer, from.Layer) // a flattened profile's items keep theirs
		l.Items = append(l.Items, it)
	}
}
