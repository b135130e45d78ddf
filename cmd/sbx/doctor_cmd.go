// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/limits"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/wrap"
)

// doctorCmd says what this machine can enforce. It exits 0 only when a run
// would be sandboxed at the wanted tier.
type doctorCmd struct {
	MinTier string `placeholder:"TIER" enum:"full,reduced," default:"" help:"The tier that is wanted: full or reduced; default is the configured one."`
	JSON    bool   `name:"json" help:"Print JSON."`
	Fix     bool   `help:"Show the command that gives the full tier, and run it after a question on a terminal."`
	Client  string `arg:"" optional:"" help:"A coding agent: say where its commands land, by trying it."`
}

type diagnosis struct {
	OK       bool    `json:"ok"`
	Tier     string  `json:"tier" enum:"full,reduced,none"`
	Wanted   string  `json:"wanted" enum:"full,reduced"`
	Cause    string  `json:"cause,omitempty"`  // why the tier is not full
	Engine   string  `json:"engine,omitempty"` // what a run would use
	Landlock int     `json:"landlock"`         // version of the interface, 0 for none
	Checks   []check `json:"checks"`

	remedy []string // what would make the tier full
	fix    string   // of these, a command that sbx may run
}

func (c *doctorCmd) Run() error {
	p := showProgress(false)
	defer p.end()
	if c.Client != "" {
		return c.client(p)
	}
	d := c.diagnose(p.say)
	p.end()
	if c.Fix {
		return c.fix(d)
	}
	return tell(c.JSON, d, d.OK, host.StatusFailed)
}

func (d *diagnosis) print() error { return printChecks(d.Checks) }

func (c *doctorCmd) diagnose(step func(string)) *diagnosis {
	step("looking at this machine")
	d := &diagnosis{Tier: "none", Wanted: "reduced"}
	s, err := app.Here("")
	if err != nil {
		d.blind(c, err)
		return d
	}
	h, cacheDir := s.Host, s.CacheDir()
	facts := host.GatherDiagnostics(h.Environ)
	d.system(facts)
	run, err := load()
	settings := d.config(run, err)
	d.Wanted = cmp.Or(c.MinTier, d.Wanted)
	step("trying the engines")
	if outer, ok := engine.Inside(); ok { // what is called there goes on in the same one
		d.Tier = outer.Tier
		d.add("sandbox", "ok", "this runs inside an sbx sandbox ("+strings.Join(outer.Profiles,
			"+")+", tier "+text.Plain(outer.Tier)+"), and so does what sbx runs here")
	} else if by := d.engines(h, facts); by.Name == host.EngineBwrap {
		h.RefreshSockets(cacheDir, by.Bwrap) // for the runs to come
	}
	step("looking at limits, shells and PATH")
	d.kernel(facts)
	d.cache(h, cacheDir)
	d.limits(h)
	if run != nil {
		d.shells(run)
	}
	d.names(os.Getenv("PATH"))
	d.result(settings)
	return d
}

// blind is all that can be said where sbx cannot look around: no run goes on.
func (d *diagnosis) blind(c *doctorCmd, err error) {
	d.Wanted = cmp.Or(c.MinTier, d.Wanted)
	facts := host.GatherDiagnostics(os.Environ())
	d.system(facts)
	var e *host.Error
	var none *host.Unavailable
	switch {
	case errors.As(err, &none):
		d.Cause = string(none.Cause)
	case !host.Proc():
		d.Cause, d.remedy = "no-proc", []string{"as root: mount -t proc proc /proc"}
		err = errors.New("/proc is not mounted here, and sbx needs it")
	case errors.As(err, &e):
		if d.Cause = "no-home"; e.Hint != "" {
			d.remedy = []string{e.Hint}
		}
	}
	d.add("host", "bad", err.Error(), d.remedy...)
	d.kernel(facts)
	d.result(false)
}

// engines tries what there is, best first.
func (d *diagnosis) engines(h *host.Host, facts host.Diagnostics) engine.Chosen {
	c, err := wrap.Choose(h, "", "auto", "")
	if facts.MacOS == "" && c.Lack != nil {
		err = c.Lack
	}
	switch {
	case facts.MacOS != "":
		if d.seatbelt(err, facts) {
			d.Tier, d.Engine = host.TierFull, host.EngineSeatbelt
		}
	case d.bwrap(c.Bwrap, err, facts):
		d.Tier, d.Engine = host.TierFull, host.EngineBwrap
	case c.Name == host.EngineLandlock:
		d.Tier, d.Engine = host.TierReduced, host.EngineLandlock
	}
	return c
}

