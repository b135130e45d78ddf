// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/sbx-sandbox/sbx/internal/golden"
	"github.com/sbx-sandbox/sbx/internal/tools/gencompletions"
)

// TestCompletionIsCheckedIn compares the scripts in completions/ with what
// their generator makes of the grammars; go test ./cmd/sbx -run Completion -update writes them.
func TestCompletionIsCheckedIn(t *testing.T) {
	g := &gencompletions.Grammar{Run: grammar(t, &runCLI{}), Commands: grammar(t, &commandCLI{}), Words: words}
	for shell, name := range map[string]string{"bash": "sbx.bash", "zsh": "_sbx", "fish": "sbx.fish"} {
		t.Run(shell, func(t *testing.T) {
			golden.File(t, filepath.Join("..", "..", "completions", name), g.Script(shell))
		})
	}
}

// grammar is what kong makes of a struct.
func grammar(t *testing.T, cli any) *kong.Application {
	t.Helper()
	parser, err := newParser(cli)
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model
}
