// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	_ "github.com/sbx-sandbox/sbx/internal/testenv"
)

// TestSbom compares what is printed of a built sbx with what go version -m says.
func TestSbom(t *testing.T) {
	program := t.TempDir() + "/sbx"
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program, "../../../cmd/sbx")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := run(program, "1700000000", out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two runs differ")
	}
	var doc document
	if err := json.Unmarshal(first.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Creation.Created != "2023-11-14T22:13:20Z" {
		t.Errorf("created %s", doc.Creation.Created)
	}
	named := map[string]bool{}
	for _, m := range doc.Packages {
		named[m.Name+" "+m.Version] = true
	}
	list, err := exec.Command("go", "version", "-m", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := 0
	for line := range strings.Lines(string(list)) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "dep" {
			deps++
			if !named[f[1]+" "+f[2]] {
				t.Errorf("%s %s is missing", f[1], f[2])
			}
		}
	}
	if deps == 0 || len(doc.Packages) != deps+2 || len(doc.Relationships) != deps+2 {
		t.Errorf("%d modules, %d packages, %d relationships", deps, len(doc.Packages), len(doc.Relationships))
	}
}

func TestSbomRefuses(t *testing.T) {
	if err := run("main_test.go", "", &bytes.Buffer{}); err == nil {
		t.Error("a file that is no program: no error")
	}
	if _, err := describe("main_test.go", "soon"); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("SOURCE_DATE_EPOCH=soon: %v", err)
	}
}
