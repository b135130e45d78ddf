// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/docs/schema"
	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/profiles"
)

// configCmd is about config files.
type configCmd struct {
	Show  configShowCmd  `cmd:"" default:"withargs" help:"Show what the config files come to, with the file and line of each value."`
	Check configCheckCmd `cmd:"" help:"Check config files: exit 0 when they can be used, 1 when not."`
}

type configShowCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

type configSaidJSON struct {
	Values []config.Said `json:"values"`
}

func (c *configShowCmd) Run(s *app.Context) error {
	s.TellNotices()
	files, _, err := s.Files()
	if err != nil {
		return err
	}
	out := configSaidJSON{s.Settings.Said(files)}
	for i := range out.Values {
		v := &out.Values[i]
		name := map[string]string{"default_profile": "SBX_PROFILE", "engine": "SBX_ENGINE"}[v.Key]
		if said := os.Getenv(name); said != "" {
			v.Value, v.Layer, v.Source = said, "environment", name
		}
	}
	return show(c.JSON, out, func() error { return out.print(files) })
}

// print shows file by file, in the order in which they count, what is not said again.
func (c *configSaidJSON) print(files []config.File) error {
	w := table()
	part := func(title, prefix string, of func(v *config.Said) bool) {
		for i := range c.Values {
			v := &c.Values[i]
			if !of(v) {
				continue
			}
			if title != "" {
				w.Flush()
				fmt.Fprintln(exact, colour("1", title))
				title = ""
			}
			place := strings.TrimPrefix(v.Source, prefix) + "\t"
			if v.Layer == policy.Builtin.String() {
				place = ""
			}
			fmt.Fprintf(w, "  %s%s = %s\n", place, v.Key, app.Harmless(tomlValue(v.Value)))
		}
	}
	in := func(layer string) func(*config.Said) bool {
		return func(v *config.Said) bool { return v.Layer == layer }
	}
	part("defaults", "", in(policy.Builtin.String()))
	for _, f := range files {
		name := text.Plain(f.Path)
		part(name+" ("+f.Layer.String()+")", name+":", func(v *config.Said) bool {
			return strings.HasPrefix(v.Source, name+":")
		})
	}
	part("environment", "", in("environment"))
	return w.Flush()
}

type configCheckCmd struct {
	Files []string `arg:"" optional:"" name:"file" help:"Config files, as .sbx.toml of a project; all others as --config takes them. Default: those that count here."`
	JSON  bool     `name:"json" help:"Print JSON."`
}

type configCheckJSON struct {
	OK    bool          `json:"ok"`
	Files []checkedJSON `json:"files"`
}

type checkedJSON struct {
	Path   string        `json:"path"`
	OK     bool          `json:"ok"`
	Layer  string        `json:"layer,omitempty" enum:"system,user,project"` // left out where it cannot be read
	Trust  string        `json:"trust,omitempty"`                            // of a project file
	Named  bool          `json:"named,omitempty"`                            // read only with --config
	Errors []mistakeJSON `json:"errors"`
	Asks   []string      `json:"asks"`    // keys that count only when the file is trusted
	Never  []string      `json:"ignored"` // keys that never count in a project file
}

type mistakeJSON struct {
	Source string   `json:"source"` // file:line:col, or the file
	Text   string   `json:"text"`
	Hints  []string `json:"hints,omitempty"`
}

func (c *configCheckCmd) Run() error {
	s, err := app.Here("")
	if err != nil {
		return err
	}
	r := &configCheckJSON{OK: true, Files: []checkedJSON{}}
	if len(c.Files) == 0 {
		files, _, err := s.Files()
		if err != nil {
			r.Files = append(r.Files, *checked(s, "", nil, -1, err))
		}
		for i, f := range files {
			r.Files = append(r.Files, *checked(s, f.Path, files, i, nil))
		}
	}
	for _, name := range c.Files {
		s, path, files, i, err := filesWith(name)
		r.Files = append(r.Files, *checked(s, path, files, i, err))
	}
	r.OK = !slices.ContainsFunc(r.Files, func(f checkedJSON) bool { return !f.OK })
	return tell(c.JSON, r, r.OK, 1)
}

