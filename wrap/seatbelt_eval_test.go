package wrap

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/sbpltest"
	"github.com/sbx-sandbox/sbx/policy"
	"github.com/sbx-sandbox/sbx/profiles"
)

// models are the two ways to read a profile; everything holds in both.
var models = []sbpltest.Model{sbpltest.Naive, sbpltest.Observed}

// belt evaluates the profile of a plan.
func belt(t testing.TB, p *Plan) *sbpltest.Profile {
	t.Helper()
	profile, err := sbpltest.Load(profileOf(p))
	if err != nil {
		t.Fatal(err)
	}
	return profile
}

// readActs and writeActs are all that a program can do to a path, one way or the
// other. The place to put things is one that can be written.
func readActs(path string, kind Kind) []sbpltest.Act {
	acts := []sbpltest.Act{sbpltest.OpenRead(path), sbpltest.Exec(path), sbpltest.MapExec(path), sbpltest.Getxattr(path), sbpltest.Connect(path), sbpltest.Ioctl(path, 0x40047477)}
	if kind == Dir {
		acts = append(acts, sbpltest.List(path))
	}
	return acts
}

func writeActs(path, place string) []sbpltest.Act {
	return []sbpltest.Act{sbpltest.OpenWrite(path), sbpltest.Create(path), sbpltest.Mkdir(path), sbpltest.Unlink(path), sbpltest.Chmod(path), sbpltest.Chown(path), sbpltest.Chflags(path), sbpltest.Utimes(path),
		sbpltest.Setxattr(path), sbpltest.Setuid(path), sbpltest.Rename(path, place+"/moved"), sbpltest.Rename(place+"/it", path), sbpltest.RenameOver(place+"/it", path),
		sbpltest.Link(path, place+"/link"), sbpltest.Link(place+"/it", path), sbpltest.Clone(place+"/it", path), sbpltest.Symlink("x", path), sbpltest.Bind(path)}
}

// judgeSeat compares what the profile of a plan allows, in both readings, with
// what the policy says of each path.
func judgeSeat(o *oracle, p *Plan, h *Host) (bad []string) {
	complain := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	text, params := profileOf(p)
	profile, err := sbpltest.Load(text, params)
	if err != nil {
		return []string{err.Error()}
	}
	for _, l := range profile.Lint() {
		complain("lint: %s", l)
	}
	place := h.onMac(p.Session + "/tmp")
	never := func(path, says string, acts ...sbpltest.Act) {
		for _, a := range acts {
			for _, m := range models {
				if ok, rule := profile.Check(m, a); ok {
					complain("%s: %s is allowed (%s); the policy says %s: %s", m, a.Name, path, says, rule)
				}
			}
		}
	}
	always := func(path, says string, acts ...sbpltest.Act) {
		for _, a := range acts {
			for _, m := range models {
				if ok, rule := profile.Check(m, a); !ok {
					complain("%s: %s is refused (%s); the policy says %s: %s", m, a.Name, path, says, rule)
				}
			}
		}
	}
	complete := !slices.ContainsFunc(p.Gaps, func(g string) bool { return strings.Contains(g, "not opened") })
	for _, path := range o.fs.paths() {
		n, a, at := o.fs.nodes[path], o.access(path), h.onMac(path)
		if policy.Within(path, "/proc") || policy.Within(path, "/dev") || path == "/" || n.Kind == Link || p.cacheDst != "" && policy.Within(path, p.cacheDst) {
			continue
		}
		if !shows(a) {
			never(at, a.String(), readActs(at, n.Kind)...)
			never(at, a.String(), sbpltest.OpenRead(at+"/new"), sbpltest.Exec(at+"/new"))
		}
		if a != policy.Write {
			never(at, a.String(), writeActs(at, place)...)
			never(at, a.String(), writeActs(at+"/new", place)...)
		}
		if complete && a == o.led.access(path) {
			if shows(a) {
				always(at, a.String(), sbpltest.Stat(at), sbpltest.OpenRead(at), sbpltest.Exec(at), sbpltest.MapExec(at))
			}
			if a == policy.Write && n.Kind == File {
				always(at, a.String(), sbpltest.OpenWrite(at), sbpltest.Chmod(at))
			}
			if a == policy.Write && n.Kind == Dir {
				always(at, a.String(), sbpltest.Create(at+"/new"), sbpltest.Unlink(at+"/new"), sbpltest.Rename(at+"/new", at+"/other"), sbpltest.Link(at+"/new", at+"/other"), sbpltest.Bind(at+"/new"), sbpltest.Connect(at+"/new"))
			}
		}
		// What is fixed has to stay at its place, and so has all above it.
		for up := path; a != policy.Write && up != "/"; up = policy.Dir(up) {
			never(at, a.String(), sbpltest.Rename(h.onMac(up), place+"/moved"), sbpltest.Unlink(h.onMac(up)))
		}
	}
	for i := range p.Report.Policy.Rules {
		r := &p.Report.Policy.Rules[i]
		if r.Access != policy.Protect && r.Access != policy.Block || r.Pattern || r.Except {
			continue
		}
		to, n, links, err := o.fs.namei(r.Path, true)
		for _, l := range links {
			if err == nil && o.access(policy.Dir(l)) == policy.Write && !gone(r, to, links) {
				never(l, "link on the way to "+r.Access.String(), sbpltest.Unlink(h.onMac(l)), sbpltest.RenameOver(place+"/it", h.onMac(l)))
			}
		}
		if err != nil || n != nil || h.onMac(to) != to && !h.Modelled {
			continue
		}
		decided, ok := p.Report.Policy.Decide(to)
		if !ok || decided.Path != r.Path || decided.Access != r.Access {
			continue // another rule is about the same place
		}
		at := h.onMac(to)
		never(at, "absent, "+r.Access.String(), writeActs(at, place)...)
		if r.Access == policy.Block {
			never(at, "absent, block", sbpltest.OpenRead(at), sbpltest.OpenRead(at+"/x"), sbpltest.List(at))
		}
	}
	return bad
}

