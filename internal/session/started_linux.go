// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// processes is the number of this namespace of processes, "0" where it is hidden.
func processes() string { return procfs.Namespace("pid") }

// started is when a process began, in ticks since the machine did; "0" where that
// is hidden.
func started(pid int) string { return cmp.Or(procfs.Started(pid), "0") }
