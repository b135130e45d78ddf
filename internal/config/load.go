// SPDX-License-Identifier: Apache-2.0

// Package config reads the files in which people say what a sandbox may do,
// and lays them over each other: built-in, system, user, project.
//
// Start with [Find], which looks where files may be and reads those that are
// safe to trust with the decision, then [Load]. When Find returns nothing,
// [Defaults] gives the same [Settings] without the work. After flags have had
// their say, [Settings.CheckLocked] compares the outcome with what the
// administrator locked.
//
// It promises:
//   - TOML and HCL say the same: both readers make the same tree, and every
//     mistake is one line that begins with file:line:col.
//   - Nothing is guessed: unknown keys, wrong types, keys said twice, and
//     files that others could have written are errors, never ignored.
//   - A project file that is not trusted makes no profile of the other layers
//     give more than it gave without the file, whatever the file holds. What
//     it asks for beyond that is named in [Settings.Notices].
//   - A trusted project file decides about profiles, the default one and tools.
//     The rest it can only tighten, as any project file; see
//     [Settings.KeepFloor]. What the administrator locked holds against it.
//   - A hostile file costs bounded time and memory and cannot put control
//     characters on a terminal.
//
// Which project files the user has agreed to is in a [TrustStore]; the caller
// brings the two together ([Files.Trusts]).
//
// It does not promise that a trusted file is wise. And it does not look at
// access control lists, nor at directories above the one a file lies in:
// whoever can write there can replace the file. Settings of the environment
// and of flags are the caller's to add.
package config

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	koanfmaps "github.com/knadh/koanf/maps"
	"github.com/knadh/koanf/v2"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// File is one configuration file and its content. [Find] makes them.
type File struct {
	Path    string // shown in messages; its ending, .toml or .hcl, tells the format
	Layer   policy.Layer
	Trusted bool // a project file whose content the user has agreed to
	Data    []byte
	CWD     string // that a relative Path starts from
}

// dir is the directory of the file, where what it names is looked for.
func (f File) dir() string {
	path := f.Path
	if !strings.HasPrefix(path, "/") {
		path = f.CWD + "/" + path
	}
	return policy.Dir(filepath.Clean(path))
}

// rank orders files: layer by layer, and of the project files those that are
// not trusted last. So they tighten what the trusted ones give, and nothing
// that they define, a profile to extend for instance, changes what a trusted
// file means.
func (f File) rank() int {
	if f.Layer == policy.Project && !f.Trusted {
		return 2*int(f.Layer) + 1
	}
	return 2 * int(f.Layer)
}

// Settings is what all layers together say.
type Settings struct {
	Enabled        bool
	DefaultProfile string
	Fallback       string // block, warn, allow: what to do when no sandbox is available
	Engine         string // auto, bwrap, landlock, sandbox-exec
	MinTier        string // full, reduced
	Tripwire       string // required, auto: what to do when a run cannot be watched
	Shell          string // absolute path, or "" for the caller's choice
	Quiet          bool
	Hints          bool
	Direct         bool

	Shells        map[string]string // of sbx-sh and its like: name to absolute path
	Roots         []string          // trees that commands of sbx-sh may write; nil for the working directory
	LoginFallback bool              // a login shell runs bare where no sandbox is available

	Profiles policy.Set
	Tools    map[string]string // command to the profile its shim uses
	Where    map[string]string // key, also "tools.NAME" and "locked.KEY", to file:line:col or "built-in"
	Notices  []string          // for stderr, one line each: what a project file asked for in vain
	Ignored  []Ignored         // the same for programs

	Locked   []string  // keys nothing after the system layer may loosen
	LockBase *Settings // built-in and system layers alone; nil when nothing is locked

	NeedsFull *LockedError // a lock that only tier full holds, as CheckLocked found it; nil for none

	// Outside is what is said outside of project files; nil when none is
	// trusted. See [Settings.KeepFloor].
	Outside *Settings
}

// Ignored is what a project file asked for in vain.
type Ignored struct {
	Path    string
	Trusted bool
	Keys    []string // "profiles.moderate.allow_network (line 2)", in the order of the file
}

// Defaults returns the settings of a host without any file. The profiles are
// the caller's own set.
func Defaults(builtin policy.Set) *Settings {
	return &Settings{
		Enabled: true, DefaultProfile: "moderate", Fallback: "block", Engine: "auto", MinTier: "reduced", Tripwire: "auto",
		Hints: true, Profiles: builtin,
	}
}

// Load lays the files over the built-in profiles, which it does not change:
// layer by layer and, of the project files, the trusted ones first, each in
// the order given.
// The variables are those of the run: whether a project file loosens depends
// on where its paths lead. Errors are [*policy.Error] and begin with
// file:line:col.
func Load(builtin policy.Set, files []File, vars policy.Vars) (*Settings, error) {
	l := newLoader(builtin, vars)
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b File) int { return cmp.Compare(a.rank(), b.rank()) })
	for _, f := range files {
		if f.Layer == policy.Project && f.Trusted && l.Outside == nil {
			l.Outside = l.settings()
		}
		if err := l.add(f); err != nil {
			return nil, bounded(err)
		}
		if f.Layer == policy.System && len(l.Locked) > 0 {
			l.LockBase = l.settings()
		}
	}
	return l.settings(), nil
}

