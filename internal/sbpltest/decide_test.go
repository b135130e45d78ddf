// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"strings"
	"testing"
)

// TestPrecedence has the corners of P1 to P4, with what the naive reading makes of
// them where it differs.
func TestPrecedence(t *testing.T) {
	for _, tt := range []struct {
		name, text      string
		act             Act
		observed, naive bool
	}{
		{"default alone", ``, Do("read", "/x"), false, false},
		{"P1 up two groups", `(allow file* (subpath "/"))`, Do("read", "/x"), true, true},
		{"P1 a group between", `(deny file-read* (subpath "/")) (allow file* (subpath "/"))`, Do("read", "/x"), false, true},
		{"P1 own rule does not match", `(deny file-read-data (literal "/y")) (allow file-read* (subpath "/"))`, Do("read", "/x"), true, true},
		{"P2 last of three", `(allow file-read* (subpath "/")) (deny file-read* (subpath "/a")) (allow file-read* (subpath "/a/b"))`, Do("read", "/a/b/c"), true, true},
		{"P2 order, not depth", `(allow file-read* (subpath "/a/b")) (deny file-read* (subpath "/a"))`, Do("read", "/a/b/c"), false, false},
		{"P3 bare deny after", `(allow file-read* (subpath "/")) (deny file-read*)`, Do("read", "/x"), true, false},
		{"P3 bare allow after", `(deny file-read* (subpath "/x")) (allow file-read*)`, Do("read", "/x"), false, true},
		{"P3 bare of the operation before its group", `(allow file-read-metadata) (deny file-read* (subpath "/x"))`, Do("stat", "/x"), true, false},
		{"P3 last of two bare", `(allow process-fork) (deny process-fork)`, single(Request{Op: "process-fork"}), false, false},
		{"P3 default is bare", `(allow default)`, Do("read", "/x"), true, true},
		{"P4 allowed", ``, Do("process-info", "others"), true, false},
		{"P4 link", ``, single(Request{Op: "file-link", Path: "/x"}), true, false},
		{"P4 default allow", `(allow default)`, single(Request{Op: "file-link", Path: "/x"}), true, true},
		{"P4 a deny of the group before it is not asked", `(deny file* (subpath "/"))`, single(Request{Op: "file-link", Path: "/x"}), true, false},
		{"P4 its own bare deny", `(deny process-info*)`, Do("process-info", "others"), false, false},
		{"P4 with an exception", `(deny process-info*) (allow process-info* (target self))`, Do("process-info", "self"), true, true},
		{"P4 the exception's rest", `(deny process-info*) (allow process-info* (target self))`, Do("process-info", "others"), false, false},
		{"P4 setugid is not of file-write*", `(allow file-write* (subpath "/"))`, Do("setuid", "/x"), false, false},
		{"P5 a concrete allow beats a deny of the tree", `(allow file-write-create (require-all (subpath "/w") (vnode-type SOCKET))) (deny file-write* (subpath "/w"))`, single(Request{Op: "file-write-create", Path: "/w/s", Kind: "SOCKET"}), true, false},
		{"several filters mean any", `(allow file-read* (subpath "/a") (literal "/x"))`, Do("read", "/x"), true, true},
		{"several operations", `(allow file-write* file-read-data (literal "/x"))`, Do("read", "/x"), true, true},
		{"an alias", `(allow process-exec (literal "/x"))`, Do("exec", "/x"), true, true},
		{"inbound covers bind", `(allow network-inbound (local ip "*:*"))`, Do("listen-ip", "0.0.0.0:1", "tcp"), true, true},
	} {
		p := load(t, head+tt.text, nil)
		for m, want := range map[Model]bool{Observed: tt.observed, Naive: tt.naive} {
			if got, why := p.Check(m, tt.act); got != want {
				t.Errorf("%s: %s: %s by %s", tt.name, m, verdict(got), why)
			}
		}
		if err := p.Agree(tt.act); (err != nil) != (tt.observed != tt.naive) {
			t.Errorf("%s: Agree: %v", tt.name, err)
		}
	}
}

