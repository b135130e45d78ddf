// SPDX-License-Identifier: Apache-2.0

package main

import _ "github.com/sbx-sandbox/sbx/internal/testenv"
