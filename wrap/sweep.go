// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package wrap

import (
	"slices"
	"strings"
	"time"

	"github.com/sbx-sandbox/sbx/internal/ownfile"
)

// sweepTime bounds what a run spends on what others left.
const sweepTime = 20 * time.Millisecond

// unknownAge is how long a directory stays of whose run nothing is known here.
const unknownAge = 7 * 24 * time.Hour

// sweep removes the directories of runs that have ended. What a command left
// running in the background loses its temporary files then. Those of other
// namespaces of processes or time and of other starts of the machine, of which
// nothing is known here, stay until they are a week old. What is not done in time
// is left to the next run, and so is what cannot be removed.
func sweep(runtime, instance string, uid int) {
	own := strings.Split(instance, ".")
	ownfile.Sweep(runtime, uid, sweepTime, func(name string, age func() time.Duration) bool {
		f := strings.Split(name, ".")
		switch {
		case !isRun(f) || !isRun(own):
			return false
		case slices.Equal(f[2:], own[2:]):
			return ownfile.Ended(f[0], f[1])
		}
		return age() > unknownAge
	})
}
