// SPDX-License-Identifier: Apache-2.0

package sbpl

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func given(path string) Path { return Given("P", path) }

func TestCompile(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Profile
		want Compiled
	}{
		{"nothing is allowed", Profile{}, Compiled{Text: "(version 1)\n(deny default)\n"}},
		{"one filter on the line, several below each other", Profile{Allow: []Rule{
			{Ops: []Op{FileRead}, Filters: []Filter{Subpath(given("/usr"))}},
			{Ops: []Op{FileRead, FileWriteData}, Filters: []Filter{Literal(Fixed("/dev/null")),
				Literal(Given("TTY", "/dev/ttys001"))}},
		}}, Compiled{Text: `(version 1)
(deny default)
(allow file-read* (subpath (param "P_0")))
(allow file-read* file-write-data
  (literal "/dev/null")
  (literal (param "TTY_0")))
`, Params: []Param{{"P_0", "/usr"}, {"TTY_0", "/dev/ttys001"}}}},
		{"the same value once for each role", Profile{Allow: []Rule{
			{Ops: []Op{FileRead}, Filters: []Filter{Subpath(Given("A", "/a"))}},
			{Ops: []Op{FileWrite}, Filters: []Filter{Subpath(Given("A", "/a")), Subpath(Given("B", "/a")),
				Subpath(Given("A", "/b"))}},
		}}, Compiled{Text: `(version 1)
(deny default)
(allow file-read* (subpath (param "A_0")))
(allow file-write*
  (subpath (param "A_0"))
  (subpath (param "B_0"))
  (subpath (param "A_1")))
`, Params: []Param{{"A_0", "/a"}, {"B_0", "/a"}, {"A_1", "/b"}}}},
		{"shut first, deny last, newer operations asked for", Profile{
			Shut: []Op{ProcessInfo, FileClone},
			Deny: []Rule{{Ops: []Op{FileRead, FileTestExistence},
				Filters: []Filter{All(Subpath(given("/s")), Not(Subpath(given("/s/open"))))}}},
			Allow: []Rule{{Ops: []Op{ProcessInfo}, Filters: []Filter{Target("self")}}, {Ops: []Op{SysctlRead}}},
		}, Compiled{Text: `(version 1)
(deny default)
(deny process-info*)
(when (defined? 'file-clone) (deny file-clone))
(allow process-info* (target self))
(allow sysctl-read)
(deny file-read* (require-all (subpath (param "P_0")) (require-not (subpath (param "P_1")))))
(when (defined? 'file-test-existence) (deny file-test-existence (require-all (subpath (param "P_0")) (require-not (subpath (param "P_1"))))))
`, Params: []Param{{"P_0", "/s"}, {"P_1", "/s/open"}}}},
		{"every other filter", Profile{Allow: []Rule{
			{Ops: []Op{MachLookup}, Filters: []Filter{GlobalName("com.apple.logd")}},
			{Ops: []Op{SysctlWrite}, Filters: []Filter{SysctlName("kern.tcsm_enable"), SysctlPrefix("hw.")}},
			{Ops: []Op{PosixShm}, Filters: []Filter{IPCName("a"), IPCPrefix("/psm_")}},
			{Ops: []Op{NetworkOutbound}, Filters: []Filter{RemoteIP()}},
			{Ops: []Op{NetworkBind}, Filters: []Filter{LocalIP()}},
			{Ops: []Op{SystemSocket}, Filters: []Filter{All(SocketDomain("AF_SYSTEM"), SocketProtocol(2))}},
			{Ops: []Op{FileIoctl}, Filters: []Filter{IoctlCommand(0x80017472),
				All(Regex("^/dev/ttys[0-9]+$"), Extension("com.apple.sandbox.pty"))}},
		}}, Compiled{Text: `(version 1)
(deny default)
(allow mach-lookup (global-name "com.apple.logd"))
(allow sysctl-write
  (sysctl-name "kern.tcsm_enable")
  (sysctl-name-prefix "hw."))
(allow ipc-posix-shm*
  (ipc-posix-name "a")
  (ipc-posix-name-prefix "/psm_"))
(allow network-outbound (remote ip "*:*"))
(allow network-bind (local ip "*:*"))
(allow system-socket (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))
(allow file-ioctl
  (ioctl-command 2147578994)
  (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))
`}},
	} {
		got, err := c.p.Compile()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d := cmp.Diff(c.want, *got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestWords(t *testing.T) {
	c := Compiled{"text", []Param{{"A_0", "/a b"}, {"A_1", `/"=x`}}}
	want := []string{"-p", "text", "-D", "A_0=/a b", "-D", `A_1=/"=x`}
	if d := cmp.Diff(want, c.Words()); d != "" {
		t.Error(d)
	}
}

// Paths that would be read otherwise, or match nothing, are refused wherever
// they stand.
func TestPaths(t *testing.T) {
	for path, want := range map[string]string{
		"":                     "is not absolute",
		"a":                    "is not absolute",
		"/a\nb":                "holds control characters",
		"/a\x00":               "holds control characters",
		"/a\x7f":               "holds control characters",
		"/a\u0085":             "holds control characters",
		"/a\xff":               "is not UTF-8, as every name on macOS is",
		"/a/":                  "is not cleaned",
		"/a//b":                "is not cleaned",
		"/a/../b":              "is not cleaned",
		"/a/.":                 "is not cleaned",
		"/tmp":                 "leads through /tmp, which is a link to /private/tmp",
		"/tmp/x":               "leads through /tmp, which is a link to /private/tmp",
		"/var/db":              "leads through /var, which is a link to /private/var",
		"/etc":                 "leads through /etc, which is a link to /private/etc",
		"/tmpx":                "",
		"/":                    "",
		`/p") (allow default)`: "",
		"/a'\\b":               "",
		"/ü (x)=y;#|":          "",
	} {
		for _, f := range []Filter{Subpath(given(path)), All(Subpath(given("/usr")), Not(Subpath(given(path))))} {
			c, err := (&Profile{Allow: []Rule{{Ops: []Op{FileRead}, Filters: []Filter{f}}}}).Compile()
			var bad *PathError
			switch {
			case want == "" && err != nil:
				t.Errorf("%q: %v", path, err)
			case want != "" && (!errors.As(err, &bad) || bad.Why != want || bad.Path != path):
				t.Errorf("%q: %v, want %s", path, err, want)
			case want == "" && !slices.ContainsFunc(c.Params, func(p Param) bool { return p.Value == path }):
				t.Errorf("%q is no value in %v", path, c.Params)
			}
		}
	}
	for path, ok := range map[string]bool{"/tmp": true, "/etc": true, "/tmp/x": false, "/dev/null": true} {
		_, err := (&Profile{Allow: []Rule{{Ops: []Op{FileRead}, Filters: []Filter{Literal(given(path))}}}}).Compile()
		if (err == nil) != ok {
			t.Errorf("the node %s: %v", path, err)
		}
	}
	for _, path := range []string{`/a"b`, "/a b", `/a\`, "/ä"} {
		if _, err := (&Profile{Allow: []Rule{{Ops: []Op{FileRead},
			Filters: []Filter{Literal(Fixed(path))}}}}).Compile(); err == nil {
			t.Errorf("%q is taken as a constant", path)
		}
	}
}

// What would depend on how a profile is read is refused.
func TestTwoReadings(t *testing.T) {
	at := []Filter{Subpath(given("/a"))}
	for name, p := range map[string]Profile{
		"deny of everything": {Deny: []Rule{{Ops: []Op{FileRead}}}},
		"expression in a deny": {Deny: []Rule{{Ops: []Op{FileRead},
			Filters: []Filter{All(Subpath(given("/a")), Regex("x"))}}}},
		"allow that outranks a deny": {Allow: []Rule{{Ops: []Op{FileReadData}, Filters: at}},
			Deny: []Rule{{Ops: []Op{FileRead}, Filters: at}}},
		"bare allow that outranks it": {Allow: []Rule{{Ops: []Op{FileReadMetadata}}},
			Deny: []Rule{{Ops: []Op{FileRead}, Filters: at}}},
		"group of all files": {Allow: []Rule{{Ops: []Op{FileIoctl}, Filters: at}},
			Deny: []Rule{{Ops: []Op{FileAll}, Filters: at}}},
		"nothing to be all of": {Allow: []Rule{{Ops: []Op{FileRead}, Filters: []Filter{All()}}}},
		"constant that ends the string": {Allow: []Rule{{Ops: []Op{MachLookup},
			Filters: []Filter{GlobalName(`a") (x "`)}}}},
		"zero filter": {Allow: []Rule{{Ops: []Op{FileRead}, Filters: []Filter{{}}}}},
	} {
		if c, err := p.Compile(); err == nil {
			t.Errorf("%s is taken:\n%s", name, c.Text)
		}
	}
	fine := Profile{Allow: []Rule{{Ops: []Op{FileReadMetadata}, Filters: at}},
		Deny: []Rule{{Ops: []Op{FileRead, FileReadMetadata}, Filters: at}}}
	if _, err := fine.Compile(); err != nil {
		t.Error(err)
	}
}

// FuzzPath: whatever a path holds, it is a value or refused, and the text is the
// same for all.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"/a", `/p") (allow file-read* (subpath "/`, "/\x00", "/a\\", "/tmp", "/ü"} {
		f.Add(s)
	}
	want := ""
	f.Fuzz(func(t *testing.T, path string) {
		p := Profile{Allow: []Rule{{Ops: []Op{FileRead},
			Filters: []Filter{Subpath(given(path)), Subpath(given("/usr"))}}},
			Deny: []Rule{{Ops: []Op{FileRead}, Filters: []Filter{Literal(Given("Q", path))}}}}
		c, err := p.Compile()
		if err != nil || path == "/usr" {
			return
		}
		if want == "" {
			want = c.Text
		}
		if c.Text != want {
			t.Fatalf("%q changes the text:\n%s", path, c.Text)
		}
		if strings.ContainsAny(path, "\n\x00") || c.Params[0].Value != path || c.Params[2].Value != path {
			t.Fatalf("%q: %v", path, c.Params)
		}
	})
}
