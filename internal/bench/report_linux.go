// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// report is what -json prints; times are in milliseconds.
type report struct {
	Version  int       `json:"version"`
	Verdict  string    `json:"verdict"`
	Machine  machine   `json:"machine"`
	Rounds   int       `json:"rounds"` // in a sitting
	Noise    []float64 `json:"noise"`  // of raw bwrap in each sitting: its middle half over its median
	TooNoisy float64   `json:"too_noisy"`
	Rows     []*row    `json:"rows"`
}

type machine struct {
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu"`
	CPUs   int    `json:"cpus"`
	Bwrap  string `json:"bwrap"`
	Sbx    string `json:"sbx"`
	UID    int    `json:"uid"`
}

// Verdicts of a row and of all; "" is a row without a ceiling.
const (
	ok       = "ok"
	above    = "above"
	tooNoisy = "too noisy"
)

const noiseBound = 0.2

// judge comes after the last sitting. Where raw bwrap differs too much from itself
// there is no verdict at all.
func (rep *report) judge() {
	rep.Verdict, rep.TooNoisy = ok, noiseBound
	noisy := median(rep.Noise) > noiseBound
	for _, r := range rep.Rows {
		r.Figure = median(r.Sittings)
		r.Base, r.Sbx = spreadOf(r.samples[0]), spreadOf(r.samples[1])
		switch {
		case r.Ceiling == 0:
		case noisy:
			r.Verdict, rep.Verdict = tooNoisy, tooNoisy
		case (r.Figure > r.Ceiling) != r.AtLeast && r.Figure != r.Ceiling:
			r.Verdict, rep.Verdict = above, above
		default:
			r.Verdict = ok
		}
	}
}

func (rep *report) encode(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(rep)
}

func decode(data []byte) (*report, error) {
	var rep report
	if err := json.Unmarshal(data, &rep); err != nil {
		return nil, err
	}
	if rep.Version != 1 || len(rep.Rows) == 0 {
		return nil, errors.New("these are not the results of bench -json, version 1")
	}
	return &rep, nil
}

// figure is the value with its unit.
func (r *row) figure(v float64) string {
	switch {
	case r.Unit == times || r.AtLeast:
		return short(v) + "x"
	case r.Unit == "threads":
		return short(v)
	}
	return short(v) + " " + r.Unit
}

// limit is a ceiling or a goal, "" for none.
func (r *row) limit(v float64) string {
	sign := map[bool]string{false: "≤ ", true: "≥ "}[r.AtLeast]
	if v == 0 {
		return ""
	}
	return sign + short(v)
}

// short has three digits or a little more.
func short(v float64) string {
	digits := 2
	if v >= 20 || v <= -20 || v == float64(int(v)) {
		digits = 0
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func joined(v []float64) string {
	var s []string
	for _, x := range v {
		s = append(s, short(x))
	}
	return strings.Join(s, " ")
}

func (rep *report) print(w io.Writer) {
	const line = "%-9s %-38s %7s %7s %7s %7s  %-14s %-6s %-6s %s\n"
	m := rep.Machine
	fmt.Fprintf(w, "%s, %s, %s, %d x %s, user %d\nsittings: %d of %d rounds; noise of bwrap: %s, at most %.2f\n",
		m.Sbx, m.Bwrap, m.Kernel, m.CPUs, m.CPU, m.UID, len(rep.Rows[0].Sittings), rep.Rounds, joined(rep.Noise), rep.TooNoisy)
	group := ""
	for _, r := range rep.Rows {
		if r.Group != group {
			group = r.Group
			fmt.Fprintf(w, "\n"+line, "", group, "against", "this", "p95", "words", "figure", "ceiling", "goal", "sittings")
		}
		var base, sbx, p95, words string
		if r.Base != nil {
			base, sbx, p95 = short(r.Base.Median), short(r.Sbx.Median), short(r.Sbx.P95)
		}
		if r.Words > 0 {
			words = strconv.Itoa(r.Words)
		}
		fmt.Fprintf(w, line, r.Verdict, r.Name, base, sbx, p95, words, r.figure(r.Figure), r.limit(r.Ceiling), r.limit(r.Goal), joined(r.Sittings))
	}
	fmt.Fprintf(w, "\n%s\n", verdicts[rep.Verdict])
}

var verdicts = map[string]string{
	ok:       "All within the ceilings.",
	above:    "Above the ceiling where it says so.",
	tooNoisy: "too noisy: bwrap itself differs too much from run to run; there is no verdict.",
}

// brief has what a reader of the page needs: every row with a ceiling, and the
// other sandboxes.
func (rep *report) brief(w io.Writer) {
	const line = "%-9s %-38s %7s %7s  %-14s %s\n"
	m := rep.Machine
	fmt.Fprintf(w, "%s, %s, %s, %d x %s\n%d sittings of %d rounds; noise of bwrap: %s, at most %.2f\n\n",
		m.Sbx, m.Bwrap, m.Kernel, m.CPUs, m.CPU, len(rep.Rows[0].Sittings), rep.Rounds, joined(rep.Noise), rep.TooNoisy)
	fmt.Fprintf(w, line, "", "", "against", "this", "figure", "ceiling")
	for _, r := range rep.Rows {
		if r.Ceiling == 0 && r.Group != "others" {
			continue
		}
		var base, sbx string
		if r.Base != nil {
			base, sbx = short(r.Base.Median), short(r.Sbx.Median)
		}
		text := fmt.Sprintf(line, r.Verdict, r.Name, base, sbx, r.figure(r.Figure), r.limit(r.Ceiling))
		fmt.Fprintln(w, strings.TrimRight(text, " \n"))
	}
	fmt.Fprintf(w, "\n%s\n", verdicts[rep.Verdict])
}
