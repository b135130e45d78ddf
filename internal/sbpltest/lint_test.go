// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"strings"
	"testing"
)

// TestLint has for each lint a text that trips it, and one that differs in what
// matters and trips none at all.
func TestLint(t *testing.T) {
	const read = `(allow file-read* (subpath "/usr"))`
	for _, tt := range []struct{ want, bad, good string }{
		{"first form is not (version 1)", "(deny default)" + read, head + read},
		{"first form is not (version 1)", "(deny default) (version 1)" + read, head + read},
		{"first form is not (version 1)", "(version 2) (deny default)" + read, head + read},
		{"first rule is not (deny default)", "(version 1)" + read, head + read},
		{"first rule is not (deny default)", "(version 1) (allow default)", head},
		{"first rule is not (deny default)", "(version 1)" + read + "(deny default)", head + read},
		{"another default", head + read + "(allow default)", head + read},
		{"an allow after the denies",
			head + read + `(deny file-read* (literal "/usr/x")) (allow file-read* (literal "/etc-x"))`,
			head + read + `(allow file-read* (literal "/etc-x")) (deny file-read* (literal "/usr/x"))`},
		{"an allow after the denies",
			head + `(deny file-link (subpath "/usr"))` + read,
			head + `(deny file-link)` + read},
		{"a deny without filter after the allows",
			head + read + `(deny file-link)`,
			head + `(deny file-link)` + read},
		{"this is what the default says", head + `(deny lsopen)` + read, head + `(deny process-info* file-write-setugid)` + read},
		{"an allow without filter after a deny with one",
			head + `(allow file-write* (subpath "/w")) (deny sysctl-read (sysctl-name "x")) (allow sysctl-read)`,
			head + `(allow file-write* (subpath "/w")) (allow sysctl-read) (deny sysctl-read (sysctl-name "x"))`},
		{"a deny without filter of what a later allow's group has",
			head + `(deny file-link) (allow file* (subpath "/w"))`,
			head + `(deny file-link) (allow file* file-link (subpath "/w"))`},
		{"file-read-data is not named by the deny of its group",
			head + `(allow file-read-data (subpath "/w")) (deny file-read* (subpath "/w/x"))`,
			head + `(allow file-read-data (subpath "/w")) (deny file-read* file-read-data (subpath "/w/x"))`},
		{"file-read-metadata is not named by the deny of its group",
			head + `(allow file-read-metadata) (deny file-read* (subpath "/w/x"))`,
			head + `(allow file-read-metadata) (deny file-read* file-read-metadata (subpath "/w/x"))`},
		{"file-ioctl is not named by the deny of its group",
			head + `(allow file* file-ioctl (subpath "/w")) (deny file* (subpath "/w/x"))`,
			head + `(allow file* file-ioctl (subpath "/w")) (deny file* (subpath "/w/x")) (deny file-ioctl (literal "/w/y") (subpath "/w/x"))`},
		{"a regular expression in a deny",
			head + read + `(deny file-read* (regex #"^/usr/x$"))`,
			head + `(allow file-read* (regex #"^/usr/x$"))`},
		{"leads through a link: what lies behind has another path",
			head + `(allow file-read* (subpath "/tmp"))`,
			head + `(allow file-read* (literal "/tmp"))`},
		{"leads through a link: what lies behind has another path",
			head + `(allow file-read* (literal "/var/db"))`,
			head + `(allow file-read* (literal "/private/var/db"))`},
		{"leads through a link: what lies behind has another path",
			head + `(allow file-read* (subpath "/")) (deny file-read* (subpath "/etc"))`,
			head + `(allow file-read* (subpath "/")) (deny file-read* (subpath "/etcetera"))`},
		{"leads through a link",
			head + `(allow file-read* (regex #"^/home/[a-z]+$"))`,
			head + `(allow file-read* (regex #"^/homes/[a-z]+$"))`},
		{"is another name of what the kernel calls /Users",
			head + `(allow file-read* (subpath "/System/Volumes/Data/Users"))`,
			head + `(allow file-read* (subpath "/System/Volumes/Data/home/u"))`},
		{"ends with a slash", head + `(allow file-read* (subpath "/usr/"))`, head + `(allow file-read* (subpath "/"))`},
		{"is not cleaned", head + `(allow file-read* (subpath "/usr/../x"))`, head + `(allow file-read* (subpath "/usr/..x"))`},
		{"is not cleaned", head + `(allow file-read* (subpath "/usr//x"))`, head + `(allow file-read* (subpath "/usr/x"))`},
		{"is not absolute", head + `(allow file-read* (subpath "usr"))`, head + read},
		{"holds control characters", head + "(allow file-read* (subpath \"/a\tb\"))", head + `(allow file-read* (subpath "/a b"))`},
		{"holds control characters", head + "(allow file-read* (subpath \"/a\u0085b\"))", head + `(allow file-read* (subpath "/aéb"))`},
		{"what is executed would be free", head + `(allow process-exec* (with no-sandbox) (literal "/bin/ps"))`, head + `(allow process-exec* (with report) (literal "/bin/ps"))`},
		{"every service may be asked", head + `(allow mach-lookup)`, head + `(allow mach-lookup (global-name "com.apple.logd"))`},
		{`"launchservicesd" stands in an allow`,
			head + `(allow mach-lookup (global-name "com.apple.coreservices.launchservicesd"))`,
			head + `(allow mach-lookup (global-name "com.apple.CoreServices.coreservicesd"))`},
		{`"securityserver" stands in an allow`, head + `(allow mach-lookup (global-name "com.apple.SecurityServer"))`, head},
		{`"securityd" stands in an allow`, head + `(allow mach-lookup (global-name "com.apple.securityd.xpc"))`, head},
		{`"secd" stands in an allow`, head + `(allow mach-lookup (xpc-service-name "com.apple.secd"))`, head},
		{`"appleevents" stands in an allow`, head + `(allow mach-lookup (global-name "com.apple.coreservices.appleevents"))`, head},
		{`"pasteboard" stands in an allow`, head + `(allow mach-lookup (local-name "com.apple.pasteboard.1"))`, head},
		{`"keychain" stands in an allow`, head + `(allow file-read* (subpath "/Library/Keychains"))`, head + `(allow file-read* (subpath "/Library/Fonts"))`},
		{"global-name com.apple.SecurityServer may be asked",
			head + `(allow mach-lookup (global-name-prefix "com.apple.S"))`,
			head + `(allow mach-lookup (global-name-prefix "com.apple.fonts"))`},
		{"xpc-service-name com.apple.secd may be asked",
			head + `(allow mach-lookup (require-not (global-name "x")))`, head},
		{"appleevent-send is a way out", head + `(allow appleevent-send)`, head},
		{"lsopen is a way out", head + `(allow lsopen)`, head},
		{"job-creation is a way out", head + `(allow job-creation)`, head},
		{"stands twice in it", head + `(allow file-read* (subpath "/a") (subpath "/a"))`, head + `(allow file-read* (subpath "/a") (subpath "/b"))`},
		{"stands in an earlier rule",
			head + read + `(deny file-read* (subpath "/usr/x")) (deny file-read* (subpath "/usr/x") (subpath "/usr/y"))`,
			head + read + `(deny file-read* (subpath "/usr/x") (literal "/usr/x")) (deny file-read* (subpath "/usr/y"))`},
		{"earlier rules say all of it",
			head + read + `(allow file-read* (subpath "/usr/lib") (literal "/usr/x"))`,
			head + read + `(allow file-read* file-write* (subpath "/usr/lib"))`},
		{"earlier rules say all of it",
			head + `(allow sysctl-read) (allow sysctl-read (sysctl-name "x"))`,
			head + `(allow sysctl-read (sysctl-name "x")) (allow sysctl-read)`},
		{"earlier rules say all of it", head + `(allow process-fork) (allow process-fork)`, head + `(allow process-fork)`},
		{"earlier rules say all of it",
			head + `(allow network-outbound (remote ip "*:*")) (allow network-outbound (remote tcp "localhost:80"))`,
			head + `(allow network-outbound (remote tcp "localhost:80")) (allow network-outbound (remote ip "*:*"))`},
		{"no allow reaches",
			head + read + `(deny file-read* (subpath "/opt"))`,
			head + read + `(deny file-read* (subpath "/usr/x"))`},
		{"no allow reaches",
			head + read + `(deny file-read* (subpath "/usr/x") (literal "/opt"))`,
			head + read + `(deny file-read* (subpath "/usr/x") (literal "/usr/y"))`},
		{"no allow reaches",
			head + read + `(deny file-write* (subpath "/usr/x"))`,
			head + `(allow file-write-create (subpath "/usr")) (deny file-write* file-write-create (subpath "/usr/x"))`},
		{"no allow reaches",
			head + `(allow network-outbound (remote ip "*:*")) (deny network-outbound (subpath "/s"))`,
			head + `(allow network-outbound (subpath "/s")) (deny network-outbound (subpath "/s/t"))`},
		{"no allow reaches",
			head + `(deny file-link)` + read + `(deny file-link (subpath "/usr"))`,
			head + read + `(deny file-link (subpath "/usr"))`},
		{"no allow reaches",
			head + read + `(deny file-read* (require-all (subpath "/opt") (require-not (subpath "/opt/x"))))`,
			head + read + `(deny file-read* (require-all (subpath "/usr") (require-not (subpath "/usr/x"))))`},
		{"no allow reaches",
			head + `(allow mach-lookup (global-name-prefix "a.")) (deny mach-lookup (global-name "b.c"))`,
			head + `(allow mach-lookup (global-name-prefix "a.")) (deny mach-lookup (global-name "a.c"))`},
	} {
		if found := load(t, tt.bad, nil).Lint(); !strings.Contains(strings.Join(found, "\n"), tt.want) {
			t.Errorf("%s\nfinds %q, not %q", tt.bad, found, tt.want)
		}
		if found := load(t, tt.good, nil).Lint(); len(found) > 0 {
			t.Errorf("%s\nfinds %q", tt.good, found)
		}
	}
}

