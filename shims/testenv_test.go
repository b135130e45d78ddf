// SPDX-License-Identifier: Apache-2.0

package shims

import _ "github.com/sbx-sandbox/sbx/internal/testenv"
