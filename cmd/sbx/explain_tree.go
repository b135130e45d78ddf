// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// branch is a path in the drawing of a policy, or some of one kind in one line.
type branch struct {
	path  string
	names []string // below the one above; more where those are folded into this line
	what  string   // what may be done there, a key of kinds
	rule  string   // "" where none decides: then it is as above it
	note  string
	below []*branch

	guide, hang string // what is drawn before the first of its lines, and before the others
}

// kinds are what may be done at a path, in the words of the drawing.
var kinds = []struct{ word, sgr, means string }{
	{"rw", "32", ""},
	{"ro", "", ""},
	{"hidden", "31", "empty, or cannot be opened"},
	{"protected", "33", "ro inside of rw"},
	{"restored", "33", "put back after the run"},
	{"private", "36", "the sandbox's own, gone after the run"},
	{"closed", "31", "exists, but cannot be opened"},
	{"absent", "2", "does not exist inside"},
}

// kind is what a path in the list of explain is in the drawing.
func (e *explanation) kind(p *pathJSON) string {
	word := map[string]string{policy.Write.String(): "rw", policy.Read.String(): "ro", policy.Block.String(): "hidden",
		policy.Protect.String(): "protected"}[p.Access]
	if word == "protected" && slices.Contains(e.exposed, p.Path) {
		return "restored"
	}
	return cmp.Or(word, p.Access)
}

// tree is the list of paths as what lies in what. Folded, those that lie in one
// directory and differ only in their names are one line.
func (e *explanation) tree(fold bool) *branch {
	leaf := func(p *pathJSON) *branch {
		rule := source(p.Layer, p.Source)
		if fold {
			rule = strings.TrimPrefix(rule, "built-in ")
		}
		return &branch{path: p.Path, what: e.kind(p), rule: rule, note: e.marks[p.Path]}
	}
	root := leaf(&e.root)
	root.names = []string{"/"}
	if root.rule == "" {
		root.rule = "what is not listed"
	}
	above := []*branch{root}
	paths := slices.Concat(e.Paths, e.own)
	slices.SortStableFunc(paths, func(a, b pathJSON) int { return view.ComparePaths(a.Path, b.Path) })
	for i := range paths {
		p := &paths[i]
		for !policy.Within(p.Path, above[len(above)-1].path) {
			above = above[:len(above)-1]
		}
		b, last := leaf(p), above[len(above)-1]
		if fold && last.rule == "sbx" && b.what == last.what {
			continue // /dev/shm in /dev
		}
		last.below = append(last.below, b)
		above = append(above, b)
	}
	root.arrange(fold, false)
	return root
}

// arrange puts in order what lies below a branch. Where names are folded, directories
// that no rule is about are shown on one level only.
func (b *branch) arrange(fold, flat bool) {
	if !flat {
		b.group()
	}
	for _, c := range b.below {
		name := c.path
		if b.path != "/" {
			name = strings.TrimPrefix(name, b.path+"/")
		}
		c.names = []string{text.Plain(name)}
		c.arrange(fold, fold && c.rule == "")
	}
	if fold {
		b.fold()
	}
}

// group puts a directory between a branch and those of its paths that share one.
func (b *branch) group() {
	var out []*branch
	for rest := b.below; len(rest) > 0; {
		n, in := 1, rest[0].path
		for ; n < len(rest); n++ {
			common := in
			for !policy.Within(rest[n].path, common) {
				common = policy.Dir(common)
			}
			if common == b.path {
				break
			}
			in = common
		}
		if n == 1 {
			out = append(out, rest[0])
		} else {
			dir := &branch{path: in, what: b.what, below: rest[:n:n]}
			if b.what == "absent" || b.what == "hidden" {
				dir.what = "" // it exists, to hold these
			}
			out = append(out, dir)
		}
		rest = rest[n:]
	}
	b.below = out
}

// fold makes one line of all leaves that differ only in their names.
func (b *branch) fold() {
	var out []*branch
	for _, c := range b.below {
		i := slices.IndexFunc(out, func(o *branch) bool {
			return len(o.below)+len(c.below) == 0 && o.what == c.what && o.rule == c.rule && o.note+c.note == ""
		})
		if i < 0 {
			out = append(out, c)
		} else {
			out[i].names = append(out[i].names, c.names...)
		}
	}
	b.below = out
}

// label is a branch in the drawing, with as many of its names as fit.
func (b *branch) label(width int) string {
	for n := len(b.names); ; n-- {
		if label := text.Few(b.names, n, ", "); n == 1 || width <= 0 || text.Cells(label) <= width {
			return label + b.note
		}
	}
}

// rows are a branch and what lies below it, from top to bottom.
func (b *branch) rows(ascii bool, guide, hang string) []*branch {
	fork, bar, corner := "├─ ", "│  ", "└─ "
	if ascii {
		fork, bar, corner = "|- ", "|  ", "`- "
	}
	b.guide, b.hang = guide, hang
	if len(b.below) > 0 && guide != "" {
		b.hang += bar
	}
	out := []*branch{b}
	for i, c := range b.below {
		if i == len(b.below)-1 {
			fork, bar = corner, "   "
		}
		out = append(out, c.rows(ascii, hang+fork, hang+bar)...)
	}
	return out
}

