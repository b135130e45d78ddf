// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"syscall"
	_ "unsafe" // for go:linkname
)

// Process 1 begins before the rest of the program is initialised, and never
// returns to it: what flags and config files need is not paid for by a process
// that reads neither, neither in time (a third of a millisecond) nor in memory.
// The runtime initialises packages in the order of their paths as far as their
// imports allow (since Go 1.21). This one imports only what needs nothing but the
// runtime's own, as slices, strconv and syscall do and neither strings nor
// golang.org/x/sys/unix does, so it comes before nearly all others. Were that to
// change, process 1 would be slower and no less right.
func init() {
	pid, _, _ := syscall.RawSyscall(syscall.SYS_GETPID, 0, 0, 0)
	if pid != 1 {
		return
	}
	if args := runtimeArgs(); IsInit(args[min(1, len(args)):]) {
		exit(Run(args[1:]))
	}
}

// runtimeArgs returns what os.Args is once package os is initialised.
//
//go:linkname runtimeArgs os.runtime_args
func runtimeArgs() []string

// DefaultSignals lets the signals that end a program end this one, from the first
// milliseconds of a run on. The Go runtime would swallow some, and a caller's
// alarm with them, and print a stack trace for SIGQUIT. os/signal is of no use
// for these signals then.
func DefaultSignals() {
	var none sigaction
	set := blockedSignals(NewSession, false) | bit(sigQUIT)
	for n := 1; n <= lastRT; n++ {
		if set&bit(n) != 0 && n != sigHUP && n != sigINT && n != sigTERM && n != sigCONT {
			rtSigaction(n, &none, nil)
		}
	}
}

// IsInit reports whether the arguments after the program's name are those of the
// process 1.
func IsInit(args []string) bool {
	return len(args) >= 2 && args[0] == InitName
}
