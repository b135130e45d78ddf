package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/engine/seatbelt"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/limits"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/seccomp"
	"github.com/sbx-sandbox/sbx/internal/session"
	"github.com/sbx-sandbox/sbx/internal/view"
	"github.com/sbx-sandbox/sbx/profiles"
	"github.com/sbx-sandbox/sbx/shims"
	"github.com/sbx-sandbox/sbx/wrap"
)

// state is everything known before a plan is made.
type state struct {
	opts     *options
	host     *host.Host
	chosen   engine.Chosen
	vars     policy.Vars
	settings *config.Settings
	policy   *policy.Policy
	doubts   []string      // why project files that once were trusted are not
	filter   *seccomp.File // that the policy's seccomp names, when it is a file and was read
	outer    string        // see around
	agreed   []string      // config.Digests of the files that were read
	named    []string      // directories with links to sbx that only PATH leads to
	nowhere  string        // why the working directory of a tool grants nothing; "" when it is no such place
	cacheDir string        // sbx's own, below the user's cache directory; "" without a home
}

// load reads the host, the files and the flags, and resolves the policy.
func load(opts *options) (*state, error) {
	h, err := host.Look()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		if dir := os.Getenv(name); strings.HasPrefix(dir, "/") && strings.Contains(dir+"/", "/../") {
			return nil, &host.Error{Status: host.StatusFailed, Text: name + " is " + policy.Quote(dir) + ", which is not a plain absolute path", Hint: "secrets are hidden by where it is: write it without .."}
		}
	}
	var chosen engine.Chosen
	if opts.Engine == host.EngineSeatbelt && runtime.GOOS != "darwin" {
		h, chosen = host.AsMac(h), seatbelt.Modelled()
	}
	s := &state{opts: opts, host: h, chosen: chosen}
	h.Store, h.Tmp = session.Store(h.UID), opts.shell.tmp()
	s.vars, s.cacheDir = variables(h)
	if opts.shell != nil {
		s.distrust()
	}
	h.Own = s.vars.Own()
	s.links()
	if dir, ok, err := s.vars.Expand("$XDG_CONFIG_HOME/sbx"); ok && err == nil {
		h.Config = dir
	}
	if opts.shell != nil {
		if err := s.settle(); err != nil {
			return nil, err
		}
	}
	if opts.tool != "" {
		s.settleTool()
	}
	s.vars.Lent = view.Tools(h, opts.shell.lends(h.Environ))
	s.vars.Around = s.around()
	log := logger(opts.LogLevel)
	files, err := s.files(log)
	if err != nil {
		return nil, err
	}
	if err := s.asAgreed(files); err != nil {
		return nil, err
	}
	for _, f := range files {
		log.info("read config", "file", f.Path, "layer", f.Layer, "bytes", len(f.Data), "trusted", f.Trusted)
	}
	builtin := profiles.For(h.OS)
	if len(files) == 0 {
		s.settings = config.Defaults(builtin)
	} else if s.settings, err = config.Load(builtin, files, s.vars); err != nil {
		return nil, err
	}
	if sh := os.Getenv("SHELL"); opts.shell == nil && (shims.Own(filepath.Base(sh)) || strings.Contains(sh, "/sbx/shells/")) {
		h.Shell = s.realShell()
	}
	s.settings.Direct = s.settings.Direct || opts.Direct
	s.settings.Notices = append(s.doubts, s.settings.Notices...)
	if err := s.resolve(); err != nil {
		return nil, err
	}
	if opts.shell != nil {
		if err := s.narrow(); err != nil {
			return nil, err
		}
	}
	log.info("resolved policy", "profiles", s.policy.Profiles, "rules", len(s.policy.Rules))
	if len(opts.KeepFD) > 0 {
		if err := s.keepLocked(); err != nil {
			return nil, err
		}
	}
	return s, s.settings.CheckLocked(s.policy, s.vars, opts.NoSandbox)
}

