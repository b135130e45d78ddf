package wrap

import (
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/policy"
)

// EnvChange is what happened to one variable, for people: a name, never a
// value of the caller's.
type EnvChange struct {
	Name   string
	Kept   bool
	Set    bool // sbx gave it a value
	Source string
}

// environment returns the variables of the command in the caller's order, then
// those that sbx sets, and what became of each. They are filtered here, before
// bwrap starts: what is given to --unsetenv stays readable in /proc/1/environ.
func environment(pol *policy.Policy, h *Host, v *view, set []policy.Var) (env []string, changes []EnvChange) {
	own := overrides(pol, h, v, set)
	for _, kv := range h.Environ {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		if slices.ContainsFunc(own, func(o policy.Var) bool { return o.Name == name }) {
			continue
		}
		d := pol.Env(name)
		changes = append(changes, EnvChange{Name: name, Kept: d.Pass, Source: d.Source})
		if !d.Pass {
			continue
		}
		switch name {
		case "PATH":
			value = prunePath(v, value)
		case "PWD":
			if to, ok := v.visible(value); !ok || to.Path != h.CWD || !strings.HasPrefix(value, "/") {
				value = h.CWD
			}
			value = v.inside(value)
		case "SHELL":
			if _, ok := v.visible(value); !ok {
				value = "/bin/sh"
			}
		}
		env = append(env, name+"="+value)
	}
	for _, o := range own {
		env = append(env, o.Name+"="+o.Value)
		changes = append(changes, EnvChange{Name: o.Name, Kept: true, Set: true, Source: "sbx"})
	}
	slices.SortStableFunc(changes, func(a, b EnvChange) int { return strings.Compare(a.Name, b.Name) })
	return env, changes
}

// overrides are the variables whose value sbx decides, whatever the caller has.
func overrides(pol *policy.Policy, h *Host, v *view, set []policy.Var) []policy.Var {
	own := slices.Clone(pol.EnvSet)
	add := func(name, value string) {
		if !slices.ContainsFunc(own, func(o policy.Var) bool { return o.Name == name }) {
			own = append(own, policy.Var{Name: name, Value: value})
		}
	}
	for _, s := range set {
		add(s.Name, s.Value)
	}
	if dir, ok := lookupEnv(h.Environ, "TMPDIR"); ok && !holdsTemp(v, dir) {
		add("TMPDIR", "/tmp")
	}
	if _, ok := lookupEnv(h.Environ, "PATH"); !ok {
		add("PATH", prunePath(v, defaultPath))
	}
	return own
}

// defaultPath is where commands are looked for when PATH is unset.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// holdsTemp reports whether files can be made in a directory inside.
func holdsTemp(v *view, dir string) bool {
	to, err := v.res.resolve(policy.Clean(dir))
	if err != nil || !strings.HasPrefix(dir, "/") {
		return false
	}
	if i, ok := v.find(to.Path); ok && v.mounts[i].rule.Access == policy.Private {
		return true
	}
	_, seen := v.visible(dir)
	return seen && to.Info.Kind == Dir && v.access(to.Path) == policy.Write
}

// prunePath keeps the directories of a search path that exist inside. Relative
// ones go: they would find whatever the working directory holds.
func prunePath(v *view, path string) string {
	var keep []string
	for _, dir := range strings.Split(path, ":") {
		if !strings.HasPrefix(dir, "/") || slices.Contains(keep, dir) {
			continue
		}
		if to, ok := v.visible(dir); ok && to.Info.Kind == Dir {
			keep = append(keep, v.inside(dir))
		}
	}
	return strings.Join(keep, ":")
}

func lookupEnv(env []string, name string) (string, bool) {
	for _, kv := range env {
		if len(kv) > len(name) && kv[len(name)] == '=' && kv[:len(name)] == name {
			return kv[len(name)+1:], true
		}
	}
	return "", false
}
