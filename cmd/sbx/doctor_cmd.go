package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/limits"
	"github.com/sbx-sandbox/sbx/policy"
	"github.com/sbx-sandbox/sbx/wrap"
)

// doctorCmd says what this machine can enforce. It exits 0 only when a run
// would be sandboxed at the wanted tier.
type doctorCmd struct {
	MinTier string `placeholder:"TIER" enum:"full,reduced," default:"" help:"The tier that is wanted: full or reduced; default is the configured one."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// check is one line of the table.
type check struct {
	Name   string   `json:"check"`
	Status string   `json:"status"` // ok, note, bad
	Text   string   `json:"text"`
	Hints  []string `json:"hints,omitempty"`
}

type diagnosis struct {
	OK     bool    `json:"ok"`
	Tier   string  `json:"tier"`   // full, none
	Wanted string  `json:"wanted"` // full, reduced
	Cause  string  `json:"cause,omitempty"`
	Checks []check `json:"checks"`
}

func (c *doctorCmd) Run() error {
	d := c.diagnose()
	var err error
	if c.JSON {
		err = printJSON(d)
	} else {
		err = d.print()
	}
	if err != nil {
		return err
	}
	if !d.OK {
		return exitError(wrap.StatusFailed)
	}
	return nil
}

func (c *doctorCmd) diagnose() *diagnosis {
	d := &diagnosis{Tier: "none", Wanted: "reduced"}
	host, err := wrap.Look()
	if err != nil {
		d.add("system", "bad", err.Error(), nil)
		return d
	}
	facts := wrap.GatherFacts(host)
	d.system(facts)
	settings := d.config(host)
	if c.MinTier != "" {
		d.Wanted = c.MinTier
	}
	_, cacheDir := variables(host)
	bwrap, err := wrap.Find(host, "")
	if d.engine(bwrap, err, facts) {
		d.Tier = "full"
	}
	d.cache(cacheDir)
	d.limits(host)
	d.otherSbx()
	d.OK = d.Tier == "full" && settings
	if d.OK {
		d.add("result", "ok", "commands run in a sandbox of tier full", nil)
	} else {
		d.add("result", "bad", "a run here would not be sandboxed as wanted (tier "+d.Wanted+")", nil)
	}
	return d
}

func (d *diagnosis) add(name, status, text string, hints []string) {
	d.Checks = append(d.Checks, check{name, status, text, hints})
}

func (d *diagnosis) system(f wrap.Facts) {
	parts := []string{runtime.GOOS + "/" + runtime.GOARCH}
	if f.Distro != "" {
		parts = append(parts, f.Distro)
	}
	if f.WSL {
		parts = append(parts, "WSL")
	}
	d.add("system", "ok", strings.Join(parts, ", "), nil)
	if f.Container != "" {
		d.add("container", "note", "this is a "+f.Container+" container", nil)
	}
	if f.Root {
		d.add("user", "note", "root: the sandbox holds, but every file of root's is readable where a profile shows it", []string{"run sbx as a plain user where you can"})
	}
	for _, s := range []struct{ name, value string }{
		{"user.max_user_namespaces", f.MaxUserns}, {"kernel.unprivileged_userns_clone", f.UsernsClone},
		{"kernel.apparmor_restrict_unprivileged_userns", f.AppArmor},
	} {
		if s.value != "" {
			d.add("sysctl", "ok", s.name+" = "+s.value, nil)
		}
	}
}

// config reports whether the configuration lets a run be sandboxed.
func (d *diagnosis) config(host *wrap.Host) bool {
	s, err := load(&options{given: true})
	if err != nil {
		d.add("config", "bad", err.Error(), nil)
		return false
	}
	d.Wanted = s.settings.MinTier
	if !s.settings.Enabled {
		d.add("config", "bad", "the sandbox is switched off: enabled = false in "+s.settings.Where["enabled"], nil)
		return false
	}
	text := "profile " + strings.Join(s.policy.Profiles, "+")
	if s.settings.Fallback != "block" {
		d.add("config", "note", text+"; without an engine a run goes on unsandboxed (fallback_on_unavailable = "+s.settings.Fallback+")", nil)
		return true
	}
	d.add("config", "ok", text, nil)
	return true
}

func (d *diagnosis) engine(b wrap.Bwrap, err error, f wrap.Facts) bool {
	var none *wrap.Unavailable
	if errors.As(err, &none) {
		d.Cause = string(none.Cause)
		d.add("bwrap", "bad", none.Reason, none.Hints)
		return false
	}
	if err != nil {
		d.add("bwrap", "bad", err.Error(), nil)
		return false
	}
	d.add("bwrap", "ok", policy.Plain(b.Path)+" "+b.Version.String()+", tried and working", nil)
	if b.Version.Less(bwrapargs.HasSize) {
		d.add("bwrap", "note", "this version cannot bound the size of private directories", []string{wrap.InstallHint(f.Distro) + " (0.7 or newer)"})
	}
	if b.Version.Less(bwrapargs.FixedSymlink) {
		d.add("bwrap", "note", "releases before 0.12 can be led astray by links during set-up (CVE-2026-87766) unless the distribution has mended its package; sbx gives it no path that holds a link",
			[]string{"keep the package up to date"})
	}
	return true
}

func (d *diagnosis) cache(dir string) {
	if dir == "" {
		d.add("cache", "note", "no home directory: every run probes the engine anew", nil)
		return
	}
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		d.add("cache", "bad", policy.Plain(dir)+" is not a directory", []string{"move it away"})
		return
	}
	d.add("cache", "ok", policy.Plain(dir), nil)
}

// limits says which limits a run could have here: none is needed to be
// sandboxed.
func (d *diagnosis) limits(host *wrap.Host) {
	facts := limits.Look(host.UID)
	for _, l := range []struct {
		flag string
		want limits.Wanted
	}{{"--memory", limits.Wanted{MemoryMB: 1024}}, {"--cpus", limits.Wanted{CPUs: 1}}, {"--procs", limits.Wanted{Procs: 64}}} {
		means, err := limits.Choose(l.want, facts, limits.Options{Staged: true})
		var refused *limits.Refusal
		switch {
		case errors.As(err, &refused):
			d.add("limits", "note", l.flag+" cannot be enforced here: "+refused.Why, []string{refused.Hint})
		case err == nil:
			for _, held := range means.Held {
				_, by, _ := strings.Cut(held, ": ")
				d.add("limits", "ok", l.flag+" by "+by, nil)
			}
		}
	}
}

// otherSbx warns of another program of this name on PATH.
func (d *diagnosis) otherSbx() {
	self, err := os.Executable()
	if err != nil {
		return
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, "sbx")
		real, err := filepath.EvalSymlinks(path)
		if err != nil || !filepath.IsAbs(dir) {
			continue
		}
		a, err1 := os.Stat(real)
		b, err2 := os.Stat(self)
		if err1 == nil && err2 == nil && !os.SameFile(a, b) {
			d.add("PATH", "note", "another program called sbx is at "+policy.Plain(path), []string{"it answers when its directory comes first in PATH"})
		}
		return
	}
}

func (d *diagnosis) print() error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	sgr := map[string]string{"ok": "32", "note": "33", "bad": "31"}
	for _, c := range d.Checks {
		fmt.Fprintf(w, "%s\t%s\t%s\n", colour(sgr[c.Status], fmt.Sprintf("%-4s", c.Status)), c.Name, c.Text)
		for _, h := range c.Hints {
			fmt.Fprintf(w, "%s\t\t-> %s\n", colour("0", "    "), h)
		}
	}
	return w.Flush()
}
