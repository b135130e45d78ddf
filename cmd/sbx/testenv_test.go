// SPDX-License-Identifier: Apache-2.0

package main

import _ "github.com/sbx-sandbox/sbx/internal/testenv"

// The tests' own program starts after all init functions.
var _ = func() bool { begin = func() {}; return true }()
