// SPDX-License-Identifier: Apache-2.0

//go:build linux

package everyday

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/landlock"
	_ "github.com/sbx-sandbox/sbx/internal/testenv"
)

// SBX_TEST_EVERYDAY=all runs all rows; else those marked quick run.
var all = os.Getenv("SBX_TEST_EVERYDAY") == "all"

// quickWays are those of the quick part. SBX_TEST_WAYS names the only ones to try.
var quickWays = []string{"moderate"}

// TestEveryday runs each command without sbx, then with each profile and engine. What
// is compared is the exit status, what the command printed, and the project after it.
// Where the table expects a refusal, the hint has to come and its remedy to work.
func TestEveryday(t *testing.T) {
	tab, err := readTable("testdata/rows/*.txt")
	must(t, err)
	var seen counts
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "answer") }))
	defer s.Close()
	serverURL = s.URL
	t.Run("rows", func(t *testing.T) {
		for _, b := range slices.Backward(tab.blocks) { // those that take long first
			if !all && !slices.ContainsFunc(b.rows, func(r *row) bool { return r.quick }) {
				continue
			}
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				needTools(t, b.need)
				l := newLane(t, b.project)
				for _, r := range b.rows {
					if all || r.quick {
						t.Run(r.command, func(t *testing.T) { l.try(t, r, &seen) })
					}
				}
			})
		}
	})
	for _, line := range seen.lines() {
		t.Log(line)
	}
}

// try runs a row in all ways.
func (l *lane) try(t *testing.T, r *row, seen *counts) {
	needTools(t, r.need)
	bare := l.do(t, r, nil, nil)
	if bare.status != r.status {
		t.Fatalf("%s: without sbx: status %d, want %d\n%s%s", r.at, bare.status, r.status, bare.stdout, bare.stderr)
	}
	for _, way := range ways {
		if slices.Contains(r.not, way.name) || !all && !slices.Contains(quickWays, way.name) ||
			!strings.Contains(cmp.Or(os.Getenv("SBX_TEST_WAYS"), way.name), way.name) {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			needEngine(t, way.flags[1])
			got := l.do(t, r, way.flags, nil)
			diff := bare.diff(got)
			defer func() { seen.add(counted{r, way.name, diff == "", t.Failed()}) }()
			want, refused := r.want[way.name]
			switch {
			case !refused && diff != "":
				t.Errorf("%s: %s\n%s", r.at, diff, got.stderr)
			case refused && diff == "":
				t.Errorf("%s: works, and the table says that it does not (%s)", r.at, want.reason.name)
			case refused && want.flags != "":
				l.tryRemedy(t, r, way.flags, want.remedy, bare, got)
			}
		})
	}
}

// pasted is a whole line that a message names.
var pasted = regexp.MustCompile(`(?m)^sbx: (?:hint|notice): .*?: ((?:(?:mkdir -p|touch) .* && )?(?:sbx|git|npm|cargo) .*)$`)

// toMake is said where the directory of -w does not exist.
var toMake = regexp.MustCompile("mkdir -p |touch ")

// tryRemedy looks for a remedy in what was printed, and tries it. One may lead to
// another: " => " is between them. "line" is a whole one, which is run in what the command
// left.
func (l *lane) tryRemedy(t *testing.T, r *row, flags []string, m remedy, bare, got outcome) {
	t.Helper()
	flags = slices.Clone(flags)
	var dirs []string
	for step := range strings.SplitSeq(m.flags, " => ") {
		if step == "line" {
			found := pasted.FindStringSubmatch(got.stderr)
			if found == nil {
				t.Errorf("%s: no message names a line:\n%s", r.at, got.stderr)
				return
			}
			m.flags = found[1]
			got = l.outcome(t, r, l.run(filepath.Join(l.project, r.dir), r.env, nil, []string{"sh", "-c", m.flags}))
			continue
		}
		full := strings.ReplaceAll(step, "~", l.home)
		words := strings.Fields(full)
		near := slices.Clone(words) // as it is written near the project
		for i, w := range near {
			if to, err := filepath.Rel(filepath.Join(l.project, r.dir), w); err == nil && filepath.IsAbs(w) {
				near[i] = to
			}
		}
		lines := slices.DeleteFunc(strings.Split(got.stderr, "\n"), func(line string) bool {
			said := strings.HasPrefix(line, "sbx: hint: ") || strings.HasPrefix(line, "sbx: notice: ")
			named := func(as string) bool { return strings.Contains(line, as) }
			return !said || !slices.ContainsFunc([]string{step, full, strings.Join(near, " ")}, named)
		})
		if len(lines) == 0 && !m.untold {
			t.Errorf("%s: no hint names %q:\n%s", r.at, step, got.stderr)
		}
		if i := slices.Index(words, "-w"); i >= 0 && (m.untold || toMake.MatchString(strings.Join(lines, ""))) {
			dirs = append(dirs, words[i+1])
		}
		flags = append(flags, words...)
		got = l.do(t, r, flags, dirs)
	}
	if diff := bare.diff(got); diff != "" {
		t.Errorf("%s: with %s: %s\n%s", r.at, m.flags, diff, got.stderr)
	}
}

