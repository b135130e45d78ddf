// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	_ "github.com/sbx-sandbox/sbx/internal/testenv"
)

func TestStatistics(t *testing.T) {
	for _, c := range []struct {
		name string
		got  float64
		want float64
	}{
		{"median of none", median(nil), 0},
		{"median of one", median([]float64{7}), 7},
		{"median of two", median([]float64{1, 2}), 1.5},
		{"median of many, unsorted", median([]float64{9, 1, 5, 3, 7}), 5},
		{"first quartile", quantile([]float64{4, 3, 2, 1, 0}, 0.25), 1},
		{"the last", quantile([]float64{4, 3, 2, 1, 0}, 1), 4},
		{"between two", quantile([]float64{0, 10}, 0.95), 9.5},
		{"paired ratios, not the ratio of medians", median(pair([]float64{2, 30, 4}, []float64{1, 10, 4}, over)), 2},
		{"noise", noise([]float64{8, 9, 10, 11, 12}), 0.2},
		{"init", sumInit("init a @0.1 ms, 0.25 ms clock, 0 bytes, 0 allocs\nno\ninit b @1 ms, 0.5 ms clock, 8 bytes, 1 allocs\n"), 0.75},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if v := []float64{3, 1, 2}; median(v) != 2 || v[0] != 3 {
		t.Error("the samples are sorted in place: they are paired by round")
	}
}

func TestJudge(t *testing.T) {
	quiet, loud := []float64{0.1, 0.5, 0.1}, []float64{0.1, 0.5, 0.5}
	for _, c := range []struct {
		name     string
		row      row
		noise    []float64
		row1, of string
	}{
		{"the median of three is below", row{Ceiling: 2, Sittings: []float64{3, 1, 1.9}}, quiet, ok, ok},
		{"at the ceiling", row{Ceiling: 2, Sittings: []float64{2}}, quiet, ok, ok},
		{"above", row{Ceiling: 2, Sittings: []float64{2.1, 1, 3}}, quiet, above, above},
		{"too few", row{Ceiling: 2, AtLeast: true, Sittings: []float64{1.9}}, quiet, above, above},
		{"enough", row{Ceiling: 2, AtLeast: true, Sittings: []float64{2.1}}, quiet, ok, ok},
		{"just enough", row{Ceiling: 2, AtLeast: true, Sittings: []float64{2}}, quiet, ok, ok},
		{"noise hides what is above", row{Ceiling: 2, Sittings: []float64{9}}, loud, tooNoisy, tooNoisy},
		{"noise hides what is below", row{Ceiling: 2, Sittings: []float64{1}}, loud, tooNoisy, tooNoisy},
		{"a goal is no ceiling", row{Goal: 2, Sittings: []float64{9}}, quiet, "", ok},
	} {
		rep := report{Rows: []*row{&c.row}, Noise: c.noise}
		rep.judge()
		if c.row.Verdict != c.row1 || rep.Verdict != c.of {
			t.Errorf("%s: %q, all %q", c.name, c.row.Verdict, rep.Verdict)
		}
	}
	first := row{Ceiling: 1, Sittings: []float64{2}}
	rep := report{Rows: []*row{&first, {Ceiling: 1, Sittings: []float64{1}}}, Noise: quiet}
	if rep.judge(); rep.Verdict != above {
		t.Errorf("a later row hides one above the ceiling: %q", rep.Verdict)
	}
}

// sample has a row of each kind.
func sample() *report {
	rep := &report{Version: 1, Rounds: 300, Noise: []float64{0.1}, Rows: []*row{
		{Name: "default", Group: "start", Unit: times, Ceiling: 1.65, Goal: 1.5, Sittings: []float64{2}},
		{Name: "<&\"less\">", Group: "start", Unit: more, Ceiling: 1, Sittings: []float64{-0.2}},
		{Name: "100 at once", Group: "start", Unit: "starts per second", AtLeast: true, Ceiling: 0.65, Sittings: []float64{0.7}},
		{Name: "threads", Group: "process 1", Unit: "threads", Goal: 1, Sittings: []float64{1}},
	}}
	rep.Rows[0].samples = [2][]float64{{4, 5}, {8, 9}}
	rep.judge()
	return rep
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	if err := sample().encode(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "{\n  \"version\": 1,\n") {
		t.Errorf("the version is not the first member:\n%.60s", out.String())
	}
	back, err := decode(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := back.encode(&again); err != nil || again.String() != out.String() {
		t.Errorf("%v: it reads as something else:\n%s", err, again.String())
	}
	for _, bad := range []string{"", "{}", `{"version": 2, "rows": [{"name": "x"}]}`, `{"version": 1}`} {
		if _, err := decode([]byte(bad)); err == nil {
			t.Errorf("%q is taken for results", bad)
		}
	}
}

// What is drawn and what is printed name each row with its figure.
func TestPlotAndPrint(t *testing.T) {
	rep := sample()
	text := map[string]bool{}
	d := xml.NewDecoder(bytes.NewReader(rep.svg()))
	var bars, ticks int
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.CharData:
			text[string(token)] = true
		case xml.StartElement:
			switch token.Name.Local {
			case "rect":
				bars++
			case "line":
				ticks++
			case "svg", "title", "style", "text":
			default:
				t.Errorf("<%s> in the plot", token.Name.Local)
			}
			for _, a := range token.Attr {
				if strings.HasPrefix(a.Value, "-") || strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s %s=%q", token.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
	if bars != len(rep.Rows)+1 || ticks != 3 {
		t.Errorf("%d bars with the page, %d ticks", bars, ticks)
	}
	var printed bytes.Buffer
	rep.print(&printed)
	for _, r := range rep.Rows {
		figure := r.figure(r.Figure)
		if !text[r.Name] || !text[figure] {
			t.Errorf("%s %s is not in the plot: %v", r.Name, figure, text)
		}
		if !strings.Contains(printed.String(), r.Name) || !strings.Contains(printed.String(), figure) {
			t.Errorf("%s %s is not printed:\n%s", r.Name, figure, printed.String())
		}
	}
}

// The short table leaves out no row with a ceiling and no verdict.
func TestBrief(t *testing.T) {
	rep := sample()
	rep.Rows = append(rep.Rows, &row{Name: "other", Group: "others", Unit: times, Sittings: []float64{0.5}},
		&row{Name: "left out", Group: "parts", Unit: more, Sittings: []float64{3}})
	rep.judge()
	var printed bytes.Buffer
	rep.brief(&printed)
	for _, r := range rep.Rows {
		want := r.Ceiling != 0 || r.Group == "others"
		got := false
		for line := range strings.Lines(printed.String()) {
			got = got || strings.Contains(line, r.Name) && strings.Contains(line, r.figure(r.Figure)) &&
				strings.HasPrefix(line, r.Verdict)
		}
		if got != want {
			t.Errorf("%s: printed %t, want %t:\n%s", r.Name, got, want, printed.String())
		}
	}
	if !strings.Contains(printed.String(), verdicts[rep.Verdict]) {
		t.Errorf("no verdict:\n%s", printed.String())
	}
}

func TestField(t *testing.T) {
	const status = "Name:\tsbx\nPPid:\t12\nNSpid:\t40\t1\nVmRSS:\t  540 kB\n"
	for name, want := range map[string]string{"PPid:": "12", "NSpid:": "40 1", "VmRSS:": "540 kB", "Threads:": ""} {
		if got := strings.Join(field(status, name), " "); got != want {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
	if got := split([]byte("a\x00\x00b c\x00")); strings.Join(got, "|") != "a||b c" {
		t.Errorf("%q", got)
	}
}

// What a program becomes is read at the moment when it does: nothing of the new
// program has run yet.
func TestHanded(t *testing.T) {
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	own()
	dir := t.TempDir()
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bwrap"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	c := &command{path: "/bin/sh", front: []string{"sh", "-c", "export MORE=1; exec ./bwrap --args 5 -- \"$@\"", "sh"},
		inner: []string{"/bin/true", ""}, env: []string{"A=b c"}, dir: dir, fds: map[int][]byte{5: []byte("--proc\x00/proc\x00"), 7: nil}}
	got, err := c.handed()
	if err != nil {
		t.Fatal(err)
	}
	if got.path != filepath.Join(dir, "bwrap") || strings.Join(got.front, " ") != "./bwrap --args 5 --" ||
		!slices.Equal(got.inner, []string{"/bin/true", ""}) || got.words() != 8 {
		t.Errorf("%s: %q %q, %d words", got.path, got.front, got.inner, got.words())
	}
	if !slices.Contains(got.env, "A=b c") || !slices.Contains(got.env, "MORE=1") {
		t.Errorf("variables %q", got.env)
	}
	if pipe, there := got.fds[7]; string(got.fds[5]) != "--proc\x00/proc\x00" || pipe != nil || !there || len(got.fds) != 2 {
		t.Errorf("descriptors %v", got.fds)
	}
	c.inner, c.front = nil, []string{"sh", "-c", "exit 3"}
	if _, err := c.handed(); err == nil {
		t.Error("a program that ended became bwrap")
	}
}

// What is written twice is there once.
func TestDocument(t *testing.T) {
	dir := t.TempDir()
	results, plot, table := filepath.Join(dir, "r.json"), filepath.Join(dir, "p.svg"), filepath.Join(dir, "t.md")
	var data bytes.Buffer
	if err := sample().encode(&data); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{results: data.String(), table: "before\n" + tableBegin + "\nold\n" + tableEnd + "\nafter\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var texts []string
	for range 2 {
		if err := document(results, plot, table); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if s := texts[0]; s != texts[1] || strings.Contains(s, "old") || !strings.HasPrefix(s, "before\n") ||
		!strings.HasSuffix(s, "\nafter\n") || strings.Count(s, "100 at once") != 1 {
		t.Errorf("%s\nthe second time:\n%s", s, texts[1])
	}
	if svg, err := os.ReadFile(plot); err != nil || !bytes.Equal(svg, sample().svg()) {
		t.Errorf("%v: %s", err, svg)
	}
	if err := document(results, "", results); err == nil {
		t.Error("a document without a place for the table is written")
	}
}
