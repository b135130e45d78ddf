// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// patienceAll bounds a whole run of the probe.
const patienceAll = 60 * time.Second

// Outside verifies a run from outside of any sandbox. An error means that there
// was no sandbox to verify; it is a [*host.Error] or what the plan gave.
func Outside(sub *Subject) (*Report, error) {
	// Whoever interrupts this process must not keep it from putting things back.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT)
	defer signal.Stop(stop)
	planted, err := newFixtures()
	defer planted.close()
	if err != nil {
		return nil, &host.Error{Status: host.StatusFailed, Text: "the controls cannot be set up: " + err.Error()}
	}
	sub.Host.Environ = append(slices.Clone(sub.Host.Environ), planted.env...)
	plan, err := sub.Plan()
	if err != nil {
		return nil, err
	}
	if err := sub.makeDirs(plan); err != nil {
		return nil, err
	}
	sub.Step("looking for what has to be hidden and protected")
	tg := collect(sub, plan, planted)
	checks := tg.checks()
	sub.Step("trying outside what has to fail inside")
	tg.tryOutside(checks)
	asked := number(checks)
	sub.Step("looking at all files, to compare them afterwards")
	before := sub.snapshot(planted.dir)
	answers, err := sub.ask(tg, asked, stop)
	sub.Step("looking at all files again")
	back := restore(tg, asked)
	after := sub.snapshot(planted.dir)
	if err != nil {
		return nil, err
	}
	return &Report{Profiles: plan.Report.Policy.Profiles, Place: sub.Host.CWD,
		Results: slices.Concat(tg.evaluate(checks, answers),
			sub.replaced(plan, planted.nonce), back, compare(before, after, tg, touched(tg, asked, answers)))}, nil
}

// makeDirs makes what any run makes of sbx's own: it is no residue of this one.
func (sub *Subject) makeDirs(plan *engine.Plan) error {
	for _, dir := range plan.Dirs {
		if dir != sub.Cache && policy.Within(dir, sub.Cache) {
			dir = sub.Cache // a directory of one run lies in it
		} else if !slices.Contains(sub.Host.Own, dir) {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return &host.Error{Status: host.StatusFailed, Text: "sbx's own directory: " + err.Error()}
		}
	}
	return nil
}

// ask runs the probe in the sandbox and returns its answers.
func (sub *Subject) ask(tg *target, asked []question, stop <-chan os.Signal) (map[int]answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patienceAll)
	defer cancel()
	ctx, interrupt := context.WithCancelCause(ctx)
	go func() {
		select {
		case s := <-stop:
			sig, _ := s.(syscall.Signal)
			interrupt(&InterruptedError{sig})
		case <-ctx.Done():
		}
	}()
	r, err := sub.start(ctx, asked)
	if err != nil {
		return nil, failed(err.Error())
	}
	answers := r.answers(func(id int) {
		sub.Step("trying to get out, " + strconv.Itoa(id) + " of " + strconv.Itoa(len(asked)))
	})
	lookOutside(tg, asked, answers)
	err = r.end()
	var stopped *InterruptedError
	switch {
	case errors.As(context.Cause(ctx), &stopped):
		return nil, stopped
	case len(answers) > 0:
		return answers, nil
	}
	return nil, r.why(err)
}

// run is sbx, started for a verification.
type run struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.Reader
	said bytes.Buffer // on standard error
}

// start runs sbx with the probe for its command, in a sandbox. The flags are those
// of the run that is verified, so that it goes all the way that a run goes: it
// looks at its own environment and descriptors, plans, and executes.
func (sub *Subject) start(ctx context.Context, asked []question, more ...string) (*run, error) {
	data, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	flags := slices.Insert(slices.Clone(sub.Flags), min(2, len(sub.Flags)), more...)
	r, err := startSelf(ctx, sub.Host.Environ, flags...)
	if err != nil {
		return nil, err
	}
	// A child that ends at once reads nothing; its answers tell.
	_, _ = r.in.Write(append(data, '\n'))
	return r, nil
}

// startSelf starts this program, with pipes.
func startSelf(ctx context.Context, env []string, args ...string) (*run, error) {
	r := &run{cmd: exec.CommandContext(ctx, "/proc/self/exe", args...)}
	r.cmd.Args[0], r.cmd.Env, r.cmd.Stderr = "sbx", env, &r.said
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if r.out, err = r.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return r, r.cmd.Start()
}

// answers are what comes until the probe is through; it waits then. Each is heard.
func (r *run) answers(heard func(id int)) map[int]answer {
	answers := make(map[int]answer)
	lines := bufio.NewScanner(r.out)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		var a answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			continue // its question stays without an answer
		}
		if a.End {
			break
		}
		answers[a.ID] = a
		heard(a.ID)
	}
	return answers
}

// end lets the probe go and waits for the run.
func (r *run) end() error {
	r.in.Close()
	_, _ = io.Copy(io.Discard, r.out)
	return r.cmd.Wait()
}

// why is the reason for no answer at all, in the child's own words.
func (r *run) why(err error) error {
	said := strings.TrimSpace(r.said.String())
	first := func(prefix string) string {
		_, rest, _ := strings.Cut("\n"+said, "\n"+prefix)
		rest, _, _ = strings.Cut(rest, "\n")
		return strings.TrimSpace(rest)
	}
	var exit *exec.ExitError
	switch text := first("sbx: error: "); {
	case text != "":
		return &host.Error{Status: host.StatusFailed, Text: text, Hint: first("sbx: hint: ")}
	case said != "":
		return failed(strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:]))
	case errors.As(err, &exit):
		return failed("the probe ended without an answer (" + exit.String() + ")")
	}
	return failed("the probe ended without an answer")
}

func failed(reason string) error {
	return &host.Error{Status: host.StatusFailed, Text: "Failed to initialize sandbox: " + reason}
}

// lookOutside says of each file that the probe made whether it is on the host. The
// probe still waits, so the file is still there.
func lookOutside(tg *target, asked []question, answers map[int]answer) {
	for _, q := range asked {
		a, ok := answers[q.ID]
		if q.Act != actCreate || !ok || a.Errno != 0 {
			continue
		}
		path := tg.outsidePath(string(q.Path))
		if _, err := os.Lstat(path); err == nil {
			a.Found = []string{path}
			answers[q.ID] = a
		}
	}
}

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
