package verify

import (
	"encoding/json"
	"io"
	"strings"
)

// document is the report for programs. Its keys stay as they are.
type document struct {
	OK       bool           `json:"ok"`
	Profiles []string       `json:"profiles"`
	Place    string         `json:"cwd"`
	Inside   bool           `json:"inside"`
	Summary  map[string]int `json:"summary"`
	Checks   []jsonCheck    `json:"checks"`
}

type jsonCheck struct {
	Section string `json:"section"`
	Check   string `json:"check"`
	Subject string `json:"subject"`
	Verdict string `json:"verdict"` // proved, allowed, gap, hole, unchecked, not_applicable
	Detail  string `json:"detail"`
	Control string `json:"control"`
}

// JSON writes the report for programs. A name that is no plain word is quoted
// as in a Go string, so that every byte of it can be had back.
func (r *Report) JSON(w io.Writer) error {
	d := document{OK: r.OK(), Profiles: r.Profiles, Place: plain(r.Place), Inside: r.Inside, Summary: map[string]int{}, Checks: []jsonCheck{}}
	for v := range verdictNames {
		d.Summary[jsonVerdict(Verdict(v))] = r.Count(Verdict(v))
	}
	for i := range r.Results {
		res := &r.Results[i]
		d.Checks = append(d.Checks, jsonCheck{res.Section, res.Name, res.subject(), jsonVerdict(res.Verdict), line(res.Detail), line(res.Control)})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(d)
}

func jsonVerdict(v Verdict) string { return strings.ReplaceAll(v.String(), " ", "_") }
