package wrap

import (
	"strings"
	"syscall"

	"github.com/sbx-sandbox/sbx/policy"
	"github.com/sbx-sandbox/sbx/stage"
)

// Bare is the plan that runs a command without any sandbox, as a shell would:
// everything of the caller's passes. The error is an [*Error].
func Bare(command []string, h *Host) (*Plan, error) {
	path, ok := lookupEnv(h.Environ, "PATH")
	if !ok {
		path = defaultPath
	}
	p := &Plan{Engine: "none", Tier: "none", Argv: command, Env: h.Environ}
	name := command[0]
	if strings.IndexByte(name, '/') >= 0 {
		p.Path = name
		return p, bareRunnable(h, name, name)
	}
	var denied error
	for _, dir := range strings.Split(path, ":") {
		if dir == "" || name == "" {
			continue
		}
		full := join(dir, name)
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
	stage.BeforeExec()
	err := syscall.Exec(p.Path, p.Argv, p.Env)
	if err == syscall.ENOEXEC { // a script without a first line, which every shell runs
		err = syscall.Exec("/bin/sh", append([]string{"/bin/sh", p.Path}, p.Argv[1:]...), p.Env)
	}
	return &Error{StatusNoExec, policy.Plain(p.Path) + ": " + err.Error(), ""}
}

func bareRunnable(h *Host, name, full string) error {
	abs := full
	if !strings.HasPrefix(abs, "/") {
		abs = join(h.dir(), abs)
	}
	to, err := newResolver(h.FS).resolve(policy.Clean(abs))
	switch {
	case err != nil || to.Info.Kind == Absent:
		return &Error{StatusNotFound, policy.Plain(name) + ": no such file or directory", ""}
	case to.Info.Kind != File || !h.FS.Access(to.Path, 'x'):
		return &Error{StatusNoExec, policy.Plain(name) + ": permission denied", ""}
	}
	return nil
}
