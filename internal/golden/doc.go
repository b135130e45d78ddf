// SPDX-License-Identifier: Apache-2.0

// Package golden compares texts with files in testdata; go test -update rewrites
// them.
package golden
