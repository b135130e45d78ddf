// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"math"
	"slices"
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/pid1"
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

// needs are the controllers that a limit needs.
func (w Wanted) needs() []string {
	var out []string
	for i, want := range [...]bool{w.MemoryMB > 0, w.CPUs > 0, w.Procs > 0} {
		if want {
			out = append(out, keys[i].controller)
		}
	}
	return out
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

// staff are the processes and threads of sbx's own that a control group counts
// beside the command's: bwrap and its reaper, or bwrap and process 1, which as a Go
// program has some threads. (To RLIMIT_NPROC process 1 adds its own.)
const (
	directStaff = 2
	staff       = 9
)

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
	if !w.Tree() {
		return m, nil
	}
	if f.Mac {
		return m, m.mac(w, f, o)
	}
	if w.MemoryMB > 0 && w.MemoryMB < leastMB {
		why := "the sandbox itself takes up to " + strconv.Itoa(leastMB) + " MiB"
		return nil, &Refusal{"memory_limit_mb", why, "allow at least that much"}
	}
	counted := w.Procs > 0 && o.Staged && f.Counted
	best := bestOffer(w.needs(), f.offers(), counted)
	for _, k := range keys {
		switch {
		case !slices.Contains(w.needs(), k.controller):
		case best != nil && best.has(k.controller):
			m.Held = append(m.Held, k.key+": "+best.name)
		case k.controller == pids && counted:
			m.Rlimits = append(m.Rlimits, pid1.Rlimit{Resource: rlimitNPROC, Max: uint64(w.Procs)})
			m.Held = append(m.Held, k.key+": RLIMIT_NPROC in a user namespace of its own, for all processes together")
		case !o.BestEffort:
			why := f.without(k.controller, o)
			return nil, &Refusal{k.key, why, f.hint(k.controller, o)}
		default:
			m.weaker(k.controller, k.key, w, f.without(k.controller, o))
		}
	}
	if best != nil {
		best.fill(m, w, o)
	}
	return m, nil
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

// weaker is what best effort does about a limit that nothing holds.
func (m *Means) weaker(controller, key string, w Wanted, why string) {
	if controller == memory {
		// Not RLIMIT_AS: node, go and java reserve far more address space than they use.
		m.Rlimits = append(m.Rlimits, pid1.Rlimit{Resource: rlimitDATA, Max: uint64(w.MemoryMB) << 20})
		m.Gaps = append(m.Gaps, key+" is held for each process by itself (RLIMIT_DATA), not for all together, "+
			"nor for files in private directories: "+why)
		return
	}
	m.Gaps = append(m.Gaps, key+" is not enforced: "+why)
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
	switch n {
	case rlimitFSIZE:
		return "fsize"
	case rlimitDATA:
		return "data"
	case rlimitNPROC, macNPROC:
		return "nproc"
	}
	return strconv.Itoa(n)
}

// bestOffer is the first that covers as much as any does.
func bestOffer(needs []string, offers []*offer, counted bool) *offer {
	var best *offer
	most := 0
	for _, o := range offers {
		n := 0
		for _, c := range needs {
			if !(c == pids && counted) && o.has(c) {
				n++
			}
		}
		if n > most {
			best, most = o, n
		}
	}
	return best
}

// sizeText is a number of mebibytes as a person writes it.
func sizeText(mb float64) string {
	for _, u := range []struct {
		mb   float64
		name string
	}{{1 << 20, " TiB"}, {1 << 10, " GiB"}, {1, " MiB"}} {
		if n := mb / u.mb; n >= 1 && n == math.Trunc(n) {
			return strconv.FormatFloat(n, 'f', -1, 64) + u.name
		}
	}
	if mb >= 1 {
		return strconv.FormatFloat(mb, 'f', -1, 64) + " MiB"
	}
	return strconv.FormatFloat(mb*1024, 'f', -1, 64) + " KiB"
}