// diff is "" where two outcomes are the same.
func (a *outcome) diff(b outcome) string {
	var said []string
	if a.status != b.status {
		said = append(said, fmt.Sprintf("status %d, without sbx %d", b.status, a.status))
	}
	if a.stdout != b.stdout {
		said = append(said, fmt.Sprintf("prints %.2000q, without sbx %.2000q", b.stdout, a.stdout))
	}
	if !slices.Equal(a.state, b.state) {
		said = append(said, "leaves another state:")
		for _, line := range a.state {
			if !slices.Contains(b.state, line) {
				said = append(said, "- "+line)
			}
		}
		for _, line := range b.state {
			if !slices.Contains(a.state, line) {
				said = append(said, "+ "+line)
			}
		}
	}
	return strings.Join(said, "\n")
}

// counts is what came of the rows, by way.
type counts struct {
	mu   sync.Mutex
	rows []counted
}

type counted struct {
	r             *row
	way           string
	works, failed bool // failed: not as the table says
}

func (c *counts) add(n counted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows = append(c.rows, n)
}

// lines are what testsum prints, for each way: all, then those of git, builds, installs
// and tests. A row that ends otherwise than the table says counts as broken.
func (c *counts) lines() (out []string) {
	for _, way := range ways {
		all, ordinary := c.tally(way.name, nil), c.tally(way.name, ordinary)
		if n := all.total(); n > 0 {
			out = append(out, fmt.Sprintf("everyday: %s: %d of %d work as without sbx, %d refused by design%s, %d broken%s",
				titles[way.name], all["ok"], n, all["refused"], all.reasons("refused"), all["broken"], all.reasons("broken")))
		}
		if n := ordinary.total(); n > 0 {
			out = append(out, fmt.Sprintf("everyday: %s: git, builds, installs, tests: %d of %d work as without sbx, %d refused by design, %d broken (%.1f %%)",
				titles[way.name], ordinary["ok"], n, ordinary["refused"], ordinary["broken"], 100*float64(ordinary["broken"])/float64(n)))
		}
	}
	return out
}

// tally counts what has been tried one way, of the rows that some picks.
func (c *counts) tally(way string, some func([]*row) []*row) tally {
	t := tally{}
	for _, n := range c.rows {
		if n.way == way && (some == nil || len(some([]*row{n.r})) > 0) {
			t.add(n.r, way, n.failed, n.works)
		}
	}
	return t
}

// tally counts by verdict, and by "VERDICT GROUP: REASON".
type tally map[string]int

func (t tally) add(r *row, way string, failed, works bool) {
	kind, why := "ok", ""
	switch v, not := r.want[way]; {
	case failed && !works:
		kind, why = "broken", "not as expected"
	case not && !failed:
		kind, why = v.reason.kind, v.reason.name
	}
	t[kind]++
	t[kind+" "+why]++
}

func (t tally) total() int { return t["ok"] + t["refused"] + t["broken"] }

// reasons are those of a verdict.
func (t tally) reasons(kind string) string {
	var out []string
	for name, n := range t {
		if why, ok := strings.CutPrefix(name, kind+" "); ok {
			out = append(out, fmt.Sprintf("%s %d", why, n))
		}
	}
	if len(out) == 0 {
		return ""
	}
	slices.Sort(out)
	return " (" + strings.Join(out, ", ") + ")"
}

func needTools(t *testing.T, names []string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s: not installed", name) // testsum fails where it is required
		}
	}
}

func needEngine(t *testing.T, engine string) {
	t.Helper()
	switch {
	case engine == "landlock" && landlock.ABI() < 6:
		t.Skip("landlock has scopes since version 6")
	case engine == "bwrap":
		if err := bwrapWorks(); err != nil {
			t.Skip(err)
		}
	}
}

var bwrapWorks = sync.OnceValue(func() error {
	if out, err := exec.Command("bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true").CombinedOutput(); err != nil {
		return fmt.Errorf("bwrap does not work here: %w: %s", err, out)
	}
	return nil
})
