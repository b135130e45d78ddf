package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// The files of package managers, as they are written.
func TestPackage(t *testing.T) {
	const dpkgStatus = "Package: bubble\nStatus: install ok installed\nVersion: 1\n\n" +
		"Package: bubblewrap\nStatus: install ok installed\nPriority: optional\nVersion: 0.8.0-2+deb12u1\nDepends: libc6 (>= 2.34)\nDescription: utility\n Version: 9\n .\n\n" +
		"Package: bubblewrap-more\nStatus: install ok installed\nVersion: 3\n"
	list := "/.\n/usr\n/usr/bin\n/usr/bin/bwrap\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		path  string
		want  string
	}{
		{"dpkg", map[string]string{"/var/lib/dpkg/status": dpkgStatus, "/var/lib/dpkg/info/bubblewrap.list": list}, "/usr/bin/bwrap", "0.8.0-2+deb12u1"},
		{"dpkg, of no package", map[string]string{"/var/lib/dpkg/status": dpkgStatus, "/var/lib/dpkg/info/bubblewrap.list": list}, "/usr/local/bin/bwrap", ""},
		{"dpkg, removed", map[string]string{"/var/lib/dpkg/status": strings.ReplaceAll(dpkgStatus, "ok installed", "ok config-files"), "/var/lib/dpkg/info/bubblewrap.list": list}, "/usr/bin/bwrap", ""},
		{"dpkg, half a file", map[string]string{"/var/lib/dpkg/status": "Package: bubblewrap\n", "/var/lib/dpkg/info/bubblewrap.list": list}, "/usr/bin/bwrap", ""},
		{"dpkg, a long line", map[string]string{"/var/lib/dpkg/status": "Package: a\nX: " + strings.Repeat("x", 2<<20) + "\n\n" + dpkgStatus, "/var/lib/dpkg/info/bubblewrap.list": list}, "/usr/bin/bwrap", ""},
		{"dpkg, a control sequence", map[string]string{"/var/lib/dpkg/status": "Package: bubblewrap\nStatus: install ok installed\nVersion: 1\x1b[2J\n", "/var/lib/dpkg/info/bubblewrap.list": list}, "/usr/bin/bwrap", policy.Plain("1\x1b[2J")},
		{"apk", map[string]string{"/lib/apk/db/installed": "C:Q1\nP:bubblewrap\nV:0.11.0-r1\nA:x86_64\nF:usr/bin\nR:bwrap\n\nP:bubblewrap-doc\nV:2\n"}, "/usr/bin/bwrap", "0.11.0-r1"},
		{"apk, version before name", map[string]string{"/usr/lib/apk/db/installed": "P:a\nV:1\n\nV:0.11.0-r1\nP:bubblewrap\n\nP:b\nV:2\n"}, "/usr/bin/bwrap", "0.11.0-r1"},
		{"apk, another's", map[string]string{"/lib/apk/db/installed": "P:bubblewrap\nV:0.11.0-r1\n"}, "/opt/bwrap", ""},
		{"pacman", map[string]string{"/var/lib/pacman/local/bubblewrap-0.11.0-1/desc": "%NAME%\nbubblewrap\n", "/var/lib/pacman/local/bubblewrap-suid-1/desc": ""}, "/usr/bin/bwrap", "0.11.0-1"},
		{"nothing", nil, "/usr/bin/bwrap", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range c.files {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got := ""
			for _, look := range []func(root, path, real string) string{dpkg, apk, pacman, rpm} {
				if got = look(root, c.path, c.path); got != "" {
					break
				}
			}
			if got != "" {
				got = policy.Plain(got)
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
