// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// probeName is the first argument by which sbx knows that it is to be the
// probe, or one of the processes that a verification needs beside it.
const probeName = "--probe-of-sandbox"

// What follows it.
const (
	wordAnswer = "answer" // read questions from standard input; inside only
	wordIdle   = "idle"   // wait, and tell of signals
)

// ProbeWords are the arguments that make sbx the probe.
func ProbeWords() []string { return []string{probeName, wordAnswer} }

// IsProbe reports whether the arguments after the program's name are those of
// the probe.
func IsProbe(args []string) bool { return len(args) > 1 && args[0] == probeName }

// Subject is a run to be verified.
type Subject struct {
	Host    *host.Host
	Bwrap   string                       // path of bwrap, with that engine
	Plan    func() (*engine.Plan, error) // of a run of the probe, with what Host has by then
	Flags   []string                     // of sbx, as the run has them: the child gets the same
	Root    string                       // of the work tree
	Remap   string                       // where the working directory is seen; "" is where it is
	Cache   string                       // sbx's own cache directory, which a run may change
	OwnDirs []string                     // sbx's own directories; need not exist
	Step    func(step string)            // told what is done next
}

// InterruptedError is a verification that a signal ended. What the probe had
// changed was put back before.
type InterruptedError struct{ Signal syscall.Signal }

func (e *InterruptedError) Error() string { return "interrupted: " + e.Signal.String() }

// Manifest is what is known of the sandbox that this process runs in.
type Manifest struct {
	Profiles          []string
	Network, SharePID bool
	Seccomp           string
	Scoped, Gaps      []string // as in [engine.Plan]
	Landlock          bool     // it is the engine
	Restored          bool     // protected paths can be changed, and are put back or told of after the run
	Rules             []view.Rule

	// Writable reports whether something can be made in a directory where a rule
	// says so; nil is yes.
	Writable func(dir string) bool
}
