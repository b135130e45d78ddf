package config

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"

	"github.com/sbx-sandbox/sbx/policy"
)

// File is one configuration file and its content. [Find] makes them.
type File struct {
	Path    string // shown in messages; its ending, .toml or .hcl, tells the format
	Layer   policy.Layer
	Trusted bool // a project file whose content the user has agreed to
	Data    []byte
}

// mayLoosen reports whether the file's word counts in full.
func (f File) mayLoosen() bool { return f.Layer < policy.Project || f.Trusted }

// Settings is what all layers together say.
type Settings struct {
	Enabled        bool
	DefaultProfile string
	Fallback       string // block, warn, allow: what to do when no sandbox can be had
	MinTier        string // full, reduced
	Shell          string // absolute path, or "" for the caller's choice
	Audit          bool
	Hints          bool
	Direct         bool

	Profiles policy.Set
	Tools    map[string]string // command to the profile its shim uses
	Where    map[string]string // key, also "tools.NAME" and "locked.KEY", to file:line:col or "built-in"
	Notices  []string          // for stderr, one line each: what a project file asked for in vain

	Locked   []string  // keys nothing after the system layer may loosen
	LockBase *Settings // built-in and system layers alone; nil when nothing is locked
}

// Defaults returns the settings of a host without any file. The profiles are
// the caller's own set.
func Defaults(builtin policy.Set) *Settings {
	return &Settings{
		Enabled: true, DefaultProfile: "moderate", Fallback: "block", MinTier: "reduced", Hints: true,
		Profiles: builtin,
	}
}

// Load lays the files over the built-in profiles, which it does not change.
// The variables are those of the run: whether a project file loosens depends
// on where its paths lead. Errors are [*policy.Error] and begin with
// file:line:col.
func Load(builtin policy.Set, files []File, vars policy.Vars) (*Settings, error) {
	l, err := newLoader(builtin, vars)
	if err != nil {
		return nil, err
	}
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b File) int { return cmp.Compare(a.Layer, b.Layer) })
	for _, f := range files {
		// koanf asks the parser, the parser does the work: what is merged is
		// what the file may say.
		if err := l.k.Load(content(f.Data), parser{l, f}); err != nil {
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
	k       *koanf.Koanf // settings at the top of files, and tools
	set     policy.Set
	vars    policy.Vars
	where   map[string]string
	notices []string
	extends map[*policy.Profile][]string // places of the parents' names
	locked  []string
	base    *Settings
}

// delimiter separates the parts of koanf's keys. Names hold dots; none can
// hold this.
const delimiter = "\x00"

func newLoader(builtin policy.Set, vars policy.Vars) (*loader, error) {
	l := &loader{
		k: koanf.New(delimiter), set: copySet(builtin), vars: vars,
		where: make(map[string]string), extends: make(map[*policy.Profile][]string),
	}
	d := Defaults(nil)
	values := map[string]any{
		"enabled": d.Enabled, "default_profile": d.DefaultProfile, "fallback_on_unavailable": d.Fallback, "min_tier": d.MinTier,
		"shell": d.Shell, "audit": d.Audit, "hints": d.Hints, "direct": d.Direct,
	}
	for key := range values {
		l.where[key] = policy.Builtin.String()
	}
	return l, l.k.Load(confmap.Provider(values, delimiter), nil)
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

// content is a koanf provider of bytes in memory.
type content []byte

func (c content) ReadBytes() ([]byte, error) { return c, nil }

func (c content) Read() (map[string]any, error) {
	return nil, errors.New("config: content has bytes only")
}

// parser is the koanf parser of both formats: it checks a file, adds its
// profiles to the loader, and returns the settings at its top.
type parser struct {
	l    *loader
	file File
}

// Unmarshal implements koanf.Parser.
func (p parser) Unmarshal(data []byte) (map[string]any, error) {
	doc, err := readDocument(p.file, data)
	if err != nil {
		return nil, err
	}
	if p.file.mayLoosen() {
		err = p.l.addProfiles(doc)
	} else {
		err = p.l.tighten(doc)
	}
	if err != nil {
		return nil, err
	}
	return p.l.values(doc)
}

// Marshal implements koanf.Parser; nothing is ever written.
func (p parser) Marshal(map[string]any) ([]byte, error) {
	return nil, errors.ErrUnsupported
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

// values returns the settings of a file as koanf merges them.
func (l *loader) values(doc *document) (map[string]any, error) {
	values := make(map[string]any)
	for _, s := range doc.settings {
		if name, ok := s.value.(string); ok && s.key == "default_profile" {
			if err := l.known(doc, s.key, word{name, s.at}); err != nil {
				return nil, err
			}
		}
		values[s.key] = s.value
		l.where[s.key] = doc.d.src.place(s.at)
	}
	if len(doc.tools) > 0 {
		tools := make(map[string]any, len(doc.tools))
		for _, t := range doc.tools {
			if err := l.known(doc, "tools."+t.name+".profile", t.profile); err != nil {
				return nil, err
			}
			tools[t.name] = t.profile.text
			l.where["tools."+t.name] = doc.d.src.place(t.profile.at)
		}
		values["tools"] = tools
	}
	for _, w := range doc.locked {
		if !slices.Contains(l.locked, w.text) {
			l.locked = append(l.locked, w.text)
			l.where["locked."+w.text] = doc.d.src.place(w.at)
		}
	}
	return values, nil
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
		Fallback: value[string](l, "fallback_on_unavailable"), MinTier: value[string](l, "min_tier"),
		Shell: value[string](l, "shell"), Audit: value[bool](l, "audit"), Hints: value[bool](l, "hints"), Direct: value[bool](l, "direct"),
		Profiles: copySet(l.set), Where: maps.Clone(l.where), Notices: slices.Clone(l.notices),
		Locked: slices.Clone(l.locked), LockBase: l.base,
	}
	for name, profile := range value[map[string]any](l, "tools") {
		if s.Tools == nil {
			s.Tools = make(map[string]string)
		}
		s.Tools[name], _ = profile.(string)
	}
	return s
}

// value returns a merged value. Types were checked when the files were read.
func value[T any](l *loader, key string) T {
	v, _ := l.k.Get(key).(T)
	return v
}