// result sums up, and says what would make it more.
func (d *diagnosis) result(settings bool) {
	enough := d.Tier == "full" || d.Tier == "reduced" && d.Wanted == "reduced"
	d.OK = enough && settings
	full := slices.Clone(d.remedy[:min(1, len(d.remedy))])
	if d.fix != "" {
		full = append(full, "sbx doctor --fix does that, once you have said so")
	}
	switch {
	case !enough:
		d.add("result", "bad", "a run here would not be sandboxed as wanted (tier "+d.Tier+", wanted "+d.Wanted+")", full...)
	case !settings:
		d.add("result", "bad", "a run here would not be sandboxed: see config above")
	case d.Tier == "full":
		d.add("result", "ok", "commands run in a sandbox of tier full")
	default:
		d.add("result", "note", "commands run in a sandbox of tier "+d.Tier+"; for tier full see bwrap above", full...)
	}
}

func (d *diagnosis) add(name, status, text string, hints ...string) {
	d.Checks = append(d.Checks, check{name, status, text, hints})
}

// system is what there is to say of the machine itself.
func (d *diagnosis) system(f host.Diagnostics) {
	d.Landlock = f.Landlock
	linux, is := f.MacOS == "", "macOS "+f.MacOS+", "+runtime.GOARCH
	if linux {
		is = runtime.GOOS + "/" + runtime.GOARCH
		if f.Distro != "" {
			is += ", " + f.Distro
		}
		if f.WSL > 0 {
			is += ", WSL " + strconv.Itoa(f.WSL)
		}
	}
	d.add("system", "ok", is)
	if f.Translated {
		d.add("system", "note", "this sbx is made for Intel and runs by Rosetta, which makes each start slower",
			"install the one for Apple silicon (darwin/arm64)")
	}
	if f.Container != "" {
		d.add("container", "note", "this is a "+f.Container+" container")
	}
	if f.Confined != "" {
		d.add("container", "note", "this runs inside "+f.Confined)
	}
	if f.Filtered && f.Container == "" && f.Confined == "" {
		by := "a system call filter is in force around this process"
		if f.Unit != "" {
			by += ", which belongs to " + f.Unit
		}
		d.add("container", "note", by)
	}
	if f.Root {
		d.add("user", "note", "root: the sandbox holds, but every file of root is readable where a profile shows it",
			"run sbx as a plain user where you can")
	}
	for _, s := range []struct{ name, value string }{
		{"user.max_user_namespaces", f.MaxUserns}, {"kernel.unprivileged_userns_clone", f.UsernsClone},
		{"kernel.apparmor_restrict_unprivileged_userns", f.AppArmor},
	} {
		if linux && s.value != "" {
			d.add("sysctl", "ok", s.name+" = "+s.value)
		}
	}
}

// config reports whether the configuration lets a run be sandboxed.
func (d *diagnosis) config(s *app.Context, err error) bool {
	if err != nil {
		d.add("config", "bad", err.Error())
		return false
	}
	d.Wanted = s.Policy.MinTier
	for _, line := range s.NotRead() {
		d.add("config", "note", line)
	}
	text := "profile " + strings.Join(s.Policy.Profiles, "+")
	switch {
	case !s.Settings.Enabled:
		d.add("config", "bad", "the sandbox is switched off: enabled = false in "+s.Settings.Where["enabled"])
		return false
	case s.Settings.Fallback != "block":
		d.add("config", "note", text+"; without an engine a run goes on unsandboxed (fallback_on_unavailable = "+s.Settings.Fallback+")")
	default:
		d.add("config", "ok", text)
	}
	return true
}

// fails says why an engine does not work, if there is an error. More are hints
// that come first.
func (d *diagnosis) fails(engine string, err error, more ...string) bool {
	if err == nil {
		return false
	}
	reason, hints := err.Error(), []string(nil)
	var none *host.Unavailable
	if errors.As(err, &none) {
		reason, hints = none.Reason, append(more, none.Hints...)
		d.Cause, d.remedy, d.fix = string(none.Cause), hints, none.Fix(os.Geteuid() == 0)
	}
	d.add(engine, "bad", reason, hints...)
	return true
}

