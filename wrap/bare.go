// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"path/filepath"
	"strings"
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
	p := &engine.Plan{Engine: "none", Tier: "none", Argv: command, Env: h.WithoutShims()}
	name := command[0]
	res := host.NewResolver(h.FS)
	if strings.IndexByte(name, '/') >= 0 {
		p.Path = name
		return p, host.BareRunnable(h, name, name)
	}
	var denied error
	for _, dir := range strings.Split(h.Path(), ":") {
		if dir == "" || name == "" {
			continue
		}
		full := host.Join(dir, name)
		if abs := filepath.Clean(h.Absolute(full)); h.Linked(res, abs, name) {
			continue
		}
		err := host.BareRunnable(h, name, full)
		if err == nil {
			p.Path = full
			return p, nil
		}
		if e, ok := err.(*host.Error); ok && e.Status == host.StatusNoExec && denied == nil {
			denied = err
		}
	}
	if denied != nil {
		return nil, denied
	}
	return nil, &host.Error{Status: host.StatusNotFound, Text: text.Plain(name) + ": command not found", Hint: ""}
}

// Become replaces this process by a bare plan. It returns only when it fails,
// with an [*Error].
func Become(p *engine.Plan) error {
	pid1.BeforeExec()
	err := syscall.Exec(p.Path, p.Argv, p.Env)
	if err == syscall.ENOEXEC { // a script without a first line, which every shell runs
		err = syscall.Exec("/bin/sh", append([]string{"/bin/sh", p.Path}, p.Argv[1:]...), p.Env)
	}
	return &host.Error{Status: host.StatusNoExec, Text: text.Plain(p.Path) + ": " + err.Error(), Hint: ""}
}
