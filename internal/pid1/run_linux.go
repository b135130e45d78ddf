// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"runtime"
	"strconv"
	"syscall"
)

// Exit statuses of process 1's own, as env(1) and timeout(1) have them.
const (
	statusTimeout  = 124
	statusFailed   = 125
	statusNoExec   = 126
	statusNotFound = 127
)

// Run is process 1: args are [InitName], the number of the descriptor with the
// order, and the command. It returns the exit status.
func Run(args []string) int {
	fd, err := strconv.Atoi(args[1])
	if err != nil {
		return broken("the number of a descriptor")
	}
	data, err := readAll(fd)
	if err != nil {
		return broken(err.Error())
	}
	_ = syscall.Close(fd)
	cfg, err := decode(data)
	if err != nil {
		return broken(err.Error())
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
	if err := cfg.reopen(); err != nil {
		return broken(err.Error())
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
	if errno == syscall.ENOEXEC {
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

// refused says why the command could not be executed.
func refused(cfg *InitConfig, err error) int {
	if _, ok := err.(syscall.Errno); !ok {
		return broken(err.Error())
	}
	say("error: " + plain(cfg.Argv[0]) + ": " + err.Error())
	if err == syscall.ENOENT {
		return statusNotFound
	}
	return statusNoExec
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
