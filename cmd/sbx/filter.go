package main

import (
	"errors"
	"os"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/seccomp"
)

// readFilter reads the file that the policy's seccomp names, once. Most runs
// name none.
func (s *state) readFilter() error {
	path := s.policy.Seccomp
	if s.filter != nil || !policy.SeccompFile(path) {
		return nil
	}
	data, err := config.ReadFilter(path)
	if err != nil {
		return err
	}
	f, err := seccomp.ParseFile(policy.Plain(path), data)
	if err != nil {
		return filterError(err)
	}
	// A file that does not depend on it does without.
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	f.Kernel, _ = seccomp.ParseKernel(strings.TrimSpace(string(release)))
	s.filter = f
	logger(s.opts.LogLevel).info("read seccomp filter", "file", path, "rules", f.Rules(), "bytes", len(data))
	return nil
}

// filterError adds to an error what was probably meant.
func filterError(err error) error {
	var fe *seccomp.FileError
	if !errors.As(err, &fe) {
		return err
	}
	const few = 20 // fit into a hint
	out := &policy.Error{Source: fe.Place, Text: fe.Text, Near: policy.Nearest(fe.Word, fe.Known)}
	if len(fe.Known) <= few {
		out.Known = fe.Known
	}
	return out
}

// filterJSON is a seccomp filter from a file, for programs.
type filterJSON struct {
	Path    string   `json:"path"`
	Rules   int      `json:"rules"`
	Hinders []string `json:"hinders"` // calls refused without which not even /bin/true starts
	text    string
}

func filterFor(f *engine.Filter) *filterJSON {
	return &filterJSON{f.Path, f.Rules, orEmpty(f.Hinders), f.String()}
}

func (f *filterJSON) String() string { return f.text }
