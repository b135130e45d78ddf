// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// madvDontneed is MADV_DONTNEED.
const madvDontneed = 4

// shrink gives back the pages of the program that were needed to come here. The
// file behind them stays in the kernel's cache, and the few that the loop of
// process 1 wants are mapped again at once.
func shrink() {
	text, _ := procfs.Head("/proc/self/maps", 4096) // the program comes first
	for {
		end := index(text, '\n')
		if end < 0 {
			return
		}
		if from, to, ok := program(text[:end]); ok {
			_, _, _ = syscall.RawSyscall(syscall.SYS_MADVISE, from, to-from, madvDontneed)
		}
		text = text[end+1:]
	}
}

// program reads a line of proc_pid_maps(5) and reports whether it is a part of
// the program that no process can have written to: "400000-84e000 r-xp … /run/sbx/sbx".
func program(line string) (from, to uintptr, ok bool) {
	dash, space := index(line, '-'), index(line, ' ')
	if dash < 0 || space < dash || len(line) < space+4 || line[space+1:space+3] != "r-" {
		return 0, 0, false
	}
	if last := line[len(line)-1]; last == ']' || last == ' ' {
		return 0, 0, false
	}
	return uintptr(hex(line[:dash])), uintptr(hex(line[dash+1 : space])), true
}