// keepLocked refuses --keep-fd where the administrator decides about files or
// the network: a descriptor leads past both.
func (s *state) keepLocked() error {
	for _, key := range s.settings.Locked {
		switch key {
		case "allow_network", "readonly_paths", "writable_paths", "blocked_paths", "protected_paths", "private_paths", "default_profile", "enabled":
			return &config.LockedError{Key: key, By: s.settings.Where["locked."+key], What: "a descriptor passed on", Source: "--keep-fd"}
		}
	}
	return nil
}

// variables are what paths may name, and where sbx keeps its own files.
func variables(h *host.Host) (v policy.Vars, cache string) {
	env := func(name string) string {
		dir := os.Getenv(name)
		if !strings.HasPrefix(dir, "/") || strings.Contains(dir+"/", "/../") {
			return ""
		}
		return policy.Clean(dir)
	}
	v = policy.Vars{
		CWD: h.CWD, TmpDir: env("TMPDIR"), Config: env("XDG_CONFIG_HOME"), Cache: env("XDG_CACHE_HOME"),
		Data: env("XDG_DATA_HOME"), State: env("XDG_STATE_HOME"), Run: env("XDG_RUNTIME_DIR"),
	}
	if h.CWD != "" {
		v.Root = host.WorkTree(h.FS, h.CWD, h.UID, h.Homes)
	}
	if len(h.Homes) > 0 {
		v.Home = h.Homes[0]
	}
	if len(h.Homes) > 1 {
		v.Home2 = h.Homes[1]
	}
	return v, cacheOf(&v)
}

// cacheOf is sbx's own directory for what it can find out again.
func cacheOf(v *policy.Vars) string {
	dir, ok, err := v.Expand("$XDG_CACHE_HOME/sbx")
	if !ok || err != nil {
		return ""
	}
	return dir
}

// around is where the search for project files ends: the outermost work tree
// that holds the working directory.
func (s *state) around() string {
	if s.outer == "" && s.vars.Root != "" {
		s.outer = host.Outermost(s.host.FS, s.vars.Root, s.host.UID, s.host.Homes)
	}
	return s.outer
}

func (s *state) places() (config.Files, error) {
	f := config.Files{
		System: []string{"/etc/sbx/config.toml", "/etc/sbx/config.hcl"},
		CWD:    s.vars.CWD, Root: s.around(), Explicit: string(s.opts.Config), Trusts: s.trusts,
	}
	if s.nowhere != "" {
		f.CWD = s.host.CWD // a project file there still tightens
	}
	if dir, ok, err := s.vars.Expand("$XDG_CONFIG_HOME/sbx"); ok && err == nil {
		f.User = []string{dir + "/config.toml", dir + "/config.hcl"}
	}
	if s.opts.shell != nil {
		return s.believed(f)
	}
	return f, nil
}

// files reads the config files. Where the home directory is another user's and
// closed, none of the user's can be there.
func (s *state) files(log logging) ([]config.File, error) {
	places, err := s.places()
	if err != nil {
		return nil, err
	}
	log.debug("looked for config", "system", places.System, "user", places.User, "explicit", places.Explicit, "cwd", places.CWD, "root", places.Root)
	files, err := config.Find(places)
	var bad *config.FileError
	if errors.As(err, &bad) && slices.Contains(places.User, bad.Path) && s.host.Foreign(bad.Path) {
		s.doubts = append(s.doubts, "no config file of yours is read: "+policy.Plain(s.vars.Home)+" belongs to another user and may not be searched")
		places.User = nil
		files, err = config.Find(places)
	}
	return files, err
}

