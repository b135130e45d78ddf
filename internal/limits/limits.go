// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Wanted are the limits of a run; 0 is none.
type Wanted struct {
	MemoryMB   int
	CPUs       float64
	Procs      int
	FileSizeMB float64 // of each file
}

// Any reports whether there is a limit at all.
func (w Wanted) Any() bool { return w != Wanted{} }

// Tree reports whether a limit is for all processes together, so that the
// machine has to be asked for a place that holds them.
func (w Wanted) Tree() bool { return w.MemoryMB > 0 || w.CPUs > 0 || w.Procs > 0 }

// Controllers of the kernel, by their names in cgroup v2.
const (
	memory = "memory"
	pids   = "pids"
	cpu    = "cpu"
)

// keys are the controllers in the order of messages, with the key by which a
// policy asks for each.
var keys = [...]struct{ controller, key string }{{memory, "memory_limit_mb"}, {cpu, "cpus"}, {pids, "procs"}}

// needs reports whether a limit needs a controller.
func (w Wanted) needs(controller string) bool {
	switch controller {
	case memory:
		return w.MemoryMB > 0
	case cpu:
		return w.CPUs > 0
	}
	return w.Procs > 0
}

// Options say how the limits are to be had.
type Options struct {
	BestEffort bool // leave out what cannot be held
	Staged     bool // sbx stands beside the command inside, and can set its rlimits
}

// Means put limits into force. The zero value is for a run without any.
type Means struct {
	Prefix  []string // words in front of bwrap's, the first being the program to execute in its place
	Env     []string // NAME=value, for Prefix alone: the command does not see them
	Drop    []string // names of variables that Prefix adds, besides those
	Cgroups []Cgroup // to make and join just before the execution

	// Rlimits are for the command. Process 1 sets them, each no higher than the hard
	// limit that exists already; without one of sbx they are set just before the execution.
	Rlimits []pid1.Rlimit
	Staged  bool

	OOM    string   // file that counts out-of-memory kills and exists already; see also Cgroup.OOM
	Memory string   // the limit on memory as a person writes it, "" without one that kills
	Held   []string // one line for each limit: what holds it
	Gaps   []string // one line for each that is not held as it should be
}

// Counts reports whether there is a file to learn of kills from.
func (m *Means) Counts() bool {
	return m.OOM != "" || slices.ContainsFunc(m.Cgroups, func(c Cgroup) bool { return c.OOM != "" })
}

// Cgroup is a control group to make in a directory that is there.
type Cgroup struct {
	Parent string `json:"parent"`
	Files  []File `json:"files"` // written in this order
	OOM    string `json:"-"`     // name of the file in it that counts out-of-memory kills, or ""
}

// File is one setting of a control group.
type File struct {
	Name     string `json:"name"`
	Data     string `json:"data"`
	Optional bool   `json:"-"` // may be missing: the kernel was built without it
}

// Refusal is a limit that cannot be held.
type Refusal struct {
	Key  string // as a policy names it
	Why  string
	Hint string
}

func (r *Refusal) Error() string { return r.Key + " cannot be enforced here: " + r.Why }

// leastMB is what the sandbox itself takes: with less the kernel would end it
// before the command runs.
const leastMB = 16

// Choose finds the means, the best first: a control group of the caller's own,
// then one that systemd makes. Processes alone are counted by RLIMIT_NPROC
// where that counts the sandbox's only, since it leaves nothing behind. The
// error is a [*Refusal].
func Choose(w Wanted, f Facts, o Options) (*Means, error) {
	m := &Means{Staged: o.Staged}
	if err := m.fileSize(w, f, o); err != nil {
		return nil, err
	}
	if w.MemoryMB > 0 && w.MemoryMB < leastMB && !f.Mac {
		why := "the sandbox itself takes up to " + strconv.Itoa(leastMB) + " MiB"
		return nil, &Refusal{"memory_limit_mb", why, "allow at least that much"}
	}
	counted := o.Staged && f.Counted
	best := f.bestOffer(w, counted)
	for _, k := range keys {
		switch {
		case !w.needs(k.controller):
		case best.has(k.controller):
			m.Held = append(m.Held, k.key+": "+best.name+", for all processes together")
		case k.controller == pids && counted:
			m.Rlimits = append(m.Rlimits, pid1.Rlimit{Resource: rlimitNPROC, Max: uint64(w.Procs)})
			m.Held = append(m.Held, k.key+": RLIMIT_NPROC in a user namespace of its own, for all processes together")
		case k.controller == pids && f.Running > 0 && !f.Root:
			m.macProcs(w, f)
		case !o.BestEffort:
			return nil, &Refusal{k.key, f.without(k.controller, o), f.hint(k.controller, o)}
		case k.controller == memory && !f.Mac:
			// Not RLIMIT_AS: node, go and java reserve far more address space than they use.
			m.Rlimits = append(m.Rlimits, pid1.Rlimit{Resource: rlimitDATA, Max: uint64(w.MemoryMB) << 20})
			m.Gaps = append(m.Gaps, k.key+" is held for each process by itself (RLIMIT_DATA), not for all together, "+
				"nor for files in private directories: "+f.without(k.controller, o))
		default:
			m.Gaps = append(m.Gaps, k.key+" is not enforced: "+f.without(k.controller, o))
		}
	}
	for i := range best.places {
		best.places[i].group(m, w, o, best.kind)
	}
	if best.kind == systemdScope {
		f.Scope.fill(m, w, o)
	}
	return m, nil
}

