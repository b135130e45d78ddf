// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/shims"
)

// execute runs a command, or prints what it would do. It returns only when it
// printed or could not.
func execute(inv app.Invocation) error {
	run, err := app.Prepare(inv)
	switch {
	case err != nil:
	case inv.Flags.DryRun:
		err = printPlan(run.Plan, inv.Flags.JSON)
	default:
		err = run.Exec()
	}
	return inv.Reworded(err)
}

// runTool runs the program that a shim stands before.
func runTool(name string, words []string) error {
	pid1.DefaultSignals()
	var flags *app.Flags
	if os.Getenv("SBX_FLAGS") != "" || os.Getenv("SBX_ENGINE") != "" {
		opts, err := parseRun(nil)
		if err != nil {
			return err
		}
		given := opts.Flags
		flags = &given
	}
	return execute(app.ForTool(name, words, flags))
}

// runShell runs the words with the shell that a name stands for.
func runShell(name shims.Name, file string, words []string) error {
	inv, err := app.ForShell(name, file, words, clientFloor)
	if err != nil {
		return err
	}
	return execute(inv)
}

// clientFloor is what the variables of a client ask for.
func clientFloor() (floor app.Floor, err error) {
	floor.Profile, floor.Engine = os.Getenv("SBX_PROFILE"), os.Getenv("SBX_ENGINE")
	env, err := envFlags()
	if err != nil || len(env) == 0 {
		return floor, err
	}
	opts, err := parseFlags(env)
	if err != nil {
		return floor, err
	}
	floor.Given, floor.Flags = true, opts.Flags
	return floor, nil
}
