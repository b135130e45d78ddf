// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// LockedError says that something loosens what the administrator locked.
type LockedError struct {
	Key    string // the locked key
	By     string // where it was locked, file:line:col
	What   string // what would be looser: "false -> true", "/etc/shadow: block -> read"
	Source string // what loosened it: a place in a file, a flag, or ""
}

func (e *LockedError) Error() string {
	s := e.Key + " is locked by " + e.By + ": a later setting may not loosen it (" + oneLine(e.What)
	if e.Source != "" {
		s += ", from " + oneLine(e.Source)
	}
	return s + ")"
}

// CheckLocked compares what is about to run with what the built-in and system
// layers alone would run, and returns a [*LockedError] when that is looser in
// a locked key. Flags that change a setting at the top of files (--direct,
// SBX_*) have to be in s already; noSandbox stands for --no-sandbox.
func (s *Settings) CheckLocked(final *policy.Policy, vars policy.Vars, noSandbox bool) error {
	if s.LockBase == nil {
		return nil
	}
	base, err := policy.Resolve(s.LockBase.Profiles, []string{s.LockBase.DefaultProfile}, vars)
	if err != nil {
		return err
	}
	changes := policy.Widened(base, final)
	for _, c := range policy.Diff(base, final) {
		if !c.Wider && policy.Unordered(c.Key) && slices.Contains(s.Locked, c.Key) {
			changes = append(changes, c)
		}
	}
	for _, key := range s.Locked {
		if err := s.checkTop(key, noSandbox); err != nil {
			return err
		}
		for _, c := range changes {
			if loosens(key, c, base, final) {
				return s.locked(key, changeText(c), changeSource(c, final))
			}
		}
	}
	s.NeedsFull = s.needsFull(base, final)
	return nil
}

// needsFull returns the first lock that tier reduced does not hold, whatever the
// policy says, nil for none. What the administrator's own layer leaves open needs
// no holding.
func (s *Settings) needsFull(base, final *policy.Policy) *LockedError {
	for _, key := range s.Locked {
		what := ""
		switch {
		case key == "share_pid" && !base.SharePID:
			what = "with Landlock the processes of the host are visible"
		case key == "private_paths" && slices.ContainsFunc(base.Rules,
			func(r policy.Rule) bool { return r.Access == policy.Private }):
			what = "with Landlock no directory is private"
		case key == "allow_network" && !base.Network:
			what = "with Landlock the interfaces and connections of the host can be listed"
		case key == "tmpfs_limit_mb":
			what = "with Landlock temporary files have no bound"
		case (key == "protected_paths" || key == "git" && base.Git != "full") && final.Protected != "enforce":
			what = "with Landlock protected paths can be changed, but for protect = enforce"
		}
		if what != "" {
			return &LockedError{Key: key, By: s.Where["locked."+key], What: what}
		}
	}
	return nil
}

// FallsBack is what becomes of a run where no sandbox is available: a lock that the
// administrator set ends only by the administrator's own word. unlocked says what
// another user wanted, and is "" when that counts.
func (s *Settings) FallsBack() (fallback string, login bool, unlocked string) {
	b := s.LockBase
	if b == nil {
		return s.Fallback, s.LoginFallback, ""
	}
	fallback = s.Fallback
	switch {
	case topKey("fallback_on_unavailable").wider(b.Fallback, s.Fallback):
		fallback, unlocked = b.Fallback, "fallback_on_unavailable = "+strconv.Quote(s.Fallback)+" in "+
			s.Where["fallback_on_unavailable"]
	case s.LoginFallback && !b.LoginFallback:
		unlocked = "login_fallback in " + s.Where["login_fallback"]
	default:
		return fallback, s.LoginFallback, ""
	}
	return fallback, s.LoginFallback && b.LoginFallback, unlocked + " does not count: " + s.Locked[0] +
		" is locked by " + s.Where["locked."+s.Locked[0]]
}

func (s *Settings) locked(key, what, source string) error {
	return &LockedError{Key: key, By: s.Where["locked."+key], What: what, Source: source}
}

// checkTop compares the settings at the top of files.
func (s *Settings) checkTop(name string, noSandbox bool) error {
	k, b := topKey(name), s.LockBase
	if k == nil || k.rank == nil && k.kind != aFile {
		return nil
	}
	if name == "enabled" && b.Enabled && noSandbox {
		return s.locked(name, "no sandbox", "--no-sandbox")
	}
	from, to := k.value(b), k.value(s)
	looser := k.wider(from, to)
	if k.kind == aFile {
		looser = from != to
		from, to = strconv.Quote(b.Shell), strconv.Quote(s.Shell)
	}
	if !looser {
		return nil
	}
	source := s.Where[name]
	if source == b.Where[name] { // changed after the files were read
		source = ""
	}
	return s.locked(name, fmt.Sprint(from)+" -> "+fmt.Sprint(to), source)
}

// loosens reports whether a change is about a locked key. A grant that opens
// a block is filed under the block; it adds to the grants all the same. A
// variable let through by name or pattern may undo a drop.
func loosens(key string, c policy.Change, base, final *policy.Policy) bool {
	switch {
	case key == c.Key || key == "default_profile" && c.Wider:
		return true
	case key == "env_drop" && c.Key == "env_pass":
		return opensDrop(c.What, base, final)
	case c.Key == "limits": // best-effort may leave these out
		return key == "memory_limit_mb" || key == "cpus" || key == "procs"
	case c.What == "" || c.What[0] != '/' || c.Key == "devices":
		return false
	}
	ruled := func(a policy.Access) bool { r, _ := base.Decide(c.What); return r.Access == a }
	switch key {
	case "writable_paths":
		return c.To == policy.Write.String()
	case "readonly_paths":
		return c.To == policy.Read.String()
	// What is blocked in a private directory is not there for two reasons;
	// opening it goes against both.
	case "blocked_paths":
		return ruled(policy.Block)
	case "protected_paths":
		return ruled(policy.Protect)
	// The key of the change is that of the grant that took its place.
	case "private_paths":
		return ruled(policy.Private)
	}
	return false
}

func opensDrop(name string, base, final *policy.Policy) bool {
	if strings.Contains(name, "*") {
		return len(base.EnvDrop) > 0
	}
	dropped := slices.ContainsFunc(base.EnvDrop, func(it policy.Item) bool {
		return policy.Match(strings.ToUpper(it.Text), strings.ToUpper(name)) // drops do not care for case
	})
	return dropped && final.Env(name).Pass && !base.Env(name).Pass
}

func changeText(c policy.Change) string {
	if c.What == c.To || c.What == "" {
		return c.From + " -> " + c.To
	}
	return c.What + ": " + c.From + " -> " + c.To
}

// changeSource finds where the looser value comes from.
func changeSource(c policy.Change, final *policy.Policy) string {
	if c.Key == "env_set" {
		return final.Where["env_set."+c.What]
	}
	items := map[string][]policy.Item{"devices": final.Devices, "env_pass": final.EnvPass}[c.Key]
	if i := slices.IndexFunc(items, func(it policy.Item) bool { return it.Text == c.What }); i >= 0 {
		return items[i].Source
	}
	if c.What != "" && c.What[0] == '/' && c.Key != "devices" {
		r, _ := final.Decide(c.What)
		return r.Source
	}
	return final.Where[c.Key]
}
