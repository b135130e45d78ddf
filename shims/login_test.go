// SPDX-License-Identifier: Apache-2.0

package shims

import (
	"errors"
	"slices"
	"testing"
)

func TestLoginWords(t *testing.T) {
	for _, c := range []struct {
		shell       string
		words, want []string // nil for none
	}{
		{"/bin/zsh", nil, []string{"-l"}},
		{"/bin/bash", []string{"-c", "echo a b"}, []string{"-l", "-c", "echo a b"}},
		{"/bin/sh", []string{"-i"}, []string{"-l", "-i"}},
		{"/bin/dash", []string{"--", "x"}, []string{"-l", "--", "x"}},
		{"/opt/homebrew/bin/fish", nil, []string{"-l"}},
		{"/bin/ksh", nil, []string{"-l"}},
		{"/bin/csh", nil, nil},
		{"/bin/tcsh", []string{"-c", "x"}, nil},
		{"/usr/local/bin/nu", nil, nil},
	} {
		got, err := LoginWords(c.shell, c.words)
		if (err == nil) != (c.want != nil) || err != nil && !errors.Is(err, errNoLogin) || !slices.Equal(got, c.want) {
			t.Errorf("%s %q: %q, %v", c.shell, c.words, got, err)
		}
	}
	words := append(make([]string, 0, 8), "-i")
	if _, err := LoginWords("/bin/sh", words); err != nil || words[0] != "-i" {
		t.Errorf("the caller's words are %q", words)
	}
}
