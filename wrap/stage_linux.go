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
	return len(args) >= 4 && args[0] == stageName && Inside()
}

// Stage is what runs first in a sandbox: it looks whether everything is mounted
// that was planned, and replaces itself by the command. With a time limit it is
// process 1 instead, in the place of bwrap's reaper: it starts the command,
// reaps what is orphaned, and ends everything when the time is up. It returns
// the exit status.
func Stage(args []string) int {
	seconds, err := strconv.ParseFloat(args[1], 64)
	if err != nil || seconds < 0 {
		return StatusFailed
	}
	fd, err := strconv.Atoi(args[2])
	if err != nil || fd >= 0 && !asPlanned(fd) {
		return StatusFailed
	}
	command := args[3:]
	path, err := stageLook(command[0])
	switch {
	case err != nil:
	case seconds == 0:
		err = syscall.Exec(path, command, syscall.Environ())
	default:
		// The command must not look into this process.
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		// Signals of the terminal reach the command by itself. They are caught, not
		// ignored: what is ignored would stay ignored in the command.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
		var pid int
		pid, err = syscall.ForkExec(path, command, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
		if err == nil {
			return watch(pid, time.Duration(seconds*float64(time.Second)))
		}
	}
	_, _ = os.Stderr.WriteString("sbx: error: " + policy.Plain(command[0]) + ": " + err.Error() + "\n")
	if errors.Is(err, syscall.ENOENT) {
		return StatusNotFound
	}
	return StatusNoExec
}

// asPlanned reads what has to be mounted (see expected) and reports whether it
// is. Between the plan and the mounts somebody may have put a link or another
// directory in the place of one: nothing of the command has run then.
func asPlanned(fd int) bool {
	data, err := readAll(fd)
	_ = syscall.Close(fd)
	if err != nil {
		_, _ = os.Stderr.WriteString("sbx: error: Failed to initialize sandbox: what has to be mounted: " + err.Error() + "\n")
		return false
	}
	for len(data) > 0 {
		end := indexByte(data, 0)
		if end < 2 || !sameAsPlanned(string(data[:end])) {
			return false
		}
		data = data[end+1:]
	}
	return true
}

func sameAsPlanned(record string) bool {
	dev, rest, _ := strings.Cut(record[1:], " ")
	ino, path, _ := strings.Cut(rest, " ")
	info, err := OS{}.Lstat(path)
	same := err == nil && strconv.FormatUint(info.Dev, 10) == dev && strconv.FormatUint(info.Ino, 10) == ino
	if same == (record[0] == '=') && err == nil {
		return true
	}
	why := errReplaced.Error()
	if err == ErrDenied { // the capabilities of root are gone here
		why = "a directory above it may not be searched; chmod u+rwx it"
	}
	_, _ = os.Stderr.WriteString("sbx: error: Failed to initialize sandbox: " + policy.Plain(path) + ": " + why + "\n")
	return false
}

func readAll(fd int) ([]byte, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, err
	}
	data := make([]byte, st.Size)
	for off := 0; off < len(data); {
		n, err := syscall.Pread(fd, data[off:], int64(off))
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return nil, errors.Join(err, syscall.EIO)
		}
		off += n
	}
	return data, nil
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
