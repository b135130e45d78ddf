// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package pid1

// IsInit is false: other systems have no such process 1.
func IsInit([]string) bool { return false }

// IsCleanup is false: other systems have no such process 1.
func IsCleanup([]string) bool { return false }

// Cleanup fails: other systems have no such process 1.
func Cleanup([]string, func(string) string) int { return 125 }

// DefaultSignals does nothing on other systems.
func DefaultSignals() {}

// BeforeExec does nothing on other systems.
func BeforeExec() {}

// Run fails: other systems have no such process 1.
func Run([]string) int { return 125 }
