// SPDX-License-Identifier: Apache-2.0

// Package seatbelt makes plans for sandbox-exec of macOS: the view as a profile
// of rules about paths. It can be used on any system, for a dry run.
//
// What macOS cannot do is a gap of the plan, or a refusal where a promise depends
// on it. Start with [Engine.Plan]; profile.go turns a view into rules.
package seatbelt

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
	"github.com/sbx-sandbox/sbx/sbpl"
)

// Engine is sandbox-exec, which puts the sandbox around itself and becomes the
// command: there is no other process. Rules go by the paths of the host, so
// nothing is in another place than outside; what is private elsewhere is closed,
// and $TMPDIR is a directory of the run's own.
type Engine struct{ Chosen engine.Chosen }

func (Engine) Traits() engine.Traits {
	return engine.Traits{Name: host.EngineSeatbelt, Tier: host.TierFull, Path: host.SandboxExec, NoMounts: true,
		DenyAbsent: true}
}

func (Engine) Arrange(r *engine.Run) error {
	r.View.Project = cmp.Or(r.Request.Root, r.Host.CWD)
	return nil
}

func (e Engine) Own(r *engine.Run) ([]policy.Var, error) {
	vars, err := r.OwnDir(e.Chosen)
	if err != nil {
		return nil, err
	}
	tmp := vars[0].Value
	vars[0].Value = short(tmp)
	r.View.AddOwn(tmp, tmp, host.Dir, policy.Write, view.SourceRun)
	manifest := r.Session + "/" + engine.ManifestName
	r.View.AddOwn(manifest, manifest, host.File, policy.Read, view.SourceRun)
	return append(vars, macVariables(r, tmp)...), nil
}

func (Engine) Plan(r *engine.Run) error {
	p := r.Plan
	if n := len(p.LateEnv); n > 0 { // sandbox-exec would obey them, before it confines itself
		p.Gaps = append(p.Gaps, "variables that loaders obey ("+p.LateEnv[n-1].Name+") do not reach the command: sandbox-exec, a system program, is started first")
	}
	p.LateEnv = nil
	path, words, err := r.Words(r.Host.Self)
	if err != nil {
		return err
	}
	if len(words) > 0 { // by its path: sandbox-exec passes over the entries of PATH that it cannot read
		words = append([]string{path}, words[1:]...)
	}
	if p.Limit = r.Policy.TimeoutSeconds; p.Limit > 0 {
		p.Gaps = append(p.Gaps, "when the time is up, what the command started in process groups of their own goes on")
	}
	p.Report.Made, p.Report.Keep = slices.Clone(p.Dirs), p.Keep
	text, err := writeProfile(r)
	if err != nil {
		return err
	}
	p.Argv = slices.Concat([]string{host.SandboxExec}, text.Words(), []string{"--"}, words)
	modelPaths(p, r.Host)
	return nil
}

// Modelled is the engine of a host that is seen as a Mac, see [host.AsMac].
func Modelled() engine.Chosen {
	return engine.Chosen{Name: host.EngineSeatbelt,
		Runtime: "/private/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/sbx", Instance: "1.1.0.0.00000000"}
}

// short is a path by way of the system's link to /private/var: sockets have room
// for a name of 103 bytes.
func short(path string) string {
	if strings.HasPrefix(path, "/private/var/folders/") {
		return strings.TrimPrefix(path, "/private")
	}
	return path
}

// Refuse is the error of what sandbox-exec cannot do at all.
func (Engine) Refuse(req engine.Request, pol *policy.Policy, _ *host.Host) error {
	no := engine.Fail
	switch {
	case pol.NewSession == "yes":
		return no("new_session = \"yes\" is not available on macOS ("+engine.Whence(pol, "new_session")+")",
			"start sbx itself from a session of its own, or leave it out: typing into the terminal is refused all the same")
	case req.Remap != "":
		return no(engine.Workspace(pol)+" is not available on macOS, where every path is shown where it is", "")
	case len(pol.Devices) > 0:
		return no("devices are not opened on macOS ("+pol.Devices[0].Source+"): there is no node for a GPU, and no KVM",
			"leave it out")
	case req.Filter != nil || policy.SeccompFile(pol.Seccomp):
		return no("there are no system call filters on macOS ("+engine.Whence(pol, "seccomp")+")", "leave the file out")
	case pol.Seccomp == "strict" && pol.Where["seccomp"] == "--seccomp":
		return no("--seccomp strict is not available on macOS, where there are no system call filters", "leave it out")
	case req.Argv0 != "":
		return no("--argv0 is not available on macOS: sandbox-exec names the command by its file", "")
	}
	return nil
}

