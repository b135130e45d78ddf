// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/limits"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/seccomp"
	"github.com/sbx-sandbox/sbx/internal/tripwire"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// Plan is one execution, ready to happen. A dry run prints it and a run
// executes it; nothing is decided in between.
type Plan struct {
	Engine   string           // host.EngineBwrap and so on
	Tier     string           // full, reduced, none
	Path     string           // of the program to execute
	Argv     []string         // one element per word, Argv[0] included, no quoting
	Env      []string         // NAME=value
	FDs      []bwrapargs.FD   // made just before the execution, at these numbers
	Keep     []int            // descriptors of the caller that pass, beyond 0, 1, 2
	Reopen   []int            // of 0, 1, 2 and Keep: read-only files that process 1 opens anew, on a read-only mount
	Copy     []int            // of these, too: read-only files to be replaced by a copy
	Dirs     []string         // directories of sbx's own to be made first, mode 0700
	Limit    float64          // seconds until process 1 ends everything, and some more until the kernel does; 0 is no limit
	Init     *pid1.InitConfig // what process 1 is told; nil without one
	Setup    *pid1.SetupFDs   // bwrap's ends of the pipes to the set-up watchdog where no process 1 stays; nil elsewhere
	Session  string           // directory of this run alone, to be removed by a later one; "" for none
	Files    []OwnFile        // made in Session just before the execution
	Confined *Confined        // what this process puts around itself, with Landlock; nil elsewhere
	Limits   limits.Means     // what holds the limits on memory, processors, processes and files
	Lack     string           // why the tier is not full, "" when it is or the engine was asked for by name
	Lift     string           // what to do about that
	Gaps     []string         // what the engine cannot enforce, one line each
	Report   Report           // what explain and the status line show

	LateEnv  []policy.Var // given to the command by bwrap, see [view.Environment]
	Closed   []string     // of the caller's descriptors, for people
	Pwd      string       // the working directory, by the caller's name for it
	CacheDst string       // where the private cache is seen; "" without one
	CacheDir string       // where it is kept; "" where it is not
	CacheOf  string       // the directory whose it is
	SeedFrom string       // the host's npm cache, which npm's in SeedTo gets before the command starts; "" for none
	SeedTo   string       // the private cache, by its canonical path
	InitFD   int          // the descriptor that Init is read from
}

// Report is what a person may want to know of a plan and no execution needs.
type Report struct {
	Policy  *policy.Policy
	Env     []view.EnvChange
	Usual   int               // how many of the gaps every run has, or every one on a terminal
	Notes   []string          // gaps that a person should hear of without asking
	Once    []string          // what a person should hear of once in a project
	Brief   map[string]string // for some of Notes, what is enough where that was said before
	Command string            // the file that will run, as the sandbox sees it
	Filter  *Filter           // the seccomp filter from a file; nil without one

	Unkept string // why the private cache ends with the run; "" where it is kept, or there is none

	OwnSession bool // or process group of its own: the command is not in the caller's

	// Watch is what the host may run later and the command could make or replace:
	// what does not exist cannot be protected without leaving something behind.
	Watch []tripwire.Watch

	// Exposed are protected paths that exist and that the command can change all
	// the same, since the policy says that they are to be watched.
	Exposed []string
	Movable []string // directories that these lie in, which can be put in another's place
	Above   []string // these, and those of copied names that do not exist
	Copied  []string // of Exposed, and of names that do not exist, those that are put back after the run

	Frozen []string // writable directories in which nothing can be made or removed
	Reveal string   // flags that show what closes those of the project, and so open them

	View       *view.View
	SelfInside bool              // sbx itself is in ManifestDir
	Files      map[string]string // what process 1 opens anew: paths inside, and on the host
	Made       []string          // directories that the run makes first
	Keep       []int             // with sandbox-exec: as in the plan
	Ruleset    *landlock.Ruleset // with Landlock
	Checker    *access.Checker   // made when someone asks
}

// Mounted is one path as the sandbox will have it.
type Mounted struct {
	view.Rule
	Covered bool // what lies above gives the same already
}

