package app

import _ "github.com/sbx-sandbox/sbx/internal/testenv"
