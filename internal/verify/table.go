package verify

import (
	"fmt"
	"io"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Summary is the last line for people.
func (r *Report) Summary() string {
	gaps := ""
	if n := r.Count(Gap); n > 0 {
		gaps = fmt.Sprintf("%d gaps of this tier, ", n)
	}
	return fmt.Sprintf("%d proved, %d allowed by the policy, %s%d holes, %d not checked", r.Count(Proved), r.Count(Allowed), gaps, r.Count(Hole), r.Count(Unchecked))
}

// Table writes the report for people: a line for each section, and in full
// what is a hole, a gap or unchecked. With all, every check has a line.
// Colour wraps a text in an SGR sequence, or does not.
func (r *Report) Table(w io.Writer, all bool, colour func(sgr, text string) string) error {
	var b strings.Builder
	title := strings.Join(r.Profiles, "+") + " · " + policy.Plain(r.Place)
	if r.Inside {
		title += " · from inside, without controls"
	}
	b.WriteString(colour("1", line(title)) + "\n")
	for _, s := range r.sections() {
		sgr, word := s.state()
		fmt.Fprintf(&b, "%s  %-12s %s\n", colour(sgr, word), s.name, s.counts())
		for i := range s.results {
			if res := &s.results[i]; all || res.shown() {
				b.WriteString("      " + res.line(all, colour) + "\n")
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

// shown reports whether a result is worth a line of its own.
func (res *Result) shown() bool {
	return res.Verdict == Hole || res.Verdict == Unchecked || res.Verdict == Gap
}

func (s *section) state() (sgr, word string) {
	switch {
	case count(s.results, Hole) > 0:
		return "31", "HOLE"
	case count(s.results, Unchecked) > 0:
		return "33", "??  "
	case count(s.results, Gap) > 0:
		return "33", "gap "
	case count(s.results, Proved) == 0:
		return "0", "-   "
	}
	return "32", "ok  "
}

func (s *section) counts() string {
	var parts []string
	for _, v := range []Verdict{Proved, Allowed, Gap, Hole, Unchecked, NotApplicable} {
		if n := count(s.results, v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return strings.Join(parts, ", ")
}

func (res *Result) line(all bool, colour func(sgr, text string) string) string {
	words := map[Verdict][2]string{Proved: {"32", "proved"}, Allowed: {"36", "allowed"}, Hole: {"31", "hole"}, Unchecked: {"33", "not checked"}, NotApplicable: {"0", "not applicable"}, Gap: {"33", "gap"}}[res.Verdict]
	text := res.title() + ": " + res.Detail
	if all && res.Control != "" {
		text += " [" + res.Control + "]"
	}
	return colour(words[0], words[1]) + "  " + line(text)
}

// title is the act and what it is about.
func (res *Result) title() string {
	if res.Subject == "" {
		return res.Name
	}
	return res.Name + " " + res.subject()
}

// subject is harmless to terminals and parsers, whatever a file is called.
func (res *Result) subject() string {
	if res.Subject == "" || strings.HasPrefix(res.Subject, "/") || res.Section == secEnv || res.Section == secSockets {
		return plain(res.Subject)
	}
	return line(res.Subject) // words of this package's own
}

func plain(s string) string {
	if s == "" {
		return ""
	}
	return policy.Plain(s)
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
