// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/profiles"
)

// profilesCmd is about the profiles there are.
type profilesCmd struct {
	List profilesListCmd `cmd:"" default:"withargs" help:"List the profiles."`
	Show profilesShowCmd `cmd:"" help:"Print a profile in the format of a config file."`
	Diff profilesDiffCmd `cmd:"" help:"Compare two profiles: exit 0 when B gives nothing more than A, 1 when it does, 2 on errors."`
}

type profilesListCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

type profileJSON struct {
	Name    string   `json:"name"`
	Summary string   `json:"summary"`
	Sources []string `json:"sources"`
	Default bool     `json:"default"`
	Module  bool     `json:"module"` // adds to a profile and is none by itself
}

func (c *profilesListCmd) Run(s *app.Context) error {
	out := []profileJSON{}
	for _, name := range s.Settings.Profiles.Names() {
		p := profileJSON{Name: name, Summary: profiles.Summary(name), Default: name == s.Settings.DefaultProfile,
			Module: s.Settings.Profiles.Module(name)}
		for _, part := range s.Settings.Profiles[name] {
			p.Sources = append(p.Sources, part.Source)
			if len(part.Extends) > 0 && p.Summary == "" {
				p.Summary = "extends " + strings.Join(part.Extends, ", ")
			}
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b profileJSON) int {
		return cmp.Compare(strconv.FormatBool(a.Module), strconv.FormatBool(b.Module))
	})
	if c.JSON {
		return printJSON(listJSON{"profiles": out})
	}
	w := table()
	for _, p := range out {
		mark := " "
		switch {
		case p.Module:
			mark = "+"
		case p.Default:
			mark = "*"
		}
		fmt.Fprintf(w, "%s %s\t%s\t%s\n", mark, p.Name, text.Plain(p.Sources[len(p.Sources)-1]), p.Summary)
	}
	if onTerminal() {
		fmt.Fprintln(w, "* the default; + adds to a profile: sbx -p moderate,node -- npm ci")
	}
	return w.Flush()
}

type profilesShowCmd struct {
	Name string `arg:"" help:"Name of the profile."`
	Flat bool   `help:"With all that it extends, as one profile."`
	JSON bool   `name:"json" help:"Print JSON."`
}

type profileShownJSON struct {
	Name  string            `json:"name"`
	Parts []profilePartJSON `json:"parts"` // each layer's own, which add up; one with --flat
}

type profilePartJSON struct {
	Source string         `json:"source"` // built-in, or file:line:col
	Keys   map[string]any `json:"keys"`   // as a config file has them
}

func (c *profilesShowCmd) Run(s *app.Context) error {
	set := s.Settings.Profiles
	flat, err := set.Flatten(c.Name)
	if err != nil {
		return err
	}
	parts := set[c.Name]
	if c.Flat {
		parts = []*policy.Profile{flat}
	}
	if c.JSON {
		out := profileShownJSON{Name: c.Name, Parts: []profilePartJSON{}}
		for _, p := range parts {
			keys := make(map[string]any)
			for _, k := range config.ProfileSaid(p) {
				keys[k.Key] = k.Value
			}
			out.Parts = append(out.Parts, profilePartJSON{p.Source, keys})
		}
		return printJSON(out)
	}
	if text, ok := profiles.Text(c.Name); ok && len(parts) == 1 && !c.Flat {
		_, err := exact.WriteString(text)
		return err
	}
	var b strings.Builder
	for _, p := range parts {
		if !c.Flat {
			fmt.Fprintf(&b, "# %s\n", p.Source)
		}
		b.WriteString(profileTOML(p))
	}
	_, err = exact.WriteString(b.String())
	return err
}

// profileTOML writes a profile as a config file has it, less the [profiles.X].
func profileTOML(p *policy.Profile) string {
	var b strings.Builder
	for _, k := range config.ProfileSaid(p) {
		b.WriteString(k.Key + " = " + tomlValue(k.Value) + "\n")
	}
	return b.String()
}

func tomlValue(v any) string {
	switch v := v.(type) {
	case []string:
		return tomlList(v)
	case string:
		return tomlString(v)
	}
	return fmt.Sprint(v)
}

func tomlList(texts []string) string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = tomlString(t)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// tomlString quotes a text as a TOML basic string.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

type profilesDiffCmd struct {
	A    string `arg:"" help:"Name of a profile."`
	B    string `arg:"" help:"Name of another."`
	JSON bool   `name:"json" help:"Print JSON."`
}

type changeJSON struct {
	Direction string `json:"direction" enum:"tighter,wider"`
	policy.Change
}

func (c *profilesDiffCmd) Run() error {
	changes, err := c.changes()
	if err != nil {
		report(err, false)
		return exitError(2)
	}
	out := make([]changeJSON, len(changes))
	for i, ch := range changes {
		out[i] = changeJSON{map[bool]string{true: "wider", false: "tighter"}[ch.Wider], ch}
	}
	err = show(c.JSON, listJSON{"changes": out}, func() error {
		w := table()
		for _, ch := range out {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s -> %s\n", ch.Direction, ch.Key, text.Plain(ch.What), ch.From, ch.To)
		}
		return w.Flush()
	})
	switch {
	case err != nil:
		return &host.Error{Status: 2, Text: err.Error()}
	case len(policy.WiderOnly(changes)) > 0:
		return exitError(1)
	}
	return nil
}

func (c *profilesDiffCmd) changes() ([]policy.Change, error) {
	s, err := load()
	if err != nil {
		return nil, err
	}
	var two [2]*policy.Policy
	for i, name := range []string{c.A, c.B} {
		if two[i], err = policy.Resolve(s.Settings.Profiles, []string{name}, s.Vars); err != nil {
			return nil, err
		}
	}
	return policy.Diff(two[0], two[1]), nil
}
