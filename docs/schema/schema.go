// SPDX-License-Identifier: Apache-2.0

// Package schema holds the JSON Schema of configuration files. Those of the documents
// that commands print lie beside it, for their readers; docs/json.md names them.
package schema

import _ "embed"

// Config is the schema of a configuration file. The keys that the loader knows are in
// it, with their words and bounds, and what docs/config.md says of each:
//
//go:generate go test ../../internal/config -run TestSchemaIsCurrent -update
//
//go:embed config.json
var Config string
