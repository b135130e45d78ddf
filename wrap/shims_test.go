// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

const links = "/home/u/.local/share/sbx"

// shimmed is a machine with shims: a directory of them, one under a second name,
// and files that are sbx by the name of a tool.
func shimmed(t *testing.T) (*host.Host, *machine) {
	t.Helper()
	m := user(debian + home("/home/u", "1000"))
	big := strings.Repeat("sbx", 2000)
	m.more = `
/usr/local/bin/sbx x = ` + big + `
/opt/sbx/2.0/sbx x
/usr/bin/npm x
/usr/bin/only x
` + links + `/shims/npm -> /usr/local/bin/sbx
` + links + `/shims/only -> /opt/sbx/2.0/sbx
` + links + `/shims/alone -> /usr/local/bin/sbx
/home/u/second -> ` + links + `/shims
/home/u/bin/npm -> /usr/local/bin/sbx
/home/u/go/bin/npm -> /home/u/second/npm
/home/u/.local/bin/npm x = ` + big + `
/opt/other/npm x = ` + strings.Repeat("npm", 2000) + `
/home/u/bin/sbx-sh -> /usr/local/bin/sbx
`
	h, fs := m.host(t)
	for _, n := range fs.nodes {
		n.Size = int64(len(n.Text))
	}
	h.Links, h.Shims = []string{links}, []string{"/usr/lib/sbx/shells", links + "/shims", links + "/shells"}
	return h, &m
}

func TestTool(t *testing.T) {
	h, _ := shimmed(t)
	for _, c := range []struct{ name, path, want string }{
		{"npm", "/usr/bin", "/usr/bin/npm"},
		{"npm", links + "/shims:/usr/bin", "/usr/bin/npm"},
		{"npm", "/home/u/second:/usr/bin", "/usr/bin/npm"},
		{"npm", "/home/u/bin:/home/u/go/bin:/home/u/.local/bin:/usr/bin", "/usr/bin/npm"},
		{"npm", "/opt/other:/usr/bin", "/opt/other/npm"}, // of the same size, and not sbx
		{"npm", "bin:.::/usr/bin", "/usr/bin/npm"},
		{"npm", "", ""},
		{"npm", "/home/u/bin", ""},
		{"only", links + "/shims:/usr/bin", "/usr/bin/only"},
		{"alone", links + "/shims:/usr/bin:/home/u/second", ""},
		{"sbx-sh", "/home/u/bin", "/home/u/bin/sbx-sh"},
		{"bin/npm", "/usr", ""},
		{"", "/usr/bin", ""},
	} {
		got, err := h.Tool(c.name, c.path)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s in %s: %q, %v; want %q", c.name, c.path, got, err, c.want)
		}
	}
}

func TestWithoutShims(t *testing.T) {
	h, _ := shimmed(t)
	for path, want := range map[string]string{
		"/usr/bin:/bin": "/usr/bin:/bin",
		links + "/shims:/usr/bin:" + links + "/shims/": "/usr/bin",
		"/home/u/second:rel::/usr/bin:":                "rel::/usr/bin:",
		links + "/shims":                               host.DefaultPath,
		"":                                             "",
	} {
		h.Environ = []string{"A=1", "PATH=" + path, "B=2"}
		if diff := cmp.Diff([]string{"A=1", "PATH=" + want, "B=2"}, h.WithoutShims()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", path, diff)
		}
	}
	h.Environ = []string{"A=1"}
	if diff := cmp.Diff(h.Environ, h.WithoutShims()); diff != "" {
		t.Error(diff)
	}
}

// TestShimsInside wants the command to be the tool, and PATH inside without
// what leads to sbx, also where the directory is visible.
func TestShimsInside(t *testing.T) {
	for _, profile := range []string{"moderate", "permissive"} {
		h, m := shimmed(t)
		h.Environ = []string{"HOME=/home/u", "PATH=" + links + "/shims:/home/u/second:/home/u/bin:/usr/bin"}
		m.profiles = []string{profile}
		pol, err := m.policy(h)
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(engine.Request{Engine: m.engine(), Policy: pol, Root: h.CWD, Command: []string{"npm"}, Cache: "/home/u/.cache/sbx"}, h)
		if err != nil {
			t.Fatal(err)
		}
		if p.Report.Command != "/usr/bin/npm" {
			t.Errorf("%s: runs %s", profile, p.Report.Command)
		}
		if !slices.Contains(p.Env, "PATH=/home/u/bin:/usr/bin") {
			t.Errorf("%s: %q", profile, p.Env)
		}
	}
}

// TestNamed wants no run that could write where a variable that is not believed
// says the links are, and nothing made there.
func TestNamed(t *testing.T) {
	for dir, refused := range map[string]bool{"/home/u/proj/there/sbx": true, "/home/u/proj/gone/sbx": false, "/opt/there/sbx": false} {
		_, m := shimmed(t)
		m.more += "/home/u/proj/there/sbx/shims/npm x\n/opt/there/sbx/shims/npm x\n"
		m.cwd = "/home/u/proj"
		h, _ := m.host(t)
		h.Named = []string{dir}
		pol, err := m.policy(h)
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(engine.Request{Engine: m.engine(), Policy: pol, Root: h.CWD, Command: []string{"only"}, Cache: "/home/u/.cache/sbx"}, h)
		if (err != nil) != refused {
			t.Errorf("%s: %v", dir, err)
		}
		if err == nil && slices.ContainsFunc(p.Dirs, func(made string) bool { return policy.Within(made, h.CWD) }) {
			t.Errorf("%s: makes %q", dir, p.Dirs)
		}
	}
}
