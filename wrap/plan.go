package wrap

import (
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/limits"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/seccomp"
	"github.com/sbx-sandbox/sbx/internal/tripwire"
)

// Plan is one execution, ready to happen. A dry run prints it and a run
// executes it; nothing is decided in between.
type Plan struct {
	Engine   string         // bwrap, landlock, none
	Tier     string         // full, reduced, none
	Path     string         // of the program to execute
	Argv     []string       // one element per word, Argv[0] included, no quoting
	Env      []string       // NAME=value
	FDs      []bwrapargs.FD // made just before the execution, at these numbers
	Keep     []int          // descriptors of the caller that pass, beyond 0, 1, 2
	Reopen   []int          // of 0, 1, 2 and Keep: read-only files that the stage opens anew, on a read-only mount
	Copy     []int          // of these, too: read-only files to be replaced by a copy
	Dirs     []string       // directories of sbx's own to be made first, mode 0700
	Limit    float64        // seconds until the stage ends everything, and some more until the kernel does; 0 is no limit
	Stage    *pid1.Order    // what the stage is told; nil without one
	Ends     *pid1.Ends     // what bwrap has of the guard's where no stage stays; nil elsewhere
	Session  string         // directory of this run alone, to be removed by a later one; "" for none
	Files    []OwnFile      // made in Session just before the execution
	Confined *Confined      // what this process puts around itself, with Landlock; nil elsewhere
	Limits   limits.Means   // what holds the limits on memory, processors, processes and files
	Lack     string         // why the tier is not full, "" when it is or the engine was asked for by name
	Gaps     []string       // what the engine cannot enforce, one line each
	Report   Report         // what explain and the status line show

	lateEnv  []policy.Var // given to the command by bwrap, see environment
	closed   []string     // of the caller's descriptors, for people
	pwd      string       // the working directory, by the caller's name for it
	cacheDst string       // where the private cache is seen; "" without one
	orderFD  int          // the descriptor that the order is read from
}

// Report is what a person may want to know of a plan and no execution needs.
type Report struct {
	Policy  *policy.Policy
	Env     []EnvChange
	Usual   int      // how many of the gaps every run has, or every one on a terminal
	Notes   []string // gaps that a person should hear of without asking
	Once    []string // what a person should hear of once in a project
	Command string   // the file that will run, as the sandbox sees it
	Filter  *Filter  // the seccomp filter from a file; nil without one

	Unkept string // why the private cache ends with the run; "" where it is kept, or there is none

	OwnSession bool // or process group of its own: the command is not in the caller's

	// Watch is what the host may run later and the command could make or replace:
	// what does not exist cannot be protected without leaving something behind.
	Watch []tripwire.Watch

	// Exposed are protected paths that exist and that the command can change all
	// the same, since the policy says that they are to be watched.
	Exposed []string
	Movable []string // directories that these lie in, which can be put in another's place

	view   *view
	staged bool              // sbx itself is in ManifestDir
	files  map[string]string // what the stage opens anew: paths inside, and on the host
	made   []string          // directories that the run makes first
	keep   []int             // with sandbox-exec: as in the plan
	wall   *landlock.Ruleset // with Landlock
	sight  *Sight            // made when somebody asks
}

// Mounted is one path as the sandbox will have it.
type Mounted struct {
	Path    string
	Covered bool // what lies above gives the same already
	Access  policy.Access
	Source  string
	Layer   policy.Layer
	Pinned  bool
	Closed  bool // private by its rule; with Landlock it is the host's own, which cannot be opened
}

// Word names the access as people are shown it.
func (m *Mounted) Word() string { return word(m.Access, m.Closed) }

// Request is what a run is about, beside its policy.
type Request struct {
	Policy  *policy.Policy
	Root    string   // of the work tree, as [WorkTree] gives it
	Command []string // words, the first being the name to look up; nil for a plan that is only looked at
	Self    []string // run sbx itself with these words, in the place of Command
	Argv0   string   // by which the command is called; "" is its first word
	KeepFDs []int    // named by the caller with --keep-fd
	Cache   string   // directory for private caches, "" when there is no home
	Remap   string   // show the working directory here; "" is where it is
	Direct  bool     // no stage of sbx's around the command
	Tmp     string   // what /tmp is inside, where it is private: a directory of the session's; "" for an empty one

	Hints   Hints // what is said after the command has failed
	Explain func(*Plan, Request, *Host, *view, *policy.Policy) []pid1.Hint

	Filter *seccomp.File // what the policy's seccomp names, when that is a file
}

