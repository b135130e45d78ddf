// SPDX-License-Identifier: Apache-2.0

package main

import (
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
	Client  string `arg:"" optional:"" help:"A coding agent: say where its commands land, by trying it."`
}

type diagnosis struct {
	OK       bool    `json:"ok"`
	Tier     string  `json:"tier"`             // full, reduced, none
	Wanted   string  `json:"wanted"`           // full, reduced
	Cause    string  `json:"cause,omitempty"`  // why the tier is not full
	Engine   string  `json:"engine,omitempty"` // what a run would use
	Landlock int     `json:"landlock"`         // version of the interface, 0 for none
	Checks   []check `json:"checks"`

	remedy []string // what would make the tier full
}

func (c *doctorCmd) Run() error {
	if c.Client != "" {
		return c.client()
	}
	d := c.diagnose()
	return tell(c.JSON, d, d.OK, host.StatusFailed)
}

func (d *diagnosis) print() error { return printChecks(d.Checks) }

func (c *doctorCmd) diagnose() *diagnosis {
	d := &diagnosis{Tier: "none", Wanted: "reduced"}
	s, err := app.Here("")
	if err != nil {
		d.blind(c, err)
		return d
	}
	h, cacheDir := s.Host, s.CacheDir()
	facts := host.GatherDiagnostics(h.Environ)
	d.Landlock = facts.Landlock
	d.system(facts)
	settings := d.config(h)
	if c.MinTier != "" {
		d.Wanted = c.MinTier
	}
	if outer, ok := app.Inside(); ok {
		d.inside(outer)
	} else {
		if c := d.engines(h, facts); c.Name == host.EngineBwrap {
			h.RefreshSockets(cacheDir, c.Bwrap) // for the runs to come
		}
	}
	d.kernel(facts)
	d.cache(h, cacheDir)
	d.limits(h)
	d.shells(h)
	d.names(os.Getenv("PATH"))
	d.result(settings)
	return d
}

// blind is all that can be said where sbx cannot look around: no run goes on.
func (d *diagnosis) blind(c *doctorCmd, err error) {
	if c.MinTier != "" {
		d.Wanted = c.MinTier
	}
	facts := host.GatherDiagnostics(os.Environ())
	d.Landlock = facts.Landlock
	d.system(facts)
	hint := ""
	var e *host.Error
	var none *host.Unavailable
	switch {
	case errors.As(err, &none):
		d.Cause = string(none.Cause)
	case !host.Proc():
		d.Cause = "no-proc"
		err = errors.New("/proc is not mounted here, and sbx needs it")
		hint = "as root: mount -t proc proc /proc"
	case errors.As(err, &e):
		d.Cause, hint = "no-home", e.Hint
	}
	if hint != "" {
		d.remedy = []string{hint}
	}
	d.add("host", "bad", err.Error(), d.remedy)
	d.kernel(facts)
	d.result(false)
}

// inside is for a doctor that is called in a sandbox: what is called there goes
// on in the same one.
func (d *diagnosis) inside(outer *app.Manifest) {
	d.Tier = outer.Tier
	d.add("sandbox", "ok", "this runs inside an sbx sandbox ("+strings.Join(outer.Profiles,
		"+")+", tier "+text.Plain(outer.Tier)+"), and so does what sbx runs here", nil)
}

// kernel is what Linux itself offers.
func (d *diagnosis) kernel(f host.Diagnostics) {
	if f.MacOS == "" {
		d.filters(f)
		d.landlock(f)
	}
}

