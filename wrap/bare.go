// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Bare is the plan that runs a command without any sandbox, as a shell would:
// everything of the caller's passes, but for sbx's own links in PATH. The error
// is an [*Error].
func Bare(command []string, h *host.Host) (*engine.Plan, error) {
	path, err := h.Program(command[0])
	return &engine.Plan{Engine: "none", Tier: "none", Path: path, Argv: command, Env: h.WithoutShims()}, err
}

// Become replaces this process by a bare plan. It returns only when it fails,
// with an [*Error].
func Become(p *engine.Plan) error {
	if p.Limit > 0 {
		return &host.Error{Status: host.StatusNoExec, Text: text.Plain(p.Path) + ": " + timed(p).Error()}
	}
	pid1.BeforeExec()
	err := syscall.Exec(p.Path, p.Argv, p.Env)
	if err == syscall.ENOEXEC { // a script without a first line, which every shell runs
		err = syscall.Exec("/bin/sh", append([]string{"/bin/sh", p.Path}, p.Argv[1:]...), p.Env)
	}
	return &host.Error{Status: host.StatusNoExec, Text: text.Plain(p.Path) + ": " + err.Error()}
}
