// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"testing"
)

// TestGenerated: the programs that runs load are those that the tables give.
func TestGenerated(t *testing.T) {
	for _, arch := range architectures {
		want, err := generate(arch)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile("../../seccomp/" + file(arch))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what go generate writes", file(arch))
		}
	}
}
