// SPDX-License-Identifier: Apache-2.0

// Package man holds the manual page of sbx.
package man

import _ "embed"

// Page is sbx(1) in the man macros of groff.
//
//go:embed sbx.1
var Page string

// Shell is sbx-sh(1).
//
//go:embed sbx-sh.1
var Shell string
