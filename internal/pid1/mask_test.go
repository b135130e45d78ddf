// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWatchedDirs(t *testing.T) {
	got := watchedDirs([]Mask{{Hides, "/p/.env", "/p"}, {Protects, "/p/.git/config", "/p"},
		{Protects, "/p/.git/hooks", "/p"}, {Protects, "/p/.git/info/attributes", "/p"}, {Hides, "/h/.netrc", "/"},
		{Hides, "/x", "/"}, {Hides, "/h/a/b/c", "/"}})
	want := []string{"/p", "/p/.git", "/p/.git/info", "/", "/h", "/h/a", "/h/a/b"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
