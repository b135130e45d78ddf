// SPDX-License-Identifier: Apache-2.0

package seatbelt

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/limits"
	"github.com/sbx-sandbox/sbx/internal/pid1"
)

// TestForSeatbelt: nothing that a plan asks for is left out without a word.
func TestForSeatbelt(t *testing.T) {
	good := func() *engine.Plan {
		return &engine.Plan{Engine: host.EngineSeatbelt, Path: host.SandboxExec, Keep: []int{5}, Dirs: []string{"/x"}}
	}
	if err := CheckPlan(good()); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(p *engine.Plan){
		"bwrap": func(p *engine.Plan) { p.Engine = host.EngineBwrap }, "another program": func(p *engine.Plan) { p.Path = "/tmp/sandbox-exec" }, "nothing": func(p *engine.Plan) { *p = engine.Plan{} },
		"stage": func(p *engine.Plan) { p.Init = &pid1.InitConfig{} }, "Landlock": func(p *engine.Plan) { p.Confined = &engine.Confined{} },
		"descriptors": func(p *engine.Plan) { p.FDs = []bwrapargs.FD{{}} }, "copies": func(p *engine.Plan) { p.Copy = []int{0} }, "anew": func(p *engine.Plan) { p.Reopen = []int{0} },
		"control groups": func(p *engine.Plan) { p.Limits.Cgroups = []limits.Cgroup{{}} }, "a program in front": func(p *engine.Plan) { p.Limits.Prefix = []string{"/bin/sh"} },
	} {
		p := good()
		change(p)
		var e *host.Error
		if err := CheckPlan(p); !errors.As(err, &e) || e.Status != host.StatusFailed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNotExecuted(t *testing.T) {
	p := &engine.Plan{Path: host.SandboxExec, Report: engine.Report{Command: "/usr/bin/make"}}
	var e *host.Error
	if err := NotExecuted(p, syscall.E2BIG); !errors.As(err, &e) || e.Status != host.StatusNoExec || !strings.HasPrefix(e.Text, "/usr/bin/make: ") {
		t.Errorf("too long: %v", err)
	}
	if err := NotExecuted(p, syscall.EIO); !errors.As(err, &e) || e.Status != host.StatusFailed || !strings.HasPrefix(e.Text, "Failed to initialize sandbox: ") {
		t.Errorf("another: %v", err)
	}
	for errno, cause := range map[syscall.Errno]host.Cause{syscall.EPERM: host.CauseNested, syscall.ENOENT: host.CauseMissing} {
		var u *host.Unavailable
		if err := NotExecuted(p, errno); !errors.As(err, &u) || u.Cause != cause {
			t.Errorf("%v: %v", errno, err)
		}
	}
}
