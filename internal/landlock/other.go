// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package landlock

// ABI returns 0: only Linux has Landlock.
func ABI() int { return 0 }
