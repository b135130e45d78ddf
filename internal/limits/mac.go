// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"slices"
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/pid1"
)

// mac finds what macOS has. Its only limit for more than one process is the
// number of processes of a user: those that run already are added, so that the
// command can have as many more as it is allowed. Others that end or begin
// meanwhile make it more or fewer.
func (m *Means) mac(w Wanted, f Facts, o Options) error {
	none := "macOS has no control groups"
	const hint = `take the limit out, or set limits = "best-effort" in the profile to run without it`
	for _, k := range keys {
		why := none
		switch {
		case !slices.Contains(w.needs(), k.controller):
			continue
		case k.controller == memory:
			why += ", and holds no process to a size of its memory (RLIMIT_AS and RLIMIT_DATA do nothing there)"
		case k.controller == pids && f.Root:
			why += ", and RLIMIT_NPROC does not hold root"
		case k.controller == pids && f.Running == 0:
			why += ", and how many processes the user has cannot be seen here"
		case k.controller == pids:
			m.Rlimits = append(m.Rlimits, pid1.Rlimit{Resource: macNPROC, Max: uint64(f.Running + w.Procs)})
			m.Held = append(m.Held, k.key+": RLIMIT_NPROC, which counts all processes of the user: the "+
				strconv.Itoa(f.Running)+" that run now and "+strconv.Itoa(w.Procs)+" more")
			m.Gaps = append(m.Gaps, k.key+" is held together with your other processes: "+
				"when some of those end the command can have more, and when more begin, fewer")
			continue
		}
		if !o.BestEffort {
			return &Refusal{k.key, why, hint}
		}
		m.Gaps = append(m.Gaps, k.key+" is not enforced: "+why)
	}
	return nil
}
