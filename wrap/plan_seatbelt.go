package wrap

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/sbpl"
)

// EngineSeatbelt is the engine of macOS.
const EngineSeatbelt = "sandbox-exec"

// SandboxExec is the only place where sandbox-exec is looked for: the system
// keeps others from writing there.
const SandboxExec = "/usr/bin/sandbox-exec"

// seat makes the plan for sandbox-exec, which puts the sandbox around itself and
// becomes the command: there is no other process. Rules go by the paths of the
// host, so nothing is in another place than outside; what is private elsewhere
// is closed, and $TMPDIR is a directory of the run's own.
func seat(req Request, h *Host) (*Plan, error) {
	pol, err := prepare(req.Policy, h)
	if err != nil {
		return nil, err
	}
	if err := unseatable(req, pol); err != nil {
		return nil, err
	}
	res := newResolver(h.FS)
	pol, git := guardGit(pointed(pol, h), h, req.Root, res)
	v, own, err := lookWithOwn(pol, h, res)
	if err != nil {
		return nil, err
	}
	p := &Plan{Engine: EngineSeatbelt, Tier: TierFull, Path: SandboxExec, Dirs: own}
	if err := p.descriptors(req, h, v); err != nil {
		return nil, err
	}
	if err := p.tied(h); err != nil {
		return nil, err
	}
	if err := p.privateCache(req, v, pol); err != nil {
		return nil, err
	}
	session, tmp, err := p.session(h)
	if err != nil {
		return nil, err
	}
	p.Session = session
	v.own(tmp, Dir, policy.Write)
	v.own(session+"/"+manifestName, File, policy.Read)
	v.bare, v.project = true, cmp.Or(req.Root, h.CWD)
	v.conceal(req.Root, git)
	if err := v.clean(req.Root, git); err != nil {
		return nil, err
	}
	if err := p.limit(req, h, v, pol); err != nil {
		return nil, err
	}
	if err := v.reaches(h.dir()); err != nil {
		return nil, err
	}
	p.pwd = v.keepPWD()
	set := append(p.variables(pol), policy.Var{Name: "TMPDIR", Value: short(tmp)}, policy.Var{Name: "SBX_MANIFEST", Value: session + "/" + manifestName})
	p.Env, p.lateEnv, p.Report.Env = environment(pol, h, v, p.pwd, append(set, p.macVariables(h, v, pol, tmp)...))
	if n := len(p.lateEnv); n > 0 { // sandbox-exec would obey them, before there are walls
		p.Gaps = append(p.Gaps, "what loaders obey ("+p.lateEnv[n-1].Name+") does not reach the command: sandbox-exec, a program of the system's, is started first")
	}
	p.lateEnv = nil
	words, err := p.seatCommand(req, h, v)
	if err != nil {
		return nil, err
	}
	p.Report.Policy, p.Report.view, p.Report.made, p.Report.keep = pol, v, slices.Clone(p.Dirs), p.Keep
	v.loose = append(v.loose, git.notes...)
	p.Report.Notes = slices.Concat(p.closed, v.loose)
	p.Report.Watch = v.watch(git.watch, req.Tmp)
	p.Gaps = slices.Concat(v.loose, v.gaps, git.gaps, p.Gaps, seatGaps(pol), p.Limits.Gaps)
	p.Files = []OwnFile{{p.Session + "/" + manifestName, Manifest(p, v, pol)}}
	text, err := p.seatProfile(v, pol, h)
	if err != nil {
		return nil, err
	}
	p.Argv = slices.Concat([]string{SandboxExec}, text.Words(), []string{"--"}, words)
	p.model(h)
	return p, nil
}

// short is a path by way of the system's link to /private/var: sockets have room
// for a name of 103 bytes.
func short(path string) string {
	if strings.HasPrefix(path, "/private/var/folders/") {
		return strings.TrimPrefix(path, "/private")
	}
	return path
}

// own adds a place of this run's own.
func (v *view) own(path string, kind Kind, a policy.Access) {
	r := &policy.Rule{Path: path, Access: a, Layer: policy.Builtin, Source: "sbx"}
	v.mounts = append(slices.DeleteFunc(v.mounts, func(m mount) bool { return m.path == path }), mount{path: path, info: Info{Kind: kind}, rule: r, src: path})
	v.sort()
}

// unseatable refuses what this engine cannot do at all.
func unseatable(req Request, pol *policy.Policy) error {
	no := func(what, hint string) error { return &Error{StatusFailed, what, hint} }
	switch {
	case pol.TimeoutSeconds > 0:
		return no("a time limit cannot be enforced on macOS ("+whence(pol, "timeout_seconds")+"): nothing of sbx is left to end the command", "timeout(1) of coreutils ends the command, but not what it started in sessions of their own")
	case pol.NewSession == "yes":
		return no("new_session = \"yes\" cannot be had on macOS ("+whence(pol, "new_session")+")", "start sbx itself from a session of its own, or leave it out: typing into the terminal is refused all the same")
	case req.Remap != "":
		return no("--workspace cannot be had on macOS, where every path is shown where it is", "")
	case req.Filter != nil || policy.SeccompFile(pol.Seccomp):
		return no("there are no system call filters on macOS ("+whence(pol, "seccomp")+")", "leave the file out")
	case pol.Seccomp == "strict" && pol.Where["seccomp"] == "--seccomp":
		return no("--seccomp strict cannot be had on macOS, where there are no system call filters", "leave it out")
	case req.Argv0 != "":
		return no("--argv0 cannot be had on macOS: sandbox-exec names the command by its file", "")
	}
	return nil
}

