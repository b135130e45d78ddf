package pid1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWatchedDirs(t *testing.T) {
	got := watchedDirs([]Mask{{Hides, "/p/.env", "/p"}, {Protects, "/p/.git/config", "/p"}, {Protects, "/p/.git/hooks", "/p"}, {Protects, "/p/.git/info/attributes", "/p"}, {Hides, "/h/.netrc", "/"}, {Hides, "/x", "/"}})
	want := []string{"/p", "/p/.git", "/p/.git/info", "/h", "/"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Before Linux 5.8 the table of mounts says what statx(2) does not.
func TestMountedAt(t *testing.T) {
	table := []byte("21 1 0:20 / / rw - tmpfs tmpfs rw\n" +
		"92 89 254:0 /p /h/a\\040b rw,nosuid - ext4 /dev/vda rw\n" +
		"93 92 0:31 /x /h/a\\040b/.env ro,nosuid - tmpfs tmpfs rw\n" +
		"94 92 0:31 /h/secret /h/n\\134\\012\\011x ro master:1 - tmpfs tmpfs rw")
	for path, want := range map[string]bool{"/": true, "/h/a b": true, "/h/a b/.env": true, "/h/n\\\n\tx": true, "/h": false, "/h/a": false, "/h/secret": false, "/x": false, "/h/a b/.en": false, "": false} {
		if mountedAt(table, path) != want {
			t.Errorf("%q: %t", path, !want)
		}
	}
}
