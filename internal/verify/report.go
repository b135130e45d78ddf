// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/text"
)

// Verdict is what became of a check.
type Verdict uint8

const (
	// Unchecked is a check that could not be made; it counts as a failure.
	Unchecked Verdict = iota
	// Hole is an act that the policy refuses and that could be done.
	Hole
	// Proved is an act that was tried and refused.
	Proved
	// Allowed is an act that the policy lets through: stated, no failure.
	Allowed
	// NotApplicable is a check about something that this host does not have.
	NotApplicable
	// Gap is an act that tier full refuses and that could be done, as the plan of
	// a lesser tier says itself: stated, no failure, and never taken for proved.
	Gap
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
	Section string
	Name    string // the act, in a few words
	Subject string // path, address or name it is about, byte for byte; may be empty
	Verdict Verdict
	Detail  string // what was seen, one line
	Control string // how it is known that the act is possible; "" when there is no need
}

// Report is a whole verification.
type Report struct {
	Profiles []string
	Place    string // the working directory
	Inside   bool   // made from inside the sandbox that it is about
	Results  []Result
}

func count(results []Result, v Verdict) (n int) {
	for i := range results {
		if results[i].Verdict == v {
			n++
		}
	}
	return n
}

// OK reports whether everything that had to be proved was.
func (r *Report) OK() bool {
	return count(r.Results, Hole) == 0 && count(r.Results, Unchecked) == 0 && count(r.Results, Proved) > 0
}

// Summary is the last line for people.
func (r *Report) Summary() string {
	gaps := ""
	if n := count(r.Results, Gap); n > 0 {
		gaps = fmt.Sprintf("%d gaps of this tier, ", n)
	}
	return fmt.Sprintf("%d proved, %d allowed by the policy, %s%d holes, %d not checked",
		count(r.Results, Proved), count(r.Results, Allowed), gaps, count(r.Results, Hole), count(r.Results, Unchecked))
}

// Table writes the report for people: a line for each section, and in full what is
// a hole, a gap or unchecked. With all, every check has a line. Colour wraps a
// text in an SGR sequence, or does not.
func (r *Report) Table(w io.Writer, all bool, colour func(sgr, text string) string) error {
	var b strings.Builder
	title := strings.Join(r.Profiles, "+") + " · " + text.Plain(r.Place)
	if r.Inside {
		title += " · from inside, without controls"
	}
	b.WriteString(colour("1", line(title)) + "\n")
	var done []string
	for _, res := range r.Results {
		if slices.Contains(done, res.Section) {
			continue
		}
		done = append(done, res.Section)
		of := slices.DeleteFunc(slices.Clone(r.Results), func(o Result) bool { return o.Section != res.Section })
		sgr, word := state(of)
		fmt.Fprintf(&b, "%s  %-12s %s\n", colour(sgr, word), res.Section, counts(of))
		for i := range of {
			if v := of[i].Verdict; all || v == Hole || v == Unchecked || v == Gap {
				b.WriteString("      " + of[i].line(all, colour) + "\n")
			}
		}
	}
	sgr := "32"
	if !r.OK() {
		sgr = "31"
	}
	b.WriteString(colour(sgr, r.Summary()) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// state is how a section begins: its worst verdict.
func state(results []Result) (sgr, word string) {
	switch {
	case count(results, Hole) > 0:
		return "31", "HOLE"
	case count(results, Unchecked) > 0:
		return "33", "??  "
	case count(results, Gap) > 0:
		return "33", "gap "
	case count(results, Proved) == 0:
		return "0", "-   "
	}
	return "32", "ok  "
}

func counts(results []Result) string {
	var parts []string
	for _, v := range []Verdict{Proved, Allowed, Gap, Hole, Unchecked, NotApplicable} {
		if n := count(results, v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return strings.Join(parts, ", ")
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
	return colour(v.sgr, v.word) + "  " + line(title)
}

// subject is harmless to terminals and parsers, whatever a file is called.
func (res *Result) subject() string {
	if strings.HasPrefix(res.Subject, "/") || res.Section == secEnv || res.Section == secSockets {
		return plain(res.Subject)
	}
	return line(res.Subject) // words of this package's own
}

// plain is a name that may be missing.
func plain(s string) string {
	if s == "" {
		return ""
	}
	return text.Plain(s)
}

// line makes a text one line that no terminal obeys.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfffe || r == 0xffff {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// JSON writes the report for programs; its keys stay as they are. A name that is
// no plain word is quoted as in a Go string, so that every byte of it can be had
// back.
func (r *Report) JSON(w io.Writer) error {
	type check struct {
		Section string `json:"section"`
		Check   string `json:"check"`
		Subject string `json:"subject"`
		Verdict string `json:"verdict"` // proved, allowed, gap, hole, unchecked, not_applicable
		Detail  string `json:"detail"`
		Control string `json:"control"`
	}
	d := struct {
		OK       bool           `json:"ok"`
		Profiles []string       `json:"profiles"`
		Place    string         `json:"cwd"`
		Inside   bool           `json:"inside"`
		Summary  map[string]int `json:"summary"`
		Checks   []check        `json:"checks"`
	}{r.OK(), r.Profiles, plain(r.Place), r.Inside, map[string]int{}, []check{}}
	for v := range Verdict(len(verdicts)) {
		d.Summary[v.json()] = count(r.Results, v)
	}
	for i := range r.Results {
		res := &r.Results[i]
		d.Checks = append(d.Checks, check{res.Section, res.Name, res.subject(), res.Verdict.json(), line(res.Detail),
			line(res.Control)})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(d)
}
