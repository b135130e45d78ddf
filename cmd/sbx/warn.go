package main

import "github.com/sbx-sandbox/sbx/internal/risk"

// warn says, before a command runs without a sandbox, what it looks like it
// would do to the machine.
func (s *state) warn(command []string) {
	if what := risk.Destructive(command, s.host.Homes...); what != "" {
		say("WARNING", "this command looks destructive: "+what)
	}
}