// loader holds the layers read so far.
type loader struct {
	Settings              // what counts without a file, and profiles, which extend each other
	k        *koanf.Koanf // what files say at the top
	vars     policy.Vars
	narrowed int // profiles in project files that are not trusted
}

func newLoader(builtin policy.Set, vars policy.Vars) *loader {
	l := &loader{Settings: *Defaults(maps.Clone(builtin)), k: koanf.New(delim), vars: vars}
	l.Where = make(map[string]string, len(topKeys))
	for i := range topKeys {
		if topKeys[i].value(&l.Settings) != nil {
			l.Where[topKeys[i].name] = policy.Builtin.String()
		}
	}
	return l
}

// layer is what koanf reads: what a file says, once it was checked.
type layer func() (map[string]any, error)

func (l layer) Read() (map[string]any, error) { return l() }

// ReadBytes is for koanf alone: a document parses itself, since places are kept beside the map.
func (l layer) ReadBytes() ([]byte, error) { return nil, errors.ErrUnsupported }

// add parses a file, checks it, and lays it over what was read so far: its
// profiles on their stacks, its settings over those of the layers before.
func (l *loader) add(f File) error {
	doc := newDocument(f)
	if f.Layer == policy.Project && !f.Trusted && len(f.Data) > untrustedSize {
		return doc.errorf(0, "larger than %d bytes"+tooMuch, untrustedSize)
	}
	return l.k.Load(layer(func() (map[string]any, error) {
		root, err := doc.read()
		if err == nil {
			err = doc.decode(root)
		}
		top := make(map[string]any)
		if err == nil {
			err = l.merge(doc, top)
		}
		return top, err
	}), nil)
}

// merge lays the profiles of a file that was checked over the layers below, and puts
// what it says at the top where koanf takes it.
func (l *loader) merge(doc *document, top map[string]any) (err error) {
	if doc.file.Layer < policy.Project {
		err = l.addProfiles(doc)
	} else {
		err = l.narrow(doc)
	}
	if err != nil {
		return err
	}
	for _, s := range doc.settings {
		if name, ok := s.value.(string); ok && (s.path[0] == "default_profile" || s.path[0] == "tools") {
			if err := l.known(doc, s, name); err != nil {
				return err
			}
		}
		koanfmaps.Merge(koanfmaps.Unflatten(map[string]any{s.name(delim): s.value}, delim), top)
		l.Where[s.name(".")] = doc.place(s.from)
	}
	for _, w := range doc.locked {
		if !slices.Contains(l.Locked, w.text) {
			l.Locked = append(l.Locked, w.text)
			l.Where["locked."+w.text] = doc.place(w.at)
		}
	}
	return nil
}

// addProfiles puts the file's profiles on the stacks of their names and
// checks what they extend.
func (l *loader) addProfiles(doc *document) error {
	for _, p := range doc.profiles {
		for name := range l.Profiles {
			if name != p.Name && strings.EqualFold(name, p.Name) {
				return doc.errorf(p.at, "profile %s: there is %s already, and names differ in more than capitals",
					short(p.Name), short(name))
			}
		}
		l.Profiles[p.Name] = append(slices.Clip(l.Profiles[p.Name]), p.Profile)
	}
	return l.checkExtends(doc)
}

// known refuses the name of a profile that does not exist.
func (l *loader) known(doc *document, s setting, name string) error {
	if l.Profiles[name] != nil {
		return nil
	}
	if policy.Bare(name) {
		return doc.errorf(s.from, "no profile is called %s; to run without a sandbox, write enabled = false, "+
			"or use --no-sandbox for one command", short(name))
	}
	key := s.name(".")
	if s.path[0] == "tools" {
		key += ".profile"
	}
	return doc.unknown(s.from, name, l.Profiles.Names(), "%s: no profile is called %s", key, short(name))
}

// now returns what the layers read so far say at a key that has a single value.
func (l *loader) now(k *key) any {
	if l.k.Exists(k.name) {
		return l.k.Get(k.name)
	}
	return k.value(&l.Settings)
}

// settings returns what the layers read so far say.
func (l *loader) settings() *Settings {
	s := l.Settings
	s.Profiles, s.Where = maps.Clone(l.Profiles), maps.Clone(l.Where)
	for _, k := range topKeys {
		if k.field == nil || !l.k.Exists(k.name) {
			continue
		}
		switch f := k.field(&s).(type) {
		case *bool:
			*f = l.k.Bool(k.name)
		case *string:
			*f = l.k.String(k.name)
		case *[]string:
			*f = l.k.Strings(k.name)
		case *map[string]string:
			*f = l.k.StringMap(k.name)
		}
	}
	return &s
}
