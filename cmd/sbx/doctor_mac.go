// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"runtime"

	"github.com/sbx-sandbox/sbx/internal/host"
)

// mac is what there is to say of the system itself.
func (d *diagnosis) mac(f host.Diagnostics) {
	d.add("system", "ok", "macOS "+f.MacOS+", "+runtime.GOARCH, nil)
	if f.Translated {
		d.add("system", "note", "this sbx is made for Intel and runs by Rosetta, which makes each start slower",
			[]string{"install the one for Apple silicon (darwin/arm64)"})
	}
	d.root(f)
}

// seatbelt reports whether sandbox-exec works, and says what it is.
func (d *diagnosis) seatbelt(err error, f host.Diagnostics) bool {
	var none *host.Unavailable
	switch {
	case errors.As(err, &none):
		hints := none.Hints
		if none.Cause == host.CauseNested && f.CI == "github" {
			hints = append([]string{"GitHub's own runners have none around a step: look for what this step starts sbx from"}, hints...)
		}
		d.Cause, d.remedy = string(none.Cause), hints
		d.add(host.EngineSeatbelt, "bad", none.Reason, hints)
		return false
	case err != nil:
		d.add(host.EngineSeatbelt, "bad", err.Error(), nil)
		return false
	}
	d.add(host.EngineSeatbelt, "ok", host.SandboxExec+", tried and working", nil)
	d.add(host.EngineSeatbelt, "note",
		"Apple calls the program deprecated since 10.13; the system and its own services are sandboxed by the same part of the kernel, and sbx refuses every run if it disappears or stops working", nil)
	for _, differs := range []string{
		"files and processes that a command may not touch can still be found by name (EPERM where Linux says ENOENT)",
		"private directories are closed, not empty: a command has TMPDIR instead of /tmp",
		"no sandbox inside another: swift build and other programs that call sandbox-exec need --disable-sandbox or similar",
		"set-uid programs (ps, sudo, ping) are refused; background children outlive the command",
	} {
		d.add("differs", "note", differs, nil)
	}
	return true
}