// bwrap reports whether a bwrap works.
func (d *diagnosis) bwrap(b host.Bwrap, err error, f host.Diagnostics) bool {
	if d.fails("bwrap", err) {
		return false
	}
	d.add("bwrap", "ok", text.Plain(b.Path)+" "+b.Version.String()+", tried and working")
	if b.Version.Less(bwrapargs.HasSize) {
		d.add("bwrap", "note", "this version cannot bound the size of private directories", f.Install()+" (0.7 or newer)")
	}
	if b.Version.Less(bwrapargs.FixedSymlink) {
		d.add("bwrap", "note",
			"releases before 0.12 follow links during set-up (CVE-2026-87766), unless the package has the fix; sbx itself gives it no path that holds a link",
			"keep it up to date: "+f.Install())
	}
	return true
}

// seatbelt reports whether sandbox-exec works, and says what it is.
func (d *diagnosis) seatbelt(err error, f host.Diagnostics) bool {
	var more []string
	var none *host.Unavailable
	if f.CI == "github" && errors.As(err, &none) && none.Cause == host.CauseNested {
		more = []string{"GitHub's own runners have none around a step: look for what this step starts sbx from"}
	}
	if d.fails(host.EngineSeatbelt, err, more...) {
		return false
	}
	d.add(host.EngineSeatbelt, "ok", host.SandboxExec+", tried and working")
	d.add(host.EngineSeatbelt, "note",
		"Apple calls the program deprecated since 10.13; the system and its own services are sandboxed by the same part of the kernel, and sbx refuses every run if it disappears or stops working")
	for _, differs := range []string{
		"files and processes that a command may not touch can still be found by name (EPERM where Linux says ENOENT)",
		"private directories are closed, not empty: a command has TMPDIR instead of /tmp",
		"no sandbox inside another: swift build and other programs that call sandbox-exec need --disable-sandbox or similar",
		"set-uid programs (ps, sudo, ping) are refused; background children outlive the command",
	} {
		d.add("differs", "note", differs)
	}
	return true
}

// lacks lists what tier reduced is without before a version of Landlock. TCP and
// UDP, which came with 4 and 10, are the filter's matter in all of them.
var lacks = []struct {
	abi  int
	what string
}{
	{2, "in tier reduced nothing can be renamed or linked from one directory to another (EXDEV)"},
	{3, "in tier reduced truncate(2) is refused everywhere, by the filter; ftruncate(2) works"},
	{6, "in tier reduced your processes outside can be signalled"},
	{9, "in tier reduced there are no Unix sockets but pairs: the filter refuses what Landlock cannot tell apart"},
}

// kernel is what Linux itself offers.
func (d *diagnosis) kernel(f host.Diagnostics) {
	if f.MacOS != "" {
		return
	}
	if f.Seccomp {
		d.add("seccomp", "ok", "system call filters can be set")
	} else {
		d.add("seccomp", "bad", "no system call filter can be set here: no engine of sbx works without it",
			"a kernel with CONFIG_SECCOMP_FILTER, and a container or service that lets seccomp(2) and prctl(2) through")
	}
	if f.Landlock == 0 {
		hints := []string{"Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK, and landlock among lsm= of the kernel's command line; cat /sys/kernel/security/lsm shows what is on"}
		if f.Filtered || f.Container != "" {
			hints = append([]string{"the system call filter of the container or service may refuse it: let landlock_create_ruleset, landlock_add_rule and landlock_restrict_self through"}, hints...)
		}
		d.add("landlock", "note", "Landlock is not available here", hints...)
		return
	}
	d.add("landlock", "ok",
		"ABI "+strconv.Itoa(f.Landlock)+": what files a process and its children may open, make and run")
	for _, l := range lacks {
		if f.Landlock < l.abi {
			d.add("landlock", "note", "before ABI "+strconv.Itoa(l.abi)+": "+l.what)
		}
	}
}

