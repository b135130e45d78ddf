// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/lookpath"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/shims"
)

// shimCmd is about links that stand in front of tools.
type shimCmd struct {
	Add    shimAddCmd    `cmd:"" help:"Put sbx in front of tools: sbx shim add npm pip cargo. Without names, point all shims to this sbx."`
	Remove shimRemoveCmd `cmd:"" help:"Remove shims."`
	List   shimListCmd   `cmd:"" default:"withargs" help:"List the shims, the programs behind them, and their profiles."`
	Doctor shimDoctorCmd `cmd:"" help:"Ask each kind of shell which program a name starts."`
}

type shimAddCmd struct {
	Tools []string `arg:"" optional:"" name:"tool" help:"Names of programs."`
	JSON  bool     `name:"json" help:"Print JSON."`
}

type shimRemoveCmd struct {
	Tools []string `arg:"" optional:"" name:"tool" help:"Names of shims."`
	All   bool     `help:"Remove all shims."`
	JSON  bool     `name:"json" help:"Print JSON."`
}

type shimListCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// shimJSON is a shim as list, add and remove tell of it.
type shimJSON struct {
	Name    string `json:"name"`
	Change  string `json:"change,omitempty" enum:"added,kept,renewed,removed"`
	Shim    string `json:"shim"`              // the link
	Target  string `json:"target,omitempty"`  // what it holds
	Broken  bool   `json:"broken,omitempty"`  // nothing is there
	Program string `json:"program,omitempty"` // what runs, "" when nothing is installed
	Profile string `json:"profile,omitempty"`
}

func (c *shimAddCmd) Run() error {
	s, dir, err := changingShims("shim add")
	if err != nil {
		return err
	}
	names, err := namedOr(dir, c.Tools, "which tools?", "sbx shim add npm pip cargo go make")
	if err != nil {
		return err
	}
	for _, name := range names { // all or none
		if err := shims.CheckShim(name); err != nil {
			return err
		}
	}
	if err := s.Kept(policy.Dir(string(dir)), "shims cannot be kept",
		"set HOME, or XDG_DATA_HOME to a directory that exists"); err != nil {
		return err
	}
	target := shims.Program(s.Host.Self, s.Host.Path())
	if root := s.Vars.Root; root != "" && (policy.Within(target, root) || policy.Within(s.Host.Self, root)) {
		app.Say("warning", text.Plain(target)+" lies in this project, where a command in the sandbox can put something else in its place, which your shells would run; install sbx elsewhere")
	}
	var out []shimJSON
	for _, name := range names {
		change, err := dir.Add(name, target)
		if err != nil {
			return err
		}
		j := shimJSON{Name: name, Change: string(change), Shim: string(dir) + "/" + name, Target: target}
		j.Program, _ = s.Host.Tool(name, s.Host.Path())
		out = append(out, j)
	}
	if c.JSON {
		return printJSON(listJSON{"shims": out})
	}
	for _, j := range out {
		what := map[string]string{"added": "added", "kept": "exists already",
			"renewed": "leads to " + text.Plain(j.Target) + " now"}[j.Change]
		if j.Program == "" {
			what += "; not installed yet"
		} else {
			what += ", in front of " + text.Plain(j.Program)
		}
		fmt.Fprintln(stdout, j.Name+": "+what)
	}
	hintPath(s, dir, out)
	return nil
}

// hintPath says what is missing until a shell finds the shims.
func hintPath(s *app.Caller, dir shims.Dir, added []shimJSON) {
	if !inPath(s, string(dir)) {
		app.Say("hint", "shells find shims when their directory is first in PATH: "+activateLine(ownShell())+" in "+startFile(ownShell())+", after mise, asdf, nvm and the like")
		return
	}
	for _, j := range added {
		if found := lookpath.First(s.Host.Path(), j.Name, app.Runs); found != "" && !isShim(s, found, j.Name) {
			app.Say("hint", text.Plain(found)+" comes before the shim in PATH: "+activateLine(ownShell())+" puts the shims first")
			return
		}
	}
}

// ownShell is the kind of shell that the caller has, sh for any other.
func ownShell() string { return cmp.Or(shims.ShellOf(os.Getenv("SHELL")), "sh") }

// activateLine is what to write into a shell's start-up file.
func activateLine(shell string) string {
	if shell == "fish" {
		return "sbx activate fish | source"
	}
	return `eval "$(sbx activate ` + shell + `)"`
}

func startFile(shell string) string {
	return map[string]string{"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/config.fish",
		"sh": "~/.profile"}[shell]
}

