// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Checked is what a file comes to.
type Checked struct {
	Errors []error  // all that is wrong with it, in its order; what a run refuses
	Asks   []string // keys of a project file that count only when it is trusted
	Never  []string // and those that do not count even then
}

// Check reads the i-th of the files of a run. Mistakes in it are all found; whether
// it goes with the files that come before it is looked at when there are none.
func Check(builtin policy.Set, files []File, i int, vars policy.Vars) (c Checked) {
	doc := newDocument(files[i])
	doc.collect = true
	root, err := doc.Unmarshal(nil)
	if err == nil {
		err = doc.decode(root)
	}
	if c.Errors = doc.errs; err != nil {
		c.Errors = append(c.Errors, err)
	}
	if len(c.Errors) > 0 {
		for i, err := range c.Errors {
			c.Errors[i] = bounded(err)
		}
		slices.SortStableFunc(c.Errors, byPlace)
		return c
	}
	f, before := files[i], files[:0:0]
	for n, o := range files {
		if n != i && o.rank() <= f.rank() {
			before = append(before, o)
		}
	}
	files = append(before, f)
	s, err := Load(builtin, files, vars)
	if err == nil && f.Layer == policy.Project {
		var p *Preview
		if p, err = PreviewTrust(builtin, files, len(before), vars); err == nil {
			c.Asks, c.Never = p.Asks, p.Never
			if f.Trusted {
				c.Asks = nil
			}
		}
	}
	for _, p := range doc.profiles {
		if err == nil && s.Profiles[p.Name] != nil { // less those that an untrusted file may not make
			_, err = policy.Resolve(s.Profiles, []string{p.Name}, vars)
		}
	}
	if err != nil {
		c.Errors = []error{bounded(err)}
	}
	return c
}

// byPlace compares errors of one file by line and column.
func byPlace(a, b error) int {
	place := func(err error) (line, col int) {
		if e, ok := errors.AsType[*policy.Error](err); ok {
			if parts := strings.Split(e.Source, ":"); len(parts) > 2 {
				line, _ = strconv.Atoi(parts[len(parts)-2])
				col, _ = strconv.Atoi(parts[len(parts)-1])
			}
		}
		return line, col
	}
	lineA, colA := place(a)
	lineB, colB := place(b)
	return cmp.Or(cmp.Compare(lineA, lineB), cmp.Compare(colA, colB))
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
	for i, key := range s.Locked {
		if i == 0 {
			add("locked", s.Locked, s.Where["locked."+key])
		}
	}
	for _, name := range s.Profiles.Names() {
		for _, p := range s.Profiles[name] {
			for _, said := range ProfileSaid(p) {
				if p.Layer != policy.Builtin {
					add("profiles."+name+"."+said.Key, said.Value, cmp.Or(said.Source, p.Source))
				}
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
