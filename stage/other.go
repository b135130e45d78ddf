//go:build !linux

package stage

// Is is false: there is no stage on other systems.
func Is([]string) bool { return false }

// Run fails: there is no stage on other systems.
func Run([]string) int { return 125 }