func TestAgreeShowsBoth(t *testing.T) {
	p := load(t, head+`(deny file-read* (subpath "/x")) (allow file-read*)`, nil)
	err := p.Agree(Do("read", "/x"), Do("read", "/y"))
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"read /x", `naive allow by file-read-data /x REGULAR-FILE: rule 2: (allow file-read*)`, `observed deny by file-read-data /x REGULAR-FILE: rule 1: (deny file-read* (subpath "/x"))`} {
		if !strings.Contains(strings.ReplaceAll(err.Error(), " REGULAR-FILE", ""), strings.ReplaceAll(part, " REGULAR-FILE", "")) {
			t.Errorf("%v lacks %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "/y") {
		t.Errorf("%v", err)
	}
}

func TestFilters(t *testing.T) {
	for _, tt := range []struct {
		text string
		act  Act
		want bool
	}{
		{`(allow file-read* (literal "/a"))`, Do("read", "/a/b"), false},
		{`(allow file-read* (subpath "/a"))`, Do("read", "/ab"), false},
		{`(allow file-read* (subpath "/a"))`, Do("read", "/a"), true},
		{`(allow file-read* (subpath "/"))`, Do("read", "/"), true},
		{`(allow file-read* (subpath "/a/"))`, Do("read", "/a/b"), false},
		{`(allow file-read* (prefix "/a"))`, Do("read", "/ab"), true},
		{`(allow file-read* (regex #"a$"))`, Do("read", "/x/a"), true},
		{`(allow file-read* (subpath "/A"))`, Do("read", "/a/b"), true},
		{`(allow file-read* (vnode-type DIRECTORY))`, Do("list", "/a"), true},
		{`(allow file-read* (vnode-type DIRECTORY))`, Do("read", "/a"), false},
		{`(allow file-read* (require-not (subpath "/a")))`, Do("read", "/b"), true},
		{`(allow file-read* (require-not (subpath "/a")))`, Do("read", "/a/b"), false},
		{`(allow file-read* (extension "c"))`, Do("read", "/a"), false},
		{`(allow file-read* (extension "c"))`, single(Request{Op: "file-read-data", Path: "/a", Extensions: []string{"c"}}), true},
		{`(allow mach-lookup (global-name "a.b"))`, Do("mach", "a.b"), true},
		{`(allow mach-lookup (global-name "a.b"))`, Do("mach", "a.b.c"), false},
		{`(allow mach-lookup (local-name "a.b"))`, Do("mach", "a.b"), false},
		{`(allow mach-lookup (local-name "a.b"))`, single(Request{Op: "mach-lookup", Name: "a.b", Space: "local-name"}), true},
		{`(allow mach-lookup (global-name-prefix "a."))`, Do("mach", "a.b"), true},
		{`(allow mach-lookup (global-name-regex #"^a\.[bc]$"))`, Do("mach", "a.c"), true},
		{`(allow sysctl-read (sysctl-name "hw.ncpu"))`, Do("sysctl", "hw.memsize"), false},
		{`(allow ipc-posix-shm (ipc-posix-name-regex #"^/psm_"))`, Do("shm-create", "/psm_1"), true},
		{`(allow user-preference-read (preference-domain "a"))`, Do("pref", "a"), true},
		{`(allow user-preference-read (preference-domain "a"))`, Do("pref-write", "a"), false},
		{`(allow network-outbound (remote ip "localhost:*"))`, Do("connect-ip", "127.0.0.1:80", "tcp"), true},
		{`(allow network-outbound (remote ip "localhost:*"))`, Do("connect-ip", "[::1]:80", "tcp"), true},
		{`(allow network-outbound (remote ip "localhost:*"))`, Do("connect-ip", "10.0.0.1:80", "tcp"), false},
		{`(allow network-outbound (remote tcp "*:443"))`, Do("connect-ip", "10.0.0.1:443", "tcp"), true},
		{`(allow network-outbound (remote tcp "*:443"))`, Do("connect-ip", "10.0.0.1:443", "udp"), false},
		{`(allow network-outbound (remote tcp "*:443"))`, Do("connect-ip", "10.0.0.1:80", "tcp"), false},
		{`(allow network-outbound (remote tcp4 "*:*"))`, Do("connect-ip", "[2001:db8::1]:80", "tcp"), false},
		{`(allow network-outbound (remote ip))`, Do("connect", "/s"), false},
		{`(allow network-outbound (remote unix-socket))`, Do("connect", "/s"), true},
		{`(allow network-outbound (remote unix-socket (path-literal "/s")))`, Do("connect", "/s"), true},
		{`(allow network-outbound (remote unix-socket (path-literal "/s")))`, Do("connect", "/t"), false},
		{`(allow network-outbound (subpath "/s"))`, Do("connect-ip", "127.0.0.1:80", "tcp"), false},
		{`(allow system-socket (socket-domain AF_UNIX))`, Do("socket", "AF_UNIX"), true},
		{`(allow system-socket (socket-domain AF_UNIX))`, Do("socket", "AF_SYSTEM", "2"), false},
		{`(allow file-ioctl (ioctl-command TIOCGWINSZ))`, Do("ioctl", "/dev/tty", "0x40087468"), true},
		{`(allow file-ioctl (ioctl-command #x40087468))`, Do("ioctl", "/dev/tty", "TIOCGWINSZ"), true},
		{`(allow file-ioctl (ioctl-command TIOCGWINSZ))`, Do("ioctl", "/dev/tty", "TIOCSTI"), false},
		{`(allow signal (target same-sandbox))`, Do("signal", "self"), false},
		{`(allow signal (target same-sandbox))`, Do("signal", "children"), true},
		{`(allow signal (target self))`, Do("signal", "same-sandbox"), false},
		{`(allow signal (target others))`, Do("signal", "initproc"), true},
		{`(allow iokit-open (iokit-user-client-class "A"))`, single(Request{Op: "iokit-open*", Name: "A"}), true},
		{`(allow system-fcntl (fcntl-command F_GETPATH))`, single(Request{Op: "system-fcntl", Name: "F_GETPATH"}), true},
		{`(allow file-read*)`, Act{}, false},
		{`(allow file-read*)`, single(Request{Op: "file-fly"}), false},
	} {
		p := load(t, head+tt.text, nil)
		if got, why := p.Check(Observed, tt.act); got != tt.want {
			t.Errorf("%s: %s: %s by %s", tt.text, tt.act.Name, verdict(got), why)
		}
	}
}

func TestResolve(t *testing.T) {
	o := Options{Links: map[string]string{"/Users/u/link": "w/dir", "/Users/u/abs": "/tmp/x", "/loop": "/loop", "/Users/u/up": "../v"}}
	for _, tt := range []struct {
		path     string
		nofollow bool
		want     string
		links    string
	}{
		{"/tmp/x", false, "/private/tmp/x", "/tmp"},
		{"/tmp", true, "/tmp", ""},
		{"/tmp", false, "/private/tmp", "/tmp"},
		{"/VAR/x", false, "/private/var/x", "/VAR"},
		{"/home/x", false, "/System/Volumes/Data/home/x", "/home"},
		{"/System/Volumes/Data/Users/u", false, "/Users/u", ""},
		{"/System/Volumes/Data/private/tmp/x", false, "/private/tmp/x", ""},
		{"/Users/u/link/f", false, "/Users/u/w/dir/f", "/Users/u/link"},
		{"/Users/u/abs", false, "/private/tmp/x", "/Users/u/abs /tmp"},
		{"/Users/u/abs", true, "/Users/u/abs", ""},
		{"/Users/u/link/../f", false, "/Users/u/w/f", "/Users/u/link"},
		{"/Users/u/up/f", false, "/Users/v/f", "/Users/u/up"},
		{"/a//b/./c/", false, "/a/b/c", ""},
		{"/../..", false, "/", ""},
	} {
		got, links := o.resolve(tt.path, tt.nofollow)
		if got != tt.want || strings.Join(links, " ") != tt.links {
			t.Errorf("%s: %s by %q, want %s by %q", tt.path, got, links, tt.want, tt.links)
		}
	}
	if _, links := o.resolve("/loop/x", false); len(links) != maxLinks {
		t.Errorf("a loop: %d links", len(links))
	}
}

// TestLinksAreRead: what lies behind a link is out of reach if the link is closed.
func TestLinksAreRead(t *testing.T) {
	rule := `(allow file-read-data (subpath "/private/tmp"))`
	closed := load(t, head+rule, nil)
	if ok, why := closed.Check(Observed, Do("read", "/tmp/x")); ok || !strings.Contains(why, "file-read-metadata /tmp") {
		t.Errorf("%v %s", ok, why)
	}
	open := load(t, head+rule+`(allow file-read-metadata (literal "/tmp"))`, nil)
	if ok, why := open.Check(Observed, Do("read", "/tmp/x")); !ok {
		t.Error(why)
	}
}

// TestActs: each act is denied if any one of its steps is, and asks for nothing
// that the kernel does not know.
func TestActs(t *testing.T) {
	for name, a := range map[string]Act{
		"create": Do("create", "/x"), "rename": Do("rename", "/x", "/y"), "rename-over": Do("rename-over", "/x", "/y"), "link": Do("link", "/x", "/y"), "clone": Do("clone", "/x", "/y"),
		"bind": Do("bind", "/x"), "listen-ip": Do("listen-ip", "127.0.0.1:1", "tcp"), "tty": Do("tty", "/dev/tty"), "sem": Do("sem", "x"), "shm-create": Do("shm-create", "x"),
		"setuid": Do("setuid", "/x"), "map": Do("map", "/x"), "exec": Do("exec", "/x"), "interpret": Do("interpret", "/x"),
	} {
		for i, step := range a.Steps {
			if operations[step.Op] == nil {
				t.Fatalf("%s: no operation %q", name, step.Op)
			}
			text := "(version 1) (allow default) (deny " + step.Op
			if step.Path != "" {
				text += ` (literal "` + step.Path + `")`
			}
			p := load(t, text+")", nil)
			if ok, _ := p.Check(Observed, a); ok {
				t.Errorf("%s goes without step %d, %s", name, i, step)
			}
		}
		if ok, why := load(t, "(version 1) (allow default)", nil).Check(Observed, a); !ok {
			t.Errorf("%s: %s", name, why)
		}
	}
}

func TestOperationTable(t *testing.T) {
	for name, op := range operations {
		if name != "default" && operations[op.parent] == nil {
			t.Errorf("%s: no parent %q", name, op.parent)
		}
		if a := op.chain; a[0] != name || a[len(a)-1] != "default" {
			t.Errorf("%s: %q", name, a)
		}
	}
	for alias, name := range aliases {
		if operations[name] == nil || operations[alias] != nil {
			t.Errorf("alias %s", alias)
		}
	}
	for name, spec := range filterSpecs {
		taken := spec.family == anyOperation
		for _, op := range operations {
			taken = taken || op.takes(spec.family)
		}
		if !taken {
			t.Errorf("no operation takes %s, of %s", name, spec.family)
		}
	}
	if len(operations) < 150 {
		t.Errorf("%d operations", len(operations))
	}
}

// single is an act of one request.
func single(r Request) Act { return Act{Name: r.String(), Steps: []Request{r}} }