// New computes the plan for the engine of the host. The error is an [*Error].
func New(req Request, h *Host) (*Plan, error) {
	switch h.Engine {
	case EngineLandlock:
		return confine(req, h)
	case EngineSeatbelt:
		return seat(req, h)
	}
	req.Explain = (*Plan).hints
	return enclose(req, h)
}

// enclose makes the plan for bwrap.
func enclose(req Request, h *Host) (*Plan, error) {
	pol, err := prepare(req.Policy, h)
	if err != nil {
		return nil, err
	}
	res := newResolver(h.FS)
	pol, git := guardGit(pointed(pol, h), h, req.Root, res)
	v, own, err := lookWithOwn(pol, h, res)
	if err != nil {
		return nil, err
	}
	v.root = req.Root
	if err := v.deafen(pol); err != nil {
		return nil, err
	}
	if err := v.remapTo(req.Remap); err != nil {
		return nil, err
	}
	v.conceal(req.Root, git)
	if err := v.clean(req.Root, git); err != nil {
		return nil, err
	}
	p := &Plan{Engine: EngineBwrap, Tier: TierFull, Path: h.Bwrap.Path, Dirs: own}
	if err := p.descriptors(req, h, v); err != nil {
		return nil, err
	}
	if err := p.cache(req, v, pol); err != nil {
		return nil, err
	}
	v.shareTmp(req.Tmp)
	if err := p.limit(req, h, v, pol); err != nil {
		return nil, err
	}
	p.pwd = v.keepPWD()
	p.Env, p.lateEnv, p.Report.Env = environment(pol, h, v, p.pwd, p.variables(pol))
	path, _ := lookupEnv(p.Env, "PATH")
	if err := v.reaches(h.dir()); err != nil {
		return nil, err
	}
	switch {
	case len(req.Self) > 0:
		p.Report.Command = selfInside
	case len(req.Command) > 0:
		if p.Report.Command, err = lookCommand(v, h, req.Command[0], path); err != nil {
			return nil, err
		}
	}
	p.Report.Policy, p.Report.view = pol, v
	if odd := join(join(req.Root, ".git"), "commondir"); pol.Git == "commit" && v.has(odd) {
		v.loose = append(v.loose, policy.Plain(odd)+" exists, and no repository of its own has one: look what it says before you run git outside")
	}
	v.loose = append(v.loose, git.notes...)
	p.Report.Notes, p.Report.Once = slices.Concat(p.closed, v.loose, v.notes), v.once
	p.Report.Watch = v.watch(git.watch, req.Tmp)
	if err := p.words(req, h, v, pol); err != nil {
		return nil, err
	}
	p.Gaps = slices.Concat(v.loose, v.gaps, git.gaps, p.Gaps, p.wallGaps(pol, h), gaps(h), p.Limits.Gaps, []string{GapSockets})
	p.Report.Usual = 1
	p.Report.OwnSession = !p.sharesGroup(pol, h)
	if !p.Report.OwnSession && !p.scoped(landlock.Signal) {
		p.Report.Usual++
		p.Gaps = append(p.Gaps, "in a script or pipeline on a terminal the command is in the caller's process group: it can signal what runs beside it (new_session = \"yes\" prevents it and takes the terminal away)")
	}
	return p, nil
}

// lookWithOwn lays the rules over the host. Where the command could see or even
// make a directory of sbx's own that is not there yet, it is made before, so
// that it is hidden like one that was always there: nobody reads or forges what
// sbx remembers.
func lookWithOwn(pol *policy.Policy, h *Host, res *resolver) (*view, []string, error) {
	v, err := look(pol, h, res)
	if err != nil {
		return nil, nil, err
	}
	var made []string
	add := func(dir string, open func(policy.Access) bool) {
		to, err := res.resolve(dir)
		reached := func(path string) bool { return open(v.access(path)) }
		over := policy.Dir(to.Path)
		if err == nil && to.Info.Kind == Absent && slices.ContainsFunc(v.names(to.Path), reached) && !slices.Contains(made, to.Path) && (slices.Contains(made, over) || h.mayMake(over)) {
			made = append(made, to.Path)
		}
	}
	for _, dir := range h.Own {
		add(dir, shows)
	}
	for _, dir := range h.Links { // no secret, but nobody else's to make
		to, err := res.resolve(dir)
		if err != nil {
			continue
		}
		// What the user has never used may lack the directories above, too.
		for _, above := range notThere(res, to) {
			add(above, func(a policy.Access) bool { return a == policy.Write })
		}
	}
	if len(made) == 0 {
		return v, nil, v.guardOwn()
	}
	*res = *newResolver(h.FS)
	res.made = make(map[string]Info)
	for _, dir := range made {
		res.made[dir] = Info{Kind: Dir, Mode: 0o700, UID: h.UID}
	}
	if v, err = look(pol, h, res); err != nil {
		return nil, nil, err
	}
	return v, made, v.guardOwn()
}

