// SPDX-License-Identifier: Apache-2.0

// Package schema holds the JSON Schema of configuration files: the keys that the loader
// knows, with their words and bounds, and what docs/config.md says of each. The schemas
// of documents that commands print lie beside it; docs/json.md names them.
package schema

import _ "embed"

//go:generate go test ../../internal/config -run TestSchemaIsCurrent -update
//go:generate go test ../../cmd/sbx -run TestSchemasAreCurrent -update

// Config is the schema of a configuration file.
//
//go:embed config.json
var Config string