// macVariables are the variables that make tools work where the home is closed
// and not empty.
func macVariables(r *engine.Run, tmp string) []policy.Var {
	h, v := r.Host, r.View
	var out []policy.Var
	set := func(name string) bool { _, ok := host.LookupEnv(h.Environ, name); return ok }
	if !set("TMPPREFIX") { // where zsh puts its here-documents
		out = append(out, policy.Var{Name: "TMPPREFIX", Value: short(tmp) + "/zsh"})
	}
	if !set("TMUX_TMPDIR") {
		out = append(out, policy.Var{Name: "TMUX_TMPDIR", Value: short(tmp)})
	}
	// git ends at a file of settings that is there and may not be read.
	refused := func(name string) bool {
		file, err := v.Res.Resolve(host.Join(h.Homes[0], name))
		return err == nil && file.Info.Kind != host.Absent && !view.Shows(v.Access(file.Path))
	}
	if len(h.Homes) > 0 && !set("GIT_CONFIG_GLOBAL") && (refused(".gitconfig") || refused(".config/git/config")) {
		out = append(out, policy.Var{Name: "GIT_CONFIG_GLOBAL", Value: "/dev/null"})
	}
	return out
}

// Unenforced are the promises that sandbox-exec cannot keep whole.
func (Engine) Unenforced(r *engine.Run) []string {
	gaps := []string{
		"names can be probed: what is hidden or closed is refused (Operation not permitted), and stands in the " +
			"list of a directory that can be read",
		"/tmp and the home directory are not private but closed; $TMPDIR is for temporary files",
		"background processes of the command go on when it ends, under the same restrictions",
		"there are no system call filters on macOS: the kernel's whole interface is open, as far as the " +
			"sandbox's operations do not close it",
		"programs with set-user-id (ps, sudo, top) cannot be started",
		"the rules stand in the arguments of the command while it starts, where other programs of yours can " +
			"read them (paths, no contents)",
		"patterns (.env.*, *.pem) hide the names that existed at the start",
	}
	if !r.Policy.SharePID {
		gaps = append(gaps, "there is no process namespace: the list of processes, their arguments and "+
			"variables are closed, but a command that guesses a number learns the name and user of that process")
	}
	if !r.Policy.Network {
		gaps = append(gaps, "with the network off there is no loopback either: no program can serve another but "+
			"by a socket file in the project")
	}
	return gaps
}

// writeProfile writes the rules. A path that no profile can name is an error:
// what is not named would not be hidden.
func writeProfile(r *engine.Run) (*sbpl.Compiled, error) {
	s, err := newBuilder(r.View)
	if err != nil {
		return nil, err
	}
	fds := r.Passed()
	s.given(fds)
	s.process(r.Policy)
	s.services()
	s.devices(fds)
	s.files()
	s.network(r.Policy)
	s.last()
	text, err := s.profile.Compile()
	var path *sbpl.PathError
	if errors.As(err, &path) {
		return nil, engine.Fail(strconv.Quote(path.Path)+" "+path.Why+": sandbox-exec cannot handle that",
			"rename it, or start elsewhere")
	}
	var size *sbpl.SizeError
	if errors.As(err, &size) {
		return nil, engine.Fail("there is more to hide and to protect here than sandbox-exec can handle ("+size.Error()+")", "move what is hidden into a directory of its own, or start further down")
	}
	if err != nil {
		return nil, engine.Fail("the profile for sandbox-exec: "+err.Error(), "")
	}
	return text, nil
}

// CheckPlan refuses to execute a plan that is not for this engine, or that asks
// for what only Linux can do: nothing of it may be left out without a word.
func CheckPlan(p *engine.Plan) error {
	switch {
	case p.Engine != host.EngineSeatbelt || p.Path != host.SandboxExec:
		return engine.Fail("Failed to initialize sandbox: the plan is for another engine than "+host.EngineSeatbelt, "")
	case p.Init != nil || p.Confined != nil ||
		len(p.FDs)+len(p.Copy)+len(p.Reopen)+len(p.Limits.Cgroups)+len(p.Limits.Prefix) > 0:
		return engine.Fail("Failed to initialize sandbox: the plan asks for what macOS cannot do", "")
	}
	return nil
}

// NotExecuted is the error for a sandbox-exec that could not be executed.
func NotExecuted(p *engine.Plan, err error) error {
	switch {
	case errors.Is(err, syscall.E2BIG):
		return &host.Error{Status: host.StatusNoExec, Text: text.Plain(p.Report.Command) +
			": the words, the variables and the profile together are longer than macOS takes (1 MiB)",
			Hint: "pass the words in a file"}
	case errors.Is(err, syscall.EPERM):
		return host.NestedSeatbelt()
	case errors.Is(err, syscall.ENOENT):
		return host.NoSandboxExec()
	}
	return engine.Fail("Failed to initialize sandbox: "+text.Plain(p.Path)+": "+err.Error(), "")
}

// modelPaths writes the rest of a plan as it would be on a Mac.
func modelPaths(p *engine.Plan, h *host.Host) {
	if !h.Modelled {
		return
	}
	for i, kv := range p.Env {
		name, value, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(value, "/") && !strings.Contains(value, ":") {
			p.Env[i] = name + "=" + h.OnMac(value)
		}
	}
	for i, dir := range p.Dirs {
		p.Dirs[i] = h.OnMac(dir)
	}
	p.Gaps = append([]string{"this is not a Mac: the files of the system are those that every Mac has, without what was installed"}, p.Gaps...)
}