// gone reports whether a rule is about a link to what no rule hides, see astray.
func gone(r *policy.Rule, to string, links []string) bool {
	return (&view{}).astray(r, resolved{Path: to, Links: []link{{Path: links[len(links)-1]}}})
}

// A plan for sandbox-exec keeps the promises that the others keep, over machines
// and rules nobody thought of, however its profile is read.
func TestSeatsKeepTheirPromises(t *testing.T) {
	n := *worlds / 2
	planned := 0
	for seed := range n {
		w := randomWorld(t, rand.New(rand.NewPCG(uint64(seed), 6)))
		w.mac = true
		if hold(t, w) {
			planned++
		}
	}
	if planned < n/2 {
		t.Errorf("only %d of %d worlds were planned for: the test tests too little", planned, n)
	}
}

func TestGoldenMacsKeepTheirPromises(t *testing.T) {
	for name, m := range macCases() {
		t.Run(name, func(t *testing.T) {
			h, fs := m.host(t)
			p, _, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range judgeSeat(newOracle(fs, p.Report.Policy), p, h) {
				t.Error(b)
			}
		})
	}
}

// fewestRows is what a table of decisions has to have for each profile.
const fewestRows = 60

// table is testdata/decisions.txt for the plan of a Mac.
func decisions(t *testing.T, file string, p *Plan) *sbpltest.Table {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	table, err := sbpltest.ParseTable(string(text), map[string]string{"HOME": "/Users/u", "CWD": "/Users/u/src/app", "SESSION": p.Session, "TMP": p.Session + "/tmp"})
	if err != nil {
		t.Fatal(file, ": ", err)
	}
	return table
}

// shipped are the profiles that a run can have by themselves, with the column of
// the table that is about them.
func shipped() map[string]string {
	out := map[string]string{}
	for name := range profiles.For("darwin") {
		if !profiles.Module(name) && name != "secrets" {
			out[name] = "client"
		}
	}
	for _, name := range []string{"strict", "moderate", "permissive"} {
		out[name] = name
	}
	return out
}

// TestDecisions is what each profile allows, row by row and in both readings.
func TestDecisions(t *testing.T) {
	for name, column := range shipped() {
		t.Run(name, func(t *testing.T) {
			m := mac("")
			m.profiles = []string{name}
			p, _, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			cases, err := decisions(t, "testdata/decisions.txt", p).Cases(column)
			if err != nil {
				t.Fatal(err)
			}
			if len(cases) < fewestRows {
				t.Errorf("%d rows, want %d", len(cases), fewestRows)
			}
			if err := belt(t, p).Run(cases); err != nil {
				t.Error(err)
			}
		})
	}
}

// survivors are the rules that can go without a row that changes, with the reason.
var survivors = map[string]string{}

// TestMutants deletes what there is in a profile, one thing at a time: a row of
// the table, or a lint, has to notice.
func TestMutants(t *testing.T) {
	for _, name := range []string{"strict", "moderate", "permissive"} {
		m := mac("")
		m.profiles = []string{name}
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		cases, err := decisions(t, "testdata/decisions.txt", p).Cases(name)
		if err != nil {
			t.Fatal(err)
		}
		text, params := profileOf(p)
		all := sbpltest.Mutants(text)
		killed, left, err := sbpltest.Kill(text, params, cases, all)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d rows, %d models, %d of %d mutants killed", name, len(cases), len(models), len(killed), len(all))
		for _, s := range left {
			t.Logf("left: %s", s.Desc)
		}
	}
}