// resolve selects the profiles (flags, SBX_PROFILE, files) and adds the flags.
func (s *state) resolve() error {
	asked := s.opts.Profile
	if env := os.Getenv("SBX_PROFILE"); len(asked) == 0 && env != "" && s.opts.shell == nil {
		asked = strings.Split(env, ",")
	}
	names := []string(asked)
	if len(names) == 0 {
		names, asked = s.toolProfile()
	}
	if len(names) == 0 {
		names = []string{s.settings.DefaultProfile}
	}
	names, err := s.base(names)
	if err != nil {
		return err
	}
	over, err := s.flags()
	if err != nil {
		return err
	}
	pol, err := policy.Resolve(s.settings.Profiles, names, s.vars, s.needs(), over)
	if err != nil {
		return err
	}
	if err := s.settings.Uphold(pol, asked, s.vars, s.needs(), over); err != nil {
		return err
	}
	if s.opts.ReadOnly {
		pol = pol.ReadOnly(s.vars.CWD)
	}
	if s.settings.Direct && pol.TimeoutSeconds > 0 {
		return &usageError{"--direct: a time limit needs a stage around the command", "timeout_seconds is set in " + pol.Where["timeout_seconds"]}
	}
	if policy.Wider("min_tier", s.settings.MinTier, pol.MinTier) {
		pol.MinTier = s.settings.MinTier
	}
	s.policy = pol
	return nil
}

// base puts the default profile in front where only modules are selected:
// they add to one, and are none by themselves.
func (s *state) base(names []string) ([]string, error) {
	set := s.settings.Profiles
	if slices.ContainsFunc(names, func(name string) bool { return !set.Module(name) }) {
		return names, nil
	}
	if base := s.settings.DefaultProfile; !set.Module(base) {
		return append([]string{base}, names...), nil
	}
	return nil, &usageError{"default_profile: " + policy.Quote(s.settings.DefaultProfile) + " is a module, which only adds to a profile",
		"write default_profile = \"moderate\", or a profile of yours that extends both"}
}

// flags are the command line as a profile on top of all others.
func (s *state) flags() (*policy.Profile, error) {
	o := s.opts
	p := &policy.Profile{Name: "flags", Layer: policy.Flag, Source: "flags", NewSession: o.NewSession, Seccomp: o.Seccomp,
		Git: o.Git, Cache: o.Cache, Protected: o.Protect, MinTier: o.MinTier}
	if !o.given {
		return p, nil
	}
	p.Where = map[string]string{}
	for key, flag := range map[string]string{"allow_network": "--net", "share_pid": "--share-pid", "new_session": "--new-session",
		"seccomp": "--seccomp", "git": "--git", "cache": "--cache", "protect": "--protect", "cpus": "--cpus", "procs": "--procs", "min_tier": "--min-tier",
		"timeout_seconds": "--timeout", "memory_limit_mb": "--memory", "file_size_limit_mb": "--file-size"} {
		p.Where[key] = flag
	}
	if o.Net || o.NoNet {
		p.AllowNetwork = policy.SwitchOf(o.Net)
		if o.NoNet {
			p.Where["allow_network"] = "--no-net"
		}
	}
	if o.SharePID {
		p.SharePID = policy.Yes
	}
	for _, l := range []struct {
		flag  string
		paths []string
		to    *policy.List
	}{{"--allow-write", o.AllowWrite, &p.Write}, {"--allow-read", o.AllowRead, &p.Read}, {"--block", o.Block, &p.Block}} {
		for _, path := range l.paths {
			full, err := s.flagPath(l.flag, path)
			if err != nil {
				return nil, err
			}
			l.to.Items = append(l.to.Items, policy.Item{Text: full, Source: l.flag, Layer: policy.Flag, Must: true})
		}
	}
	if policy.SeccompFile(o.Seccomp) {
		full, err := s.flagPath("--seccomp", o.Seccomp)
		if err != nil {
			return nil, err
		}
		p.Seccomp = strings.ReplaceAll(full, "$", "$$")
	}
	if err := s.limits(p); err != nil {
		return nil, err
	}
	return p, s.env(p)
}

// flagPath makes a path from the command line absolute. Most shells leave the
// "~" in "--allow-write=~/x" to the program.
func (s *state) flagPath(flag, path string) (string, error) {
	switch {
	case path == "":
		return "", &usageError{text: flag + ": an empty path"}
	case path == "~" || strings.HasPrefix(path, "~/"):
		if s.vars.Home == "" {
			return "", &usageError{text: flag + ": " + policy.Plain(path) + ": there is no home directory"}
		}
		path = s.vars.Home + path[1:]
	case path[0] != '/':
		if s.host.CWD == "" {
			return "", &host.Error{Status: host.StatusFailed, Text: "the working directory does not exist any more", Hint: "cd to a directory that exists"}
		}
		path = s.host.CWD + "/" + path
	}
	return filepath.Clean(path), nil
}

