// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"
	"strings"
	"testing"
)

func TestLookoutIsKept(t *testing.T) {
	l := &socketCache{when: 77, dirs: []stamped{{"/opt", 1}, {"/opt/a b\n\"", -5}}, sockets: []string{"/opt/s", "/opt/\x00\xff\nend\n"}}
	text := l.text()
	got, err := parseSocketCache(text)
	if err != nil || !slices.Equal(got.dirs, l.dirs) || !slices.Equal(got.sockets, l.sockets) || got.when != l.when {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range len(text) {
		if _, err := parseSocketCache(text[:i]); err == nil {
			t.Errorf("believed: %q", text[:i])
		}
	}
	for _, bad := range []string{"end\n", text + "x", text + text, strings.Replace(text, "socket", "sock", 1), strings.Replace(text, "77", "7x", 1), "dir 1 \"/opt\"\n" + text} {
		if _, err := parseSocketCache(bad); err == nil {
			t.Errorf("believed: %q", bad)
		}
	}
}
