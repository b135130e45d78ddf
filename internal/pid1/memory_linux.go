// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"strconv"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// shrink gives back the pages of the program that were needed to come here. The
// file behind them stays in the kernel's cache, and the few that the loop of
// process 1 wants are mapped again at once.
func shrink() {
	text, _ := procfs.Head("/proc/self/maps", 4096) // the program comes first
	for text != "" {
		var line string
		line, text = cut(text, '\n')
		if from, to, ok := program(line); ok {
			_, _, _ = syscall.RawSyscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED)
		}
	}
}

// program reads a line of proc_pid_maps(5) and reports whether it is a part of
// the program that no process can have written to: "400000-84e000 r-xp … /run/sbx/sbx".
func program(line string) (from, to uintptr, ok bool) {
	first, rest := cut(line, '-')
	last, rest := cut(rest, ' ')
	if len(rest) < 2 || rest[:2] != "r-" || rest[len(rest)-1] == ']' || rest[len(rest)-1] == ' ' {
		return 0, 0, false
	}
	start, err1 := strconv.ParseUint(first, 16, 64)
	end, err2 := strconv.ParseUint(last, 16, 64)
	return uintptr(start), uintptr(end), err1 == nil && err2 == nil
}
