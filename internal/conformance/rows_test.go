// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed table.txt
var table string

// Profiles are the columns of the table.
var Profiles = []string{"strict", "moderate", "permissive"}

// Engines may have lines of their own in the table.
var Engines = []string{"bwrap", "landlock", "sandbox-exec"}

// Verdicts says for each of [Profiles] whether an act is allowed.
type Verdicts [3]bool

func (v Verdicts) String() string {
	words := make([]string, len(v))
	for i, ok := range v {
		words[i] = Word(ok)
	}
	return strings.Join(words, " ")
}

// Word is how the table writes a verdict.
func Word(allowed bool) string {
	if allowed {
		return "allow"
	}
	return "deny"
}

// Row is one act. Args are as in the table, with placeholders: see
// [Places.Expand].
type Row struct {
	Line        int
	Op          string
	Args        []string
	Want        Verdicts
	Differences []Difference
}

// Difference is where an engine does not do what the row says.
type Difference struct {
	Engine string
	Below  int // only where the engine's version is lower; 0: always
	Want   Verdicts
	Reason string
}

// Name is the act as the table writes it.
func (r Row) Name() string { return strings.TrimSpace(r.Op + " " + strings.Join(r.Args, " -> ")) }

// Expect says what becomes of the act. Version is that of the engine, where it
// has one (Landlock's), or 0.
func (r Row) Expect(engine string, version, profile int) bool {
	for _, d := range r.Differences {
		if d.Engine == engine && (d.Below == 0 || version < d.Below) {
			return d.Want[profile]
		}
	}
	return r.Want[profile]
}

// Denied reports whether some engine refuses the act under some profile.
func (r Row) Denied() bool {
	denies := func(v Verdicts) bool { return slices.Contains(v[:], false) }
	return denies(r.Want) || slices.ContainsFunc(r.Differences, func(d Difference) bool { return denies(d.Want) })
}

// Rows is the table. It panics when the table cannot be read, which the tests
// of this package find first.
func Rows() []Row {
	rows, err := parse(table)
	if err != nil {
		panic(err)
	}
	return rows
}

// ops are the acts, with the number of things they are done to.
var ops = map[string]int{
	"read": 1, "list": 1, "stat": 1, "write": 1, "truncate": 1, "create": 1, "mkdir": 1, "unlink": 1, "rmdir": 1,
	"rename": 2, "link": 2, "symlink": 2, "chmod": 1,
	"device": 1, "exec": 1, "fork": 0, "tmp": 0, "env": 1,
	"connect-unix": 1, "bind-unix": 1, "connect-ip": 1, "listen-ip": 1,
	"signal-outside": 0, "see-outside": 0, "environ-outside": 0,
}

// parse reads rows "OP TARGET [-> TARGET]  VERDICT VERDICT VERDICT", each
// followed by lines that begin with a blank: "ENGINE[<VERSION]  VERDICTS
// REASON". Columns are two blanks or more apart, so that names may hold one.
func parse(text string) ([]Row, error) {
	var rows []Row
	names := map[string]int{}
	for i, line := range strings.Split(text, "\n") {
		fail := func(format string, args ...any) ([]Row, error) {
			return nil, fmt.Errorf("table.txt:%d: %s", i+1, fmt.Sprintf(format, args...))
		}
		columns := columns(line)
		switch {
		case len(columns) == 0 || strings.HasPrefix(line, "#"):
			continue
		case line[0] == ' ':
			if len(rows) == 0 || len(columns) != 3 {
				return fail("want ENGINE  VERDICTS  REASON below a row")
			}
			d, err := difference(columns)
			if err != nil {
				return fail("%v", err)
			}
			r := &rows[len(rows)-1]
			if d.Want == r.Want {
				return fail("%s does not differ from the row", d.Engine)
			}
			if slices.ContainsFunc(r.Differences, func(o Difference) bool { return o.Engine == d.Engine }) {
				return fail("%s stands here already", d.Engine)
			}
			r.Differences = append(r.Differences, d)
			continue
		case len(columns) != 2:
			return fail("want OP TARGET  VERDICTS")
		}
		want, err := verdicts(columns[1])
		if err != nil {
			return fail("%v", err)
		}
		r := Row{Line: i + 1, Want: want}
		var targets string
		if r.Op, targets, _ = strings.Cut(columns[0], " "); targets != "" {
			r.Args = strings.Split(targets, " -> ")
		}
		if n, ok := ops[r.Op]; !ok || n != len(r.Args) {
			return fail("%q: no such act, or not with %d targets", columns[0], len(r.Args))
		}
		if at := names[r.Name()]; at != 0 {
			return fail("%s stands in line %d already", r.Name(), at)
		}
		names[r.Name()] = i + 1
		rows = append(rows, r)
	}
	return rows, nil
}

func columns(line string) []string {
	var all []string
	for _, c := range strings.Split(line, "  ") {
		if c = strings.TrimSpace(c); c != "" {
			all = append(all, c)
		}
	}
	return all
}

func difference(columns []string) (Difference, error) {
	d := Difference{Engine: columns[0], Reason: columns[2]}
	if engine, below, ok := strings.Cut(d.Engine, "<"); ok {
		d.Engine = engine
		if _, err := fmt.Sscanf(below, "%d", &d.Below); err != nil || d.Below < 1 {
			return d, fmt.Errorf("%q is no version", below)
		}
	}
	if !slices.Contains(Engines, d.Engine) {
		return d, fmt.Errorf("%q is no engine", d.Engine)
	}
	var err error
	d.Want, err = verdicts(columns[1])
	return d, err
}

func verdicts(s string) (Verdicts, error) {
	var v Verdicts
	words := strings.Fields(s)
	if len(words) != len(v) {
		return v, fmt.Errorf("%q: want three verdicts", s)
	}
	for i, w := range words {
		switch w {
		case "allow":
			v[i] = true
		case "deny":
		default:
			return v, fmt.Errorf("%q is no verdict", w)
		}
	}
	return v, nil
}

// Mismatch is a row whose act went otherwise than the table says.
type Mismatch struct {
	Row     Row
	Profile string
	Engine  string
	Allowed bool   // what happened
	Detail  string // of the one who did the act
}

func (m Mismatch) String() string {
	return fmt.Sprintf("table.txt:%d: %s under %s (%s): %s, and the table says %s: %s", m.Row.Line, m.Row.Name(),
		m.Profile, m.Engine, Word(m.Allowed), Word(!m.Allowed), m.Detail)
}

// Compare lets decide answer for every row, in the order of the table, and
// returns what the table does not say. Decide gets the row as it is; the
// placeholders are its own to expand. An error of decide ends the comparison:
// what cannot be answered counts as nothing.
func Compare(engine string, version, profile int,
	decide func(Row) (allowed bool, detail string, err error)) ([]Mismatch, error) {
	var all []Mismatch
	for _, r := range Rows() {
		allowed, detail, err := decide(r)
		if err != nil {
			return all, fmt.Errorf("table.txt:%d: %s under %s (%s): %w", r.Line, r.Name(), Profiles[profile], engine,
				err)
		}
		if allowed != r.Expect(engine, version, profile) {
			all = append(all, Mismatch{r, Profiles[profile], engine, allowed, detail})
		}
	}
	return all, nil
}