// Usual adds the limit that holds where none on processes was asked for. Only the means
// that costs nothing and leaves nothing behind is taken; where that is missing, Held says
// so, since no one asked.
func (m *Means) Usual(f Facts, o Options) {
	if o.Staged && f.Counted {
		m.Staged = true
		m.Rlimits = append(m.Rlimits, pid1.Rlimit{Resource: rlimitNPROC, Max: policy.UsualProcs})
		m.Held = append(m.Held, "procs: "+strconv.Itoa(policy.UsualProcs)+" by default (RLIMIT_NPROC in a user namespace "+
			"of its own, for all processes together); procs or --procs sets another number")
		return
	}
	why := "RLIMIT_NPROC counts all processes of the user where sbx is not process 1 of the sandbox"
	switch {
	case f.Mac:
		why = "macOS has no control groups"
	case f.Root:
		why = "RLIMIT_NPROC does not hold root, and a control group, which does, slows the start and stays behind"
	case !f.Counted:
		why = "RLIMIT_NPROC counts all processes of a user before Linux 5.14"
	}
	m.Held = append(m.Held, "procs: no limit by default here, since "+why+"; procs or --procs asks for one")
}

func (m *Means) fileSize(w Wanted, f Facts, o Options) error {
	if w.FileSizeMB == 0 {
		return nil
	}
	if !o.Staged && !f.Mac && w.FileSizeMB < 1 {
		// bwrap writes files of its own into the sandbox.
		const why = "only process 1 of the sandbox can set less than 1 MiB"
		return &Refusal{"file_size_limit_mb", why, "leave out --direct, or allow 1M"}
	}
	m.Rlimits = append(m.Rlimits, pid1.Rlimit{Resource: rlimitFSIZE, Max: uint64(math.Ceil(w.FileSizeMB * (1 << 20)))})
	m.Held = append(m.Held, "file_size_limit_mb: RLIMIT_FSIZE, for each file")
	return nil
}

// macProcs sets the only limit that macOS has for more than one process, the
// number of processes of a user: those that run already are added, so that the
// command can have as many more as it is allowed. Others that end or begin
// meanwhile make it more or fewer.
func (m *Means) macProcs(w Wanted, f Facts) {
	m.Rlimits = append(m.Rlimits, pid1.Rlimit{Resource: macNPROC, Max: uint64(f.Running + w.Procs)})
	m.Held = append(m.Held, "procs: RLIMIT_NPROC, which counts all processes of the user: the "+
		strconv.Itoa(f.Running)+" that run now and "+strconv.Itoa(w.Procs)+" more")
	m.Gaps = append(m.Gaps, "procs is held together with your other processes: "+
		"when some of those end the command can have more, and when more begin, fewer")
}

// without says why no means holds a controller's limit.
func (f *Facts) without(controller string, o Options) string {
	why := "there is no control group that the caller may use, and no systemd that would make one"
	switch {
	case f.Mac:
		why = "macOS has no control groups"
	case !f.Mounted:
		why = "no control groups are mounted"
	case f.Scope.Run != "":
		why = "systemd was not given the " + controller + " controller for this user"
	case len(f.Unified)+len(f.Legacy) > 0:
		why = "the caller's control groups lack the " + controller + " controller"
	}
	switch {
	case controller == memory && f.Mac:
		why += ", and holds no process to a size of its memory (RLIMIT_AS and RLIMIT_DATA do nothing there)"
	case controller != pids:
	case f.Root:
		why += ", and RLIMIT_NPROC does not hold root"
	case f.Mac:
		why += ", and how many processes the user has cannot be seen here"
	case !f.Counted:
		why += ", and RLIMIT_NPROC counts all processes of a user before Linux 5.14"
	case !o.Staged:
		why += ", and without sbx as process 1 of the sandbox RLIMIT_NPROC counts all processes of the user"
	}
	return why
}

// hint says what to do about it.
func (f *Facts) hint(controller string, o Options) string {
	rest := `take the limit out, or set limits = "best-effort" in the profile to run without it`
	switch {
	case f.Mac:
		return rest
	case controller == pids && f.Counted && !o.Staged:
		return "leave out --direct and --share-pid"
	case f.Scope.Run != "":
		return "let systemd delegate it (Delegate=" + controller + " for user@.service); or " + rest
	}
	return "this takes a login session of systemd's, or a control group delegated to you; or " + rest
}

// Resources of setrlimit(2), the same on all that Go runs on under Linux but
// MIPS and SPARC, which sbx is not built for.
const (
	rlimitFSIZE = 1
	rlimitDATA  = 2
	rlimitNPROC = 6
	macNPROC    = 7 // on macOS; the others are the same there
)

// Resource is a resource of setrlimit(2) by its name without "RLIMIT_", in
// small letters.
func Resource(n int) string {
	names := map[int]string{rlimitFSIZE: "fsize", rlimitDATA: "data", rlimitNPROC: "nproc", macNPROC: "nproc"}
	return cmp.Or(names[n], strconv.Itoa(n))
}

// SetRlimits sets the planned rlimits for this process and what it executes.
func (m *Means) SetRlimits() error {
	for _, l := range m.Rlimits {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.Resource, &now); err != nil {
			return err
		}
		limit := min(l.Max, now.Max)
		if err := unix.Setrlimit(l.Resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}
