// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/golden"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/sbpltest"
	"github.com/sbx-sandbox/sbx/internal/view"
	"github.com/sbx-sandbox/sbx/profiles"
)

// models are the two ways to read a profile; everything holds in both.
var models = []sbpltest.Model{sbpltest.Naive, sbpltest.Observed}

// evaluated is the profile of a plan.
func evaluated(t testing.TB, p *engine.Plan) *sbpltest.Profile {
	t.Helper()
	text, params := profileOf(p)
	if _, err := sbpltest.Old().Load(text, params); err != nil {
		t.Fatal("on an old Mac: ", err)
	}
	profile, err := sbpltest.Load(text, params)
	if err != nil {
		t.Fatal(err)
	}
	return profile
}

// readActs and writeActs are all that a program can do to a path, one way or the
// other. The place to put things is one that can be written.
func readActs(path string, kind host.Kind) []sbpltest.Act {
	acts := []sbpltest.Act{sbpltest.Do("read", path), sbpltest.Do("exec", path), sbpltest.Do("map", path), sbpltest.Do("getxattr", path), sbpltest.Do("connect", path), sbpltest.Do("ioctl", path, "0x40047477")}
	if kind == host.Dir {
		acts = append(acts, sbpltest.Do("list", path))
	}
	return acts
}

func writeActs(path, place string) []sbpltest.Act {
	return []sbpltest.Act{sbpltest.Do("write", path), sbpltest.Do("create", path), sbpltest.Do("mkdir", path), sbpltest.Do("unlink", path), sbpltest.Do("chmod", path), sbpltest.Do("chown", path), sbpltest.Do("chflags", path), sbpltest.Do("utimes", path),
		sbpltest.Do("setxattr", path), sbpltest.Do("setuid", path), sbpltest.Do("rename", path, place+"/moved"), sbpltest.Do("rename", place+"/it", path), sbpltest.Do("rename-over", place+"/it", path),
		sbpltest.Do("link", path, place+"/link"), sbpltest.Do("link", place+"/it", path), sbpltest.Do("clone", path, place+"/clone"), sbpltest.Do("clone", place+"/it", path), sbpltest.Do("symlink", "x", path), sbpltest.Do("bind", path)}
}

// expectation is what has to come of an act, about a path of the Mac.
type expectation struct {
	path, says string
	act        sbpltest.Act
	want       bool
}

