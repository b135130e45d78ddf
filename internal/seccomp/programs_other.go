// SPDX-License-Identifier: Apache-2.0

//go:build !linux || !(amd64 || arm64)

package seccomp

// programs are for the system that runs them alone.
var programs [0]assembled
