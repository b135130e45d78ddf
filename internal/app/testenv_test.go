// SPDX-License-Identifier: Apache-2.0

package app

import _ "github.com/sbx-sandbox/sbx/internal/testenv"
