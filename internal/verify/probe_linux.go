// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/host"
)

// maxAsk and maxAnswer bound, in bytes, what goes through the pipes.
const (
	maxAsk    = 32 << 20
	maxAnswer = 4 << 20 // one line
)

// Probe is the process inside: it reads questions, one line of JSON, from
// standard input, writes a line for each answer to standard output, and waits for
// the end of its input before it removes what it made, so that it can be looked
// for outside. It returns the exit status. Outside of a sandbox it does nothing.
func Probe(args []string) int {
	if args[1] == wordIdle {
		return idle()
	}
	if args[1] != wordAnswer || host.Inside() == "" {
		fmt.Fprintln(os.Stderr, "sbx: error: the probe runs inside a sandbox only; to verify one: sbx verify")
		return host.StatusFailed
	}
	in := bufio.NewReader(io.LimitReader(os.Stdin, maxAsk))
	var asked []question
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &asked)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbx: error: the questions cannot be read: "+err.Error())
		return host.StatusFailed
	}
	out := json.NewEncoder(os.Stdout)
	made := attempt(asked, func(a answer) bool { return out.Encode(a) == nil })
	_ = out.Encode(answer{End: true})
	_, _ = io.Copy(io.Discard, in)
	clean(made)
	return 0
}

// answerHere answers questions in this process, for a verification from inside.
func answerHere(asked []question) map[int]answer {
	out := make(map[int]answer, len(asked))
	clean(attempt(asked, func(a answer) bool { out[a.ID] = a; return true }))
	return out
}

// attempt answers questions in order, until no process listens, and returns those by
// which something was made.
func attempt(asked []question, tell func(answer) bool) (made []question) {
	for _, q := range asked {
		a := q.answer()
		if q.Act == actCreate && a.Errno == 0 {
			made = append(made, q)
		}
		if !tell(a) {
			break
		}
	}
	return made
}

// clean removes what was made, the last first.
func clean(made []question) {
	for _, q := range slices.Backward(made) {
		_ = removeMade(q.path(), "")
	}
}

// idle is a process outside, whose command line holds a word: the probe must
// neither see nor signal it. It ends with its input, and writes a byte for each
// signal.
func idle() int {
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGUSR1)
	go func() {
		for range got {
			_, _ = os.Stdout.Write([]byte{'!'})
		}
	}()
	_, _ = os.Stdout.Write([]byte{'.'})
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}
