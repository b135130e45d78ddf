package config

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// The bounds of numbers. They are far above what is of use, and far below
// what a kernel or a float would choke on.
const (
	minSeconds, maxSeconds = 0.001, 365 * 24 * 3600
	minCPUs, maxCPUs       = 0.01, 4096
	maxMB                  = 16 << 20 // 16 TiB
	minFileMB              = 1. / 1024
	maxProcs               = 4 << 20 // the kernel's PID_MAX_LIMIT
	maxPath                = 4096    // PATH_MAX
	maxValue               = 128 << 10
)

// profileDoc is a profile with the places of its keys.
type profileDoc struct {
	*policy.Profile
	at      int            // of its name
	keyAt   map[string]int // of its keys
	extends []word
	node    *node
}

// profileField reads one key of a profile.
type profileField struct {
	key  string
	read func(d *decoder, p *profileDoc, e entry) error
}

// profileFields are the keys of a profile. The lists of package policy are
// added to them.
var profileFields = []profileField{
	{"extends", readExtends},
	{"allow_network", readSwitch(func(p *profileDoc) *policy.Switch { return &p.AllowNetwork })},
	{"share_pid", readSwitch(func(p *profileDoc) *policy.Switch { return &p.SharePID })},
	{"new_session", readWord(func(p *profileDoc) *string { return &p.NewSession }, "yes", "no", "auto")},
	{"seccomp", readSeccomp},
	{"git", readWord(func(p *profileDoc) *string { return &p.Git }, "none", "commit", "full")},
	{"cache", readWord(func(p *profileDoc) *string { return &p.Cache }, "none", "private")},
	{"protect", readWord(func(p *profileDoc) *string { return &p.Protected }, "enforce", "watch")},
	{"environment", readWord(func(p *profileDoc) *string { return &p.Environment }, "inherit", "list")},
	{"limits", readWord(func(p *profileDoc) *string { return &p.Limits }, "enforce", "best-effort")},
	{"min_tier", readWord(func(p *profileDoc) *string { return &p.MinTier }, tiers...)},
	{"on_unmasked", readWord(func(p *profileDoc) *string { return &p.OnUnmasked }, "end", "warn")},
	{"timeout_seconds", readReal(func(p *profileDoc) *float64 { return &p.TimeoutSeconds }, minSeconds, maxSeconds)},
	{"memory_limit_mb", readWhole(func(p *profileDoc) *int { return &p.MemoryLimitMB }, maxMB)},
	{"cpus", readReal(func(p *profileDoc) *float64 { return &p.CPUs }, minCPUs, maxCPUs)},
	{"procs", readWhole(func(p *profileDoc) *int { return &p.Procs }, maxProcs)},
	{"file_size_limit_mb", readReal(func(p *profileDoc) *float64 { return &p.FileSizeMB }, minFileMB, maxMB)},
	{"tmpfs_limit_mb", readWhole(func(p *profileDoc) *int { return &p.TmpfsLimitMB }, maxMB)},
	{"env_set", readEnvSet},
}

// profileKeys returns the names of all keys of a profile.
func profileKeys() []string {
	keys := make([]string, 0, len(profileFields)+8)
	for _, f := range profileFields {
		keys = append(keys, f.key)
	}
	return append(keys, policy.ListKeys()...)
}

// profile reads one profile. Keys that keep refuses are left out; nil keeps
// all.
func (d *decoder) profile(e entry, keep func(key string) bool) (*profileDoc, error) {
	if err := d.profileName("", e.key, e.at); err != nil {
		return nil, err
	}
	keys, err := d.table(e)
	if err != nil {
		return nil, err
	}
	p := &profileDoc{
		Profile: &policy.Profile{Name: e.key, Source: d.src.place(e.at), Layer: d.layer},
		at:      e.at, keyAt: make(map[string]int, len(keys)), node: e.value,
	}
	for _, k := range keys {
		if keep != nil && !keep(k.key) {
			continue
		}
		p.keyAt[k.key] = k.at
		if err := d.profileKey(p, k); err != nil {
			return nil, err
		}
	}
	return p, d.checkProfile(p)
}

func (d *decoder) profileKey(p *profileDoc, e entry) error {
	if l := p.List(e.key); l != nil {
		return d.list(p, l, e)
	}
	for _, f := range profileFields {
		if f.key == e.key {
			return f.read(d, p, e)
		}
	}
	return d.unknown(e, profileKeys())
}

// setWhere notes the place of a single value.
func (d *decoder) setWhere(p *profileDoc, key string, at int) {
	if p.Where == nil {
		p.Where = make(map[string]string)
	}
	p.Where[key] = d.src.place(at)
}

func readSwitch(field func(*profileDoc) *policy.Switch) func(*decoder, *profileDoc, entry) error {
	return func(d *decoder, p *profileDoc, e entry) error {
		yes, err := d.bool(e)
		*field(p) = policy.SwitchOf(yes)
		d.setWhere(p, e.key, e.at)
		return err
	}
}

func readWord(field func(*profileDoc) *string, words ...string) func(*decoder, *profileDoc, entry) error {
	return func(d *decoder, p *profileDoc, e entry) (err error) {
		*field(p), err = d.oneOf(e, words)
		d.setWhere(p, e.key, e.at)
		return err
	}
}

func readReal(field func(*profileDoc) *float64, low, high float64) func(*decoder, *profileDoc, entry) error {
	return func(d *decoder, p *profileDoc, e entry) (err error) {
		*field(p), err = d.real(e, low, high)
		d.setWhere(p, e.key, e.at)
		return err
	}
}

