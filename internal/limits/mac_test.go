// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/pid1"
)

func TestMac(t *testing.T) {
	mac := Facts{Mac: true, Running: 400}
	for _, c := range []struct {
		name    string
		want    Wanted
		facts   Facts
		best    bool
		refused string // the key
		rlimits []pid1.Rlimit
		gaps    int
	}{
		{name: "nothing", facts: mac},
		{name: "files", want: Wanted{FileSizeMB: 0.5}, facts: mac, rlimits: []pid1.Rlimit{{Resource: 1, Max: 1 << 19}}},
		{name: "processes", want: Wanted{Procs: 64}, facts: mac, rlimits: []pid1.Rlimit{{Resource: 7, Max: 464}},
			gaps: 1},
		{name: "processes of root", want: Wanted{Procs: 64}, facts: Facts{Mac: true, Running: 400, Root: true},
			refused: "procs"},
		{name: "processes unseen", want: Wanted{Procs: 64}, facts: Facts{Mac: true}, refused: "procs"},
		{name: "memory", want: Wanted{MemoryMB: 512}, facts: mac, refused: "memory_limit_mb"},
		{name: "little memory", want: Wanted{MemoryMB: 1}, facts: mac, refused: "memory_limit_mb"},
		{name: "processors", want: Wanted{CPUs: 2}, facts: mac, refused: "cpus"},
		{name: "best effort", want: Wanted{MemoryMB: 512, CPUs: 2, Procs: 8, FileSizeMB: 1}, facts: mac, best: true,
			rlimits: []pid1.Rlimit{{Resource: 1, Max: 1 << 20}, {Resource: 7, Max: 408}}, gaps: 3},
		{name: "best effort, root", want: Wanted{Procs: 8}, facts: Facts{Mac: true, Root: true, Running: 9}, best: true,
			gaps: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Choose(c.want, c.facts, Options{BestEffort: c.best})
			var refused *Refusal
			if errors.As(err, &refused) != (c.refused != "") || refused != nil &&
				(refused.Key != c.refused || refused.Hint == "" || !strings.Contains(refused.Why, "macOS")) {
				t.Fatalf("%v (%+v)", err, refused)
			}
			if refused != nil {
				return
			}
			if d := cmp.Diff(m.Rlimits, c.rlimits); d != "" || len(m.Gaps) != c.gaps ||
				len(m.Prefix)+len(m.Cgroups) > 0 {
				t.Errorf("%s\ngaps %q", d, m.Gaps)
			}
		})
	}
	if Resource(macNPROC) != "nproc" {
		t.Error(Resource(macNPROC))
	}
}
