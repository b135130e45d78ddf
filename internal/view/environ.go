// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/credentials"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// EnvChange is what happened to one variable, for people: a name, never a
// value of the caller's.
type EnvChange struct {
	Name   string `json:"name"`
	Action string `json:"action" enum:"pass,drop,set"`
	Source string `json:"source"`
	Value  string `json:"value,omitempty"` // what sbx sets for a tool, without what is the caller's
}

// Environment returns the variables of the command in the caller's order, then
// those that sbx sets, and what became of each. They are filtered here, before
// bwrap starts: what is given to --unsetenv stays readable in /proc/1/environ.
//
// late are the variables that the program loader obeys. bwrap itself must not
// see them: a library named in LD_PRELOAD would be loaded outside the sandbox.
func (v *View) Environment(pol *policy.Policy, pwd string, set []policy.Var) (
	env []string, late []policy.Var, changes []EnvChange) {
	own := v.overrides(pol, set)
	most := len(v.Host.Environ) + len(own)
	env, changes = make([]string, 0, most), make([]EnvChange, 0, most)
	give := func(name, value, whole string) {
		if obeyedByLoader(name) {
			late = append(late, policy.Var{Name: name, Value: value})
			return
		}
		env = append(env, whole)
	}
	decide := pol.Envs()
	for _, kv := range v.Host.Environ {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		if slices.ContainsFunc(own, func(o policy.Var) bool { return o.Name == name }) {
			continue
		}
		d := decide(name)
		switch {
		case d.Layer != policy.Builtin:
		case d.Pass && holdsPassword(value):
			d = policy.Verdict{Source: "its value holds a URL with a password"}
		case !d.Pass && pol.Environment == "inherit" && namesDatabase(pol, name) && credentials.Database(value):
			d = policy.Verdict{Pass: true, Source: policy.Inherited}
		}
		if !d.Pass {
			changes = append(changes, EnvChange{Name: name, Action: "drop", Source: d.Source})
			continue
		}
		changes = append(changes, EnvChange{Name: name, Action: "pass", Source: d.Source})
		switch name {
		case "PATH":
			kv = "PATH=" + v.prunePath(value)
		case "PWD":
			kv = "PWD=" + v.Inside(pwd)
		case "SHELL":
			if _, ok := v.Visible(value); !ok {
				kv = "SHELL=/bin/sh"
			}
		}
		give(name, value, kv) // the loader obeys none of these
	}
	for _, o := range own {
		give(o.Name, o.Value, o.Name+"="+o.Value)
		source := cmp.Or(pol.Where["env_set."+o.Name], "sbx")
		changes = append(changes, EnvChange{Name: o.Name, Action: "set", Source: source})
	}
	slices.SortStableFunc(changes, func(a, b EnvChange) int { return strings.Compare(a.Name, b.Name) })
	return env, late, changes
}

// obeyedByLoader reports whether ld.so(8) or the C library acts on a variable
// before main: what glibc ignores in set-user-ID programs.
func obeyedByLoader(name string) bool {
	if strings.HasPrefix(name, "Malloc") && name != "MallocNanoZone" { // macOS's: one names a file to be opened
		return true
	}
	for _, prefix := range []string{"LD_", "DYLD_", "MALLOC_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"GLIBC_TUNABLES", "GCONV_PATH", "GETCONF_DIR", "HOSTALIASES", "LOCALDOMAIN",
		"LOCPATH", "NIS_PATH", "NLSPATH", "RESOLV_HOST_CONF", "RES_OPTIONS", "TZDIR"}, name)
}

// holdsPassword reports whether a value holds a URL with user and password, as
// HTTP_PROXY may.
func holdsPassword(value string) bool {
	for {
		_, rest, ok := strings.Cut(value, "://")
		if !ok {
			return false
		}
		end := strings.IndexAny(rest, "/ \t\n\"'?#")
		if end < 0 {
			end = len(rest)
		}
		if user, _, found := strings.Cut(rest[:end], "@"); found && strings.Contains(user, ":") {
			return true
		}
		value = rest
	}
}

// namesDatabase reports whether a variable is one that profiles drop because its value
// may hold a password, and that is harmless without one. X_SECRET_DATABASE_URL is none.
func namesDatabase(pol *policy.Policy, name string) bool {
	return slices.ContainsFunc([]string{"DATABASE_URL", "REDIS_URL", "AMQP_URL", "MONGODB_URI", "MONGO_URL"},
		func(end string) bool {
			rest, ok := strings.CutSuffix(name, end)
			return ok && (rest == "" || pol.Env(strings.TrimSuffix(rest, "_")).Pass)
		})
}

// overrides are the variables whose value sbx decides, whatever the caller has.
func (v *View) overrides(pol *policy.Policy, set []policy.Var) []policy.Var {
	own := slices.Clone(pol.EnvSet)
	add := func(name, value string) {
		if !slices.ContainsFunc(own, func(o policy.Var) bool { return o.Name == name }) {
			own = append(own, policy.Var{Name: name, Value: value})
		}
	}
	for _, s := range set {
		add(s.Name, s.Value)
	}
	if dir, ok := host.LookupEnv(v.Host.Environ, "TMPDIR"); ok && !v.holdsTemp(dir) {
		add("TMPDIR", "/tmp")
	}
	if v.Host.Shell != "" {
		add("SHELL", v.Host.Shell)
	}
	if _, ok := host.LookupEnv(v.Host.Environ, "PATH"); !ok {
		add("PATH", v.prunePath(host.DefaultPath))
	}
	return own
}

// holdsTemp reports whether files can be made in a directory inside.
func (v *View) holdsTemp(dir string) bool {
	to, err := v.Res.Resolve(filepath.Clean(dir))
	if err != nil || !strings.HasPrefix(dir, "/") {
		return false
	}
	if m := v.At(to.Path); m != nil && m.Rule.Access == policy.Private {
		return true
	}
	_, seen := v.Visible(dir)
	return seen && to.Info.Kind == host.Dir && v.Access(to.Path) == policy.Write
}

// prunePath keeps the directories of a search path that exist inside, and relative
// ones: the working directory is the command's. The empty one goes, and those of
// sbx's links: what runs inside is to find the programs themselves.
func (v *View) prunePath(path string) string {
	var keep []string
	shims := v.Host.ShimDirs(v.Res)
	for _, dir := range strings.Split(path, ":") {
		if dir == "" || slices.Contains(keep, dir) {
			continue
		}
		if dir[0] != '/' {
			keep = append(keep, dir)
			continue
		}
		if to, ok := v.Visible(dir); ok && to.Info.Kind == host.Dir && !slices.Contains(shims, to.Path) {
			keep = append(keep, v.Inside(dir))
		}
	}
	return strings.Join(keep, ":")
}