// filesWith are the files of a run that has the named one, which is the i-th: a project
// file in its directory, the administrator's at its place, any other by --config.
func filesWith(name string) (s *app.Caller, path string, files []config.File, i int, err error) {
	path = name
	if s, err = app.Here(""); err != nil {
		return s, path, nil, -1, err
	}
	switch paths, bad := canonical(s, []string{name}); {
	case bad == nil:
		path = paths[0]
		if s, err = app.Here(policy.Dir(path)); err != nil {
			return s, path, nil, -1, err
		}
	case filepath.Dir(name) != "/etc/sbx":
		s.Inv.Flags.Config = name
	}
	files, _, err = s.Files()
	i = slices.IndexFunc(files, func(f config.File) bool { return f.Path == path })
	if err == nil && i < 0 {
		err = &config.FileError{Path: path, Text: "no such file"}
	}
	return s, path, files, i, err
}

// checked is what a file comes to that could be read, or the error.
func checked(s *app.Caller, path string, files []config.File, i int, err error) *checkedJSON {
	var of config.Checked
	j := &checkedJSON{Path: path, Errors: []mistakeJSON{}}
	var bad *config.FileError
	switch {
	case err == nil:
		j.Layer, j.Trust = files[i].Layer.String(), trusted(s, files[i])
		full, _ := filepath.Abs(path)
		j.Named = s.Inv.Flags.Config == path && !slices.Contains(s.UserFiles(), full)
		of = config.Check(profiles.Builtin(), files, i, s.Vars)
	case errors.As(err, &bad):
		j.Path = bad.Path
		fallthrough
	default:
		of.Errors = []error{err}
	}
	for _, err := range of.Errors {
		_, said, hints := messages(err)
		m := mistakeJSON{text.Plain(j.Path), said, hints}
		if e, ok := errors.AsType[*policy.Error](err); ok && e.Source != "" {
			m.Source = e.Source
		}
		m.Text = strings.TrimPrefix(m.Text, m.Source+": ")
		j.Errors = append(j.Errors, m)
	}
	j.OK, j.Asks, j.Never = len(j.Errors) == 0, orEmpty(of.Asks), orEmpty(of.Never)
	return j
}

func (r *configCheckJSON) print() error {
	if len(r.Files) == 0 {
		fmt.Fprintln(stdout, "no config file counts here: sbx init writes one")
	}
	said := make(map[string]bool) // a mistake in one file is one of those after it
	for _, f := range r.Files {
		for _, m := range f.Errors {
			line := app.Harmless(m.Source + ": " + m.Text)
			if said[line] {
				continue
			}
			said[line] = true
			fmt.Fprintln(stdout, line)
			for _, h := range m.Hints {
				fmt.Fprintln(stdout, "  hint: "+app.Harmless(h))
			}
		}
		how := strings.TrimSuffix(f.Layer+", "+f.Trust, ", ")
		if f.Named {
			how = "read only with --config"
		}
		if f.OK {
			fmt.Fprintln(stdout, text.Plain(f.Path)+": ok ("+how+")")
		}
		if len(f.Asks) > 0 {
			fmt.Fprintln(stdout, "  counts only when trusted: "+strings.Join(f.Asks, ", "))
			fmt.Fprintln(stdout, "  hint: sbx trust "+text.ShellLine([]string{f.Path}))
		}
		if len(f.Never) > 0 {
			fmt.Fprintln(stdout, "  never counts in a project file: "+strings.Join(f.Never, ", "))
		}
	}
	return nil
}

// schemaCmd prints the JSON Schema of config files.
type schemaCmd struct{}

func (*schemaCmd) Run() error {
	_, err := exact.WriteString(schema.Config)
	return err
}
