package pid1

import (
	"syscall"
	"unsafe"
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
	set := BlockedSignals(NewSession, false) | bit(sigQUIT)
	for n := 1; n <= lastRT; n++ {
		if set&bit(n) != 0 && n != sigHUP && n != sigINT && n != sigTERM && n != sigCONT {
			_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(&none)), 0, 8, 0, 0)
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
	fd, err := syscall.Open("/proc/self/cmdline", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	buf := make([]byte, 4096)
	n := 0
	for {
		k, err := syscall.Pread(fd, buf[n:], int64(n))
		if err == syscall.EINTR {
			continue
		}
		if err != nil || k == 0 {
			break
		}
		if n += k; n == len(buf) {
			if !named(buf) {
				return nil
			}
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
	if !named(buf[:n]) {
		return nil
	}
	var words []string
	for b := buf[:n]; len(b) > 0; {
		end := index(b, 0)
		if end < 0 {
			end = len(b)
		}
		words = append(words, string(b[:end]))
		b = b[min(end+1, len(b)):]
	}
	return words[1:]
}

// named reports whether the second word is process 1's name.
func named(b []byte) bool {
	start := index(b, 0) + 1
	return start > 0 && len(b) > start+len(InitName) && string(b[start:start+len(InitName)]) == InitName && b[start+len(InitName)] == 0
}
