package pid1

import _ "github.com/sbx-sandbox/sbx/internal/testenv"
