// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"github.com/sbx-sandbox/sbx/internal/landlock"
)

// InitName is the first argument by which sbx knows that it is to be process 1; the
// second is the number of the descriptor with the [InitConfig].
const InitName = "--stage-of-sandbox"

// Ended are the words for what is to be done after the command of a parent, nil in every
// other process: this one then goes on as any program does when it starts, but with the
// signals blocked and without the environment, which was the command's.
var Ended []string

// InitConfig is all that process 1 is told, in a file in memory: in ps only the
// command is of use.
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

	// Reopen are descriptors of files that the command may read and not write. Process 1
	// reopens them at [ReopenDir], on read-only mounts, so that nothing can be done to
	// a file by its descriptor. The offset is the same, but no longer shared with the
	// caller, who may be a shell that reads its script there.
	Reopen []int

	// Ruleset is what Landlock denies the command alone, nil for nothing. Process 1 opens
	// it, so its paths are those of the sandbox. One that cannot be opened is an error: a
	// rule that cannot be made would be a view that was not planned.
	Ruleset *landlock.Ruleset

	// Keep are the descriptors that the command gets beside 0, 1 and 2. What they all
	// lead to can be reopened under a Ruleset about files, as far as they are open.
	Keep []int

	// Masks are what process 1 watches. One that is not in place at the start is an error.
	Masks []Mask

	// Hints are words for the process that explains a failure or tells what is gone, nil
	// for no such process.
	Hints []string

	// Private are the directories of which that process tells what the command left: their
	// file systems end with the sandbox.
	Private []string

	// Ports is what to say of TCP ports that are open only inside, after their numbers; ""
	// for not looking.
	Ports string

	// Filter is a program of struct sock_filter, nil for none. It is loaded last, and may
	// refuse all that process 1 needs.
	Filter []byte

	// The rest goes with [Beside].
	Own    []byte   // a filter that is loaded before Filter
	Wall   int      // descriptor of an open ruleset, 0 for none
	Leaves bool     // without a sandbox: what the command left in the background goes on
	After  []string // see [Ended]; nil for nothing to be done
	Held   []int    // descriptors that stay open until then
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
	Beside                  // in it, and this process is no process 1 but the parent itself: see [Stay]
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
