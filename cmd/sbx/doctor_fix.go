// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/host"
)

// fixPath is where the programs of a fix are looked for: the system's own directories,
// whatever the caller's PATH is.
const fixPath = "/usr/sbin:/usr/bin:/sbin:/bin"

// fix shows what would make the tier full, and does it when a person at a terminal says
// so. It ends with 0 only when nothing is left to do.
func (c *doctorCmd) fix(d *diagnosis) error {
	switch {
	case c.JSON:
		return app.Failed("--fix does not print JSON", "sbx doctor --json")
	case d.Tier == host.TierFull:
		fmt.Fprintln(stdout, "nothing to fix: commands run in a sandbox of tier full")
		return nil
	case d.fix == "":
		if err := d.print(); err != nil {
			return err
		}
		return app.Failed("sbx cannot fix this by itself", "what is printed above says what to do")
	}
	fmt.Fprintln(stdout, "for tier full: "+d.fix)
	if !app.IsTerminal(0) || !app.IsTerminal(2) {
		return app.Failed("not done: without a terminal no one can be asked", d.fix)
	}
	if !confirm("run it now?") {
		return app.Failed("not done", d.fix)
	}
	run := exec.Command("/bin/sh", "-c", d.fix)
	run.Env = []string{"PATH=" + fixPath, "TERM=" + os.Getenv("TERM"), "LANG=" + os.Getenv("LANG")}
	run.Dir, run.Stdin, run.Stdout, run.Stderr = "/", os.Stdin, os.Stderr, os.Stderr
	if err := run.Run(); err != nil {
		return app.Failed("that failed: "+err.Error(), d.fix)
	}
	p := showProgress(false)
	now := c.diagnose(p.say)
	p.end()
	switch {
	case now.Tier == host.TierFull:
		fmt.Fprintln(stdout, "done: commands run in a sandbox of tier full")
		return nil
	case now.fix != "" && now.fix != d.fix: // Ubuntu: the package, then AppArmor's profile
		return c.fix(now)
	}
	return app.Failed("something is left: tier "+now.Tier, "sbx doctor says what")
}
