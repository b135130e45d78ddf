// SPDX-License-Identifier: Apache-2.0

package verify

import _ "github.com/sbx-sandbox/sbx/internal/testenv"