// Request is what a run is about, beside its policy.
type Request struct {
	Policy  *policy.Policy
	Engine  Chosen
	Root    string   // of the work tree, as [WorkTree] gives it
	Command []string // words, the first being the name to look up; nil for a plan that is only looked at
	Self    []string // run sbx itself with these words, instead of Command
	Argv0   string   // by which the command is called; "" is its first word
	KeepFDs []int    // named by the caller with --keep-fd
	Cache   string   // directory for private caches, "" when there is no home
	Remap   string   // show the working directory here; "" is where it is
	Direct  bool     // no process 1 of sbx around the command
	Tmp     string   // what /tmp is inside, where it is private: a directory of the session's; "" for an empty one

	Hints Hints // what is said after the command has failed

	Filter *seccomp.File // what the policy's seccomp names, when that is a file
	Agreed bool          // the user agreed to what is in it
}

// variables are the ones that tell the command where it is.
func (p *Plan) variables(pol *policy.Policy) []policy.Var {
	vars := []policy.Var{
		{Name: "SBX_PROFILE", Value: strings.Join(pol.Profiles, ",")},
		{Name: "SBX_TIER", Value: p.Tier},
	}
	if p.CacheDst != "" {
		vars = append(vars, policy.Var{Name: "XDG_CACHE_HOME", Value: p.CacheDst})
	}
	return vars
}

// Mounts lists the paths, parents first. It is made when someone asks: most
// runs print nothing.
func (r *Report) Mounts() []Mounted {
	v := r.View
	out := make([]Mounted, 0, len(v.Entries))
	for _, m := range v.Entries {
		if m.Redundant || v.DenyAbsent && m.Info.Kind == host.Absent && m.Rule.Layer == policy.Builtin {
			continue
		}
		out = append(out, Mounted{v.RuleOf(&m), !v.Needed(&m)})
	}
	return out
}

// Hidden lists the canonical paths at which the rules hide something that
// exists, parents first. Those that no one could see anyway are among them.
func (r *Report) Hidden() []string {
	var out []string
	for i := range r.View.Entries {
		if m := &r.View.Entries[i]; m.Info.Kind != host.Absent &&
			(m.Access == policy.Block || m.Rule.Access == policy.Block) {
			out = append(out, m.Path)
		}
	}
	return out
}

// Confined is what a process puts around itself before it becomes the command,
// where no other program does it.
type Confined struct {
	Ruleset landlock.Ruleset
	Filters []Program // of system calls, in the order in which they are loaded
}

// Program is one of struct sock_filter, with a name for people.
type Program struct {
	Name string
	Code []byte
}

// OwnFile is one that sbx writes for a run, mode 0400.
type OwnFile struct {
	Path string
	Data []byte
}

// Restricts reports whether the command is kept from something by Landlock.
func (p *Plan) Restricts(s landlock.Scope) bool {
	return p.Init != nil && p.Init.Ruleset != nil && p.Init.Ruleset.Scope&s == s
}

// Scoped names what Landlock keeps the command from, in the words of
// landlock(7).
func (p *Plan) Scoped() (names []string) {
	if p.Restricts(landlock.AbstractUnix) {
		names = append(names, "abstract-unix-socket")
	}
	if p.Restricts(landlock.Signal) {
		names = append(names, "signal")
	}
	return names
}

// Ask answers for an absolute path of the host, which need not be cleaned: a
// ".." is taken as the kernel takes it, after the link before it.
func (r *Report) Ask(path string) access.Verdict {
	if r.Checker == nil {
		r.Checker = r.checker()
	}
	return r.Checker.Ask(r.View.Inside(path))
}

func (r *Report) checker() *access.Checker {
	v := r.View
	c := &access.Checker{Rules: v.Rules(), Host: v.Host, Ruleset: r.Ruleset, Seatbelt: v.DenyAbsent,
		Network: r.Policy.Network, Beyond: v, Later: r.Policy, Keep: r.Keep}
	if v.NoMounts {
		c.FS = access.NewHostFS(v, r.Made)
	} else {
		c.FS = access.NewSandboxFS(v, r.SelfInside, r.Files)
	}
	return c
}
