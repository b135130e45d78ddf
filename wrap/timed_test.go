// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package wrap

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/sbx-sandbox/sbx/internal/engine"
)

// TestRunTimed runs in a process of its own: it ends as its command does.
func TestRunTimed(t *testing.T) {
	if script := os.Getenv("TIMED"); script != "" {
		status, timedOut, err := runTimed(&engine.Plan{Path: "/bin/sh", Argv: []string{"sh", "-c", script},
			Env: os.Environ(), Limit: 0.4})
		if err != nil {
			t.Fatal(err)
		}
		exitTimed(status, timedOut)
	}
	t.Parallel()
	for script, want := range map[string]string{
		"exit 7":                        "exit status 7",
		"kill -9 $$":                    "signal: killed",
		"sleep 60 & sleep 60":           "exit status 124",
		"trap 'exit 3' TERM; sleep 60 ": "exit status 124",
		"kill -TERM $PPID; sleep 60":    "signal: terminated",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run", "^TestRunTimed$")
			cmd.Env = append(os.Environ(), "TIMED="+script)
			start := time.Now()
			err := cmd.Run()
			if err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
			if d := time.Since(start); d > 8*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}
