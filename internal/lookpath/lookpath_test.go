// SPDX-License-Identifier: Apache-2.0

package lookpath_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/lookpath"
)

func TestFind(t *testing.T) {
	denied, worse := errors.New("denied"), errors.New("worse")
	var asked []string
	try := func(file string) error {
		asked = append(asked, file)
		switch file {
		case "/b/x":
			return denied
		case "/c/x":
			return worse
		case "rel/y", "/c/y":
			return nil
		}
		return lookpath.ErrNone
	}
	const path = "/a:/b:rel::/c"
	for _, tt := range []struct {
		name, want string
		err        error
		asked      []string
	}{
		{"x", "", denied, []string{"/a/x", "/b/x", "rel/x", "/c/x"}},
		{"y", "rel/y", nil, []string{"/a/y", "/b/y", "rel/y"}},
		{"z", "", lookpath.ErrNone, []string{"/a/z", "/b/z", "rel/z", "/c/z"}},
		{"", "", lookpath.ErrNone, nil},
		{"a/b", "", lookpath.ErrNone, nil},
	} {
		asked = nil
		got, err := lookpath.Find(path, tt.name, try)
		if got != tt.want || err != tt.err || cmp.Diff(tt.asked, asked) != "" {
			t.Errorf("%s: %q, %v, asked for %q", tt.name, got, err, asked)
		}
	}
}

func TestFirst(t *testing.T) {
	all := func(string) bool { return true }
	for path, want := range map[string]string{"rel:/a/./b/:/c": "/a/b/x", "rel": "", "": "", "/": "/x"} {
		if got := lookpath.First(path, "x", all); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := lookpath.First("/a:/b", "x", func(file string) bool { return file == "/b/x" }); got != "/b/x" {
		t.Errorf("%q", got)
	}
}
