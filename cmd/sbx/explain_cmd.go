// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
	"github.com/sbx-sandbox/sbx/profiles"
)

// explainCmd prints the policy of a run with where each rule comes from.
type explainCmd struct {
	options `embed:""`
}

type explanation struct {
	Engine   string           `json:"engine"`
	Tier     string           `json:"tier"`
	Lack     string           `json:"not_full,omitempty"` // why the tier is not full
	Profiles []string         `json:"profiles"`
	Settings []settingJSON    `json:"settings"`
	Paths    []pathJSON       `json:"paths"`
	Env      []view.EnvChange `json:"env"`
	Filter   *engine.Filter   `json:"filter,omitempty"`
	Limits   []string         `json:"limits"`
	Gaps     []string         `json:"gaps"`
	Notices  []string         `json:"notices"`

	// For the picture.
	project string
	builtin []string          // profiles
	own     []pathJSON        // what is there without a rule
	root    pathJSON          // what is true of a path that is not listed
	exposed []string          // protected paths that are put back after the run
	marks   map[string]string // notes on paths
}

type settingJSON struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

type pathJSON struct {
	Access string `json:"access"` // private, closed (private, with Landlock and sandbox-exec), write, read, protect, block
	Path   string `json:"path"`
	Layer  string `json:"layer"`
	Source string `json:"source"`
}

func (c *explainCmd) Run() error {
	if err := c.complete(); err != nil {
		return err
	}
	s, err := app.Load(app.ForRun(c.Flags, nil))
	if err != nil {
		return err
	}
	e, err := explain(s)
	if err != nil {
		return err
	}
	return show(c.JSON, e, func() error {
		if onTerminal() {
			return e.picture(screen(), c.Verbose)
		}
		return e.print()
	})
}

// pathsHeading says how the list of paths is to be read.
func pathsHeading(engine string) string {
	how := map[string]string{
		host.EngineLandlock: "exists inside, but cannot be opened; closed paths are private in tier full",
		host.EngineSeatbelt: "exists inside, but cannot be opened; closed paths are private with namespaces",
	}[engine]
	return "paths (the deepest rule decides; a path that is not listed " + cmp.Or(how, "does not exist inside") + ")"
}

func explain(s *app.Context) (*explanation, error) {
	plan, err := s.PlanAnywhere()
	if err != nil {
		return nil, err
	}
	e := &explanation{Engine: plan.Engine, Tier: plan.Tier, Lack: plan.Lack, Profiles: s.Policy.Profiles,
		Limits: orEmpty(plan.Limits.Held), Gaps: orEmpty(plan.Gaps),
		Notices: orEmpty(slices.Concat(s.Notices, s.NotRead(), plan.Report.Once)), Paths: []pathJSON{}, Env: orEmpty(plan.Report.Env)}
	if s.Host.Modelled {
		e.Notices = append(e.Notices, "paths are those of this machine; --dry-run prints those of a Mac")
	}
	if f := plan.Report.Filter; f != nil {
		e.Filter, e.Notices = f, append(e.Notices, f.Notes...)
	}
	if stays := plan.Init; stays == nil || stays.Group == pid1.NoInit || stays.Group == pid1.Beside {
		e.Notices = append(e.Notices, "no notice tells of files that a run leaves in TMPDIR or a private directory: they are gone at its end")
	}
	for _, v := range s.Policy.Scalars() {
		if v.Value != "" {
			e.Settings = append(e.Settings, settingJSON{v.Key, v.Value, cmp.Or(s.Policy.Where[v.Key], "default")})
		}
	}
	e.builtin = profiles.For(s.Host.OS).Names()
	switch plan.Engine {
	case host.EngineBwrap:
		e.own = []pathJSON{{"private", "/dev", "built-in", "sbx"}, {"private", "/proc", "built-in", "sbx"}}
	case host.EngineLandlock:
		e.own = []pathJSON{{"read", "/proc", "built-in", "sbx"}}
	}
	project := cmp.Or(s.Vars.Project, s.Vars.CWD)
	e.project, e.exposed = text.Plain(project), plan.Report.Exposed
	e.marks = map[string]string{s.Vars.Home: " (home)", s.Vars.CWD: " (you are here)", project: " (the project)"}
	if s.Vars.CWD != project {
		e.project += " (you are in " + text.Plain(s.Vars.CWD) + ")"
	}
	e.root = pathJSON{Access: "absent", Path: "/"}
	if top := plan.Report.View.At("/"); top != nil {
		r := plan.Report.View.RuleOf(top)
		e.root = pathJSON{r.Word(), "/", r.Layer.String(), r.Source}
	} else if plan.Report.View.NoMounts {
		e.root.Access = view.Closed
	}
	for _, m := range app.Shown(plan) {
		e.Paths = append(e.Paths, pathJSON{m.Word(), m.Path, m.Layer.String(), m.Source})
		switch v := plan.Report.Ask(m.Path); {
		case v.Kind != host.Dir:
		case m.Access == policy.Write && !v.Write:
			e.marks[m.Path] += " (nothing can be made in it)"
		case view.Shows(m.Access) && !v.Read:
			e.marks[m.Path] += " (cannot be listed)"
		}
	}
	return e, nil
}

// print shows the policy as a table, which has one line for each rule.
func (e *explanation) print() error {
	fmt.Fprintln(stdout, colour("1", "profile "+strings.Join(e.Profiles, " + ")))
	e.printSettings()
	w := table()
	fmt.Fprintln(stdout, colour("1", pathsHeading(e.Engine)))
	for _, p := range e.Paths {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", p.Access, text.Plain(p.Path), source(p.Layer, p.Source))
	}
	_ = w.Flush()
	return e.printRest()
}

func (e *explanation) printSettings() {
	w := table()
	if e.Tier != host.TierFull {
		fmt.Fprintf(w, "  tier\t%s\t%s\n", e.Tier, strings.TrimPrefix(e.Lack+", engine "+e.Engine, ", "))
	}
	for _, s := range e.Settings {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", s.Key, text.Plain(s.Value), s.Source)
	}
	if e.Filter != nil {
		fmt.Fprintf(w, "  seccomp file\t%s\ton top of level dev\n", e.Filter)
	}
	_ = w.Flush()
}

// printRest is what comes after the paths.
func (e *explanation) printRest() error {
	w := table()
	head := func(text string) { w.Flush(); fmt.Fprintln(stdout, colour("1", text)) }
	head("environment (the caller's by name only)")
	for _, action := range []string{"set", "drop", "pass"} {
		for _, v := range e.Env {
			if v.Action == action {
				name := v.Name
				if v.Value != "" {
					name += "=" + v.Value
				}
				fmt.Fprintf(w, "  %s\t%s\t%s\n", action, text.Plain(name), v.Source)
			}
		}
	}
	for _, part := range []struct {
		title string
		lines []string
	}{{"limits (what enforces each)", e.Limits}, {"gaps (promises that cannot be kept in full)", e.Gaps},
		{"notices", e.Notices}} {
		if len(part.lines) > 0 {
			head(part.title)
		}
		for _, l := range part.lines {
			fmt.Fprintf(w, "  %s\n", l)
		}
	}
	return w.Flush()
}

func source(layer, src string) string {
	if layer == "built-in" || layer == "flag" {
		return layer + " " + src
	}
	return src
}
