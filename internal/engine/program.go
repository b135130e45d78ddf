package engine

import (
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// refuseLooseSockets lets no socket pass that could be pointed at one of the host's: without
// a network namespace nothing else stands in between.
func (p *Plan) refuseLooseSockets(h *host.Host) error {
	for _, fd := range h.FDs {
		switch {
		case !fd.Loose:
		case fd.Num <= 2:
			return Fail(Stdio[fd.Num]+" is a socket that is not connected or for datagrams, which leads out of the sandbox", "")
		default:
			p.Keep = slices.DeleteFunc(p.Keep, func(n int) bool { return n == fd.Num })
		}
	}
	return nil
}

// Program finds the file to execute and its words.
func (p *Plan) Program(req Request, h *host.Host, v *view.View) error {
	words := req.Command
	if len(req.Self) > 0 {
		p.Path, words = h.Self, append([]string{h.Self}, req.Self...)
		p.Report.Command = h.Self
	}
	if len(req.Self) == 0 && len(words) > 0 {
		path, _ := host.LookupEnv(p.Env, "PATH")
		full, err := view.LookCommand(v, h, words[0], path)
		if err != nil {
			return err
		}
		p.Report.Command = full
		if p.Path = words[0]; !strings.Contains(p.Path, "/") {
			p.Path = full
		}
	}
	if req.Argv0 != "" && len(words) > 0 {
		words = append([]string{req.Argv0}, words[1:]...)
	}
	p.Argv = words
	return nil
}