func (c *shimRemoveCmd) Run() error {
	_, dir, err := changingShims("shim remove")
	if err != nil {
		return err
	}
	if err := dir.Check(); err != nil {
		return err
	}
	names := unique(c.Tools)
	there, err := shimNames(dir)
	switch {
	case err != nil:
		return err
	case c.All && len(names) > 0:
		return app.Failed("--all is for all shims, without names", "")
	case c.All:
		names = there
	case len(names) == 0:
		return app.Failed("which shims?", "sbx shim list shows them")
	}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(string(dir), filepath.Base(name))); err != nil ||
			strings.Contains(name, "/") {
			return app.Failed(text.Plain(name)+": there is no such shim",
				meant(name, there, "sbx shim list shows those there are"))
		}
	}
	out := []shimJSON{}
	for _, name := range names {
		if _, err := dir.Remove(name); err != nil {
			return err
		}
		out = append(out, shimJSON{Name: name, Change: "removed", Shim: string(dir) + "/" + name})
		if !c.JSON {
			fmt.Fprintln(stdout, text.Plain(name)+": removed")
		}
	}
	if c.JSON {
		return printJSON(listJSON{"shims": out})
	}
	return nil
}

func (c *shimListCmd) Run(s *shimming) error {
	if c.JSON {
		return printJSON(listJSON{"shims": orEmpty(s.list)})
	}
	if len(s.list) == 0 {
		fmt.Fprintln(stdout, "no shims; sbx shim add npm pip cargo makes some")
		return nil
	}
	w := table()
	for _, j := range s.list {
		program := text.Plain(j.Program)
		if j.Program == "" {
			program = "not installed"
		}
		if j.Broken {
			program = text.Plain(j.Target) + " is gone: sbx shim add " + j.Name
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", j.Name, j.Profile, program)
	}
	return w.Flush()
}

// changingShims is what the commands need that change shims.
func changingShims(command string) (*app.Caller, shims.Dir, error) {
	s, err := callerOutside(command, "shims are for shells outside")
	if err != nil {
		return nil, "", err
	}
	dir, err := s.ShimsDir()
	return s, dir, err
}

// shimming is what the commands need that tell of shims.
type shimming struct {
	*app.Context
	dir  shims.Dir
	list []shimJSON // the user's
}

func loadShims() (*shimming, error) {
	c, err := load()
	if err != nil {
		return nil, err // a provider that takes c gets its type in front of the message
	}
	s := &shimming{Context: c, list: []shimJSON{}}
	if s.dir, err = c.ShimsDir(); err != nil {
		return nil, err
	}
	links, err := s.dir.List()
	for _, l := range links {
		j := s.tool(l.Name)
		j.Shim, j.Target, j.Broken = string(s.dir)+"/"+l.Name, l.Target, l.Broken
		s.list = append(s.list, j)
	}
	return s, err
}

// tool is what a shim of a name leads to, and the profile it has when neither
// SBX_PROFILE nor SBX_FLAGS says another.
func (s *shimming) tool(name string) shimJSON {
	j := shimJSON{Name: name, Profile: cmp.Or(s.Settings.Tools[name], s.Settings.DefaultProfile)}
	j.Program, _ = s.Host.Tool(name, s.Host.Path())
	return j
}

func shimNames(dir shims.Dir) ([]string, error) {
	links, err := dir.List()
	var names []string
	for _, l := range links {
		names = append(names, l.Name)
	}
	return names, err
}

// namedOr are the names given, or else those of all shims.
func namedOr(dir shims.Dir, given []string, question, hint string) ([]string, error) {
	if len(given) > 0 {
		return unique(given), nil
	}
	names, err := shimNames(dir)
	if err == nil && len(names) == 0 {
		err = app.Failed(question, hint)
	}
	return names, err
}

// unique are the words, each once.
func unique(words []string) (out []string) {
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// inPath reports whether a directory is in the caller's PATH, by any name.
func inPath(s *app.Caller, dir string) bool {
	own, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for _, d := range filepath.SplitList(s.Host.Path()) {
		if info, err := os.Stat(d); filepath.IsAbs(d) && err == nil && os.SameFile(info, own) {
			return true
		}
	}
	return false
}

// isShim reports whether a path leads to sbx by the name of a tool.
func isShim(s *app.Caller, path, name string) bool {
	program, err := s.Host.Tool(name, filepath.Dir(path))
	return err != nil || program == "" // what is found there but for shims
}
