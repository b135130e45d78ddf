// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/tools/gencompletions"
)

var update = flag.Bool("update", false, "write the files that tests compare with")

// TestCompletionIsCheckedIn compares the scripts in completions/ with what
// their generator makes of the grammars.
func TestCompletionIsCheckedIn(t *testing.T) {
	g := &gencompletions.Grammar{Run: grammar(t, &runCLI{}), Commands: grammar(t, &commandCLI{}), Words: words}
	for shell, name := range map[string]string{"bash": "sbx.bash", "zsh": "_sbx", "fish": "sbx.fish"} {
		t.Run(shell, func(t *testing.T) {
			text := g.Script(shell)
			path := filepath.Join("..", "..", "completions", name)
			if *update {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Errorf("%s is not what internal/tools/gencompletions writes; go test ./cmd/sbx -run Completion -update does (-file +written):\n%s", path, diff)
			}
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