func readWhole(field func(*profileDoc) *int, high int64) func(*decoder, *profileDoc, entry) error {
	return func(d *decoder, p *profileDoc, e entry) error {
		n, err := d.whole(e, 1, high)
		*field(p) = int(n)
		d.setWhere(p, e.key, e.at)
		return err
	}
}

// readSeccomp reads a level or the name of a file, which can be relative to the
// directory of the file that it stands in.
func readSeccomp(d *decoder, p *profileDoc, e entry) error {
	s, err := d.text(e)
	if err != nil {
		return err
	}
	d.setWhere(p, e.key, e.at)
	if !policy.SeccompFile(s) {
		p.Seccomp, err = d.oneOf(e, []string{"default", "strict", "dev", "off"})
		return err
	}
	if len(s) > maxPath {
		return d.src.errorf(e.at, "seccomp: longer than %d bytes", maxPath)
	}
	if p.Seccomp = s; strings.IndexByte("/~$", s[0]) < 0 {
		p.Seccomp = policy.Clean(strings.ReplaceAll(d.dir, "$", "$$") + "/" + s)
	}
	return nil
}

// readExtends takes one name or a list of names.
func readExtends(d *decoder, p *profileDoc, e entry) error {
	if e.value.kind == isText {
		p.extends = []word{{e.value.text, e.value.at}}
	} else {
		names, err := d.texts(e)
		if err != nil {
			return d.wrongExtends(e, err)
		}
		p.extends = names
	}
	for i, w := range p.extends {
		if err := d.profileName("extends", w.text, w.at); err != nil {
			return err
		}
		if slices.ContainsFunc(p.extends[:i], func(o word) bool { return o.text == w.text }) {
			return d.src.errorf(w.at, "extends: %s stands there twice", short(w.text))
		}
		p.Extends = append(p.Extends, w.text)
	}
	return nil
}

func (d *decoder) wrongExtends(e entry, err error) error {
	if e.value.kind == isList {
		return err
	}
	return d.wrongType(e, "a string or a list of strings")
}

func readEnvSet(d *decoder, p *profileDoc, e entry) error {
	vars, err := d.table(e)
	if err != nil {
		return err
	}
	for _, v := range vars {
		if !policy.ValidName(v.key) {
			return d.src.errorf(v.at, "env_set: %s is no name of a variable", short(v.key))
		}
		if v.value.kind != isText {
			return d.src.errorf(v.at, "env_set.%s: want a string, got %s", oneLine(v.key), v.value.kind)
		}
		switch value := v.value.text; {
		case strings.IndexByte(value, 0) >= 0:
			return d.src.errorf(v.at, "env_set.%s: a variable cannot hold a NUL byte", oneLine(v.key))
		case len(v.key)+len(value) > maxValue:
			return d.src.errorf(v.at, "env_set.%s: longer than %d bytes", oneLine(v.key), maxValue)
		}
		p.EnvSet = append(p.EnvSet, policy.Var{Name: v.key, Value: v.value.text})
		d.setWhere(p, "env_set."+v.key, v.at)
	}
	slices.SortFunc(p.EnvSet, func(a, b policy.Var) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// list reads a list of paths or of patterns. "!" as its first element makes
// it replace the parents' list.
func (d *decoder) list(p *profileDoc, l *policy.List, e entry) error {
	words, err := d.texts(e)
	if err != nil {
		return err
	}
	if len(words) > 0 && words[0].text == "!" {
		l.Replace, words = true, words[1:]
	}
	for _, w := range words {
		if err := d.item(e.key, w); err != nil {
			return err
		}
		l.Items = append(l.Items, policy.Item{Text: w.text, Source: d.src.place(w.at), Layer: d.layer})
	}
	return nil
}

func (d *decoder) item(key string, w word) error {
	switch {
	case w.text == "!":
		return d.src.errorf(w.at, `%s: "!" replaces the list and stands first in it`, key)
	case len(w.text) > maxPath:
		return d.src.errorf(w.at, "%s: longer than %d bytes", key, maxPath)
	case strings.HasPrefix(key, "env_") && !validEnvPattern(w.text):
		return d.src.errorf(w.at, "%s: %s is no name of a variable: want letters, digits, _ and, for any run of these, *", key, short(w.text))
	}
	return nil
}

func validEnvPattern(s string) bool {
	for i := range len(s) {
		if !isWordByte(s[i]) && s[i] != '*' {
			return false
		}
	}
	return s != ""
}

// sampleVars have a value for each variable, to check what is written before
// it is known where the command will run.
var sampleVars = policy.Vars{
	CWD: "/home/user/project", Root: "/home/user/project", Home: "/home/user", TmpDir: "/tmp", Config: "/home/user/.config",
	Cache: "/home/user/.cache", Data: "/home/user/.local/share", State: "/home/user/.local/state", Run: "/run/user/1000",
}

// checkProfile resolves the profile by itself, which finds what is wrong with
// its paths and values, each with its place.
func (d *decoder) checkProfile(p *profileDoc) error {
	alone := *p.Profile
	alone.Extends, alone.Where = nil, maps.Clone(p.Where)
	_, err := policy.Resolve(policy.Set{p.Name: {&alone}}, []string{p.Name}, sampleVars)
	return bounded(err)
}

// bounded makes one line of bearable length of an error that may quote what a
// person wrote.
func bounded(err error) error {
	var pe *policy.Error
	if !errors.As(err, &pe) {
		return err
	}
	short := *pe
	short.Text = oneLine(pe.Text)
	return &short
}

// digits shows a number without an exponent where that is readable.
func digits(f float64) string {
	if f > -1e15 && f < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