// notThere are the directories that are not there on the way to a path and the
// path itself, if that is not there, the uppermost first.
func notThere(res *resolver, to resolved) []string {
	var out []string
	for err := error(nil); err == nil && to.Info.Kind == Absent && to.Path != "/"; to, err = res.resolve(policy.Dir(to.Path)) {
		out = append(out, to.Path)
	}
	slices.Reverse(out)
	return out
}

// mayMake reports whether the caller, and so the command, can make something
// in a directory.
func (h *Host) mayMake(dir string) bool {
	info, err := h.FS.Lstat(dir)
	return err == nil && info.Kind == Dir && h.FS.Access(dir, 'w')
}

// names are a canonical path and those that it has besides by mounts.
func (v *view) names(path string) []string {
	return append(v.table.aliases(path), path)
}

// guardOwn refuses a policy in which the command could write where sbx keeps
// what it was told and what it saw. Every profile hides the place; a file can
// take that back (blocked_paths = ["!"], or a deeper path), and the command
// would then agree to files in the user's name.
func (v *view) guardOwn() error {
	for _, dir := range slices.Concat(v.host.Links, v.host.Named) {
		if to, err := v.res.resolve(dir); err == nil && to.Info.Kind == Absent && slices.Contains(v.host.Named, dir) {
			continue // nothing that anybody runs
		}
		if err := v.guard(dir, "is where sbx keeps the shims that your shells run", `protected_paths = ["$XDG_DATA_HOME/sbx"] makes it read-only again`); err != nil {
			return err
		}
	}
	for _, dir := range v.host.Own {
		err := v.guard(dir, "is where sbx keeps what it remembers",
			`blocked_paths = ["$XDG_STATE_HOME/sbx", "$HOME/.local/state/sbx", "$XDG_CACHE_HOME/sbx", "$HOME/.cache/sbx", "$XDG_RUNTIME_DIR/sbx"] hides it again`)
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *view) guard(dir, what, hint string) error {
	to, err := v.res.resolve(dir)
	if err != nil {
		return nil // out of the command's reach, too
	}
	by := -1
	for _, name := range v.names(to.Path) {
		if v.access(name) == policy.Write {
			by, _ = v.over(name)
		}
	}
	for i := range v.mounts {
		if m := &v.mounts[i]; m.eff == policy.Write && !m.idle && policy.Within(m.path, to.Path) {
			by = i
		}
	}
	if by < 0 {
		return nil
	}
	if to.Info.Kind == Absent {
		hint = "make it first, so that it can be hidden: mkdir -p " + policy.Plain(dir) + "; or let the XDG variables name a place that no command writes"
	}
	m := &v.mounts[by]
	return &Error{StatusFailed, policy.Plain(dir) + " " + what + ", and is never made writable (" + policy.Plain(m.path) + " is, by " + m.rule.Source + ")", hint}
}

// prepare refuses what cannot be enforced and settles the working directory.
func prepare(pol *policy.Policy, h *Host) (*policy.Policy, error) {
	if h.CWD == "" {
		return nil, &Error{StatusFailed, "the working directory does not exist any more", "cd to a directory that exists"}
	}
	if err := timeLimit(pol); err != nil {
		return nil, err
	}
	return workdir(withNetwork(pol), h)
}

// withNetwork leaves out what is for runs without the network only: the cache
// of a tool that has none of its own cannot be read-only where it downloads.
func withNetwork(pol *policy.Policy) *policy.Policy {
	if !pol.Network || !slices.ContainsFunc(pol.Rules, func(r policy.Rule) bool { return r.Offline }) {
		return pol
	}
	out := *pol
	out.Rules = slices.DeleteFunc(slices.Clone(pol.Rules), func(r policy.Rule) bool { return r.Offline })
	return &out
}

// timeLimit refuses one that nothing could put into force.
func timeLimit(pol *policy.Policy) error {
	if pol.TimeoutSeconds > 0 && pol.SharePID {
		return &Error{StatusFailed, "a time limit needs a process namespace of its own", "leave out share_pid, or timeout_seconds"}
	}
	return nil
}

// keepPWD returns the working directory by the name that the caller's shell
// has for it, and keeps the links in that name, so that pwd says the same
// inside. bwrap sets PWD to it.
func (v *view) keepPWD() string {
	pwd, _ := lookupEnv(v.host.Environ, "PWD")
	if !strings.HasPrefix(pwd, "/") || policy.Clean(pwd) != pwd {
		return v.host.dir()
	}
	to, err := v.res.resolve(pwd)
	if err != nil || to.Path != v.host.dir() {
		return v.host.dir()
	}
	v.addLinks(to.Links)
	if !v.carriesAll(to.Links) {
		return v.host.dir()
	}
	return pwd
}

// reaches refuses a working directory that the sandbox would not have: bwrap
// would silently start in the home directory.
func (v *view) reaches(cwd string) error {
	if _, ok := v.visible(cwd); ok {
		return nil
	}
	if v.access(cwd) == policy.Private {
		if i, ok := v.find(cwd); ok && !v.mounts[i].idle {
			return nil
		}
	}
	if cwd == "/" {
		return nil
	}
	how := "with -r " + policy.Plain(cwd)
	switch {
	case v.host.Client: // which has no flags
		how = "in the config file: roots, or readonly_paths of a profile"
	case v.host.ByName:
		how = "with SBX_FLAGS='-r " + policy.Plain(cwd) + "'"
	}
	return &Error{StatusFailed, "the working directory " + policy.Plain(cwd) + " is not visible in the sandbox", "cd to a project, or open it " + how}
}

// variables are the ones that tell the command where it is.
func (p *Plan) variables(pol *policy.Policy) []policy.Var {
	vars := []policy.Var{
		{Name: "SBX_PROFILE", Value: strings.Join(pol.Profiles, ",")},
		{Name: "SBX_TIER", Value: p.Tier},
	}
	if p.cacheDst != "" {
		vars = append(vars, policy.Var{Name: "XDG_CACHE_HOME", Value: p.cacheDst})
	}
	return vars
}

// gaps are the promises that this engine on this host cannot keep whole.
func gaps(h *Host) []string {
	var out []string
	if h.Bwrap.Version.Less(bwrapargs.HasSize) {
		out = append(out, "bwrap "+h.Bwrap.Version.String()+" cannot bound the size of private directories")
	}
	return out
}

// Mounts lists the paths, parents first. It is made when somebody asks: most
// runs print nothing.
func (r *Report) Mounts() []Mounted {
	v := r.view
	if v == nil {
		return nil
	}
	out := make([]Mounted, 0, len(v.mounts))
	for _, m := range v.mounts {
		if m.idle || v.ahead && m.info.Kind == Absent && m.rule.Layer == policy.Builtin {
			continue
		}
		out = append(out, Mounted{Path: m.path, Covered: !v.needed(&m), Access: m.eff, Source: m.rule.Source, Layer: m.rule.Layer, Pinned: m.pin, Closed: v.bare && m.eff == policy.Private})
	}
	return out
}

// Hidden lists the canonical paths at which the rules hide something that
// exists, parents first. Those that nobody could see anyway are among them.
func (r *Report) Hidden() []string {
	if r.view == nil {
		return nil
	}
	var out []string
	for i := range r.view.mounts {
		if m := &r.view.mounts[i]; m.info.Kind != Absent && (m.eff == policy.Block || m.rule.Access == policy.Block) {
			out = append(out, m.path)
		}
	}
	return out
}

// Concealed lists the hidden files of the project, and those shown all the same,
// since git tracks them and has the content.
func (r *Report) Concealed() (hidden, shown []string) {
	if r.view == nil {
		return nil, nil
	}
	return r.view.hidden, r.view.tracked
}
