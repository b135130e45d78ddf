// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// statusCmd says on one screen where one is, and exits 1 when something wants
// attention.
type statusCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// standing is what status shows.
type standing struct {
	OK        bool            `json:"ok"`
	Inside    bool            `json:"inside"`
	Profiles  []string        `json:"profiles"`
	Tier      string          `json:"tier" enum:"full,reduced,none"`
	Network   bool            `json:"allow_network"`
	Root      string          `json:"root"`
	Config    []configJSON    `json:"config"`
	Unread    []config.Unread `json:"config_unread,omitempty"` // named as no config file is
	Engine    string          `json:"engine,omitempty"`        // with its version
	Off       string          `json:"off,omitempty"`           // why commands run without a sandbox, or do not run
	Filter    *engine.Filter  `json:"filter,omitempty"`        // from a file
	Gaps      int             `json:"gaps"`
	Pending   []string        `json:"tripwire"`
	Noted     []string        `json:"tripwire_notes,omitempty"` // changed, and no alarm
	attention []string
}

type configJSON struct {
	Path  string `json:"path"`
	Layer string `json:"layer"`
	Trust string `json:"trust,omitempty"`
}

func (c *statusCmd) Run() error {
	st := &standing{Config: []configJSON{}, Pending: []string{}, Tier: "none"}
	look := st.outside
	outer, ok := engine.Inside()
	if ok {
		look = func() error { return st.inside(outer) }
	}
	if err := look(); err != nil {
		return err
	}
	st.OK = len(st.attention) == 0
	return tell(c.JSON, st, st.OK, 1)
}

// inside is what can be said in a sandbox: what is in force comes from outside
// of it, and the records of the tripwire are hidden.
func (st *standing) inside(outer *engine.Manifest) error {
	s, err := app.Here("")
	if err != nil {
		return err
	}
	st.Inside, st.Profiles, st.Tier, st.Root = true, orEmpty(outer.Profiles), outer.Tier, s.Vars.Root
	st.Network = outer.Network == "true"
	return nil
}

func (st *standing) outside() error {
	var opts options
	if err := opts.check(); err != nil { // SBX_ENGINE counts for a run, too
		return err
	}
	s, err := app.Load(app.ForRun(opts.Flags, nil))
	if err != nil {
		return err
	}
	st.Profiles, st.Network, st.Root = s.Policy.Profiles, s.Policy.Network, s.Vars.Root
	files, _, err := s.Files()
	if err != nil {
		return err
	}
	for _, f := range files {
		st.Config = append(st.Config, configJSON{f.Path, f.Layer.String(), trusted(&s.Caller, f)})
	}
	st.Unread = s.Unread()
	if err := st.plan(s, st.sandbox(s)); err != nil {
		return err
	}
	return st.tripwire(s)
}

// trusted is what a project's file may do; other layers are trusted as they are.
func trusted(s *app.Caller, f config.File) string {
	is, _, err := s.TrustStore().Check(f.Path, f.Data)
	switch {
	case f.Layer != policy.Project:
		return ""
	case f.Trusted:
		return "trusted"
	case err == nil && is == config.Changed:
		return "changed since it was trusted, can only tighten"
	}
	return "can only tighten"
}

// sandbox says whether a run would be in one, and returns what would hold it.
func (st *standing) sandbox(s *app.Context) engine.Chosen {
	if st.Off = s.DisabledBy(); st.Off != "" {
		st.attention = append(st.attention, "commands run without a sandbox")
		return engine.Chosen{}
	}
	by, err := s.Engine()
	switch {
	case err == nil && by.Name == host.EngineLandlock:
		st.Tier, st.Engine = host.TierReduced, "Landlock, version "+strconv.Itoa(s.Host.Landlock)
		if by.Lack != nil {
			st.attention = append(st.attention, by.Lack.Reason+": sbx doctor says how to get tier full")
		}
	case err == nil && by.Name == host.EngineSeatbelt:
		st.Tier, st.Engine = host.TierFull, host.EngineSeatbelt
	case err == nil:
		st.Tier, st.Engine = host.TierFull, "bwrap "+by.Bwrap.Version.String()
	default:
		st.Off = err.Error()
		st.attention = append(st.attention, "sbx doctor says what to do")
	}
	return by
}

// plan counts the gaps of a run here, and says why there can be none.
func (st *standing) plan(s *app.Context, by engine.Chosen) error {
	if by.Name == "" {
		by = app.Supposed(s.Host, by) // the gaps that are not the engine's are the same
	}
	plan, err := s.Plan(by, "/bin/sh")
	var refused *host.Error
	if errors.As(err, &refused) {
		if st.Off == "" {
			st.Off = refused.Text
			st.attention = append(st.attention, refused.Hint)
		}
		return nil
	}
	if err != nil {
		return err
	}
	st.Gaps = len(plan.Gaps) - plan.Report.Usual
	st.Filter = plan.Report.Filter
	return nil
}

func (st *standing) tripwire(s *app.Context) error {
	store, root := s.Records()
	changes, err := store.Pending(root)
	if err != nil {
		return app.TripwireError(err)
	}
	alarms, noted := app.ByGrade(changes)
	for _, c := range alarms {
		st.Pending = append(st.Pending, c.Path)
	}
	for _, c := range noted {
		st.Noted = append(st.Noted, c.Path)
	}
	if why := s.Host.CheckOwnDir(policy.Dir(store.Dir)); why != nil {
		st.attention = append(st.attention, "this project is not watched: "+why.Error())
	}
	if len(alarms) > 0 {
		st.attention = append(st.attention, "sbx tripwire shows what is new")
	}
	return nil
}

// print keeps to one screen: long lists are cut.
func (st *standing) print() error {
	w := table()
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, text)
		}
	}
	profile := strings.Join(st.Profiles, "+")
	switch {
	case st.Inside:
		line("sandbox", "this is inside one, tier "+text.Plain(st.Tier))
		profile = text.Plain(profile)
	case st.Off != "":
		line("sandbox", colour("31", "none")+": "+st.Off)
	default:
		line("sandbox", st.Engine+", tier "+st.Tier+"; this is outside of it")
	}
	line("profile", profile+", network "+app.OnOff(st.Network))
	fmt.Fprintf(w, "project\t%s\n", text.Plain(st.Root))
	for _, f := range st.Config {
		line("config", text.Plain(f.Path)+" ("+strings.TrimSuffix(f.Layer+", "+f.Trust, ", ")+")")
	}
	for _, f := range st.Unread {
		line("not read", text.Plain(f.Path)+" (sbx reads "+text.Plain(f.Read)+")")
	}
	if st.Filter != nil {
		line("filter", st.Filter.String())
	}
	if st.Gaps > 0 {
		line("gaps", strconv.Itoa(st.Gaps)+" (sbx explain lists them)")
	}
	const few = 10
	list := func(paths []string, title string) {
		if len(paths) > 0 {
			line("tripwire", title)
		}
		for _, path := range paths[:min(few, len(paths))] {
			line("", text.Plain(app.Below(path, st.Root)))
		}
		if more := len(paths) - few; more > 0 {
			line("", "and "+strconv.Itoa(more)+" more")
		}
	}
	list(st.Pending, colour("31", strconv.Itoa(len(st.Pending))+" new or changed"))
	list(st.Noted, strconv.Itoa(len(st.Noted))+" of lower grade (sbx tripwire shows it)")
	for _, a := range st.attention {
		line("->", a)
	}
	return w.Flush()
}
