package bwrap

import _ "github.com/sbx-sandbox/sbx/internal/testenv"
