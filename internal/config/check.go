// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Check reads the i-th of the files of a run as the run does, on top of those that
// come before it. It returns what is wrong with it: all mistakes that the file has
// by itself, or else why it does not go with the others. Ignored are the keys of a
// project file that do not count as long as it is, or is not, trusted.
func Check(builtin policy.Set, files []File, i int, vars policy.Vars) (wrong []error, ignored []string) {
	f := files[i]
	doc := newDocument(f)
	doc.collect = true
	root, err := doc.read()
	if err == nil {
		err = doc.decode(root)
	}
	if wrong = doc.errs; len(wrong) == 0 && err == nil {
		files = slices.DeleteFunc(slices.Clone(files), func(o File) bool { return o.rank() > f.rank() })
		ignored, err = f.with(builtin, files, vars, doc.profiles)
	}
	if err != nil {
		wrong = append(wrong, err)
	}
	for i, err := range wrong {
		wrong[i] = bounded(err)
	}
	return wrong, ignored
}

// with is what a file comes to with others: the keys that are ignored.
func (f File) with(builtin policy.Set, files []File, vars policy.Vars, own []*profileDoc) ([]string, error) {
	s, err := Load(builtin, files, vars)
	if err != nil {
		return nil, err
	}
	for _, p := range own {
		if s.Profiles[p.Name] == nil { // an untrusted file may not make it
			continue
		}
		if _, err := policy.Resolve(s.Profiles, []string{p.Name}, vars); err != nil {
			return nil, err
		}
	}
	byDefault, err := policy.Resolve(s.Profiles, []string{s.DefaultProfile}, vars)
	if err == nil {
		err = s.CheckLocked(byDefault, vars, false)
	}
	return ignoredIn(s, f.Path), err
}

// Said is what is said at one key.
type Said struct {
	Key    string `json:"key"`   // as in files, with dots: profiles.work.git
	Value  any    `json:"value"` // bool, number, string or list of strings
	Layer  string `json:"layer" enum:"built-in,system,user,project,environment"`
	Source string `json:"source"` // file:line:col; built-in, or a variable's name
}

// Said is what the files and the defaults come to: the settings at the top, and
// what files say of profiles.
func (s *Settings) Said(files []File) (out []Said) {
	add := func(key string, value any, source string) {
		layer := policy.Builtin
		for _, f := range files {
			if strings.HasPrefix(source, text.Plain(f.Path)+":") {
				layer = f.Layer
			}
		}
		out = append(out, Said{key, value, layer.String(), cmp.Or(source, policy.Builtin.String())})
	}
	for _, k := range topKeys {
		if k.field == nil {
			continue
		}
		switch f := k.field(s).(type) {
		case *map[string]string:
			for _, name := range slices.Sorted(maps.Keys(*f)) {
				key := k.name + "." + name
				add(key+map[kind]string{someTools: ".profile"}[k.kind], (*f)[name], s.Where[key])
			}
		case *[]string:
			if *f != nil {
				add(k.name, *f, s.Where[k.name])
			}
		default:
			if v := k.value(s); v != "" {
				add(k.name, v, s.Where[k.name])
			}
		}
	}
	if len(s.Locked) > 0 {
		add("locked", s.Locked, s.Where["locked."+s.Locked[0]])
	}
	for _, name := range s.Profiles.Names() {
		for _, p := range s.Profiles[name] {
			if p.Layer == policy.Builtin {
				continue
			}
			for _, said := range ProfileSaid(p) {
				add("profiles."+name+"."+said.Key, said.Value, cmp.Or(said.Source, p.Source))
			}
		}
	}
	return out
}

// ProfileSaid is what one file says of a profile, in the order of its keys.
func ProfileSaid(p *policy.Profile) (out []Said) {
	add := func(key string, value any, source string) {
		out = append(out, Said{Key: key, Value: value, Source: source})
	}
	if len(p.Extends) > 0 {
		add("extends", p.Extends, p.Where["extends."+p.Extends[0]])
	}
	for _, s := range p.Scalars() {
		var v any = s.Value
		if s.Value == "true" || s.Value == "false" {
			v = s.Value == "true"
		} else if strings.Trim(s.Value, "0123456789.") == "" {
			v = json.Number(s.Value)
		}
		add(s.Key, v, p.Where[s.Key])
	}
	for _, key := range policy.ListKeys() {
		var texts []string
		l, source := p.List(key), ""
		if l.Replace {
			texts = append(texts, "!")
		}
		for _, it := range l.Items {
			texts, source = append(texts, it.Text), cmp.Or(source, it.Source)
		}
		if len(texts) > 0 {
			add(key, texts, source)
		}
	}
	for _, v := range p.EnvSet {
		add("env_set."+v.Name, v.Value, p.Where["env_set."+v.Name])
	}
	return out
}
