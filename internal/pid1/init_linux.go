// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// Process 1 begins before the rest of the program is initialised, and never
// returns to it: what flags and config files need is not paid for by a process
// that reads neither, neither in time (a third of a millisecond) nor in memory.
// The runtime initialises packages in the order of their paths as far as their
// imports allow (since Go 1.21); this one imports syscall alone, and a package
// that does the same, so it comes before nearly all others. Were that to change, process 1 would be slower and
// no less right.
func init() {
	pid, _, _ := syscall.RawSyscall(syscall.SYS_GETPID, 0, 0, 0)
	if pid != 1 {
		return
	}
	if args := commandLine(); IsInit(args) {
		exit(Run(args))
	}
}

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

// commandLine returns the words after the program's name, nil when the first
// of them is not process 1's.
func commandLine() []string {
	const path = "/proc/self/cmdline"
	text, _ := procfs.Head(path, 4096)
	if !named(text) {
		return nil
	}
	if len(text) == 4096 {
		text, _ = procfs.Read(path)
	}
	var words []string
	for text != "" {
		end := index(text, 0)
		if end < 0 {
			end = len(text)
		}
		words = append(words, text[:end])
		text = text[min(end+1, len(text)):]
	}
	return words[min(1, len(words)):]
}

// named reports whether the second word is process 1's name.
func named(text string) bool {
	const second = InitName + "\x00"
	start := index(text, 0) + 1
	return start > 0 && len(text) >= start+len(second) && text[start:start+len(second)] == second
}
