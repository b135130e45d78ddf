// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"testing"
)

// What is generated from names.toml is what lies in the tree.
func TestUpToDate(t *testing.T) {
	table, doc, err := generate("../../tripwire/names.toml")
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]byte{"../../tripwire/names_gen.go": table,
		"../../../docs/runs-by-itself.md": doc} {
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale: run go generate ./tripwire", file)
		}
	}
}
