// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

const (
	maxPath  = 4096 // PATH_MAX
	maxValue = 128 << 10
)

// profileDoc is a profile with the places of its keys.
type profileDoc struct {
	*policy.Profile
	at    int            // of its name
	keyAt map[string]int // of its keys
	entry entry
}

// profile reads one profile.
func (doc *document) profile(e entry) (*profileDoc, error) {
	if err := doc.profileName("", e.key, e.at); err != nil {
		return nil, err
	}
	keys, err := doc.table(e)
	if err != nil {
		return nil, err
	}
	p := &profileDoc{
		Profile: &policy.Profile{Name: e.key, Source: doc.place(e.at), Layer: doc.file.Layer},
		at:      e.at, keyAt: make(map[string]int, len(keys)), entry: e,
	}
	for _, k := range keys {
		p.keyAt[k.key] = k.at
		if err := doc.note(doc.profileKey(p, k)); err != nil {
			return nil, err
		}
	}
	return p, doc.checkProfile(p)
}

func (doc *document) profileKey(p *profileDoc, e entry) error {
	if l := p.List(e.key); l != nil {
		return doc.list(p, l, e)
	}
	switch k := policy.KeyOf(e.key); {
	case k != nil:
		return doc.scalar(p, k, e)
	case e.key == "extends":
		return doc.readExtends(p, e)
	case e.key == "env_set":
		err := doc.each(e, func(v entry) error { return doc.envVar(p, v) })
		slices.SortFunc(p.EnvSet, func(a, b policy.Var) int { return strings.Compare(a.Name, b.Name) })
		return err
	}
	return doc.unknownKey(e, profileNames())
}

// setWhere notes the place of a single value.
func (doc *document) setWhere(p *profileDoc, key string, at int) {
	if p.Where == nil {
		p.Where = make(map[string]string)
	}
	p.Where[key] = doc.place(at)
}

// scalar reads a single value.
func (doc *document) scalar(p *profileDoc, k *policy.Key, e entry) (err error) {
	switch field := k.Field(p.Profile).(type) {
	case *policy.Switch:
		var yes bool
		yes, err = doc.bool(e)
		*field = policy.SwitchOf(yes)
	case *float64:
		*field, err = doc.real(e, k.Low, k.High)
	case *int:
		var n int64
		n, err = doc.whole(e, int64(k.Low), int64(k.High))
		*field = int(n)
	case *string:
		name, isText := e.value.(string)
		yes, isBool := e.value.(bool)
		switch {
		case k.Words == nil:
			*field, err = doc.source.file(e, e.key)
		case isText && k.Name == "seccomp" && policy.SeccompFile(name):
			*field, err = doc.filter(e, name)
		case isBool && k.Name == "new_session":
			*field = map[bool]string{true: "yes", false: "no"}[yes]
		default:
			*field, err = doc.oneOf(e, k.Words)
		}
	}
	doc.setWhere(p, e.key, e.at)
	return err
}

// filter reads the name of a file of seccomp rules, which can be relative to the
// directory of the file that it stands in.
func (doc *document) filter(e entry, name string) (string, error) {
	if len(name) > maxPath {
		return "", doc.errorf(e.at, "seccomp: longer than %d bytes", maxPath)
	}
	if strings.IndexByte("/~$", name[0]) >= 0 {
		return name, nil
	}
	return filepath.Clean(strings.ReplaceAll(doc.file.dir(), "$", "$$") + "/" + name), nil
}

// readExtends takes one name or a list of names.
func (doc *document) readExtends(p *profileDoc, e entry) (err error) {
	var names []word
	switch v := e.value.(type) {
	case string:
		names = []word{{v, doc.valueAt(e.path)}}
	case []any:
		names, err = doc.texts(e)
	default:
		_, err = read[string](doc.source, e, "a string or a list of strings")
	}
	for _, w := range names {
		if err := doc.profileName("extends", w.text, w.at); err != nil {
			return err
		}
		if slices.Contains(p.Extends, w.text) {
			return doc.errorf(w.at, "extends: %s stands there twice", short(w.text))
		}
		p.Extends = append(p.Extends, w.text)
		doc.setWhere(p, "extends."+w.text, w.at)
	}
	return err
}

// envVar reads a variable that is set.
func (doc *document) envVar(p *profileDoc, e entry) error {
	if !policy.ValidName(e.key) {
		return doc.errorf(e.at, "env_set: %s is not a variable name", short(e.key))
	}
	name := "env_set." + oneLine(e.key)
	value, ok := e.value.(string)
	switch {
	case !ok:
		return doc.errorf(e.at, "%s: want a string, got %s", name, kindOf(e.value))
	case strings.IndexByte(value, 0) >= 0:
		return doc.errorf(e.at, "%s: a variable cannot hold a NUL byte", name)
	case len(e.key)+len(value) > maxValue:
		return doc.errorf(e.at, "%s: longer than %d bytes", name, maxValue)
	}
	p.EnvSet = append(p.EnvSet, policy.Var{Name: e.key, Value: value})
	doc.setWhere(p, "env_set."+e.key, e.at)
	return nil
}

// list reads a list of paths or of patterns. "!" as its first element makes
// it replace the parents' list.
func (doc *document) list(p *profileDoc, l *policy.List, e entry) error {
	words, err := doc.texts(e)
	if err != nil {
		return err
	}
	if len(words) > 0 && words[0].text == "!" {
		l.Replace, words = true, words[1:]
	}
	for _, w := range words {
		if err := doc.item(e.key, w); err != nil {
			if err = doc.note(err); err != nil {
				return err
			}
			continue
		}
		l.Items = append(l.Items, policy.Item{Text: w.text, Source: doc.place(w.at), Layer: doc.file.Layer})
	}
	return nil
}

func (doc *document) item(key string, w word) error {
	switch {
	case w.text == "!":
		return doc.errorf(w.at, `%s: "!" replaces the list and has to come first in it`, key)
	case len(w.text) > maxPath:
		return doc.errorf(w.at, "%s: longer than %d bytes", key, maxPath)
	case key == "devices" && !policy.ValidDevice(w.text):
		return doc.errorf(w.at, `devices: want "gpu", "kvm" or a path in /dev, got %s`, short(w.text))
	case strings.HasPrefix(key, "env_") && !validEnvPattern(w.text):
		return doc.errorf(w.at, "%s: %s is not a variable name: want letters, digits, _ and, for any run of these, *",
			key, short(w.text))
	}
	return nil
}

func validEnvPattern(s string) bool {
	return strings.Trim(s, "*_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == "" && s != ""
}

// sampleVars have a value for each variable, to check what is written before
// it is known where the command will run.
var sampleVars = policy.Vars{
	CWD: "/home/user/project", Root: "/home/user/project", Home: "/home/user", TmpDir: "/tmp",
	Config: "/home/user/.config",
	Cache:  "/home/user/.cache", Data: "/home/user/.local/share", State: "/home/user/.local/state",
	Run: "/run/user/1000",
}

// checkProfile resolves the profile by itself, which finds what is wrong with
// its paths and values, each with its place.
func (doc *document) checkProfile(p *profileDoc) error {
	alone := *p.Profile
	alone.Extends, alone.Where = nil, maps.Clone(p.Where)
	_, err := policy.Resolve(policy.Set{p.Name: {&alone}}, []string{p.Name}, sampleVars)
	return err
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
