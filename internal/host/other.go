//go:build !linux && !darwin

package host

import (
	"errors"
	"fmt"
	"runtime"
)

// Detect fails: there is no engine for this system yet.
func Detect() (*Host, error) { return nil, Unsupported() }

// Find fails: there is no engine for this system yet.
func Find(*Host, string) (Bwrap, error) { return Bwrap{}, Unsupported() }

// Inside is false: there are no sandboxes on other systems.
func Inside() bool { return false }

// InLandlock is false: only Linux has it.
func InLandlock() bool { return false }

// InSeatbelt is false: only macOS has it.
func InSeatbelt() bool { return false }

// GatherDiagnostics knows nothing of other systems.
func GatherDiagnostics(*Host) Diagnostics { return Diagnostics{} }

// Home knows nothing of other systems.
func Home(int) string { return "" }

// PasswdShell knows nothing of other systems.
func PasswdShell(int) string { return "" }

type unsupportedError struct{ *Unavailable }

func (unsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }
func (e unsupportedError) Unwrap() error      { return e.Unavailable }

func Unsupported() error {
	return unsupportedError{&Unavailable{CauseSystem, fmt.Sprintf("sbx has no engine for %s in this version", runtime.GOOS), nil}}
}

// Forget has nothing to forget.
func Forget(*Host, string) bool { return false }

// Proc is false: other systems have none, or none of use.
func Proc() bool { return false }

// RefreshSockets does nothing: the engine of this system goes by paths.
func (h *Host) RefreshSockets(string, Bwrap) {}
