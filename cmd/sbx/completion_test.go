package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the files that tests compare with")

// TestCompletionIsCheckedIn compares the scripts in completions/ with what
// sbx completion prints.
func TestCompletionIsCheckedIn(t *testing.T) {
	for shell, name := range map[string]string{"bash": "sbx.bash", "zsh": "_sbx", "fish": "sbx.fish"} {
		t.Run(shell, func(t *testing.T) {
			text, err := completion(shell)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("..", "..", "completions", name)
			if *update {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Errorf("%s is not what sbx completion %s prints; go test ./cmd/sbx -run Completion -update writes it anew (-file +printed):\n%s", path, shell, diff)
			}
		})
	}
}