// TestLintOfParameters: the user's own path may hold any word.
func TestLintOfParameters(t *testing.T) {
	text := head + `(allow file-read* (subpath (param "READ_0")))`
	if found := load(t, text, map[string]string{"READ_0": "/Users/u/src/keychain-secd"}).Lint(); len(found) > 0 {
		t.Errorf("%q", found)
	}
	if found := load(t, text, map[string]string{"READ_0": "/tmp/x"}).Lint(); len(found) != 1 {
		t.Errorf("%q", found)
	}
}

// TestLintKeepsModelsTogether: of profiles made of all orders of some rules, those
// without findings mean the same in both models.
func TestLintKeepsModelsTogether(t *testing.T) {
	rules := []string{
		`(allow file-read* (subpath "/w"))`, `(allow file-read-data (subpath "/w/x"))`, `(allow file-read-metadata)`,
		`(deny file-read* (subpath "/w/x"))`, `(deny file-read* file-read-data file-read-metadata (subpath "/w/x"))`,
		`(deny file-link)`, `(deny file-read-data)`, `(allow file* (subpath "/w"))`, `(deny file* (literal "/w/x/y"))`,
		`(allow file-link (subpath "/w"))`, `(deny file-link (subpath "/w/x"))`, `(allow file-read*)`,
	}
	acts := []Act{single(Request{Op: "file-read-xattr", Path: "/w/x/y"}), single(Request{Op: "file-mount", Path: "/w/x/y"})}
	for _, path := range []string{"/w", "/w/x", "/w/x/y", "/w/z", "/q"} {
		acts = append(acts, Do("read", path), Do("stat", path), Do("write", path))
	}
	clean, tripped := 0, 0
	for i := range rules {
		for j := range rules {
			for k := range rules {
				text := head + "(deny file-link) (deny file-clone)\n" + rules[i] + "\n" + rules[j] + "\n" + rules[k]
				p := load(t, text, nil)
				err := p.Agree(acts...)
				if len(p.Lint()) == 0 {
					clean++
					if err != nil {
						t.Errorf("%s\nno finding, but %v", text, err)
					}
				} else if err != nil {
					tripped++
				}
			}
		}
	}
	if clean < 5 || tripped < 50 {
		t.Errorf("only %d profiles without finding, %d with one that differ", clean, tripped)
	}
}