// draw is the tree as it is to be written: what may be done, the path, the rule.
func draw(rows []*branch, s text.Screen) string {
	const start, gap = 11, 2 // where paths begin, and what is between them and the rules
	wide := cmp.Or(s.Width, 1<<20)
	longest, at := 0, 0 // of the rules, and where they begin
	for _, r := range rows {
		longest = max(longest, text.Cells(r.rule))
	}
	labels := make([]string, len(rows))
	for i, r := range rows {
		guide := text.Cells(r.guide)
		labels[i] = r.label(wide - start - gap - min(longest, s.Width/3) - guide)
		if n := start + guide + text.Cells(labels[i]) + gap; n <= wide*2/3 {
			at = max(at, n)
		}
	}
	var out strings.Builder
	for i, r := range rows {
		out.WriteString(paintKind(s, r.what) + strings.Repeat(" ", start-len(r.what)) + s.Paint("2", r.guide) + labels[i])
		used := start + text.Cells(r.guide+labels[i])
		switch pad := max(at-used, gap); {
		case r.rule == "":
		case used+pad+text.Cells(r.rule) <= wide:
			out.WriteString(strings.Repeat(" ", pad) + s.Paint("2", r.rule))
		default:
			under := start + text.Cells(r.hang) + gap
			for l := range strings.SplitSeq(text.Screen{Width: max(wide-under, 1)}.Wrap(r.rule, 0), "\n") {
				out.WriteString("\n" + strings.Repeat(" ", start) + s.Paint("2", r.hang+strings.Repeat(" ", gap)+l))
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// paintKind is the word for what may be done, in its colour.
func paintKind(s text.Screen, word string) string {
	for _, k := range kinds {
		if k.word == word && k.sgr != "" {
			return s.Paint(k.sgr, word)
		}
	}
	return word
}

// picture is the policy on a terminal: what matters first, and with -v all of it.
func (e *explanation) picture(s text.Screen, all bool) error {
	fmt.Fprintln(stdout, s.Paint("1", "profile "+strings.Join(e.Profiles, " + ")))
	if all {
		e.printSettings()
	} else {
		e.summary()
	}
	rows := e.tree(!all).rows(s.ASCII, "", "")
	fmt.Fprintln(stdout, s.Paint("1", "paths")+" (the deepest one decides)")
	fmt.Fprint(exact, draw(rows, s))
	var legend []string
	for _, k := range kinds {
		if k.means != "" && slices.ContainsFunc(rows, func(b *branch) bool { return b.what == k.word }) {
			legend = append(legend, paintKind(s, k.word)+": "+k.means)
		}
	}
	fmt.Fprintln(stdout, strings.Join(legend, "; "))
	if all {
		return e.printRest()
	}
	e.printEnvNames()
	e.printShort("gaps", e.Gaps)
	e.printShort("notices", e.Notices)
	_, err := fmt.Fprintln(stdout, s.Paint("2", "sbx explain -v shows all of it, sbx explain | cat a table, sbx why PATH one path"))
	return err
}

// summary is what decides most.
func (e *explanation) summary() {
	var limits, other []string
	network, engine := "", e.Engine+", tier "+e.Tier
	if e.Lack != "" {
		engine += " (" + e.Lack + ")"
	}
	for _, s := range e.Settings {
		switch {
		case s.Key == "allow_network":
			network = app.OnOff(s.Value == "true") + " (" + s.Source + ")"
		case slices.Contains([]string{"timeout_seconds", "memory_limit_mb", "cpus", "procs", "file_size_limit_mb"}, s.Key):
			limits = append(limits, s.Key+" = "+s.Value+" ("+s.Source+")")
		case s.Source != "default" && !slices.Contains(e.builtin, s.Source):
			other = append(other, s.Key+" = "+text.Plain(s.Value)+" ("+s.Source+")")
		}
	}
	w := table()
	for _, r := range [][2]string{{"project", e.project}, {"network", network},
		{"engine", engine}, {"limits", cmp.Or(strings.Join(limits, ", "), "none asked for")}, {"also", strings.Join(other, ", ")}} {
		if r[1] != "" {
			fmt.Fprintf(w, "  %s\t%s\n", r[0], r[1])
		}
	}
	_ = w.Flush()
}

// printEnvNames says which variables do not reach the command, and counts the rest.
func (e *explanation) printEnvNames() {
	var dropped []string
	count := make(map[string]int)
	for _, v := range e.Env {
		if count[v.Action]++; v.Action == "drop" {
			dropped = append(dropped, text.Plain(v.Name))
		}
	}
	const few = 8
	line := fmt.Sprintf("%s: %d passed on, %d set, %d dropped", colour("1", "environment"), count["pass"], count["set"], len(dropped))
	if len(dropped) > 0 {
		line += " (" + text.Few(dropped, few, ", ") + ")"
	}
	fmt.Fprintln(stdout, line)
}

// printShort shows the beginning of each line.
func (e *explanation) printShort(title string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintln(stdout, colour("1", title))
	}
	for _, l := range lines {
		whole := l
		if n := strings.IndexAny(l, ";:("); n > 0 {
			l = strings.TrimSpace(l[:n])
		}
		for width := screen().Width - len("  …"); width > 0 && text.Cells(l) > width; {
			l = l[:max(strings.LastIndexByte(l, ' '), 0)]
		}
		if l != whole {
			l = strings.TrimRight(l, ",") + "…"
		}
		fmt.Fprintln(stdout, "  "+l)
	}
}
