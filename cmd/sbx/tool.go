package main

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/shims"
	"github.com/sbx-sandbox/sbx/wrap"
)

// runTool is sbx under the name of a tool: it runs the program of that name in
// the sandbox, with the words as they are. A shim has no options of its own;
// SBX_FLAGS, SBX_PROFILE and SBX_ENGINE count as for sbx --, and
// [tools.NAME] stands in the place of the default profile. The tool is called by
// its bare name, as a shell would, however the shim was called.
func runTool(name string, words []string) error {
	pid1.Early()
	opts := &options{}
	if os.Getenv("SBX_FLAGS") != "" || os.Getenv("SBX_ENGINE") != "" {
		var err error
		if opts, err = parseRun(nil); err != nil {
			return err
		}
	}
	opts.tool = name
	command := append([]string{name}, words...)
	if _, ok := insideSandbox(); ok && !opts.given {
		// The outer sandbox holds it, whatever [tools] says: no file is read.
		s, err := here("")
		if err != nil {
			return err
		}
		s.opts = opts
		return s.noTool(s.execBare(command))
	}
	return (&state{opts: opts}).noTool(execute(opts, command))
}

// noTool says of a tool that is not there how to be rid of its shim.
func (s *state) noTool(err error) error {
	var e *host.Error
	name := s.opts.tool
	if !errors.As(err, &e) || e.Status != host.StatusNotFound || e.Hint != "" {
		return err
	}
	hint := "the name leads to sbx, and no program of that name comes after it in PATH"
	if h, herr := here(""); herr == nil {
		if dir, derr := h.shimsDir(); derr == nil {
			if _, lerr := os.Lstat(string(dir) + "/" + name); lerr == nil {
				hint = "it is not installed; sbx shim remove " + policy.Plain(name) + " takes the shim away"
			}
		}
	}
	return &host.Error{Status: e.Status, Text: e.Text, Hint: hint}
}

// toolProfile is the profile that files give the tool of a shim, and what of
// that the user said: a project's file does not decide what tier is needed.
func (s *state) toolProfile() (names, asked []string) {
	if s.opts.tool == "" {
		return nil, nil
	}
	if p := s.settings.Tools[s.opts.tool]; p != "" {
		names, asked = []string{p}, []string{p}
	}
	if out := s.settings.Outside; out != nil {
		asked = nil
		if p := out.Tools[s.opts.tool]; p != "" {
			asked = []string{p}
		}
	}
	return names, asked
}

// maxShims bounds how often shims, or shells, lead to each other without a sandbox of their own. sbx
// leaves itself out when it looks for a tool, but cannot tell another version
// from the tool.
const maxShims = 32

const depthVar = "SBX_DEPTH"

// barePlan is the plan for a command without a sandbox.
func (s *state) barePlan(command []string) (*engine.Plan, error) {
	if s.host.Modelled { // without a sandbox it is this machine that counts
		host, err := host.Look()
		if err != nil {
			return nil, err
		}
		s.host = host
	}
	if s.opts.tool == "" {
		return wrap.Bare(command, s.host)
	}
	depth, _ := strconv.Atoi(os.Getenv(depthVar))
	if depth >= maxShims {
		return nil, &host.Error{Status: host.StatusNoExec, Text: policy.Plain(s.opts.tool) + ": shims lead to each other in a circle",
			Hint: "another version of sbx by that name is in PATH: sbx shim doctor " + policy.Plain(s.opts.tool)}
	}
	program, err := s.host.Tool(s.opts.tool, s.host.Path())
	if err != nil {
		return nil, err
	}
	plan, err := wrap.Bare(append([]string{program}, command[1:]...), s.host)
	if err != nil {
		return nil, err
	}
	plan.Argv[0] = s.opts.tool
	plan.Env = setEnv(plan.Env, depthVar, strconv.Itoa(max(depth, 0)+1))
	return plan, nil
}

func setEnv(env []string, name, value string) []string {
	var out []string
	for _, kv := range env {
		if !strings.HasPrefix(kv, name+"=") {
			out = append(out, kv)
		}
	}
	return append(out, name+"="+value)
}

// links tells the host where links to sbx are. Packages have theirs, too, and
// PATH may name some that no other variable of this run leads to.
func (s *state) links() {
	h := s.host
	h.Links, h.Shims = s.vars.Links(), slices.Clone(packaged)
	path := h.Path()
	if c := s.opts.shell; c != nil && c.session != nil {
		path += ":" + c.session.Path
	}
	for _, dir := range linksIn(path) {
		if !slices.Contains(h.Links, dir) {
			s.named = append(s.named, dir)
		}
	}
	for _, dir := range slices.Concat(h.Links, s.named) {
		h.Shims = append(h.Shims, dir+"/shims", dir+"/shells")
	}
	if h.Client { // whose PATH is not believed: nothing is made where it leads
		h.Named = s.named
	} else {
		h.Links = append(h.Links, s.named...)
	}
}

// linksIn are the directories of a search path that sbx keeps its links in, by
// their names alone: what holds .../sbx/shims or .../sbx/shells.
func linksIn(path string) []string {
	var out []string
	for dir := range strings.SplitSeq(path, ":") {
		if !strings.HasPrefix(dir, "/") || !strings.Contains(dir, "sbx/") {
			continue
		}
		dir = policy.Clean(dir)
		above, ok := strings.CutSuffix(dir, "/shims")
		if !ok {
			above, ok = strings.CutSuffix(dir, "/shells")
		}
		if ok && strings.HasSuffix(above, "/sbx") && !slices.Contains(out, above) {
			out = append(out, above)
		}
	}
	return out
}

// needs is what the call itself is about: that of a shell, and that nobody
// changes the links that PATH leads to.
func (s *state) needs() *policy.Profile {
	p := s.opts.shell.needs()
	for _, dir := range s.named {
		if !strings.ContainsAny(dir, "*?") { // else a pattern; the plan is refused where it could be written
			p.Protect.Items = append(p.Protect.Items, policy.Item{Text: strings.ReplaceAll(dir, "$", "$$"), Source: "PATH", Layer: policy.Builtin})
		}
	}
	return p
}

// settleTool lets a tool run where no tree can be writable, such as the home
// directory: the working directory grants nothing there, and with that it is
// as little to be seen as anything else that the profile does not open.
func (s *state) settleTool() {
	here := s.host.CWD
	s.host.ByName = true
	if here == "" {
		return // refused when the plan is made
	}
	err := s.host.WritableRoot(here)
	if err == nil {
		return
	}
	s.host.Dir, s.vars.CWD, s.vars.Root = here, "", ""
	s.nowhere = err.Error() + "; being there opens nothing of it"
	if slices.ContainsFunc(s.host.Homes, func(home string) bool { return policy.Within(home, here) }) {
		s.nowhere = err.Error() + "; inside, the home directory is empty but for what the profile opens, and what is written there is lost"
	}
}

// shimsDir is where the user's shims are.
func (s *state) shimsDir() (shims.Dir, error) {
	dir, ok, err := s.vars.Expand("$XDG_DATA_HOME/sbx/shims")
	if err != nil || !ok {
		return "", &usageError{"there is no home directory to keep shims in", "set HOME or XDG_DATA_HOME"}
	}
	return shims.Dir(dir), nil
}
