// SPDX-License-Identifier: Apache-2.0

package agents

import _ "github.com/sbx-sandbox/sbx/internal/testenv"
