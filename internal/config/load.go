package config

import (
	"cmp"

	"maps"
	"slices"
	"strings"

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
func (f File) dir() string { return policy.Dir(policy.Clean(join(f.CWD, f.Path))) }

func join(dir, path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return dir + "/" + path
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
	Fallback       string // block, warn, allow: what to do when no sandbox can be had
	MinTier        string // full, reduced
	Tripwire       string // required, auto: what to do when a run cannot be watched
	Shell          string // absolute path, or "" for the caller's choice
	Audit          bool
	Hints          bool
	Direct         bool

	Shells        map[string]string // of sbx-sh and its like: name to absolute path
	Roots         []string          // trees that commands of sbx-sh may write, as written; nil for the working directory
	LoginFallback bool              // a login shell runs bare where no sandbox can be had

	Profiles policy.Set
	Tools    map[string]string // command to the profile its shim uses
	Where    map[string]string // key, also "tools.NAME" and "locked.KEY", to file:line:col or "built-in"
	Notices  []string          // for stderr, one line each: what a project file asked for in vain
	Ignored  []Ignored         // the same for programs

	Locked   []string  // keys nothing after the system layer may loosen
	LockBase *Settings // built-in and system layers alone; nil when nothing is locked

	NeedsFull *LockedError // a lock that only tier full holds, as CheckLocked found it; nil for none

	// Outside is what is said outside of project files; nil when none is
	// trusted. See [Settings.Uphold].
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
		Enabled: true, DefaultProfile: "moderate", Fallback: "block", MinTier: "reduced", Tripwire: "auto", Hints: true,
		Profiles: builtin,
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
		if f.Layer == policy.Project && f.Trusted && l.outside == nil {
			l.outside = l.settings()
		}
		if err := l.add(f); err != nil {
			return nil, bounded(err)
		}
		if f.Layer == policy.System && len(l.locked) > 0 {
			l.base = l.settings()
		}
	}
	return l.settings(), nil
}

// loader holds the layers read so far.
type loader struct {
	top     map[string]any    // settings at the top of files; a later layer's replaces
	tools   map[string]string // command to profile
	shells  map[string]string // name to path
	roots   []string
	set     policy.Set
	vars    policy.Vars
	where   map[string]string
	notices []string
	ignored []Ignored
	extends map[*policy.Profile][]string // places of the parents' names
	locked  []string
	base    *Settings
	outside *Settings

	narrowed int // profiles in project files that are not trusted
}

func newLoader(builtin policy.Set, vars policy.Vars) *loader {
	l := &loader{
		set: copySet(builtin), vars: vars,
		where: make(map[string]string), extends: make(map[*policy.Profile][]string),
	}
	d := Defaults(nil)
	l.top = map[string]any{
		"enabled": d.Enabled, "default_profile": d.DefaultProfile, "fallback_on_unavailable": d.Fallback, "min_tier": d.MinTier, "tripwire": d.Tripwire,
		"shell": d.Shell, "audit": d.Audit, "hints": d.Hints, "direct": d.Direct, "login_fallback": false,
	}
	for key := range l.top {
		l.where[key] = policy.Builtin.String()
	}
	return l
}

// copySet copies the stacks, so that a layer can be put on them; the profiles
// in them are never changed.
func copySet(set policy.Set) policy.Set {
	out := make(policy.Set, len(set))
	for name, stack := range set {
		out[name] = slices.Clip(stack)
	}
	return out
}

// add checks a file and lays it over what was read so far: its profiles on
// their stacks, its settings over those of the layers before. This is all the
// layering there is, and a library for it (koanf) cost every run 0.26 ms of
// start-up, whether there was a file or not.
func (l *loader) add(f File) error {
	doc, err := readDocument(f, f.Data)
	if err != nil {
		return err
	}
	switch {
	case f.Layer < policy.Project:
		err = l.addProfiles(doc)
	case f.Trusted:
		err = l.agreed(doc)
	default:
		err = l.tighten(doc)
	}
	if err != nil {
		return err
	}
	return l.addSettings(doc)
}

// addProfiles puts the file's profiles on the stacks of their names and
// checks what they extend.
func (l *loader) addProfiles(doc *document) error {
	for _, p := range doc.profiles {
		places := make([]string, len(p.extends))
		for i, w := range p.extends {
			places[i] = doc.d.src.place(w.at)
		}
		l.extends[p.Profile] = places
		l.set[p.Name] = append(slices.Clip(l.set[p.Name]), p.Profile)
	}
	return l.checkExtends(doc)
}

// addSettings lays the settings of a file over those of the layers before.
func (l *loader) addSettings(doc *document) error {
	for _, s := range doc.settings {
		if name, ok := s.value.(string); ok && s.key == "default_profile" {
			if err := l.known(doc, s.key, word{name, s.at}); err != nil {
				return err
			}
		}
		l.top[s.key] = s.value
		l.where[s.key] = doc.d.src.place(s.at)
	}
	for _, t := range doc.tools {
		if err := l.known(doc, "tools."+t.name+".profile", t.profile); err != nil {
			return err
		}
		if l.tools == nil {
			l.tools = make(map[string]string)
		}
		l.tools[t.name] = t.profile.text
		l.where["tools."+t.name] = doc.d.src.place(t.profile.at)
	}
	l.addShells(doc)
	for _, w := range doc.locked {
		if !slices.Contains(l.locked, w.text) {
			l.locked = append(l.locked, w.text)
			l.where["locked."+w.text] = doc.d.src.place(w.at)
		}
	}
	return nil
}

// known refuses the name of a profile that does not exist.
func (l *loader) known(doc *document, key string, w word) error {
	if _, ok := l.set[w.text]; ok {
		return nil
	}
	err := doc.d.src.errorf(w.at, "%s: no profile is called %s", key, short(w.text))
	err.Known = l.set.Names()
	err.Near = policy.Nearest(w.text, err.Known)
	return err
}

// settings returns what the layers read so far say.
func (l *loader) settings() *Settings {
	s := &Settings{
		Enabled: value[bool](l, "enabled"), DefaultProfile: value[string](l, "default_profile"),
		Fallback: value[string](l, "fallback_on_unavailable"), MinTier: value[string](l, "min_tier"), Tripwire: value[string](l, "tripwire"),
		Shell: value[string](l, "shell"), Audit: value[bool](l, "audit"), Hints: value[bool](l, "hints"), Direct: value[bool](l, "direct"),
		Shells: maps.Clone(l.shells), Roots: slices.Clone(l.roots), LoginFallback: value[bool](l, "login_fallback"),
		Profiles: copySet(l.set), Where: maps.Clone(l.where), Notices: slices.Clone(l.notices),
		Ignored: slices.Clone(l.ignored), Locked: slices.Clone(l.locked), LockBase: l.base, Outside: l.outside, Tools: maps.Clone(l.tools),
	}
	return s
}

// value returns a merged value. Types were checked when the files were read.
func value[T any](l *loader, key string) T {
	v, _ := l.top[key].(T)
	return v
}
