// SPDX-License-Identifier: Apache-2.0

package sbpl

import (
	"fmt"
	pathpkg "path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Rule allows or denies operations on what one of its filters matches; without
// filters, on everything.
type Rule struct {
	Ops     []Op
	Filters []Filter
}

// Profile is a sandbox: everything is denied but for Allow, of which Deny takes
// away again.
type Profile struct {
	Shut  []Op   // operations that macOS allows by default
	Allow []Rule // each with an operation of a group by the group's name, or listed in Deny
	Deny  []Rule
}

// Compiled is a profile as sandbox-exec takes it.
type Compiled struct {
	Text   string
	Params []Param // in the order of the text
}

// Param is a value for -D.
type Param struct{ Name, Value string }

// Words are the options for sandbox-exec(1): -p TEXT -D NAME=VALUE ….
func (c *Compiled) Words() []string {
	words := make([]string, 0, 2+2*len(c.Params))
	words = append(words, "-p", c.Text)
	for _, p := range c.Params {
		words = append(words, "-D", p.Name+"="+p.Value)
	}
	return words
}

// PathError is a path that no profile can name.
type PathError struct{ Path, Why string }

func (e *PathError) Error() string { return fmt.Sprintf("%q %s", e.Path, e.Why) }

// SizeError is a profile with more data in it than the system takes.
type SizeError struct{ Bytes, Paths int }

func (e *SizeError) Error() string {
	return fmt.Sprintf("%d paths, %d bytes", e.Paths, e.Bytes)
}

// maxData bounds the text of all paths, in bytes. The compiler of sandbox-exec
// takes 65,535 bytes of data ("data object length … exceeds maximum") and needs
// some for each.
const maxData = 44 << 10

// Compile writes the profile. The error is a [*PathError], a [*SizeError], or says
// what of a profile would be read in two ways.
func (p *Profile) Compile() (*Compiled, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	w := writer{names: make(map[[2]string]string), count: make(map[string]int)}
	w.b.WriteString("(version 1)\n(deny default)\n")
	for _, op := range p.Shut {
		w.form("deny", op, []Op{op}, nil)
	}
	for _, r := range p.Allow {
		w.rule("allow", r)
	}
	for _, r := range p.Deny {
		w.rule("deny", r)
	}
	if w.err != nil {
		return nil, w.err
	}
	distinct := make(map[string]bool, len(w.params))
	bytes := 0
	for _, p := range w.params {
		if !distinct[p.Value] {
			distinct[p.Value] = true
			bytes += len(p.Value) + 4
		}
	}
	if bytes > maxData {
		return nil, &SizeError{bytes, len(distinct)}
	}
	return &Compiled{w.b.String(), w.params}, nil
}

// check refuses what the two readings of a profile would not agree on.
func (p *Profile) check() error {
	for _, d := range p.Deny {
		if len(d.Filters) == 0 {
			return fmt.Errorf("deny %s: a deny without filters would be no more than a default", d.Ops[0])
		}
		for _, f := range d.Filters {
			if f.has("regex") {
				return fmt.Errorf("deny %s: expressions do not fold case as paths do", d.Ops[0])
			}
		}
	}
	for _, a := range p.Allow {
		for _, op := range a.Ops {
			for _, d := range p.Deny {
				over := group(op)
				if over != "" && slices.Contains(d.Ops, over) && !slices.Contains(d.Ops, op) && a.paths() && d.paths() {
					return fmt.Errorf("allow %s: a deny of %s does not name it", op, over)
				}
			}
		}
	}
	return nil
}

// paths reports whether a rule is about files by their path.
func (r *Rule) paths() bool {
	return len(r.Filters) == 0 || slices.ContainsFunc(r.Filters, func(f Filter) bool {
		return f.has("literal") || f.has("subpath") || f.has("regex")
	})
}

func (f *Filter) has(name string) bool {
	return f.name == name || slices.ContainsFunc(f.in, func(g Filter) bool { return g.has(name) })
}

// writer collects the text and gives names to values.
type writer struct {
	b      strings.Builder
	params []Param
	names  map[[2]string]string // role and path to parameter
	count  map[string]int       // role to how many there are
	err    error
}

// rule writes one form, and one more for each operation that has to be asked for.
func (w *writer) rule(action string, r Rule) {
	var always []Op
	for _, op := range r.Ops {
		if !newer(op) {
			always = append(always, op)
		}
	}
	if len(always) > 0 {
		w.form(action, "", always, r.Filters)
	}
	for _, op := range r.Ops {
		if newer(op) {
			w.form(action, op, []Op{op}, r.Filters)
		}
	}
}

func (w *writer) form(action string, ask Op, ops []Op, filters []Filter) {
	guard := newer(ask)
	indent := "\n  "
	if guard {
		w.b.WriteString("(when (defined? '" + string(ask) + ") ")
	}
	w.b.WriteString("(" + action)
	for _, op := range ops {
		w.b.WriteString(" " + string(op))
	}
	for _, f := range filters {
		if len(filters) > 1 {
			w.b.WriteString(indent)
		} else {
			w.b.WriteByte(' ')
		}
		w.filter(f)
	}
	w.b.WriteByte(')')
	if guard {
		w.b.WriteByte(')')
	}
	w.b.WriteByte('\n')
}

func (w *writer) filter(f Filter) {
	w.b.WriteString("(" + f.name)
	switch {
	case f.path != nil:
		w.b.WriteString(" " + w.path(f.name, *f.path))
	case f.text != "":
		if strings.HasPrefix(f.text, `"`) && strings.ContainsAny(f.text[1:len(f.text)-1], "\"\\\n") {
			w.fail(fmt.Errorf("%s %s: not a plain constant", f.name, f.text))
		}
		w.b.WriteString(" " + f.text)
	case len(f.in) == 0:
		w.fail(fmt.Errorf("%q is a filter of nothing", f.name))
	}
	for _, in := range f.in {
		w.b.WriteByte(' ')
		w.filter(in)
	}
	w.b.WriteByte(')')
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// path is a path as the text has it: a constant, or a parameter with the value.
func (w *writer) path(filter string, p Path) string {
	if why := unfit(p.name, filter == "literal"); why != "" {
		w.fail(&PathError{p.name, why})
	}
	if p.role == "" {
		if strings.Trim(p.name, plain) != "" {
			w.fail(&PathError{p.name, "is not a plain constant"})
		}
		return `"` + p.name + `"`
	}
	key := [2]string{p.role, p.name}
	name := w.names[key]
	if name == "" {
		name = p.role + "_" + strconv.Itoa(w.count[p.role])
		w.count[p.role]++
		w.names[key] = name
		w.params = append(w.params, Param{name, p.name})
	}
	return `(param "` + name + `")`
}

// plain are the characters of constant paths.
const plain = "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// Fits reports whether a profile can name a path.
func Fits(path string) bool { return unfit(path, false) == "" }

// links are what leads elsewhere on every Mac: what lies behind has another path.
var links = []string{"/tmp", "/var", "/etc", "/home"}

// unfit says why a path cannot be one of a profile's, "" when it can. The node
// itself may be a link.
func unfit(path string, node bool) string {
	switch {
	case !strings.HasPrefix(path, "/"):
		return "is not absolute"
	case !utf8.ValidString(path):
		return "is not UTF-8, as every name on macOS is"
	case strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }):
		return "holds control characters"
	case pathpkg.Clean(path) != path:
		return "is not cleaned"
	}
	for _, l := range links {
		if path == l && !node || strings.HasPrefix(path, l+"/") {
			return "leads through " + l + ", which is a link to /private" + l
		}
	}
	return ""
}