// seatCommand are the words to execute: the file by its path, since sandbox-exec
// would pass over the entries of PATH that it cannot read.
func (p *Plan) seatCommand(req Request, h *Host, v *view) ([]string, error) {
	if len(req.Self) > 0 {
		p.Report.Command = h.Self
		return append([]string{h.Self}, req.Self...), nil
	}
	if len(req.Command) == 0 {
		return nil, nil
	}
	name := req.Command[0]
	path, _ := lookupEnv(p.Env, "PATH")
	full, err := lookCommand(v, h, name, path)
	var missing *Error
	switch {
	case h.Modelled && name != "" && (!strings.Contains(name, "/") || !macFS{}.host(full)) && errors.As(err, &missing) && missing.Status == StatusNotFound:
		full = name // the Mac may have it
	case err != nil:
		return nil, err
	}
	p.Report.Command = full
	if strings.Contains(name, "/") {
		full = name
	}
	return append([]string{full}, req.Command[1:]...), nil
}

// macCaches are variables for tools that keep their caches in ~/Library/Caches
// or the home itself, whatever XDG_CACHE_HOME says.
var macCaches = []struct {
	name, dir string
	online    bool // offline the tool reads what there is
}{
	{"GOCACHE", "go-build", false},
	{"PIP_CACHE_DIR", "pip", true},
	{"YARN_CACHE_FOLDER", "yarn", true},
	{"npm_config_cache", "npm", true},
	{"POETRY_CACHE_DIR", "poetry", true},
	{"GOLANGCI_LINT_CACHE", "golangci-lint", false},
	{"CCACHE_DIR", "ccache", false},
	{"SCCACHE_DIR", "sccache", false},
	{"CLANG_MODULE_CACHE_PATH", "clang", false},
}

// macVariables are the variables that make tools work where the home is closed
// and not empty.
func (p *Plan) macVariables(h *Host, v *view, pol *policy.Policy, tmp string) []policy.Var {
	var out []policy.Var
	set := func(name string) bool { _, ok := lookupEnv(h.Environ, name); return ok }
	if !set("TMPPREFIX") { // where zsh puts its here-documents
		out = append(out, policy.Var{Name: "TMPPREFIX", Value: short(tmp) + "/zsh"})
	}
	if !set("TMUX_TMPDIR") {
		out = append(out, policy.Var{Name: "TMUX_TMPDIR", Value: short(tmp)})
	}
	if p.cacheDst != "" {
		for _, c := range macCaches {
			if !set(c.name) && (pol.Network || !c.online) {
				out = append(out, policy.Var{Name: c.name, Value: join(p.cacheDst, c.dir)})
			}
		}
	}
	// git ends at a file of settings that is there and may not be read.
	refused := func(name string) bool {
		file, err := v.res.resolve(join(h.Homes[0], name))
		return err == nil && file.Info.Kind != Absent && !shows(v.access(file.Path))
	}
	if len(h.Homes) > 0 && !set("GIT_CONFIG_GLOBAL") && (refused(".gitconfig") || refused(".config/git/config")) {
		out = append(out, policy.Var{Name: "GIT_CONFIG_GLOBAL", Value: "/dev/null"})
	}
	return out
}

// What the gaps of this engine begin with.
const (
	GapSeatNames     = "names can be probed: what is hidden or closed is refused (Operation not permitted), and stands in the list of a directory that can be read"
	GapSeatPlaces    = "/tmp and the home directory are not private but closed; $TMPDIR is for temporary files"
	GapSeatProcesses = "there is no process namespace: the list of processes, their arguments and variables are closed, but who guesses a number learns of that process its name and user"
	GapSeatBehind    = "what the command leaves running in the background goes on when it ends, inside the same walls"
	GapSeatCalls     = "there are no system call filters on macOS: the kernel's whole interface is open, as far as the sandbox's operations do not close it"
	GapSeatSetUID    = "programs with set-user-id (ps, sudo, top) cannot be started"
	GapSeatLoopback  = "with the network off there is no loopback either: no program can serve another but by a socket file in the project"
	GapSeatArgs      = "the rules stand in the arguments of the command while it starts, where other programs of yours can read them (paths, no contents)"
	GapSeatPatterns  = "of names with patterns (.env.*, *.pem) those are hidden that were there at the start"
)

func seatGaps(pol *policy.Policy) []string {
	gaps := []string{GapSeatNames, GapSeatPlaces, GapSeatBehind, GapSeatCalls, GapSeatSetUID, GapSeatArgs, GapSeatPatterns}
	if !pol.SharePID {
		gaps = append(gaps, GapSeatProcesses)
	}
	if !pol.Network {
		gaps = append(gaps, GapSeatLoopback)
	}
	return gaps
}

// seatProfile writes the rules. A path that no profile can name is an error:
// what is not named would not be hidden.
func (p *Plan) seatProfile(v *view, pol *policy.Policy, h *Host) (*sbpl.Compiled, error) {
	s, err := newSeatbelt(v)
	if err != nil {
		return nil, err
	}
	s.given(h, p.Keep)
	s.process(pol)
	s.services()
	s.devices(h, p.Keep)
	s.files()
	s.network(pol)
	s.last()
	text, err := s.profile.Compile()
	var path *sbpl.PathError
	if errors.As(err, &path) {
		return nil, &Error{StatusFailed, policy.Quote(path.Path) + " " + path.Why + ": sandbox-exec cannot be told of it", "rename it, or start elsewhere"}
	}
	var size *sbpl.SizeError
	if errors.As(err, &size) {
		return nil, &Error{StatusFailed, "there is more to hide and to protect here than sandbox-exec can be told of (" + size.Error() + ")", "move what is hidden into a directory of its own, or start further down"}
	}
	if err != nil {
		return nil, &Error{StatusFailed, "the profile for sandbox-exec: " + err.Error(), ""}
	}
	return text, nil
}
