// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
	_ "unsafe" // for go:linkname

	"github.com/sbx-sandbox/sbx/internal/procfs"
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
	if slack > 0 {
		prctl(29, slack) // PR_SET_TIMERSLACK
	}
	args := runtimeArgs()
	switch args = args[min(1, len(args)):]; {
	case len(args) < 2:
	case args[0] == besideName:
		runtime.LockOSThread()
		if status := runBeside(args); Ended == nil {
			exit(status)
		}
	case syscall.Getpid() == 1 && IsInit(args):
		exit(Run(args))
	}
}

// slack is the caller's timer slack in nanoseconds: how much later than asked for this
// process may be woken. The runtime has a thread that looks every 20 µs at what the others do,
// which takes a tenth of a start. So the entry of the program sets 1 ms for the threads that
// the runtime starts first, and the main thread, which executes the command, gets its own back.
var slack uintptr // 0 without that entry

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

// Exit statuses of process 1's own, as env(1) and timeout(1) have them.
const (
	statusTimeout  = 124
	statusFailed   = 125
	statusNoExec   = 126
	statusNotFound = 127
)

// Run is process 1: args are [InitName], the number of the descriptor with the
// configuration, and the command. It returns the exit status.
func Run(args []string) int {
	cfg, err := readConfig(args[1])
	if err != nil {
		return broken(err.Error())
	}
	if mapped != nil && mapped.started != 0 {
		return resume(cfg, args)
	}
	cfg.Parent.giveBack()
	if cfg.Argv == nil {
		cfg.Argv = args[2:]
	}
	if len(cfg.Argv) == 0 {
		return broken("no command")
	}
	if !mountsAsPlanned(cfg.Expected) {
		return statusFailed
	}
	w, err := cfg.restrictions()
	if err != nil {
		return broken(err.Error())
	}
	if cfg.Group == NoInit {
		exit(refused(cfg, become(cfg.Path, cfg.Argv, syscall.Environ(), w)))
	}
	return serve(cfg, w)
}

func readConfig(number string) (*InitConfig, error) {
	fd, err := strconv.Atoi(number)
	if err != nil {
		return nil, err
	}
	if mapped != nil && mapped.started != 0 { // and the file is closed
		return decode(mapped.configuration())
	}
	data, err := readAll(fd)
	if err != nil {
		return nil, err
	}
	_ = syscall.Close(fd)
	return decode(configOf(data))
}

// readAll reads a file in memory, whose offset may be anywhere.
func readAll(fd int) ([]byte, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, err
	}
	data := make([]byte, st.Size)
	n, err := syscall.Pread(fd, data, 0)
	return data[:max(n, 0)], err
}

// mountsAsPlanned reports whether everything is mounted as it was planned. expected
// holds records, each ended by NUL, of "=" for a file that has to be the one
// that was looked at, "!" for one that must not be, since it is hidden, then
// device, inode and path. Between the plan and the mounts someone may have put
// a link or another directory in place of one: nothing of the command has
// run then.
func mountsAsPlanned(expected []byte) bool {
	for rest := string(expected); rest != ""; {
		var record string
		if record, rest = procfs.Cut(rest, 0); !sameAsPlanned(record) {
			return false
		}
	}
	return true
}

func sameAsPlanned(record string) bool {
	sign := record[:min(1, len(record))]
	first, rest := procfs.Cut(record[len(sign):], ' ')
	second, path := procfs.Cut(rest, ' ')
	dev, err1 := strconv.ParseUint(first, 10, 64)
	ino, err2 := strconv.ParseUint(second, 10, 64)
	var st syscall.Stat_t
	err := syscall.Lstat(path, &st)
	if err1 == nil && err2 == nil && err == nil && (uint64(st.Dev) == dev && st.Ino == ino) == (sign == "=") {
		return true
	}
	why := "replaced while the sandbox was being set up"
	if err == syscall.EACCES { // the capabilities of root are gone here
		why = "a directory above it may not be searched; chmod u+rwx it"
	}
	failed(plain(path) + ": " + why)
	return false
}

func broken(why string) int { return failed("process 1: " + why) }

func failed(why string) int {
	say("error: Failed to initialize sandbox: " + why)
	return statusFailed
}

// Confine puts a ruleset and filters around this process and makes it the
// command. It returns only when that fails: with a [syscall.Errno] when it was
// the execution, and with another error when a restriction could not be put up.
func Confine(path string, argv, env []string, ruleset int, filters ...[]byte) error {
	return become(path, argv, env, restrictions{landlock: true, ruleset: ruleset, filters: filters})
}

// become replaces this process by the command. From the filter on nothing but
// execve is called, by the thread that has it.
func become(path string, argv, env []string, w restrictions) error {
	command, err := newImage(path, argv, env)
	if err != nil {
		return err
	}
	script, err := newImage(shell, viaShell(path, argv), env)
	if err != nil {
		return err
	}
	giveBackFiles()
	BeforeExec()
	var steps []step
	add := func(nr uintptr, args ...uintptr) { steps = append(steps, newStep(nr, args...)) }
	w.before(add)
	w.last(add)
	execCommand, execScript := command.step(), script.step()
	beforeExec()
	for i := range steps {
		if errno := steps[i].do(); errno != 0 {
			afterExec()
			return setupError(steps[i].nr, errno)
		}
	}
	errno := execCommand.do()
	if errno == syscall.ENOEXEC && !isELF(path) {
		errno = execScript.do()
	}
	afterExec()
	runtime.KeepAlive(command)
	runtime.KeepAlive(script)
	return errno
}

// giveBackFiles gives this process the limit on open files back that package
// syscall raised when the program started, and that only syscall.Exec knows: it
// does so before it executes, and here there is nothing to execute.
func giveBackFiles() { _ = syscall.Exec("", []string{""}, nil) }

const shell = "/bin/sh"

// viaShell are the words for a script without an interpreter in its first line,
// which every shell, and execvp(3), hands to sh.
func viaShell(path string, argv []string) []string {
	return append([]string{shell, path}, argv[1:]...)
}

// isELF reports whether a file that the kernel cannot execute is a program all the
// same: for another processor. A shell would take it for a script. It is called with
// restrictions in force, so by system calls alone.
func isELF(path string) bool {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return false
	}
	at := -100 // AT_FDCWD
	fd, _, errno := syscall.RawSyscall6(syscall.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(name)), syscall.O_CLOEXEC, 0, 0, 0)
	if errno != 0 {
		return false
	}
	var head [4]byte
	_, _, _ = syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&head)), uintptr(len(head)))
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, fd, 0, 0)
	return string(head[:]) == "\x7fELF"
}

// refused says why the command could not be executed.
func refused(cfg *InitConfig, err error) int {
	if _, ok := err.(syscall.Errno); !ok {
		return broken(err.Error())
	}
	why := err.Error()
	if err == syscall.ENOEXEC {
		why += ": a program for another processor, or a damaged one"
	}
	say("error: " + plain(cfg.Argv[0]) + ": " + why)
	if err == syscall.ENOENT {
		return statusNotFound
	}
	return statusNoExec
}
