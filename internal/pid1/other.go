//go:build !linux

package pid1

// Is is false: there is no stage on other systems.
func Is([]string) bool { return false }

// IsSweep is false: there is no stage on other systems.
func IsSweep([]string) bool { return false }

// Sweep fails: there is no stage on other systems.
func Sweep([]string, func(string) string) int { return 125 }

// Early does nothing on other systems.
func Early() {}

// BeforeExec does nothing on other systems.
func BeforeExec() {}

// Run fails: there is no stage on other systems.
func Run([]string) int { return 125 }
