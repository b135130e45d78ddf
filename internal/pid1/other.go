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

// Die gives the exit status of a wait status.
func Die(status int) int { return status >> 8 & 0xff }

// Run fails: other systems have no such process 1.
func Run([]string) int { return 125 }
