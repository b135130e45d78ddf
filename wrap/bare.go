package wrap

import (
	"strings"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Bare is the plan that runs a command without any sandbox, as a shell would:
// everything of the caller's passes, but for sbx's own links in PATH. The error
// is an [*Error].
func Bare(command []string, h *Host) (*Plan, error) {
	p := &Plan{Engine: "none", Tier: "none", Argv: command, Env: h.withoutShims()}
	name := command[0]
	res := newResolver(h.FS)
	if strings.IndexByte(name, '/') >= 0 {
		p.Path = name
		return p, bareRunnable(h, name, name)
	}
	var denied error
	for _, dir := range strings.Split(h.Path(), ":") {
		if dir == "" || name == "" {
			continue
		}
		full := join(dir, name)
		if abs := policy.Clean(h.absolute(full)); h.linked(res, abs, name) {
			continue
		}
		err := bareRunnable(h, name, full)
		if err == nil {
			p.Path = full
			return p, nil
		}
		if e, ok := err.(*Error); ok && e.Status == StatusNoExec && denied == nil {
			denied = err
		}
	}
	if denied != nil {
		return nil, denied
	}
	return nil, &Error{StatusNotFound, policy.Plain(name) + ": command not found", ""}
}

// Become replaces this process by a bare plan. It returns only when it fails,
// with an [*Error].
func Become(p *Plan) error {
	pid1.BeforeExec()
	err := syscall.Exec(p.Path, p.Argv, p.Env)
	if err == syscall.ENOEXEC { // a script without a first line, which every shell runs
		err = syscall.Exec("/bin/sh", append([]string{"/bin/sh", p.Path}, p.Argv[1:]...), p.Env)
	}
	return &Error{StatusNoExec, policy.Plain(p.Path) + ": " + err.Error(), ""}
}

func bareRunnable(h *Host, name, full string) error {
	to, err := newResolver(h.FS).resolve(policy.Clean(h.absolute(full)))
	switch {
	case err != nil || to.Info.Kind == Absent:
		return &Error{StatusNotFound, policy.Plain(name) + ": no such file or directory", ""}
	case to.Info.Kind != File || !h.FS.Access(to.Path, 'x'):
		return &Error{StatusNoExec, policy.Plain(name) + ": permission denied", ""}
	}
	return nil
}

func (h *Host) absolute(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return join(h.dir(), path)
}

// linked is [Host.shim] for a path that was not looked at yet.
func (h *Host) linked(res *resolver, full, name string) bool {
	to, err := res.resolve(full)
	return err == nil && to.Info.Kind != Absent && h.shim(res, full, name, to)
}
