// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/tripwire"
)

// swapper answers a question, and before that replaces the file that the
// question is about, as a command that still runs could.
type swapper struct {
	path, text string
	in         io.Reader
}

func (s *swapper) Read(p []byte) (int, error) {
	if s.path != "" {
		if err := os.WriteFile(s.path, []byte(s.text), 0o644); err != nil {
			return 0, err
		}
	}
	return s.in.Read(p)
}

// What is not any more what was shown is neither accepted nor removed.
func TestAskChangedSince(t *testing.T) {
	out := os.Stdout
	defer func() { os.Stdout = out }()
	var err error
	if os.Stdout, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, swap, answers string
		left                int
		there               bool
	}{
		{"accepted", "", "a\n", 0, true},
		{"removed", "", "r\n", 0, false},
		{"swapped and accepted", "other", "a\n", 1, true},
		{"swapped and removed", "other", "r\n", 1, true},
		{"the end in the middle of a word", "", "acc", 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			root, path := dir+"/proj", dir+"/proj/.envrc"
			tr := &tripped{store: tripwire.Store{Dir: dir + "/sbx/tripwire", UID: os.Geteuid()}, root: root, cwd: root}
			if _, err := tr.store.Check(root, []tripwire.Watch{{Path: path}}); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Mkdir(root, 0o755), os.WriteFile(path, []byte("one"), 0o644)); err != nil {
				t.Fatal(err)
			}
			if tr.changes, err = tr.store.Pending(root); err != nil || len(tr.changes) != 1 {
				t.Fatal(tr.changes, err)
			}
			in := &swapper{in: strings.NewReader(tt.answers)}
			if tt.swap != "" {
				in.path, in.text = path, tt.swap
			}
			left := tr.ask(in)
			if left != tt.left {
				t.Errorf("%d left; want %d", left, tt.left)
			}
			if _, err := os.Lstat(path); (err == nil) != tt.there {
				t.Errorf("%s: %v", path, err)
			}
			pending, err := tr.store.Pending(root)
			if err != nil || len(pending) != tt.left {
				t.Errorf("pending %v, %v", pending, err)
			}
		})
	}
}