// engines tries what there is, best first.
func (d *diagnosis) engines(h *host.Host, facts host.Diagnostics) engine.Chosen {
	c, err := wrap.Choose(h, "", "auto", "")
	if facts.MacOS != "" {
		if d.seatbelt(err, facts) {
			d.Tier, d.Engine = host.TierFull, host.EngineSeatbelt
		}
		return c
	}
	if c.Lack != nil {
		err = c.Lack
	}
	switch {
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
	full := d.remedy
	if len(full) > 1 {
		full = full[:1]
	}
	switch {
	case d.OK && d.Tier == "full":
		d.add("result", "ok", "commands run in a sandbox of tier full", nil)
	case d.OK:
		d.add("result", "note", "commands run in a sandbox of tier "+d.Tier+"; for tier full see bwrap above", full)
	case enough:
		d.add("result", "bad", "a run here would not be sandboxed: see config above", nil)
	default:
		d.add("result", "bad", "a run here would not be sandboxed as wanted (tier "+d.Tier+", wanted "+d.Wanted+")",
			full)
	}
}

func (d *diagnosis) add(name, status, text string, hints []string) {
	d.Checks = append(d.Checks, check{name, status, text, hints})
}

func (d *diagnosis) system(f host.Diagnostics) {
	if f.MacOS != "" {
		d.mac(f)
		return
	}
	parts := []string{runtime.GOOS + "/" + runtime.GOARCH}
	if f.Distro != "" {
		parts = append(parts, f.Distro)
	}
	if f.WSL > 0 {
		parts = append(parts, "WSL "+strconv.Itoa(f.WSL))
	}
	d.add("system", "ok", strings.Join(parts, ", "), nil)
	if f.Container != "" {
		d.add("container", "note", "this is a "+f.Container+" container", nil)
	}
	if f.Confined != "" {
		d.add("container", "note", "this runs inside "+f.Confined, nil)
	}
	if f.Filtered && f.Container == "" && f.Confined == "" {
		by := "a system call filter is in force around this process"
		if f.Unit != "" {
			by += ", which belongs to " + f.Unit
		}
		d.add("container", "note", by, nil)
	}
	d.root(f)
	for _, s := range []struct{ name, value string }{
		{"user.max_user_namespaces", f.MaxUserns}, {"kernel.unprivileged_userns_clone", f.UsernsClone},
		{"kernel.apparmor_restrict_unprivileged_userns", f.AppArmor},
	} {
		if s.value != "" {
			d.add("sysctl", "ok", s.name+" = "+s.value, nil)
		}
	}
}

func (d *diagnosis) root(f host.Diagnostics) {
	if f.Root {
		d.add("user", "note", "root: the sandbox holds, but every file of root is readable where a profile shows it",
			[]string{"run sbx as a plain user where you can"})
	}
}

// config reports whether the configuration lets a run be sandboxed.
func (d *diagnosis) config(h *host.Host) bool {
	s, err := app.Load(app.ForRun(app.Flags{}, nil))
	if err != nil {
		d.add("config", "bad", err.Error(), nil)
		return false
	}
	d.Wanted = s.Policy.MinTier
	if !s.Settings.Enabled {
		d.add("config", "bad", "the sandbox is switched off: enabled = false in "+s.Settings.Where["enabled"], nil)
		return false
	}
	text := "profile " + strings.Join(s.Policy.Profiles, "+")
	if s.Settings.Fallback != "block" {
		d.add("config", "note", text+"; without an engine a run goes on unsandboxed (fallback_on_unavailable = "+s.Settings.Fallback+")", nil)
		return true
	}
	d.add("config", "ok", text, nil)
	return true
}

// bwrap reports whether a bwrap works.
func (d *diagnosis) bwrap(b host.Bwrap, err error, f host.Diagnostics) bool {
	var none *host.Unavailable
	if errors.As(err, &none) {
		d.Cause, d.remedy = string(none.Cause), none.Hints
		d.add("bwrap", "bad", none.Reason, none.Hints)
		return false
	}
	if err != nil {
		d.add("bwrap", "bad", err.Error(), nil)
		return false
	}
	d.add("bwrap", "ok", text.Plain(b.Path)+" "+b.Version.String()+", tried and working", nil)
	if b.Version.Less(bwrapargs.HasSize) {
		d.add("bwrap", "note", "this version cannot bound the size of private directories",
			[]string{f.Install() + " (0.7 or newer)"})
	}
	if b.Version.Less(bwrapargs.FixedSymlink) {
		d.add("bwrap", "note", "releases before 0.12 follow links during set-up (CVE-2026-87766), unless the package has the fix; sbx itself gives it no path that holds a link",
			[]string{"keep it up to date: " + f.Install()})
	}
	return true
}

// filters says whether system calls can be filtered.
func (d *diagnosis) filters(f host.Diagnostics) {
	if f.Seccomp {
		d.add("seccomp", "ok", "system call filters can be set", nil)
		return
	}
	d.add("seccomp", "bad", "no system call filter can be set here: no engine of sbx works without it",
		[]string{"a kernel with CONFIG_SECCOMP_FILTER, and a container or service that lets seccomp(2) and prctl(2) through"})
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

func (d *diagnosis) landlock(f host.Diagnostics) {
	if f.Landlock == 0 {
		hints := []string{"Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK, and landlock among lsm= of the kernel's command line; cat /sys/kernel/security/lsm shows what is on"}
		if f.Filtered || f.Container != "" {
			hints = append([]string{"the system call filter of the container or service may refuse it: let landlock_create_ruleset, landlock_add_rule and landlock_restrict_self through"}, hints...)
		}
		d.add("landlock", "note", "Landlock is not available here", hints)
		return
	}
	d.add("landlock", "ok", "ABI "+strconv.Itoa(f.Landlock)+": what files a process and its children may open, make and run", nil)
	for _, l := range lacks {
		if f.Landlock < l.abi {
			d.add("landlock", "note", "before ABI "+strconv.Itoa(l.abi)+": "+l.what, nil)
		}
	}
}

func (d *diagnosis) cache(h *host.Host, dir string) {
	// What stands there is not asked: it may be from better days.
	if d.Cause != "" && host.Forget(h, dir) {
		d.add("cache", "note", "a saved verdict said that the engine works here; it has been removed, and the next run tries again", nil)
	}
	if dir == "" {
		d.add("cache", "note", "no home directory: every run probes the engine anew", nil)
		return
	}
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		d.add("cache", "bad", text.Plain(dir)+" is not a directory", []string{"move it away"})
		return
	}
	if why := h.CheckOwnDir(dir); why != nil {
		d.add("cache", "note", "nothing can be kept, so every run probes the engine anew, and no project is watched: "+why.Error(), []string{"set HOME, or XDG_CACHE_HOME and XDG_STATE_HOME to directories that exist"})
		return
	}
	d.add("cache", "ok", text.Plain(dir), nil)
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
		means, err := limits.Choose(l.want, facts, limits.Options{Staged: !facts.Mac})
		var refused *limits.Refusal
		switch {
		case errors.As(err, &refused):
			d.add("limits", "note", l.flag+" cannot be enforced here: "+refused.Why, []string{refused.Hint})
		case err == nil:
			for _, held := range means.Held {
				_, by, _ := strings.Cut(held, ": ")
				d.add("limits", "ok", l.flag+" by "+by, nil)
			}
			for _, gap := range means.Gaps {
				d.add("limits", "note", gap, nil)
			}
		}
	}
}

