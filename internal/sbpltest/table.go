// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Case is an act and what has to come of it.
type Case struct {
	Act  Act
	Want bool
	Line int    // of the table
	Text string // of that line
}

// Table is a table of decisions for one or more profiles.
type Table struct {
	Columns []string // names of profiles; one without name if the table has no header
	rows    []row
}

type row struct {
	want []string
	Case
}

// ParseTable reads a table as the package's description has it. Vars are what
// $NAME in a target stands for.
func ParseTable(text string, vars map[string]string) (*Table, error) {
	t := &Table{Columns: []string{""}}
	for i, line := range strings.Split(text, "\n") {
		words, err := splitLine(line, vars)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		case len(words) == 0:
			continue
		case words[0] == "profiles" && len(t.rows) == 0 && len(words) > 1:
			t.Columns = words[1:]
			continue
		}
		r, err := t.row(words)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		r.Line, r.Text = i+1, strings.TrimSpace(line)
		t.rows = append(t.rows, r)
	}
	if len(t.rows) == 0 {
		return nil, errors.New("a table without rows")
	}
	return t, nil
}

// Cases are the rows that say something about a profile.
func (t *Table) Cases(column string) ([]Case, error) {
	i := slices.Index(t.Columns, column)
	if i < 0 {
		return nil, fmt.Errorf("the table has no profile %q, only %q", column, t.Columns)
	}
	var cases []Case
	for _, r := range t.rows {
		if r.want[i] != "-" {
			c := r.Case
			c.Want = r.want[i] == "allow"
			cases = append(cases, c)
		}
	}
	return cases, nil
}

func (t *Table) row(words []string) (row, error) {
	n := len(t.Columns)
	if len(words) < n+1 {
		return row{}, fmt.Errorf("what is wanted is %d times allow, deny or -, an action and targets", n)
	}
	r := row{want: words[:n]}
	for _, w := range r.want {
		if w != "allow" && w != "deny" && w != "-" {
			return row{}, fmt.Errorf("%q is neither allow nor deny nor -", w)
		}
	}
	var err error
	r.Act, err = ParseAct(words[n:])
	return r, err
}

// Run checks cases in both models. The error names each that came out otherwise,
// with the rule that decided.
func (p *Profile) Run(cases []Case) error {
	var errs []error
	for _, c := range cases {
		for _, m := range Models {
			if got, why := p.Check(m, c.Act); got != c.Want {
				errs = append(errs, fmt.Errorf("line %d: %s: %s says %s by %s", c.Line, c.Act.Name, m, verdict(got), why))
			}
		}
	}
	return errors.Join(errs...)
}

// splitLine takes a row apart: words between blanks or in quotes, $NAME replaced,
// up to a # that begins a word.
func splitLine(line string, vars map[string]string) ([]string, error) {
	var words []string
	for rest := strings.TrimSpace(line); rest != "" && rest[0] != '#'; rest = strings.TrimSpace(rest) {
		var word string
		if rest[0] == '"' {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, errors.New("a quote without its end")
			}
			rest = rest[len(quoted):]
			if word, err = strconv.Unquote(quoted); err != nil {
				return nil, err
			}
		} else {
			end := strings.IndexAny(rest, " \t")
			if end < 0 {
				end = len(rest)
			}
			word, rest = rest[:end], rest[end:]
		}
		word, err := expand(word, vars)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
	}
	return words, nil
}

// expand replaces $NAME, of capitals, digits and _; $$ is a dollar.
func expand(word string, vars map[string]string) (string, error) {
	var b strings.Builder
	for {
		at := strings.IndexByte(word, '$')
		if at < 0 {
			b.WriteString(word)
			return b.String(), nil
		}
		b.WriteString(word[:at])
		word = word[at+1:]
		if strings.HasPrefix(word, "$") {
			b.WriteByte('$')
			word = word[1:]
			continue
		}
		name := word[:len(word)-len(strings.TrimLeft(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))]
		v, ok := vars[name]
		if !ok {
			return "", fmt.Errorf("$%s stands for nothing", name)
		}
		b.WriteString(v)
		word = word[len(name):]
	}
}
