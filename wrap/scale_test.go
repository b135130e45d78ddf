// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"fmt"
	"slices"
	"testing"
)

// A long environment and a long command line cost little: no loop in a loop, and
// hardly anything is allocated for one variable or word.
func TestPlanningScalesWithWords(t *testing.T) {
	allocated := func(variables, words int) float64 {
		m := user(debian + home("/home/u", "1000") + repo("/home/u/src/app"))
		h, _ := m.host(t)
		m.env = slices.Clone(h.Environ)
		for i := range variables {
			m.env = append(m.env, fmt.Sprintf("VARIABLE_%d=value", i))
		}
		m.command = append(slices.Clone(m.command), slices.Repeat([]string{"word"}, words)...)
		return testing.AllocsPerRun(1, func() {
			if p, _, err := m.plan(t); err != nil || len(p.Env) < variables || len(p.Argv) < words {
				t.Fatal(err, " or not all of them")
			}
		})
	}
	none := allocated(0, 0)
	if more := allocated(1000, 0) - none; more > 100 {
		t.Errorf("1,000 variables: %v allocations more", more)
	}
	if more := allocated(0, 3000) - none; more > 100 {
		t.Errorf("3,000 words: %v allocations more", more)
	}
}
