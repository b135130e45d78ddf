// SPDX-License-Identifier: Apache-2.0

//go:build linux

package everyday

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/jailtest"
	"github.com/sbx-sandbox/sbx/internal/testenv"
)

// sbxPath is the program that is tried. SBX_TEST_BINARY names another one, to compare.
var sbxPath string

func TestMain(m *testing.M) {
	jailtest.Enter()
	if flag.Parse(); *update {
		os.Exit(m.Run()) // of the page, for which nothing is run
	}
	os.Exit(withSbx(m))
}

func withSbx(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sbx-everyday")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // other users run it, too
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if sbxPath = os.Getenv("SBX_TEST_BINARY"); sbxPath == "" {
		sbxPath = filepath.Join(dir, "sbx")
		if err := testenv.Build(sbxPath, "github.com/sbx-sandbox/sbx/cmd/sbx", testenv.Start()...); err != nil {
			fmt.Fprintln(os.Stderr, "sbx for the tests:", err)
			return 1
		}
	}
	return m.Run()
}