func (s *state) limits(p *policy.Profile) error {
	o := s.opts
	if o.Timeout != "" {
		d, err := time.ParseDuration(o.Timeout)
		if n, nerr := strconv.ParseFloat(o.Timeout, 64); nerr == nil {
			d, err = time.Duration(n*float64(time.Second)), nil
		}
		if err != nil || d <= 0 {
			return &usageError{"--timeout: " + policy.Plain(o.Timeout) + " is not a duration", "write 30s, 5m or 1h30m"}
		}
		p.TimeoutSeconds = d.Seconds()
	}
	if o.Memory != "" {
		mb, ok := size(o.Memory)
		if !ok || mb != float64(int(mb)) {
			return &usageError{"--memory: " + policy.Plain(o.Memory) + " is not a size in whole mebibytes", "write 512M or 2G"}
		}
		p.MemoryLimitMB = int(mb)
	}
	if o.FileSize != "" {
		mb, ok := size(o.FileSize)
		if !ok {
			return &usageError{"--file-size: " + policy.Plain(o.FileSize) + " is not a size", "write 512K, 100M or 2G"}
		}
		p.FileSizeMB = mb
	}
	if o.CPUs != "" {
		n, err := strconv.ParseFloat(o.CPUs, 64)
		if err != nil || !(n >= minCPUs && n <= maxCPUs) {
			return &usageError{"--cpus: " + policy.Plain(o.CPUs) + " is not a number of processors", "write 2, or 0.5 for half of one"}
		}
		p.CPUs = n
	}
	if o.Procs != "" {
		n, err := strconv.Atoi(o.Procs)
		if err != nil || n < 1 || n > maxProcs {
			return &usageError{"--procs: " + policy.Plain(o.Procs) + " is not a number of processes", "write 64"}
		}
		p.Procs = n
	}
	return nil
}

// The bounds that numbers have in files, too.
const (
	minCPUs, maxCPUs = 0.01, 4096
	maxProcs         = 4 << 20
	maxMB            = 16 << 20
)

// size reads "512K", "512M", "2G" or "1T", with iB or B after it, as mebibytes.
func size(s string) (mb float64, ok bool) {
	text := strings.ToUpper(s)
	digits := strings.TrimRight(text, "KMGTIB")
	units := map[string]float64{"K": 1. / 1024, "M": 1, "G": 1 << 10, "T": 1 << 20}
	unit, ok := units[strings.TrimSuffix(strings.TrimSuffix(text[len(digits):], "B"), "I")]
	n, err := strconv.ParseUint(digits, 10, 63)
	mb = float64(n) * unit
	return mb, ok && err == nil && n > 0 && mb <= maxMB
}

func (s *state) env(p *policy.Profile) error {
	for _, e := range s.opts.Env {
		name, value, set := strings.Cut(e, "=")
		switch {
		case set && !policy.ValidName(name):
			return &usageError{"--env: " + policy.Quote(name) + " is not a name of a variable", "write NAME=VALUE"}
		case set:
			// A flag's value is taken as it is.
			value = strings.ReplaceAll(value, "$", "$$")
			p.EnvSet = append(p.EnvSet, policy.Var{Name: name, Value: value})
			p.Where["env_set."+name] = "--env"
		case !policy.ValidName(strings.ReplaceAll(name, "*", "_")):
			return &usageError{"--env: " + policy.Quote(name) + " is not a name of a variable or a pattern of names", "write NAME, NAME=VALUE or 'GH_*'"}
		default:
			p.EnvPass.Items = append(p.EnvPass.Items, policy.Item{Text: name, Source: "--env", Layer: policy.Flag})
		}
	}
	return nil
}

// execute runs the command and returns only when it could not.
func execute(opts *options, command []string) error {
	if outer, ok := insideSandbox(); ok {
		return nested(opts, command, outer)
	}
	s, err := load(opts)
	if err != nil {
		return err
	}
	for _, n := range s.settings.Notices {
		s.notice(n)
	}
	s.hintTrust()
	command, err = s.command(command)
	if err != nil {
		return err
	}
	return s.run(command)
}

