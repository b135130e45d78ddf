// SPDX-License-Identifier: Apache-2.0

package pid1

import _ "github.com/sbx-sandbox/sbx/internal/testenv"
