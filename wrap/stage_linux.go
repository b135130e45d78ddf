package wrap

import (
	"errors"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/policy"
)

// stageName is the first argument by which sbx knows that it is to be the
// stage. It does nothing outside of a sandbox.
const stageName = "--stage-of-sandbox"

// grace is how long a command may clean up after it was told to end.
const grace = 5 * time.Second

// IsStage reports whether the arguments after the program's name are those of
// the stage.
func IsStage(args []string) bool {
	if len(args) < 3 || args[0] != stageName || os.Getpid() != 1 {
		return false
	}
	i, err := OS{}.Lstat(ManifestDir + "/policy.json")
	return err == nil && i.Kind == File
}

// Stage is process 1 of a sandbox with a time limit, in the place of bwrap's
// reaper: it starts the command, reaps what is orphaned, and ends everything
// when the time is up. It returns the exit status.
func Stage(args []string) int {
	seconds, err := strconv.ParseFloat(args[1], 64)
	if err != nil || seconds <= 0 {
		return StatusFailed
	}
	// The command must not look into this process.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	// Signals of the terminal reach the command by itself. They are caught, not
	// ignored: what is ignored would stay ignored in the command.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	path, err := stageLook(args[2])
	if err == nil {
		var pid int
		pid, err = syscall.ForkExec(path, args[2:], &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
		if err == nil {
			return watch(pid, time.Duration(seconds*float64(time.Second)))
		}
	}
	_, _ = os.Stderr.WriteString("sbx: error: " + policy.Plain(args[2]) + ": " + err.Error() + "\n")
	if errors.Is(err, syscall.ENOENT) {
		return StatusNotFound
	}
	return StatusNoExec
}

// stageLook finds the command as execvp(3) does.
func stageLook(name string) (string, error) {
	if strings.IndexByte(name, '/') >= 0 {
		return name, nil
	}
	for _, dir := range strings.Split(os.Getenv("PATH"), ":") {
		path := join(dir, name)
		if i, err := os.Stat(path); err == nil && !i.IsDir() && unix.Access(path, unix.X_OK) == nil {
			return path, nil
		}
	}
	return "", syscall.ENOENT
}

// watch waits for the command, at most for limit.
func watch(pid int, limit time.Duration) int {
	ended := make(chan int, 1)
	go reap(pid, ended)
	select {
	case status := <-ended:
		return status
	case <-time.After(limit):
	}
	_, _ = os.Stderr.WriteString("sbx: error: Command timed out after " + strconv.FormatFloat(limit.Seconds(), 'f', -1, 64) + "s in sandbox\n")
	// As process 1, "all" is everything in the sandbox but this process.
	_ = syscall.Kill(-1, syscall.SIGTERM)
	_ = syscall.Kill(-1, syscall.SIGCONT)
	select {
	case <-ended:
	case <-time.After(grace):
	}
	_ = syscall.Kill(-1, syscall.SIGKILL)
	return StatusTimeout
}

// reap waits for every child, orphans of the command's included, and sends
// the exit status of the command.
func reap(pid int, ended chan<- int) {
	for {
		var ws syscall.WaitStatus
		p, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return
		case p != pid:
			continue
		case ws.Signaled():
			ended <- 128 + int(ws.Signal())
		case ws.Exited():
			ended <- ws.ExitStatus()
		default:
			continue
		}
	}
}

// backstop lets the kernel end bwrap, and with it the sandbox, should the
// stage not have done so. The timer survives the execution of bwrap.
func backstop(seconds float64) error {
	d := time.Duration(seconds*float64(time.Second)) + 2*grace
	_, err := unix.Setitimer(unix.ITIMER_REAL, unix.Itimerval{Value: unix.NsecToTimeval(d.Nanoseconds())})
	return err
}
