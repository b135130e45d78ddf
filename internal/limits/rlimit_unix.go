// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package limits

import "golang.org/x/sys/unix"

// SetRlimits sets the planned rlimits for this process and what it executes.
func (m *Means) SetRlimits() error {
	for _, l := range m.Rlimits {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.Resource, &now); err != nil {
			return err
		}
		limit := min(l.Max, now.Max)
		if err := unix.Setrlimit(l.Resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}
