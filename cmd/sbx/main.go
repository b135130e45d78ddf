// SPDX-License-Identifier: Apache-2.0

// The process lives for two milliseconds: whether a container may use another number
// of processors meanwhile is not worth a thread that asks.
//
//go:debug updatemaxprocs=0

// Command sbx runs one command in a sandbox. See sbx(1).
package main

//go:generate go run ../../internal/tools/gennotices

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/verify"
	"github.com/sbx-sandbox/sbx/shims"
)

// All runs in an init function, which the runtime keeps on the main thread. That one
// becomes bwrap: by it the kernel knows who may trace that (see Yama's PR_SET_PTRACER),
// and changing threads takes longer. runtime.LockOSThread would start one more thread.
func init() { begin() }

var begin = func() { // not in tests
	pid1.InInit = true
	program()
	os.Exit(0)
}

func main() {}

func program() {
	if pid1.Ended != nil {
		os.Exit(app.After(pid1.Ended))
	}
	args := os.Args[min(1, len(os.Args)):]
	switch name, file := calledAs(); name.Kind {
	case shims.Shell:
		pid1.DefaultSignals()
		if err := runShell(name, file, args); err != nil {
			os.Exit(report(err, true))
		}
		return
	case shims.Tool:
		if err := runTool(name.Text, args); err != nil {
			os.Exit(report(err, false))
		}
		return
	}
	if pid1.IsInit(args) && host.Inside() == host.EngineBwrap { // as process 1 it has begun long before
		os.Exit(pid1.Run(args))
	}
	if len(args) > 0 && args[0] == completeWord {
		runComplete(exact, args[1:])
		return
	}
	if pid1.IsCleanup(args) {
		os.Exit(pid1.Cleanup(args, initFailure))
	}
	if pid1.IsHint(args) {
		printHint(args)
		return
	}
	if host.IsAsk(args) {
		host.Ask(args)
		return
	}
	if verify.IsProbe(args) {
		os.Exit(verify.Probe(args))
	}
	if err := finish(run(args)); err != nil {
		os.Exit(report(err, false))
	}
}

// run cuts the arguments at the first "--", before any parser sees them: what
// is right of it is the command, untouched, even when it is called "doctor".
// A run without flags skips the parser.
func run(args []string) error {
	if len(args) > 0 && args[0] == "agent" {
		return runCommand(args) // a "--" among its words is the client's
	}
	left, command, cut := split(args)
	own := len(left) > 0 && slices.Contains(commandNames, left[0])
	if !own {
		pid1.DefaultSignals()
	}
	switch {
	case cut && (len(left) == 0 || len(left) == 1 && left[0] == "--direct") && os.Getenv("SBX_FLAGS") == "":
		o := options{Flags: app.Flags{Direct: len(left) == 1}}
		err := o.check()
		if err == nil {
			err = execute(app.ForRun(o.Flags, command))
		}
		return flagSet(nil).notFound(err, left, command)
	case len(left) == 1 && left[0] == "--version" && !cut:
		return (&versionCmd{}).Run()
	case own && cut && left[0] == "why":
		return runCommand(append(append(left, "--"), command...)) // words that begin with a dash
	case own && cut:
		hint := sbxLine(left)
		if program := programFor(left[0]); program != "" {
			hint += ", or to run " + text.ShellWord(program) + ": " + sbxLine(dashDash, left, command)
		}
		return app.Failed("sbx "+left[0]+" takes no command", hint)
	case own:
		tellProgram(left)
		return runCommand(left)
	}
	first := slices.IndexFunc(append(slices.Clone(left), ""), func(w string) bool { return !strings.HasPrefix(w, "-") })
	if err := setColor(left[:first]); err != nil { // for what is said of flags before they are parsed
		return err
	}
	return runWords(left, command, cut)
}

func split(args []string) (left, command []string, cut bool) {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i], args[i+1:], true
	}
	return args, nil, false
}

// version and commit are set by the linker, for releases and in a clone.
var version, commit = "0.1.0-dev", ""

// exitError ends with a status and without a message.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// report prints an error as sbx does and returns the exit status for it. A client
// that called its shell gets one line: all of it lands in the output of a command.
func report(err error, client bool) int {
	status, text, hints := messages(err)
	if client && len(hints) > 0 {
		text, hints = text+" ("+hints[0]+")", nil
	}
	if text != "" {
		app.Say("error", text)
	}
	for _, h := range hints {
		app.Say("hint", h)
	}
	return status
}

// initFailure is what there is to say of a bwrap that gave up, for the guard.
func initFailure(said string) string {
	e := host.SetupFailure(said)
	return "sbx: error: " + app.Harmless(e.Text) + "\nsbx: hint: " + app.Harmless(e.Hint) + "\n"
}

// messages are what there is to say of an error: nothing of one that is only a
// status.
func messages(err error) (status int, text string, hints []string) {
	var exit exitError
	if errors.As(err, &exit) {
		return int(exit), "", nil
	}
	var run *host.Error
	var none *host.Unavailable
	var file *config.FileError
	var bad *policy.Error
	var name *shims.NameError
	hint := ""
	switch status, text = host.StatusFailed, err.Error(); {
	case errors.As(err, &run):
		status, hint = run.Status, run.Hint
	case errors.As(err, &bad):
		if hint = bad.Hint; hint == "" && bad.Near == "" && len(bad.Known) > 0 {
			hint = "there are " + strings.Join(bad.Known, ", ")
		}
	case errors.As(err, &file):
		hint = file.Hint
	case errors.As(err, &name):
		hint = name.Hint
	case errors.As(err, &none):
		return status, "Sandbox unavailable: " + none.Reason + ". Execution blocked.", none.Hints
	}
	if hint != "" {
		hints = []string{hint}
	}
	return status, text, hints
}