// expectations are what a policy says of each path of a machine, in acts.
func expectations(o *oracle, p *engine.Plan, h *host.Host) (out []expectation) {
	place := h.OnMac(p.Session + "/tmp")
	root := cmp.Or(host.WorkTree(o.fs, h.CWD, h.UID, h.Homes), h.CWD)
	say := func(want bool, path, says string, acts ...sbpltest.Act) {
		for _, a := range acts {
			out = append(out, expectation{path, says, a, want})
		}
	}
	never := func(path, says string, acts ...sbpltest.Act) { say(false, path, says, acts...) }
	always := func(path, says string, acts ...sbpltest.Act) { say(true, path, says, acts...) }
	complete := !slices.ContainsFunc(p.Gaps, func(g string) bool { return strings.Contains(g, "not opened") })
	for _, path := range o.fs.paths() {
		n, a, at := o.fs.nodes[path], o.access(path), h.OnMac(path)
		if policy.Within(path, "/proc") || policy.Within(path, "/dev") || path == "/" || n.Kind == host.Link || p.CacheDst != "" && policy.Within(path, p.CacheDst) {
			continue
		}
		if !view.Shows(a) {
			acts := readActs(at, n.Kind)
			if at == "/private/var/run/mDNSResponder" && p.Report.Policy.Network {
				acts = []sbpltest.Act{sbpltest.Do("read", at)} // names are looked up there
			}
			never(at, a.String(), acts...)
			never(at, a.String(), sbpltest.Do("read", at+"/new"), sbpltest.Do("exec", at+"/new"))
		}
		if a != policy.Write {
			never(at, a.String(), writeActs(at, place)...)
			never(at, a.String(), writeActs(at+"/new", place)...)
		}
		if complete && a == o.led.access(path) {
			if view.Shows(a) {
				always(at, a.String(), sbpltest.Do("read", at), sbpltest.Do("map", at))
				if at != host.SandboxExec { // the mark of the sandbox
					always(at, a.String(), sbpltest.Do("stat", at), sbpltest.Do("exec", at))
				}
				for up := at; up != "/"; up = policy.Dir(up) {
					if up != host.SandboxExec {
						always(up, "above what is shown", sbpltest.Do("stat", up))
					}
				}
			}
			if a == policy.Write && n.Kind == host.File {
				always(at, a.String(), sbpltest.Do("write", at), sbpltest.Do("chmod", at))
			}
			if a == policy.Write && n.Kind == host.Dir {
				always(at, a.String(), sbpltest.Do("create", at+"/new"), sbpltest.Do("unlink", at+"/new"), sbpltest.Do("rename", at+"/new", at+"/other"), sbpltest.Do("link", at+"/new", at+"/other"), sbpltest.Do("bind", at+"/new"), sbpltest.Do("connect", at+"/new"))
			}
		}
		if a == policy.Write && o.access(policy.Dir(path)) != policy.Write {
			never(at, "where writing begins", sbpltest.Do("unlink", at), sbpltest.Do("rename", at, place+"/moved"), sbpltest.Do("rename-over", place+"/it", at))
		}
		never(at, "a clone brings what is in it along", sbpltest.Do("clone", at, place+"/clone"))
		// What is fixed has to stay at its place, and so has all above it.
		for up := path; a != policy.Write && up != "/"; up = policy.Dir(up) {
			never(h.OnMac(up), a.String(), sbpltest.Do("rename", h.OnMac(up), place+"/moved"), sbpltest.Do("unlink", h.OnMac(up)))
		}
	}
	own := []string{place}
	if p.CacheDst != "" {
		own = append(own, h.OnMac(p.CacheDst))
	}
	for _, dir := range own {
		never(dir, "where writing begins", sbpltest.Do("unlink", dir))
		always(dir, "sbx's own, open", sbpltest.Do("create", dir+"/new"), sbpltest.Do("read", dir+"/new"))
		for up := policy.Dir(dir); up != "/"; up = policy.Dir(up) {
			always(up, "above what is open", sbpltest.Do("stat", up))
			if !view.Shows(o.access(up)) {
				never(up, "above what is open", sbpltest.Do("list", up))
			}
		}
	}
	for i := range p.Report.Policy.Rules {
		r := &p.Report.Policy.Rules[i]
		if r.Access != policy.Protect && r.Access != policy.Block || r.Pattern || r.Except {
			continue
		}
		to, n, links, err := o.fs.namei(r.Path, true)
		for _, l := range links {
			if err == nil && o.access(policy.Dir(l)) == policy.Write && !strays(r, to, links) {
				never(h.OnMac(l), "link on the way to "+r.Access.String(), sbpltest.Do("unlink", h.OnMac(l)), sbpltest.Do("rename-over", place+"/it", h.OnMac(l)))
				for up := policy.Dir(l); up != "/" && o.access(policy.Dir(up)) == policy.Write; up = policy.Dir(up) {
					never(h.OnMac(up), "above a link to what is "+r.Access.String(), sbpltest.Do("rename", h.OnMac(up), place+"/moved"))
				}
			}
		}
		if err == errFakeLoop || n != nil {
			continue
		}
		if n == nil { // nor is perhaps what is above
			there, err := host.NewResolver(o.fs).Resolve(r.Path)
			if err != nil || there.Info.Kind != host.Absent {
				continue
			}
			to = there.Path
		}
		decided, ok := p.Report.Policy.Decide(to)
		if !ok || decided.Path != r.Path || decided.Access != r.Access {
			continue // another rule is about the same place
		}
		at := h.OnMac(to)
		never(at, "absent, "+r.Access.String(), writeActs(at, place)...)
		if r.Access == policy.Block && (r.Layer != policy.Builtin || o.access(policy.Dir(to)) == policy.Write || policy.Within(to, root)) {
			never(at, "absent, block", sbpltest.Do("read", at), sbpltest.Do("read", at+"/x"), sbpltest.Do("list", at))
		}
		for up := policy.Dir(to); o.access(up) == policy.Write && o.access(policy.Dir(up)) == policy.Write; up = policy.Dir(up) {
			if _, n, _, _ := o.fs.namei(up, true); n == nil {
				never(h.OnMac(up), "absent, above "+r.Access.String(), sbpltest.Do("mkdir", h.OnMac(up)), sbpltest.Do("rename", place+"/it", h.OnMac(up)), sbpltest.Do("rename", h.OnMac(up), place+"/moved"))
			} else {
				never(h.OnMac(up), "above absent "+r.Access.String(), sbpltest.Do("rename", h.OnMac(up), place+"/moved"))
			}
		}
	}
	return out
}