// run replaces this process by the command in its sandbox.
func (s *state) run(command []string) error {
	opts := s.opts
	if opts.NoSandbox || !s.settings.Enabled {
		return s.bare(command, s.disabledBy())
	}
	if err := s.engine(); err != nil {
		return s.unavailable(command, err)
	}
	logger(opts.LogLevel).info("engine", "name", s.chosen.Name, "bwrap", s.chosen.Bwrap.Path, "version", s.chosen.Bwrap.Version, "landlock", s.host.Landlock)
	plan, err := s.plan(command)
	if err != nil {
		return err
	}
	logger(opts.LogLevel).debug("plan", "argv", plan.Argv, "descriptors", len(plan.FDs), "command", plan.Report.Command)
	if opts.DryRun {
		return printPlan(plan, opts.JSON)
	}
	if err := s.watch(plan); err != nil {
		return err
	}
	s.status(plan)
	return wrap.Exec(plan, s.host)
}

// engine finds what will hold the command.
func (s *state) engine() (err error) {
	if s.host.Modelled && !s.opts.DryRun {
		return &usageError{"--engine sandbox-exec: sandbox-exec is macOS's own, and this is " + runtime.GOOS, "with --dry-run it prints what a Mac would get; so do explain and why"}
	}
	if s.host.Modelled {
		return nil // there is no other
	}
	lock := s.settings.NeedsFull
	if lock == nil {
		s.chosen, err = wrap.Choose(s.host, s.cacheDir, s.opts.Engine, s.policy.MinTier)
		return err
	}
	if s.opts.Engine == host.EngineLandlock {
		named := *lock
		named.Source = "--engine landlock"
		hint := "leave --engine landlock out"
		if os.Getenv("SBX_ENGINE") == s.opts.Engine {
			named.Source, hint = "SBX_ENGINE", "unset SBX_ENGINE"
		}
		return &host.Error{Status: host.StatusFailed, Text: named.Error(), Hint: hint}
	}
	s.chosen, err = wrap.Choose(s.host, s.cacheDir, s.opts.Engine, host.TierFull)
	var none *host.Unavailable
	if errors.As(err, &none) {
		why := *none
		why.Hints = append([]string{lock.Key + " is locked by " + lock.By + ", and takes tier full: " + lock.What}, none.Hints...)
		return &why
	}
	return err
}

func (s *state) plan(command []string) (*engine.Plan, error) {
	req, err := s.request(command)
	if err != nil {
		return nil, err
	}
	return wrap.New(req, s.host)
}

func (s *state) request(command []string) (engine.Request, error) {
	if err := s.readFilter(); err != nil {
		return engine.Request{}, err
	}
	if engine.Wanted(s.policy).Tree() && !s.host.Modelled { // a Mac has no control groups
		s.host.Limits = limits.Look(s.host.UID)
	}
	return engine.Request{
		Policy: s.policy, Engine: s.chosen, Root: cmp.Or(s.vars.Root, s.host.CWD), Command: command, KeepFDs: s.opts.KeepFD,
		Cache: s.cacheDir, Remap: string(s.opts.Workspace), Direct: s.settings.Direct, Argv0: string(s.opts.Argv0),
		Filter: s.filter, Tmp: s.opts.shell.tmp(), Hints: s.hints(),
	}, nil
}

// hints are for who runs a command: a person, or a model that reads what is
// written.
func (s *state) hints() engine.Hints {
	h := engine.Hints{On: s.settings.Hints && !s.opts.Quiet, Locked: s.settings.Locked, Tool: s.opts.tool}
	if c := s.opts.shell; c != nil {
		h.Config = true
		if c.session != nil {
			h.Agent = c.session.Client
		}
	}
	return h
}

