//go:build !linux

package wrap

import (
	"errors"
	"fmt"
	"runtime"
)

// Look fails: there is no engine for this system yet.
func Look() (*Host, error) { return nil, unsupported() }

// Find fails: there is no engine for this system yet.
func Find(*Host, string) (Bwrap, error) { return Bwrap{}, unsupported() }

// Exec fails: there is no engine for this system yet.
func Exec(*Plan, *Host) error { return unsupported() }

// Inside is false: there are no sandboxes on other systems.
func Inside() bool { return false }

// IsStage is false: there is no stage on other systems.
func IsStage([]string) bool { return false }

// Stage fails: there is no stage on other systems.
func Stage([]string) int { return StatusFailed }

// GatherFacts knows nothing of other systems.
func GatherFacts(*Host) Facts { return Facts{} }

// PasswdShell knows nothing of other systems.
func PasswdShell(int) string { return "" }

// stageName is never used: there is no bwrap on other systems.
const stageName = ""

type unsupportedError struct{ *Unavailable }

func (unsupportedError) Is(target error) bool { return target == errors.ErrUnsupported }
func (e unsupportedError) Unwrap() error      { return e.Unavailable }

func unsupported() error {
	return unsupportedError{&Unavailable{CauseSystem, fmt.Sprintf("sbx has no engine for %s in this version", runtime.GOOS), nil}}
}