func (d *diagnosis) cache(h *host.Host, dir string) {
	// What stands there is not asked: it may be from better days.
	if d.Cause != "" && host.Forget(h, dir) {
		d.add("cache", "note", "a saved verdict said that the engine works here; it has been removed, and the next run tries again")
	}
	info, err := os.Lstat(dir)
	why := h.CheckOwnDir(dir)
	switch {
	case dir == "":
		d.add("cache", "note", "no home directory: every run probes the engine again")
	case err == nil && !info.IsDir():
		d.add("cache", "bad", text.Plain(dir)+" is not a directory", "move it away")
	case why != nil:
		d.add("cache", "note", "nothing can be kept, so every run probes the engine again, and no project is watched: "+why.Error(),
			"set HOME, or XDG_CACHE_HOME and XDG_STATE_HOME to directories that exist")
	default:
		d.add("cache", "ok", text.Plain(dir))
	}
}

// limits says which limits a run could have here: none is needed to be
// sandboxed.
func (d *diagnosis) limits(h *host.Host) {
	facts := limits.Look(h.UID)
	for _, l := range []struct {
		flag string
		want limits.Wanted
	}{{"--memory", limits.Wanted{MemoryMB: 1024}}, {"--cpus", limits.Wanted{CPUs: 1}},
		{"--procs", limits.Wanted{Procs: 64}}} {
		means, err := limits.Choose(l.want, facts, limits.Options{Staged: d.Engine == host.EngineBwrap})
		var refused *limits.Refusal
		if errors.As(err, &refused) {
			d.add("limits", "note", l.flag+" cannot be enforced here: "+refused.Why, refused.Hint)
		}
		if err != nil {
			continue
		}
		for _, held := range means.Held {
			_, by, _ := strings.Cut(held, ": ")
			d.add("limits", "ok", l.flag+" by "+by)
		}
		for _, gap := range means.Gaps {
			d.add("limits", "note", gap)
		}
	}
}

// shells are what sbx starts of its own accord.
func (d *diagnosis) shells(s *app.Context) {
	for _, u := range []struct{ use, path string }{{"sbx alone", s.Shell(s.Login())}, {"sbx -c", s.Shell("/bin/sh")}} {
		if s.Host.FS.Access(u.path, 'x') {
			d.add("shells", "ok", u.use+" starts "+text.Plain(u.path))
		} else {
			d.add("shells", "note", u.use+" would start "+text.Plain(u.path)+", which cannot be executed",
				"set SHELL, or shell in the configuration")
		}
	}
}

// names lists the programs on a PATH that answer to sbx's name: there are
// others of it.
func (d *diagnosis) names(path string) {
	self, err := os.Executable()
	if _, gone := os.Stat(self); err != nil || gone != nil {
		return
	}
	var seen, relative []string
	mine := false // what answers is this program
	for _, dir := range filepath.SplitList(path) {
		name := filepath.Join(dir, "sbx")
		shown := text.Plain(name)
		if !filepath.IsAbs(dir) {
			if !slices.Contains(relative, dir) {
				relative = append(relative, dir)
				d.add("PATH", "note", "it contains a directory that is not absolute ("+strconv.Quote(dir)+"): whoever can write the working directory can replace any program",
					"take it out of PATH")
			}
			continue
		}
		real, err := filepath.EvalSymlinks(name)
		if err != nil || !app.Runs(name) || slices.Contains(seen, real) {
			continue
		}
		seen = append(seen, real)
		switch first, same := len(seen) == 1, app.IsSelf(name); {
		case first && same:
			mine = true
			d.add("PATH", "ok", shown+" answers to sbx: this program")
		case first:
			d.add("PATH", "note", shown+" answers to sbx, and is another program than this ("+text.Plain(self)+")",
				"put "+text.Plain(filepath.Dir(self))+" before "+text.Plain(dir)+
					" in PATH, or call this one by its path")
		case same:
			d.add("PATH", "note", shown+" is this program, and does not answer: another comes before it")
		case mine:
			d.add("PATH", "note", "another program called sbx is at "+shown+"; it does not answer, since this one comes before it")
		default:
			d.add("PATH", "note", "another program called sbx is at "+shown)
		}
	}
	if len(seen) == 0 {
		d.add("PATH", "note", "sbx is not on PATH; this one is "+text.Plain(self))
	}
}