// command is what will run: the words after --, a string for the shell, or on
// a terminal the shell itself.
func (s *state) command(words []string) ([]string, error) {
	if n := len(s.opts.Command); n > 0 {
		return append([]string{s.shell("/bin/sh"), "-c", s.opts.Command[n-1]}, words...), nil
	}
	if len(words) > 0 {
		return words, nil
	}
	if !isTerminal(0) {
		return nil, &usageError{"no command", "sbx -- CMD [ARG...], or sbx --help"}
	}
	login := os.Getenv("SHELL")
	if !strings.HasPrefix(login, "/") {
		login = host.PasswdShell(s.host.UID)
	}
	if !strings.HasPrefix(login, "/") {
		login = "/bin/sh"
	}
	return []string{s.shell(login)}, nil
}

func (s *state) shell(other string) string {
	if s.settings.Shell != "" {
		return s.settings.Shell
	}
	return other
}

func (s *state) disabledBy() string {
	if s.opts.NoSandbox {
		return "--no-sandbox"
	}
	return "enabled = false in " + s.settings.Where["enabled"]
}

// unavailable does what fallback_on_unavailable says. A tier asked for by name
// is never given up.
func (s *state) unavailable(command []string, err error) error {
	var none *host.Unavailable
	fallback, login, unlocked := s.settings.FallsBack()
	if unlocked != "" && errors.As(err, &none) {
		why := *none
		why.Hints = append([]string{unlocked}, none.Hints...)
		err = &why
	}
	if c := s.opts.shell; c != nil && errors.As(err, &none) && login && c.person() && (c.Login || c.name.Login || c.Interactive) {
		say("WARNING", "Sandbox unavailable: "+none.Reason+". This shell runs WITHOUT a sandbox, since "+s.settings.Where["login_fallback"]+" says so.")
		return s.execBare(command)
	}
	if !errors.As(err, &none) || fallback == "block" || s.policy.MinTier == host.TierFull || s.opts.MinTier != "" || s.opts.named() || s.opts.limited() != "" {
		return err
	}
	say("warning", "Sandbox unavailable: "+none.Reason+". Execution proceeding without sandbox.")
	if fallback == "warn" {
		for _, h := range none.Hints {
			say("hint", h)
		}
		s.warn(command)
	}
	return s.execBare(command)
}

// named reports whether an engine was asked for by its name: then there is no
// other.
func (o *options) named() bool { return o.Engine != "" && o.Engine != "auto" }

// limited is the first flag that sets a limit: one that was asked for on the
// command line is never dropped without a word.
func (o *options) limited() string {
	for _, f := range []struct{ name, value string }{
		{"--timeout", o.Timeout}, {"--memory", o.Memory}, {"--cpus", o.CPUs}, {"--procs", o.Procs}, {"--file-size", o.FileSize},
	} {
		if f.value != "" {
			return f.name
		}
	}
	return ""
}

// bare runs the command without a sandbox because somebody said so.
func (s *state) bare(command []string, why string) error {
	if s.opts.MinTier != "" {
		return &usageError{"--min-tier " + s.opts.MinTier + " cannot be had without a sandbox (" + why + ")", ""}
	}
	if flag := s.opts.limited(); flag != "" {
		return &usageError{flag + " cannot be enforced without a sandbox (" + why + ")", ""}
	}
	say("warning", "running without a sandbox ("+why+")")
	s.warn(command)
	return s.execBare(command)
}

func (s *state) execBare(command []string) error {
	plan, err := s.barePlan(command)
	if err != nil {
		return err
	}
	if s.opts.Argv0 != "" {
		plan.Argv = append([]string{string(s.opts.Argv0)}, plan.Argv[1:]...)
	}
	if s.opts.shell != nil {
		plan.Env = s.opts.shell.deeper(plan.Env)
	}
	if s.opts.DryRun {
		return printPlan(plan, s.opts.JSON)
	}
	return wrap.Become(plan)
}

// notice is a line that -q silences. A client that called its shell reads all
// that is written for the command's own: it gets only what it must hear of.
func (s *state) notice(text string) {
	if !s.opts.Quiet && s.opts.shell == nil {
		say("notice", text)
	}
}

