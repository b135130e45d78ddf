// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAliases(t *testing.T) {
	tests := []struct {
		name   string
		mounts []Mount
		path   string
		want   []string
	}{
		{"no second mount", []Mount{{Dev: "8:1", Root: "/", Point: "/"}, {Dev: "8:2", Root: "/", Point: "/home"}}, "/home/u/.ssh", nil},
		{"a bind of the home", []Mount{{Dev: "8:1", Root: "/", Point: "/"}, {Dev: "8:1", Root: "/home/u", Point: "/mnt/u"}}, "/home/u/.ssh", []string{"/mnt/u/.ssh"}},
		{"seen from the bind", []Mount{{Dev: "8:1", Root: "/", Point: "/"}, {Dev: "8:1", Root: "/home/u", Point: "/mnt/u"}}, "/mnt/u/.ssh", []string{"/home/u/.ssh"}},
		{"a bind of something in it", []Mount{{Dev: "8:1", Root: "/", Point: "/"}, {Dev: "8:1", Root: "/home/u/.ssh/keys", Point: "/w/p/k"}}, "/home/u/.ssh", []string{"/w/p/k"}},
		{"a bind of itself", []Mount{{Dev: "8:1", Root: "/", Point: "/"}, {Dev: "8:1", Root: "/home/u/.netrc", Point: "/w/p/n"}}, "/home/u/.netrc", []string{"/w/p/n"}},
		{"subvolumes", []Mount{{Dev: "0:9", Root: "/@", Point: "/"}, {Dev: "0:9", Root: "/@home", Point: "/home"}, {Dev: "0:9", Root: "/", Point: "/mnt/all"}}, "/home/u/.ssh", []string{"/mnt/all/@home/u/.ssh"}},
		{"a name that only begins alike", []Mount{{Dev: "8:1", Root: "/", Point: "/"}, {Dev: "8:1", Root: "/home/u", Point: "/mnt/u"}}, "/home/u2/.ssh", nil},
		{"covered", []Mount{{Dev: "8:1", Root: "/", Point: "/"}, {Dev: "8:1", Root: "/home/u", Point: "/mnt/u"}, {Dev: "0:7", Root: "/", Point: "/mnt/u"}}, "/home/u/.ssh", nil},
		{"covered in part", []Mount{{Dev: "8:1", Root: "/", Point: "/"}, {Dev: "8:1", Root: "/home/u", Point: "/mnt/u"}, {Dev: "0:7", Root: "/", Point: "/mnt/u/.ssh"}}, "/home/u/.ssh", nil},
		{"another device", []Mount{{Dev: "8:1", Root: "/", Point: "/"}, {Dev: "8:2", Root: "/home/u", Point: "/mnt/u"}, {Dev: "8:2", Root: "/", Point: "/b"}}, "/home/u/.ssh", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, NewMountTable(tt.mounts).Aliases(tt.path)); d != "" {
				t.Error(d)
			}
		})
	}
}