// judgeSeat compares what the profile of a plan allows, in both readings, with
// what the policy says of each path.
func judgeSeat(o *oracle, p *engine.Plan, h *host.Host) (bad []string) {
	profile, err := sbpltest.Load(profileOf(p))
	if err != nil {
		return []string{err.Error()}
	}
	for _, l := range profile.Lint() {
		bad = append(bad, "lint: "+l)
	}
	for _, e := range expectations(o, p, h) {
		for _, m := range models {
			if ok, rule := profile.Check(m, e.act); ok != e.want {
				bad = append(bad, fmt.Sprintf("%s: %s: %v; the policy says of %s %s: %s", m, e.act.Name, map[bool]string{true: "allowed", false: "refused"}[ok], e.path, e.says, rule))
			}
		}
	}
	return bad
}

// strays reports whether a rule is about a link to what no rule hides, see elsewhere.
func strays(r *policy.Rule, to string, links []string) bool {
	return (&view.View{}).PointsToSystem(r, host.Resolved{Path: to, Links: []host.Hop{{Path: links[len(links)-1]}}})
}

// A plan for sandbox-exec keeps the promises that the others keep, over machines
// and rules no one thought of, however its profile is read.
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
func decisions(t *testing.T, file string, p *engine.Plan) *sbpltest.Table {
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
		if !profiles.Builtin().Module(name) && name != "secrets" {
			out[name] = "client"
		}
	}
	for _, name := range []string{"strict", "moderate", "permissive"} {
		out[name] = name
	}
	out["claude-sh"] = "moderate" // which it comes on top of
	return out
}