// unsaid reports whether a text was not said in this project yet, to a terminal or
// elsewhere, and notes that it is now. Where nothing can be noted it is said again.
func (s *state) unsaid(text string) bool {
	dir, ok, err := s.vars.Expand("$XDG_STATE_HOME/sbx/said")
	if !ok || err != nil || s.opts.DryRun || s.host.Keeps(dir) != nil {
		return true
	}
	sum := sha256.Sum256([]byte(strconv.FormatBool(isTerminal(2)) + "\x00" + cmp.Or(s.around(), s.host.CWD) + "\x00" + text))
	path := filepath.Join(dir, hex.EncodeToString(sum[:16]))
	if _, err := os.Lstat(path); err == nil {
		return false
	}
	if os.MkdirAll(dir, 0o700) == nil {
		_ = os.WriteFile(path, nil, 0o600)
	}
	return true
}

// status tells a person at a terminal what is in force: standard error only,
// and never in the way of a program that reads it.
func (s *state) status(p *engine.Plan) {
	const few = 8
	for i, n := range p.Report.Notes {
		if i == few {
			s.notice("and " + strconv.Itoa(len(p.Report.Notes)-few) + " more like that: sbx explain lists them")
			break
		}
		s.notice(n)
	}
	for _, n := range p.Report.Once {
		if s.opts.Verbose || !s.opts.Quiet && s.opts.shell == nil && s.unsaid(n) {
			s.notice(n + " (said once)")
		}
	}
	if s.nowhere != "" && (s.opts.Verbose || isTerminal(2)) {
		s.notice(s.nowhere)
	}
	if s.opts.Quiet || !s.opts.shell.person() {
		return
	}
	if !s.opts.Verbose && !isTerminal(2) {
		if p.Lack != "" { // less than there could be is never without a word
			say("notice", "tier "+p.Tier+": "+p.Lack+" (sbx doctor says what to do; --engine landlock, that this tier will do)")
		}
		return
	}
	say("", statusLine(p, s.vars.CWD))
	if s.opts.Verbose {
		for _, line := range restrictions(p) {
			say("", line)
		}
	}
}

// tier says why it is not full, too.
func tier(p *engine.Plan) string {
	if p.Lack == "" {
		return "tier " + p.Tier
	}
	return "tier " + p.Tier + " (" + p.Lack + ")"
}

func statusLine(p *engine.Plan, cwd string) string {
	pol := p.Report.Policy
	parts := []string{strings.Join(pol.Profiles, "+"), "net " + onOff(pol.Network)}
	var rw []string
	for _, m := range p.Report.Mounts() {
		if m.Access != policy.Write || m.Pinned || m.Source == view.SourceCache || slices.ContainsFunc(rw, func(d string) bool { return policy.Within(m.Path, d) }) {
			continue
		}
		rw = append(rw, m.Path)
	}
	for i, d := range rw {
		if d == cwd {
			rw[i] = "."
		} else {
			rw[i] = policy.Plain(d)
		}
	}
	if len(rw) == 0 {
		rw = []string{"nothing"}
	}
	parts = append(parts, "rw "+strings.Join(rw, " "), tier(p))
	hidden, shown := p.Report.Concealed()
	if len(hidden) > 0 {
		parts = append(parts, "hidden "+fewNames(hidden, cwd))
	}
	if len(shown) > 0 {
		parts = append(parts, "shown "+fewNames(shown, cwd)+" ("+view.SourceTracked+")")
	}
	if p.Report.Filter != nil {
		parts = append(parts, "filter "+p.Report.Filter.String())
	}
	if n := len(p.Gaps) - p.Report.Usual; n > 0 {
		parts = append(parts, "gaps "+strconv.Itoa(n))
	}
	return strings.Join(parts, " · ")
}

// fewNames are the first of some paths, as seen from the working directory.
func fewNames(paths []string, cwd string) string {
	const few = 4
	var b strings.Builder
	for i, path := range paths {
		switch {
		case i == few:
			return b.String() + " and " + strconv.Itoa(len(paths)-few) + " more"
		case i > 0:
			b.WriteByte(' ')
		}
		b.WriteString(policy.Plain(strings.TrimPrefix(path, cwd+"/")))
	}
	return b.String()
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
