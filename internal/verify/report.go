// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Verdict is what became of a check.
type Verdict uint8

const (
	// unchecked is a check that could not be made; it counts as a failure.
	unchecked Verdict = iota
	// hole is an act that the policy refuses and that could be done.
	hole
	// proved is an act that was tried and refused.
	proved
	// allowed is an act that the policy lets through: stated, no failure.
	allowed
	// notApplicable is a check about something that this host does not have.
	notApplicable
	// gap is an act that tier full refuses and that could be done, as the plan of
	// a lesser tier says itself: stated, no failure, and never taken for proved.
	gap
)

// verdicts are how they read: in lists and JSON, before a check, and in colour.
var verdicts = [...]struct{ name, word, sgr string }{
	{"unchecked", "not checked", "33"}, {"hole", "hole", "31"}, {"proved", "proved", "32"},
	{"allowed", "allowed", "36"},
	{"not applicable", "not applicable", "0"}, {"gap", "gap", "33"},
}

// String returns the lower-case name.
func (v Verdict) String() string { return verdicts[v].name }

func (v Verdict) json() string { return strings.ReplaceAll(v.String(), " ", "_") }

// MarshalText gives the name as JSON has it.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.json()), nil }

// The sections, in the order of the report.
const (
	secHidden    = "hidden"
	secProtected = "protected"
	secOutside   = "outside"
	secNetwork   = "network"
	secSockets   = "sockets"
	secKernel    = "kernel"
	secProcesses = "processes"
	secEnv       = "environment"
	secFDs       = "descriptors"
	secOwn       = "sbx itself"
	secLeft      = "residue"
)

// Result is a check with its verdict.
type Result struct {
	Section string  `json:"section"`
	Name    string  `json:"check"`   // the act, in a few words
	Subject string  `json:"subject"` // path, address or name it is about, byte for byte; may be empty
	Verdict Verdict `json:"verdict" enum:"proved,allowed,gap,not_applicable,hole,unchecked"`
	Detail  string  `json:"detail"`  // what was seen, one line
	Control string  `json:"control"` // how it is known that the act is possible; "" when there is no need
}

// Report is a whole verification.
type Report struct {
	Profiles []string
	Place    string // the working directory
	Inside   bool   // made from inside the sandbox that it is about
	Results  []Result
}

// count is how many results have each verdict.
func count(results []Result) (n [len(verdicts)]int) {
	for i := range results {
		n[results[i].Verdict]++
	}
	return n
}

// OK reports whether everything that had to be proved was.
func (r *Report) OK() bool {
	n := count(r.Results)
	return n[hole] == 0 && n[unchecked] == 0 && n[proved] > 0
}

// Summary is the last line for people.
func (r *Report) Summary() string {
	n := count(r.Results)
	gaps := ""
	if n[gap] > 0 {
		gaps = fmt.Sprintf("%d gaps of this tier, ", n[gap])
	}
	return fmt.Sprintf("%d proved, %d allowed by the policy, %s%d holes, %d not checked",
		n[proved], n[allowed], gaps, n[hole], n[unchecked])
}

// Table writes the report for people: a line for each section, and in full what is
// a hole, a gap or unchecked. With all, every check has a line. Colour wraps a
// text in an SGR sequence, or does not.
func (r *Report) Table(w io.Writer, all bool, colour func(sgr, text string) string) error {
	title := strings.Join(r.Profiles, "+") + " · " + text.Plain(r.Place)
	if r.Inside {
		title += " · from inside, without controls"
	}
	lines := []string{colour("1", host.OneLine(title))}
	var sections []string
	for _, res := range r.Results {
		if !slices.Contains(sections, res.Section) {
			sections = append(sections, res.Section)
		}
	}
	for _, name := range sections {
		of := slices.DeleteFunc(slices.Clone(r.Results), func(res Result) bool { return res.Section != name })
		lines = append(lines, summary(of, colour))
		for i := range of {
			if v := of[i].Verdict; all || v == hole || v == unchecked || v == gap {
				lines = append(lines, "      "+of[i].line(all, colour))
			}
		}
	}
	sgr := "32"
	if !r.OK() {
		sgr = "31"
	}
	_, err := io.WriteString(w, strings.Join(append(lines, colour(sgr, r.Summary())), "\n")+"\n")
	return err
}

// summary is the line of a section: its worst verdict, and how many there are of each.
func summary(of []Result, colour func(sgr, text string) string) string {
	n := count(of)
	sgr, word := "32", "ok  "
	switch {
	case n[hole] > 0:
		sgr, word = "31", "HOLE"
	case n[unchecked] > 0:
		sgr, word = "33", "??  "
	case n[gap] > 0:
		sgr, word = "33", "gap "
	case n[proved] == 0:
		sgr, word = "0", "-   "
	}
	var parts []string
	for _, v := range []Verdict{proved, allowed, gap, hole, unchecked, notApplicable} {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	return fmt.Sprintf("%s  %-12s %s", colour(sgr, word), of[0].Section, strings.Join(parts, ", "))
}

func (res *Result) line(all bool, colour func(sgr, text string) string) string {
	title := res.Name
	if res.Subject != "" {
		title += " " + res.subject()
	}
	title += ": " + res.Detail
	if all && res.Control != "" {
		title += " [" + res.Control + "]"
	}
	v := verdicts[res.Verdict]
	return colour(v.sgr, v.word) + "  " + host.OneLine(title)
}

// subject is harmless to terminals and parsers, whatever a file is called.
func (res *Result) subject() string {
	if strings.HasPrefix(res.Subject, "/") || res.Section == secEnv || res.Section == secSockets {
		return plain(res.Subject)
	}
	return host.OneLine(res.Subject) // words of this package's own
}

// plain is a name that may be missing.
func plain(s string) string {
	if s == "" {
		return ""
	}
	return text.Plain(s)
}

// Document is the report for programs; its keys stay as they are. A name that is
// no plain word is quoted as in a Go string, so that every byte of it can be had
// back.
type Document struct {
	OK       bool           `json:"ok"` // everything that had to be proved was
	Profiles []string       `json:"profiles"`
	Place    string         `json:"cwd"`
	Inside   bool           `json:"inside"`  // made from inside the sandbox that it is about
	Summary  map[string]int `json:"summary"` // how many checks have each verdict
	Checks   []Result       `json:"checks"`
}

// Document makes it.
func (r *Report) Document() *Document {
	d := &Document{r.OK(), r.Profiles, plain(r.Place), r.Inside, map[string]int{}, []Result{}}
	for v, n := range count(r.Results) {
		d.Summary[Verdict(v).json()] = n
	}
	for _, res := range r.Results {
		res.Subject, res.Detail, res.Control = res.subject(), host.OneLine(res.Detail), host.OneLine(res.Control)
		d.Checks = append(d.Checks, res)
	}
	return d
}
