// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// stdout and exact are the only ways to standard output. File names, arguments and
// the contents of files reach a terminal escaped, whichever command prints them.
// What stdout gets is for people, and wraps (text.Screen.Show); what exact gets has
// its form, for a program, to paste or since it is laid out (text.Screen.Raw).
var stdout, exact = &output{show: text.Screen.Show}, &output{show: text.Screen.Raw}

// screen is how standard output is shown.
var screen = sync.OnceValue(func() text.Screen { return app.Screen(1) })

// table is a table for people on standard output.
func table() *text.Table { return screen().Table(exact) }

// output keeps the first error, since commands print line by line.
type output struct {
	show func(s text.Screen, all string) string
	err  error
}

// outClosed is set before the runtime begins, on the systems that start there: standard
// output was closed.
var outClosed bool

func (o *output) Write(p []byte) (int, error) {
	err := error(syscall.EBADF)
	if !outClosed {
		_, err = os.Stdout.WriteString(o.show(screen(), string(p)))
	}
	if err != nil {
		if o.err == nil {
			o.err = app.Failed("standard output: "+cause(err), "")
		}
		return 0, o.err
	}
	return len(p), nil
}

func (o *output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// attach gives a program the streams of the caller: what it prints is its own affair.
func attach(c *exec.Cmd) { c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr }

// cause is the reason of an error without the file it is about.
func cause(err error) string {
	if e, ok := err.(*os.PathError); ok {
		err = e.Err
	}
	return err.Error()
}

// finish is the outcome of a command that printed: what was not written counts.
func finish(err error) error {
	var exit exitError
	if failed := cmp.Or(stdout.err, exact.err); failed != nil && (err == nil || errors.As(err, &exit)) {
		return failed
	}
	return err
}

func onTerminal() bool { return screen().Terminal }

// colour wraps a text in an SGR sequence when standard output can show it.
func colour(sgr, text string) string { return screen().Paint(sgr, text) }

// show prints a value as JSON, or by a function of its own for people.
func show(asJSON bool, v any, print func() error) error {
	if asJSON {
		return printJSON(v)
	}
	return print()
}

// tell shows a report, and ends with a status where it is not good.
func tell(asJSON bool, report interface{ print() error }, good bool, status int) error {
	if err := show(asJSON, report, report.print); err != nil || good {
		return err
	}
	return exitError(status)
}

// meant is the hint for a word that is none of those known.
func meant(word string, known []string, otherwise string) string {
	if near := cmp.Or(config.Synonym(word, known), text.Nearest(word, known)); near != "" {
		return "did you mean " + near + "?"
	}
	return otherwise
}

// check is one line of what a doctor finds.
type check struct {
	Name   string   `json:"check"`
	Status string   `json:"status" enum:"ok,note,bad"`
	Text   string   `json:"text"`
	Hints  []string `json:"hints,omitempty"`
}

func printChecks(checks []check) error {
	w := table()
	sgr := map[string]string{"ok": "32", "note": "33", "bad": "31"}
	for _, c := range checks {
		fmt.Fprintf(w, "%s\t%s\t%s\n", colour(sgr[c.Status], c.Status), c.Name, app.Harmless(c.Text))
		for _, h := range c.Hints {
			fmt.Fprintf(w, "\t\t-> %s\n", app.Harmless(h))
		}
	}
	return w.Flush()
}

// runLimited runs a program without a terminal, for some time at most, and
// returns the first mebibyte of what it prints. It is called by argv0, if that is
// not "".
func runLimited(most time.Duration, env []string, argv0, program string, args ...string) (out, errs string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Args[0] = cmp.Or(argv0, program)
	said, complaints := &firstBytes{left: 1 << 20}, &firstBytes{left: 1 << 20}
	cmd.Stdout, cmd.Stderr, cmd.Env = said, complaints, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // something in the background may hold the pipe
	err = cmd.Run()
	return said.String(), complaints.String(), err
}

type firstBytes struct {
	bytes.Buffer
	left int
}

func (b *firstBytes) Write(p []byte) (int, error) {
	n := min(b.left, len(p))
	b.left -= n
	b.Buffer.Write(p[:n])
	return len(p), nil
}
