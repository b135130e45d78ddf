// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// stdout is the only way to standard output. File names, arguments and the
// contents of files reach a terminal escaped (text.Escape), whichever command
// prints them; a file or a pipe gets every byte as it is.
var stdout = &output{}

// output keeps the first error, since commands print line by line.
type output struct{ err error }

func (o *output) Write(p []byte) (int, error) {
	out := p
	if onTerminal() {
		parts := strings.Split(string(p), escMark())
		for i := range parts {
			parts[i] = text.Escape(parts[i])
		}
		out = []byte(strings.Join(parts, "\x1b"))
	}
	if _, err := os.Stdout.Write(out); err != nil {
		if o.err == nil {
			o.err = app.Failed("standard output: "+cause(err), "")
		}
		return 0, o.err
	}
	return len(p), nil
}

func (o *output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

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
	if stdout.err != nil && (err == nil || errors.As(err, &exit)) {
		return stdout.err
	}
	return err
}

var onTerminal = sync.OnceValue(func() bool { return app.IsTerminal(1) })

// escMark stands for ESC in sbx's own sequences, so that none in a name passes for
// one of them.
var escMark = sync.OnceValue(func() string { return "\x1b" + rand.Text() })

// colour wraps a text in an SGR sequence when standard output can show it.
func colour(sgr, text string) string {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !onTerminal() {
		return text
	}
	return escMark() + "[" + sgr + "m" + text + escMark() + "[0m"
}

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
	Status string   `json:"status"` // ok, note, bad
	Text   string   `json:"text"`
	Hints  []string `json:"hints,omitempty"`
}

func printChecks(checks []check) error {
	w := text.Table(stdout)
	sgr := map[string]string{"ok": "32", "note": "33", "bad": "31"}
	for _, c := range checks {
		fmt.Fprintf(w, "%s\t%s\t%s\n", colour(sgr[c.Status], fmt.Sprintf("%-4s", c.Status)), c.Name,
			app.Harmless(c.Text))
		for _, h := range c.Hints {
			fmt.Fprintf(w, "%s\t\t-> %s\n", colour("0", "    "), app.Harmless(h))
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
