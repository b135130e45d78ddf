// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"testing"

	_ "github.com/sbx-sandbox/sbx/internal/testenv"
)

func TestNoticesAreCurrent(t *testing.T) {
	want, err := generate("../../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../THIRD_PARTY_NOTICES")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("THIRD_PARTY_NOTICES is not what the modules say: go generate ./cmd/sbx")
	}
}

func TestNoLicence(t *testing.T) {
	if text, err := licence(t.TempDir()); err == nil {
		t.Errorf("a module without a licence: %q, no error", text)
	}
}
