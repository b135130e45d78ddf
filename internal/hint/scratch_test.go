// SPDX-License-Identifier: Apache-2.0

package hint

import "testing"

func TestIsScratch(t *testing.T) {
	l := &look{home: "/home/u"}
	for path, want := range map[string]bool{
		"/tmp/tmp.aBcDeF": true, "/tmp/tmpab12cd_e": true, "/tmp/tmpab12cd_e.json": true, "/tmp/foo-aB3dEf": true,
		"/tmp/TestX4012345678": true, "/var/tmp/pytest-of-u": true, "/tmp/go-build1": true, "/tmp/cc1a2B3c.o": true,
		"/tmp/d": false, "/tmp/out.txt": false, "/tmp/release-20261122": false, "/tmp/build-aarch64": false,
		"/tmp/pkg-1.2.3": false, "/tmp/install2024": false, "/tmp/tmpdir": false, "/tmp/claude-1-cwd": true, "/tmp/my-d\u00e9j\u00e0vu": false, "/tmp/tmpdirectory": false,
		"/tmp/pkg/tmp.aBcDeF": false, "/tmp/aB3dEf": false, "/tmp/": false, "/tmp/\x1b-\xff\x00aB1cD2": false,
		"/home/u/.cache": true, "/home/u/.bash_history": true, "/home/u/.npm/_logs": true, "/home/u/.cargo/.global-cache": true,
		"/home/u/x_history": false, "/home/u/tmp.aBcDeF": false, "/home/u/.npm": false, "/home/u/.gitconfig": false,
		"/home/ux/.cache": false, "/home/u": false,
	} {
		if got := l.isScratch(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}
