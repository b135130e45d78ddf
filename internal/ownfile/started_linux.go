// SPDX-License-Identifier: Apache-2.0

package ownfile

import "github.com/sbx-sandbox/sbx/internal/procfs"

// Started is when a process was started, in ticks since the machine was, and ""
// for one that does not exist or is hidden.
func Started(pid int) string { return procfs.Started(pid) }
