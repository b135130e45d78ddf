package main

import (
	"slices"

	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// trustStore is where it is kept which project files the user agreed to.
func (s *state) trustStore() config.TrustStore {
	dir, ok, err := s.vars.Expand("$XDG_STATE_HOME/sbx/trust")
	if !ok || err != nil {
		return config.TrustStore{}
	}
	return config.TrustStore{Dir: dir}
}

// trusts reports whether the user has agreed to a project file as it is, and
// notes why not where that could surprise.
func (s *state) trusts(path string, data []byte) bool {
	is, _, err := s.trustStore().Check(path, data)
	switch {
	case err != nil:
		s.doubts = append(s.doubts, policy.Plain(path)+": not trusted, since the record of that is no good: "+err.Error())
	case is == config.Changed:
		s.doubts = append(s.doubts, policy.Plain(path)+": changed since it was trusted, so it may only tighten; to see what changed and trust it again: "+
			shellLine([]string{"sbx", "trust", path}))
	}
	return is == config.Trusted
}

// hintTrust says how a project file gets what it asked for.
func (s *state) hintTrust() {
	asks := slices.ContainsFunc(s.settings.Ignored, func(i config.Ignored) bool { return !i.Trusted })
	if asks && len(s.doubts) == 0 && !s.opts.Quiet {
		say("hint", "sbx trust shows what that would give, and agrees to it")
	}
}
