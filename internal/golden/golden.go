// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Check compares text with a file in testdata.
func Check(t *testing.T, name, text string) {
	t.Helper()
	File(t, filepath.Join("testdata", name+".golden"), text)
}

// File compares text with a file that is checked in.
func File(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err, " (go test -update writes it)")
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text, "\n")); d != "" {
		t.Errorf("%s (-want +got; go test -update rewrites it):\n%s", file, d)
	}
}