// shells are what sbx starts of its own accord.
func (d *diagnosis) shells(h *host.Host) {
	s, err := app.Load(app.ForRun(app.Flags{}, nil))
	if err != nil {
		return // said under config
	}
	for _, u := range []struct{ use, path string }{{"sbx alone", s.Shell(s.Login())}, {"sbx -c", s.Shell("/bin/sh")}} {
		if h.FS.Access(u.path, 'x') {
			d.add("shells", "ok", u.use+" starts "+text.Plain(u.path), nil)
		} else {
			d.add("shells", "note", u.use+" would start "+text.Plain(u.path)+", which cannot be executed",
				[]string{"set SHELL, or shell in the configuration"})
		}
	}
}

// names lists the programs on a PATH that answer to sbx's name: there are
// others of it.
func (d *diagnosis) names(path string) {
	self, err := os.Executable()
	if err != nil {
		return
	}
	own, err := os.Stat(self)
	if err != nil {
		return
	}
	seen := []string{}
	told := []string{}
	mine := false // what answers is this program
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			if slices.Contains(told, dir) {
				continue
			}
			told = append(told, dir)
			d.add("PATH", "note", "it contains a directory that is not absolute ("+strconv.Quote(dir)+"): whoever can write the working directory can replace any program", []string{"take it out of PATH"})
			continue
		}
		name := filepath.Join(dir, "sbx")
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
			continue
		}
		real, err := filepath.EvalSymlinks(name)
		if err != nil || slices.Contains(seen, real) {
			continue
		}
		seen = append(seen, real)
		same := os.SameFile(own, info)
		switch {
		case len(seen) == 1 && same:
			mine = true
			d.add("PATH", "ok", text.Plain(name)+" answers to sbx: this program", nil)
		case len(seen) == 1:
			d.add("PATH", "note", text.Plain(name)+" answers to sbx, and is another program than this ("+text.Plain(self)+")",
				[]string{"put " + text.Plain(filepath.Dir(self)) + " before " + text.Plain(dir) +
					" in PATH, or call this one by its path"})
		case same:
			d.add("PATH", "note", text.Plain(name)+" is this program, and does not answer: another comes before it",
				nil)
		case mine:
			d.add("PATH", "note", "another program called sbx is at "+text.Plain(name)+"; it does not answer, since this one comes before it", nil)
		default:
			d.add("PATH", "note", "another program called sbx is at "+text.Plain(name), nil)
		}
	}
	if len(seen) == 0 {
		d.add("PATH", "note", "sbx is not on PATH; this one is "+text.Plain(self), nil)
	}
}
