// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"github.com/sbx-sandbox/sbx/internal/landlock"
)

// InitName is the first argument by which sbx knows that it is to be process 1; the
// second is the number of the descriptor with the [InitConfig].
const InitName = "--stage-of-sandbox"

// InitConfig is all that process 1 is told. It arrives as a file in memory: of the
// process 1's own command line only the command is of use to those who read ps.
type InitConfig struct {
	Path     string    // of the file to execute, as the sandbox sees it
	Argv     []string  // of the command; nil when process 1's own words after the descriptor are it
	Group    Group     // how the command stands to the caller's process group
	Mask     uint64    // signals blocked in the caller, bit n-1 for signal n
	Limit    float64   // seconds; 0 is none
	Rlimits  []Rlimit  // for the command and all that it starts
	OOM      int       // descriptor of memory.events or memory.oom_control, which count kills for want of memory; or -1
	Memory   string    // the limit on memory as a person wrote it, "" without one that kills
	Parent   ParentFDs // to the parent process
	Expected []byte    // what has to be mounted, see mountsAsPlanned

	// Reopen are descriptors of files that the command may read and not write. The
	// process 1 opens them anew at [ReopenDir]: there they lie on read-only mounts, so that
	// nothing can be done to a file by its descriptor. The offset is the same, and no
	// longer shared with the caller, who may be a shell that reads its script there.
	Reopen []int

	// Wall is what Landlock denies the command, and nil nothing. It is opened by the
	// process 1, so its paths are those of the sandbox, and put around the command alone:
	// process 1 has to signal it. A path that does not exist, or cannot be reached, is
	// an error: a rule that cannot be made would be a view that was not planned.
	Ruleset *landlock.Ruleset

	// Keep are the descriptors that the command gets beside 0, 1 and 2. What they and
	// those three lead to can be opened anew under a Wall about files, as far as the
	// descriptor itself goes.
	Keep []int

	// Masks are what process 1 watches while the command runs. One that is not in
	// place when the command is to be started is an error.
	Masks []Mask

	// Hints are words for the process that explains a failure (see [hintName]), which
	// is not started when there are none.
	Hints []string

	// Filter is a program of struct sock_filter, nil for none. It is loaded as the
	// last step before the command is executed, and may refuse all that process 1
	// needs.
	Filter []byte
}

// ReopenDir is the directory of the files that are opened anew, by their numbers.
const ReopenDir = "/run/sbx/fd"

// Group is how the command stands to the caller's process group.
type Group byte

const (
	NoInit     Group = iota // no process stays: look at the mounts, then become the command
	Shared                  // in it: what the terminal sends to the group reaches the command by itself
	Foreground              // a group of its own, which has the terminal
	NewSession              // a session of its own, without a terminal
)

// Rlimit is one limit of setrlimit(2), soft and hard.
type Rlimit struct {
	Resource int // RLIMIT_…
	Max      uint64
}

// ParentFDs are descriptors that the parent process opens about itself before it
// becomes bwrap, so that process 1 can see and signal it from inside, where it
// has no number. -1 is one that does not exist.
type ParentFDs struct {
	Status        int // /proc/PID/status: pending signals, state
	Stat          int // /proc/PID/stat: is its group in the foreground
	Epoll         int // wakes when the parent process gets a signal
	Signal        int // the signalfd behind it
	Read          int // reading end of a pipe whose SIGIO goes to the parent process
	Write         int // writing end
	WatchdogRead  int // reading end of a pipe whose SIGIO, a SIGKILL, goes to the watchdog
	WatchdogWrite int // writing end
	Stderr        int // standard error of the caller: bwrap itself writes to a pipe that the watchdog reads
}

// SetupFDs are descriptors that bwrap is given where no process 1 of
// sbx stays: by them the watchdog sees how far it is. -1 is one that does not exist.
type SetupFDs struct {
	Setup int // writing end of a pipe that bwrap closes when nearly everything is set up: its --block-fd
	Alive int // writing end of a pipe that process 1 has as long as it lives: its --sync-fd
	Info  int // file where bwrap writes its child's number before that goes on: its --info-fd. There it is the command
}

// NoParentFDs has none.
var NoParentFDs = ParentFDs{-1, -1, -1, -1, -1, -1, -1, -1, -1}

// list are the descriptors one by one.
func (w *ParentFDs) list() []*int {
	return []*int{&w.Status, &w.Stat, &w.Epoll, &w.Signal, &w.Read, &w.Write, &w.WatchdogRead, &w.WatchdogWrite,
		&w.Stderr}
}
