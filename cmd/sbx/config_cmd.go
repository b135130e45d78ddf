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

func (c *configShowCmd) Run(s *app.Context) error {
	s.TellNotices()
	files, _, err := s.Files()
	if err != nil {
		return err
	}
	values := s.Settings.Said(files)
	for i := range values {
		v := &values[i]
		name := map[string]string{"default_profile": "SBX_PROFILE", "engine": "SBX_ENGINE"}[v.Key]
		if said := os.Getenv(name); said != "" {
			v.Value, v.Layer, v.Source = said, "environment", name
		}
	}
	return show(c.JSON, listJSON{"values": values}, func() error { return printSaid(values, files) })
}

// printSaid shows file by file, in the order in which they count, what is not said again.
func printSaid(values []config.Said, files []config.File) error {
	w := table()
	part := func(title, prefix string, has func(v *config.Said) bool) {
		for i := range values {
			v := &values[i]
			if !has(v) {
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
	part("defaults", "", func(v *config.Said) bool { return v.Layer == policy.Builtin.String() })
	for _, f := range files {
		prefix := text.Plain(f.Path) + ":"
		part(text.Plain(f.Path)+" ("+f.Layer.String()+")", prefix, func(v *config.Said) bool { return strings.HasPrefix(v.Source, prefix) })
	}
	part("environment", "", func(v *config.Said) bool { return v.Layer == "environment" })
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
	Path    string        `json:"path"`
	OK      bool          `json:"ok"`
	Layer   string        `json:"layer,omitempty" enum:"system,user,project"` // left out where it cannot be read
	Trust   string        `json:"trust,omitempty"`                            // of a project file
	Named   bool          `json:"named,omitempty"`                            // read only with --config
	Errors  []mistakeJSON `json:"errors"`
	Ignored []string      `json:"ignored"` // keys of a project file that do not count, as it is trusted or not
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
	r := &configCheckJSON{Files: []checkedJSON{}}
	if len(c.Files) == 0 {
		files, _, err := s.Files()
		if err != nil {
			r.Files = append(r.Files, checked(s, "", nil, -1, err))
		}
		for i, f := range files {
			r.Files = append(r.Files, checked(s, f.Path, files, i, nil))
		}
	}
	for _, name := range c.Files {
		r.Files = append(r.Files, checked(filesWith(s, name)))
	}
	r.OK = !slices.ContainsFunc(r.Files, func(f checkedJSON) bool { return !f.OK })
	return tell(c.JSON, r, r.OK, 1)
}

// filesWith are the files of a run that has the named one, which is the i-th: a project
// file in its directory, the administrator's at its place, any other by --config.
func filesWith(s *app.Caller, name string) (of *app.Caller, path string, files []config.File, i int, err error) {
	own := *s
	of, path = &own, name
	if paths, bad := canonical(s, []string{name}); bad == nil {
		path = paths[0]
		of, err = app.Here(policy.Dir(path))
	} else if filepath.Dir(name) != "/etc/sbx" {
		own.Inv.Flags.Config = name
	}
	if err == nil {
		files, _, err = of.Files()
	}
	i = slices.IndexFunc(files, func(f config.File) bool { return f.Path == path })
	if err == nil && i < 0 {
		err = &config.FileError{Path: path, Text: "no such file"}
	}
	return of, path, files, i, err
}

// checked is what a file comes to that could be read, or the error.
func checked(s *app.Caller, path string, files []config.File, i int, err error) checkedJSON {
	j, wrong := checkedJSON{Path: path, Errors: []mistakeJSON{}, Ignored: []string{}}, []error{err}
	if bad, ok := errors.AsType[*config.FileError](err); ok {
		j.Path = bad.Path
	}
	if err == nil {
		var ignored []string
		wrong, ignored = config.Check(profiles.Builtin(), files, i, s.Vars)
		j.Layer, j.Trust, j.Ignored = files[i].Layer.String(), trusted(s, files[i]), orEmpty(ignored)
		full, _ := filepath.Abs(path)
		j.Named = s.Inv.Flags.Config == path && !slices.Contains(s.UserFiles(), full)
	}
	for _, err := range wrong {
		_, said, hints := messages(err)
		m := mistakeJSON{text.Plain(j.Path), said, hints}
		if e, ok := errors.AsType[*policy.Error](err); ok && e.Source != "" {
			m.Source = e.Source
		}
		m.Text = strings.TrimPrefix(m.Text, m.Source+": ")
		j.Errors = append(j.Errors, m)
	}
	j.OK = len(wrong) == 0
	return j
}

func (r *configCheckJSON) print() error {
	if len(r.Files) == 0 {
		fmt.Fprintln(stdout, "no config file counts here: sbx init writes one")
	}
	said := make(map[string]bool) // a mistake in one file is one of those after it
	for _, f := range r.Files {
		for _, m := range f.Errors {
			lines := app.Harmless(m.Source + ": " + m.Text)
			for _, h := range m.Hints {
				lines += "\n  hint: " + app.Harmless(h)
			}
			if !said[lines] {
				fmt.Fprintln(stdout, lines)
			}
			said[lines] = true
		}
		how := strings.TrimSuffix(f.Layer+", "+f.Trust, ", ")
		if f.Named {
			how = "read only with --config"
		}
		if f.OK {
			fmt.Fprintln(stdout, text.Plain(f.Path)+": ok ("+how+")")
		}
		if len(f.Ignored) > 0 {
			fmt.Fprintln(stdout, "  ignored: "+strings.Join(f.Ignored, ", "))
			fmt.Fprintln(stdout, "  hint: "+text.ShellLine([]string{"sbx", "trust", f.Path})+" shows what of it would count")
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
