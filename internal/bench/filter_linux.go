// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/seccomp"
)

// underFilter is the first word with which this program times a system call
// with a filter around it; the second is the filter's level, or "off".
const underFilter = "--under-filter"

// filter asks how much longer a system call takes under a filter: what a sandboxed
// program pays for as long as it runs.
func (b *bench) filter(level string) func() (float64, error) {
	return func() (float64, error) {
		var samples [2][]float64
		for range 9 {
			for i, level := range []string{"off", level} {
				out, err := exec.Command(b.self, underFilter, level).Output()
				if err != nil {
					return 0, fmt.Errorf("timing the filter %s: %w", level, err)
				}
				ns, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
				if err != nil {
					return 0, err
				}
				samples[i] = append(samples[i], ns)
			}
		}
		return median(pair(samples[1], samples[0], minus)), nil
	}
}

// timeUnder loads a filter and prints how many nanoseconds a call takes that
// does next to nothing.
func timeUnder(level string) error {
	runtime.LockOSThread()
	if level != "off" {
		code, err := seccomp.Filter(seccomp.Options{Arch: runtime.GOARCH, Level: level})
		if err != nil {
			return err
		}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
		prog := unix.SockFprog{Len: uint16(len(code) / 8), Filter: (*unix.SockFilter)(unsafe.Pointer(&code[0]))}
		if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0,
			0); err != nil {
			return err
		}
	}
	const n = 300_000
	start := time.Now()
	for range n {
		// The kernel remembers what is allowed whatever the arguments are, and asks the
		// filter about the others: of an ioctl it looks at the command.
		_, _, _ = syscall.RawSyscall(syscall.SYS_IOCTL, ^uintptr(0), 0, 0)
	}
	fmt.Printf("%.1f\n", float64(time.Since(start).Nanoseconds())/n)
	return nil
}