// TestDecisions is what each profile allows, row by row and in both readings.
func TestDecisions(t *testing.T) {
	for name, column := range shipped() {
		t.Run(name, func(t *testing.T) {
			m := mac("")
			m.profiles = []string{name}
			if name == "claude-sh" {
				m.profiles = []string{column, name}
			}
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
			if err := evaluated(t, p).Run(cases); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMutants deletes what there is in a profile, one rule or one filter of a rule
// at a time. Something has to notice: a row of the table, what the policy says of
// a path that the filter names, or a lint.
func TestMutants(t *testing.T) {
	for _, name := range []string{"strict", "moderate", "permissive"} {
		t.Run(name, func(t *testing.T) {
			m := macCases()["mac-"+name]
			h, fs := m.host(t)
			p, _, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			var cases []sbpltest.Case
			if table := decisions(t, "testdata/decisions.txt", p); slices.Contains(table.Columns, name) {
				if cases, err = table.Cases(name); err != nil {
					t.Fatal(err)
				}
			}
			about := map[string][]sbpltest.Case{}
			for _, e := range expectations(newOracle(fs, p.Report.Policy), p, h) {
				about[e.path] = append(about[e.path], sbpltest.Case{Act: e.act, Want: e.want})
			}
			text, params := profileOf(p)
			var killed, twins int
			left := map[string][]string{}
			for _, mutant := range sbpltest.Mutants(text) {
				lost := gone(text, mutant)
				switch {
				case len(cases) == 0 && !strings.Contains(lost, "(param "):
					continue // the tables of the profiles are about these
				case twin(mutant.Desc):
					twins++
					continue
				}
				k, _, err := sbpltest.Kill(text, params, slices.Concat(aimed(lost, params, about), cases), []sbpltest.Mutant{mutant})
				if err != nil {
					t.Fatal(err)
				}
				if len(k) > 0 {
					killed++
					continue
				}
				why := explained(lost, mutant.Desc)
				left[why] = append(left[why], mutant.Desc)
			}
			n := killed
			for why, l := range left {
				n += len(l)
				t.Logf("%d survive: %s", len(l), why)
			}
			rate := float64(killed) / float64(n)
			t.Logf("%d rows, %d models, %d mutants: %d killed (%.1f %%); not tried: %d that leave one of two names of a file", len(cases), len(models), n, killed, 100*rate, twins)
			for _, l := range left[""] {
				t.Error("not noticed, and not explained: ", l)
			}
			if rate < 0.9 {
				t.Errorf("%.1f %% of the mutants are noticed, want 90", 100*rate)
			}
		})
	}
}

// explained says why nothing can notice that a rule does not exist, "" for no
// reason.
func explained(lost, desc string) string {
	switch {
	case strings.Contains(lost, "file-write-setugid"):
		return "what is shut by name is denied by default, too: other profiles in use do the same"
	case strings.Contains(desc, "(deny file-test-existence") || strings.Contains(lost, "file-test-existence"):
		return "whether something exists is no secret that the tables ask for but of the first hidden places"
	}
	return ""
}

var param = regexp.MustCompile(`\(param "([A-Z]+_[0-9]+)"\)`)

// gone is what a mutant has lost: a filter, or a whole rule.
func gone(text string, m sbpltest.Mutant) string {
	var n int
	if _, err := fmt.Sscanf(m.Desc, "line %d:", &n); err != nil {
		return m.Desc
	}
	if lost, _, filter := strings.Cut(m.Desc, " in ("); filter {
		return lost
	}
	lines := strings.SplitAfter(text, "\n")[n-1:]
	rule := lines[0]
	for _, l := range lines[1:] {
		if !strings.HasPrefix(l, " ") {
			break
		}
		rule += l
	}
	return rule
}

// aimed are the expectations about the paths in what is lost: of a whole rule
// those about the first of them.
func aimed(lost string, params map[string]string, about map[string][]sbpltest.Case) (out []sbpltest.Case) {
	for _, name := range param.FindAllStringSubmatch(lost, 8) {
		out = append(out, about[params[name[1]]]...)
	}
	return out
}

// twin reports whether a mutant lost one of two names of a file: profiles that
// have been in use for long name a file as a node and as a tree.
func twin(desc string) bool {
	return strings.Contains(desc, `without (literal (param "CLOSED_`) || strings.Contains(desc, `without (literal (param "LOCKED_`) ||
		strings.Contains(desc, `without (subpath (param "CLOSED_`) || strings.Contains(desc, `without (subpath (param "LOCKED_`)
}

// rulesOf are the rules of a plan's profile, one a line, with the values of
// parameters in their place.
func rulesOf(p *engine.Plan) []string {
	text, params := profileOf(p)
	var out []string
	head := ""
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		line = param.ReplaceAllStringFunc(line, func(m string) string { return strconv.Quote(params[param.FindStringSubmatch(m)[1]]) })
		switch {
		case strings.HasPrefix(line, "  "):
			line = head + " " + strings.TrimRight(strings.TrimSpace(line), ")")
		default:
			head = line
		}
		out = append(out, line)
	}
	return out
}

// TestGoldenMacProfiles has the text of the other built-in profiles: of a client
// what differs from moderate, of a module what it adds to strict where all that it names
// is there.
func TestGoldenMacProfiles(t *testing.T) {
	set := profiles.For("darwin")
	var names []string
	for name := range set {
		if !slices.Contains([]string{"secrets", "strict", "moderate", "permissive"}, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var b strings.Builder
	rules := func(files string, profiles ...string) []string {
		m := mac(files)
		m.profiles = profiles
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(profiles, ": ", err)
		}
		return rulesOf(p)
	}
	for _, name := range names {
		base := []string{"moderate"}
		if profiles.Builtin().Module(name) || name == "claude-sh" {
			base = []string{"strict"}
		}
		files := opened(set[name][0])
		before := rules(files, base...)
		after := rules(files, append(slices.Clone(base), name)...)
		fmt.Fprintf(&b, "# %s, and what it has less (-) or more (+) than %s\n", name, base[0])
		for _, l := range before {
			if !slices.Contains(after, l) {
				b.WriteString("- " + l + "\n")
			}
		}
		for _, l := range after {
			if !slices.Contains(before, l) {
				b.WriteString("+ " + l + "\n")
			}
		}
	}
	golden.Check(t, "mac-profiles", b.String())
}

// opened are directories for all that a profile opens by a plain path.
func opened(p *policy.Profile) string {
	var b strings.Builder
	for _, it := range slices.Concat(p.Read.Items, p.Write.Items) {
		path := strings.NewReplacer("$HOME", "/Users/u", "$XDG_DATA_HOME", "/Users/u/.local/share", "$XDG_CONFIG_HOME", "/Users/u/.config", "$XDG_CACHE_HOME", "/Users/u/.cache", "$XDG_STATE_HOME", "/Users/u/.local/state").Replace(it.Text)
		if strings.HasPrefix(path, "/") && !strings.ContainsAny(path, "$*?[") && (strings.HasPrefix(path, "/Users/u/") || strings.HasPrefix(path, "/opt/") || strings.HasPrefix(path, "/Library/")) && path != "/Users/u/.gitconfig" {
			b.WriteString(strings.ReplaceAll(path, " ", `\s`) + "/\n")
		}
	}
	return b.String()
}

// oddNames are names that would mean something in the text of a profile, in a
// shell, or to a reader of parameters.
var oddNames = []string{`p") (allow file-read* (subpath "`, `a b`, `a'b`, `a"b`, `a\b`, `a\\"b`, `(a)`, `#"a"`, `a;b`, `a|b`, `$HOME`, `-D`, `--`, `K=V`, `=`, `*`, `[a-z]`, `?`, `ü`, "u\u0308", `日本`, `🙂`, `.x`, `a.`, strings.Repeat("x", 255), `(param "WRITE_0")`, `%s`}

// The text of a profile is the same whatever the project is called, and what it
// says holds for all names.
func TestOddNames(t *testing.T) {
	want := ""
	for _, name := range append([]string{"plain"}, oddNames...) {
		dir := strings.ReplaceAll("/Users/u/src/"+name, " ", `\s`)
		m := mac(strings.ReplaceAll(repo("/Users/u/src/DIR")+"/Users/u/src/DIR/ uid=501\n/Users/u/src/DIR/.env\n/Users/u/src/DIR/main.go\n", "/Users/u/src/DIR", dir))
		m.cwd = "/Users/u/src/" + name
		m.env = append(m.env[:5:5], "PWD="+m.cwd)
		p, fs, err := m.plan(t)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		text, _ := profileOf(p)
		if want == "" {
			want = text
		}
		if text != want {
			t.Errorf("%q changes the text", name)
		}
		h, _ := m.host(t)
		profile := evaluated(t, p)
		for _, e := range expectations(newOracle(fs, p.Report.Policy), p, h) {
			if !policy.Within(e.path, m.cwd) {
				continue // as in every other run
			}
			for _, model := range models {
				if ok, rule := profile.Check(model, e.act); ok != e.want {
					t.Errorf("%q: %s: %s: %v, by %s", name, model, e.act.Name, ok, rule)
				}
			}
		}
	}
	for _, name := range []string{"a\nb", "a\x01b", "a\x7fb", "a\xffb"} {
		m := mac("/Users/u/src/app/x\n")
		h, fs := m.host(t)
		fs.put("/Users/u/src/"+name, &fakeNode{Info: host.Info{Kind: host.Dir, Mode: 0o755, UID: 501}})
		h.CWD = "/Users/u/src/" + name
		pol, err := (&m).policy(h)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := New(engine.Request{Engine: m.engine(), Policy: pol, Root: h.CWD, Command: []string{"sh"}}, h); err == nil {
			t.Errorf("%q: planned, with %d words", name, len(p.Argv))
		}
	}
}

// What a command is given as a descriptor it may ask about, as every program does at
// its start, and do nothing else with by its name.
func TestGivenFiles(t *testing.T) {
	m := mac("/Users/u/Documents/log\n")
	m.fds = []host.FD{{Num: 0, Kind: host.FDFile, Path: "/Users/u/src/app/.env", Reads: true, Size: engine.MaxCopy + 1}, {Num: 1, Kind: host.FDFile, Path: "/Users/u/Documents/log", Writes: true}, {Num: 2, Kind: host.FDDevice, Path: "/dev/rdisk0", Writes: true},
		{Num: 3, Kind: host.FDFile, Path: "/Users/u/Documents/plan.txt", Reads: true, CloseOn: true}, {Num: 4, Kind: host.FDFile, Path: "/Users/u/src/app/a\nb", Reads: true}}
	for _, name := range []string{"strict", "moderate", "permissive"} {
		m.profiles = []string{name}
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		profile := evaluated(t, p)
		for _, c := range []struct {
			act  sbpltest.Act
			want bool
		}{
			{sbpltest.Do("stat", "/Users/u/src/app/.env"), true}, {sbpltest.Do("stat", "/Users/u/Documents/log"), true},
			{sbpltest.Do("read", "/Users/u/src/app/.env"), false}, {sbpltest.Do("getxattr", "/Users/u/src/app/.env"), false}, {sbpltest.Do("write", "/Users/u/src/app/.env"), false},
			{sbpltest.Do("unlink", "/Users/u/src/app/.env"), false}, {sbpltest.Do("create", "/Users/u/src/app/.env"), false}, {sbpltest.Do("link", "/Users/u/src/app/.env", "/Users/u/src/app/x"), false},
			{sbpltest.Do("stat", "/Users/u/src/app/.env/x"), false}, {sbpltest.Do("write", "/Users/u/Documents/log"), false},
			{sbpltest.Do("read", "/dev/rdisk0"), false}, {sbpltest.Do("ioctl", "/dev/rdisk0", "1"), false}, {sbpltest.Do("stat", "/dev/rdisk0"), false},
			{sbpltest.Do("stat", "/Users/u/Documents/plan.txt"), name == "permissive"},
		} {
			for _, model := range models {
				if ok, rule := profile.Check(model, c.act); ok != c.want {
					t.Errorf("%s: %s: %s: %v, by %s", name, model, c.act.Name, ok, rule)
				}
			}
		}
		if len(p.Copy)+len(p.Reopen) > 0 {
			t.Errorf("copied %v, opened anew %v: nothing does that here", p.Copy, p.Reopen)
		}
	}
}

// A profile that the system would not take is refused in one line.
func TestTooMuchToHide(t *testing.T) {
	var files strings.Builder
	for i := range 500 {
		fmt.Fprintf(&files, "/Users/u/src/app/%s-%d.pem\n/Users/u/src/app/%s-%d.key\n", strings.Repeat("long", 15), i, strings.Repeat("name", 15), i)
	}
	m := mac(files.String())
	_, _, err := m.plan(t)
	var refused *host.Error
	if !errors.As(err, &refused) || !strings.Contains(refused.Text, "more to hide and to protect here than sandbox-exec can handle") || refused.Hint == "" {
		t.Error(err)
	}
}

// What is missing for the tests that look from the outside: of two runs the second
// follows what the first may have left. A file that one may write stays that file.
func TestWritableFilesStay(t *testing.T) {
	m := mac("/Users/u/.codex/auth.json uid=501\n")
	m.profiles = []string{"codex"}
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	profile := evaluated(t, p)
	const file = "/Users/u/.codex/auth.json"
	for _, a := range []sbpltest.Act{sbpltest.Do("unlink", file), sbpltest.Do("rename", file, p.Session+"/tmp/x"), sbpltest.Do("rename-over", "/Users/u/src/app/x", file)} {
		for _, model := range models {
			if ok, rule := profile.Check(model, a); ok {
				t.Errorf("%s: %s: %s", model, a.Name, rule)
			}
		}
	}
	if ok, rule := profile.Check(sbpltest.Observed, sbpltest.Do("write", file)); !ok {
		t.Error("it cannot be written: ", rule)
	}
}

// In a subdirectory the project is the whole work tree; a writable file in a
// writable tree is replaced as every other; a socket that is opened by its name can
// be reached in a place that is protected; what the system does not show is hidden.
func TestSmallPlaces(t *testing.T) {
	m := mac("/Users/u/src/app/sub/x\n/Users/u/src/app/ro/s socket\n/Users/u/src/app/ro/other socket\n")
	m.over = policy.Profile{Write: flagPaths("--allow-write", "/Users/u/src/app/sub/x"), Read: flagPaths("--allow-read", "/Users/u/src/app/ro/s"),
		Protect: policy.List{Items: []policy.Item{{Text: "/Users/u/src/app/ro", Source: "test", Layer: policy.Project}}}}
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	in := mac("/Users/u/src/app/sub/x\n")
	in.cwd = "/Users/u/src/app/sub"
	q, _, err := in.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	home := mac("/Users/u/Library/Mail/ uid=501 mode=700\n")
	home.over.Read = flagPaths("--allow-read", "/Users/u/Library")
	h, fs := home.host(t)
	h.FS = shyFS{fs}
	pol, err := (&home).policy(h)
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(engine.Request{Engine: m.engine(), Policy: pol, Root: h.CWD, Command: []string{"sh"}}, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p    *engine.Plan
		act  sbpltest.Act
		want bool
	}{
		{p, sbpltest.Do("rename-over", "/Users/u/src/app/sub/y", "/Users/u/src/app/sub/x"), true},
		{p, sbpltest.Do("connect", "/Users/u/src/app/ro/s"), true}, {p, sbpltest.Do("connect", "/Users/u/src/app/ro/other"), false}, {p, sbpltest.Do("bind", "/Users/u/src/app/ro/new"), false}, {p, sbpltest.Do("unlink", "/Users/u/src/app/ro/s"), false},
		{q, sbpltest.Do("read", "/Users/u/src/app/.netrc"), false}, {q, sbpltest.Do("read", "/Users/u/src/app/sub/.netrc"), false}, {q, sbpltest.Do("read", "/Users/u/src/app/main.go"), true},
		{r, sbpltest.Do("read", "/Users/u/Library/Mail/V10/x"), false}, {r, sbpltest.Do("read", "/Users/u/Library/Caches/x"), true},
	} {
		profile := evaluated(t, c.p)
		for _, model := range models {
			if ok, rule := profile.Check(model, c.act); ok != c.want {
				t.Errorf("%s: %s: %v, by %s", model, c.act.Name, ok, rule)
			}
		}
	}
}

// shyFS does not say whether mail is there, as macOS does without consent.
type shyFS struct{ *fakeFS }

func (f shyFS) Lstat(path string) (host.Info, error) {
	if path == "/Users/u/Library/Mail" {
		return host.Info{Refused: true}, nil
	}
	return f.fakeFS.Lstat(path)
}

// Protected and hidden names that are links in the project, to what is in it, outside,
// and not there: neither the link, nor what it leads to, nor a directory around
// either can be put in another's place. Beside them everything can be done.
func TestLinkedNames(t *testing.T) {
	const C = "/Users/u/src/app"
	m := mac(`
/Users/u/src/app/.git/hooks gone
/Users/u/src/app/.git/hooks -> ../tools/hooks
/Users/u/src/app/tools/hooks/pre-commit x
/Users/u/src/app/.claude -> conf/claude
/Users/u/src/app/conf/claude/settings.json
/Users/u/src/app/.husky -> nowhere/husky
/Users/u/src/app/.env gone
/Users/u/src/app/.env -> conf/env
/Users/u/src/app/conf/env
/Users/u/src/app/lefthook.yml -> /Users/u/Documents/l.yml
`)
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	profile := evaluated(t, p)
	tmp := p.Session + "/tmp"
	for _, a := range []sbpltest.Act{
		sbpltest.Do("create", C+"/tools/hooks/post-commit"), sbpltest.Do("write", C+"/tools/hooks/pre-commit"), sbpltest.Do("rename", C+"/tools", C+"/t2"), sbpltest.Do("rename", C+"/tools/hooks", tmp+"/h"),
		sbpltest.Do("unlink", C+"/.git/hooks"), sbpltest.Do("rename-over", tmp+"/x", C+"/.git/hooks"), sbpltest.Do("symlink", "x", C+"/.git/hooks"),
		sbpltest.Do("create", C+"/conf/claude/hooks"), sbpltest.Do("rename", C+"/conf", C+"/c2"), sbpltest.Do("rename", C+"/conf/claude", C+"/c2"), sbpltest.Do("unlink", C+"/.claude"), sbpltest.Do("mkdir", C+"/.claude"),
		sbpltest.Do("mkdir", C+"/nowhere/husky"), sbpltest.Do("mkdir", C+"/nowhere"), sbpltest.Do("rename", tmp+"/it", C+"/nowhere"), sbpltest.Do("unlink", C+"/.husky"),
		sbpltest.Do("read", C+"/conf/env"), sbpltest.Do("rename", C+"/conf/env", C+"/e"), sbpltest.Do("link", C+"/conf/env", C+"/e"), sbpltest.Do("unlink", C+"/.env"),
		sbpltest.Do("unlink", C+"/lefthook.yml"), sbpltest.Do("read", "/Users/u/Documents/l.yml"), sbpltest.Do("read", "/Users/u/Documents/plan.txt"),
		sbpltest.Do("clone", C, tmp+"/c"), sbpltest.Do("link", C+"/.git/config", C+"/cfg"),
	} {
		for _, model := range models {
			if ok, rule := profile.Check(model, a); ok {
				t.Errorf("%s: %s is allowed: %s", model, a.Name, rule)
			}
		}
	}
	for _, a := range []sbpltest.Act{
		sbpltest.Do("create", C+"/tools/other"), sbpltest.Do("create", C+"/conf/other"), sbpltest.Do("read", C+"/tools/hooks/pre-commit"), sbpltest.Do("read", C+"/conf/claude/settings.json"),
		sbpltest.Do("rename", C+"/main.go", C+"/conf/main.go"), sbpltest.Do("readlink", C+"/.git/hooks"), sbpltest.Do("rename", C+"/sub", C+"/sub2"),
	} {
		for _, model := range models {
			if ok, rule := profile.Check(model, a); !ok {
				t.Errorf("%s: %s is refused: %s", model, a.Name, rule)
			}
		}
	}
}
