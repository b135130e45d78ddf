//go:build !linux && !darwin

package wrap

import (
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
)

// Choose fails: there is no engine for this system yet.
func Choose(*host.Host, string, string, string) (engine.Chosen, error) {
	return engine.Chosen{}, host.Unsupported()
}

// Exec fails: there is no engine for this system yet.
func Exec(*engine.Plan, *host.Host) error { return host.Unsupported() }
