// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"errors"
	"os"
	"strings"
	"testing"
)

const head = "(version 1)\n(deny default)\n"

var exampleParams = map[string]string{
	"READ_0": "/opt/tools", "WRITE_0": "/Users/u/w", "OPEN_0": "/Users/u/w/secret/open", "TTY_0": "/dev/ttys003",
	"BLOCK_0": "/Users/u/w/secret", "BLOCK_1": "/Users/u/w/token", "PROTECT_0": "/Users/u/w/.git/config", "ABOVE_0": "/Users/u/w/.git",
}

func example(t *testing.T) (text string, cases []Case) {
	t.Helper()
	sb, err := os.ReadFile("testdata/example.sb")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := os.ReadFile("testdata/example.txt")
	if err != nil {
		t.Fatal(err)
	}
	table, err := ParseTable(string(rows), map[string]string{"W": "/Users/u/w"})
	if err != nil {
		t.Fatal(err)
	}
	cases, err = table.Cases("")
	if err != nil {
		t.Fatal(err)
	}
	return string(sb), cases
}

func TestExample(t *testing.T) {
	text, cases := example(t)
	p := load(t, text, exampleParams)
	if err := p.Run(cases); err != nil {
		t.Error(err)
	}
	if found := p.Lint(); len(found) > 0 {
		t.Errorf("lint: %s", strings.Join(found, "\n"))
	}
	var acts []Act
	for _, c := range cases {
		acts = append(acts, c.Act)
	}
	if err := p.Agree(acts...); err != nil {
		t.Error(err)
	}
}

// TestOldRelease evaluates the profile where nothing is known of file-clone.
func TestOldRelease(t *testing.T) {
	text, cases := example(t)
	p, err := Old().Load(text, exampleParams)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if strings.HasPrefix(c.Act.Name, "clone") {
			continue
		}
		if err := p.Run([]Case{c}); err != nil {
			t.Error(err)
		}
	}
	if len(p.Rules) >= len(load(t, text, exampleParams).Rules) {
		t.Error("the rules about file-clone are there")
	}
	if _, err := Old().Load(head+"(deny file-clone)", nil); err == nil {
		t.Error("an unguarded file-clone loads")
	}
}

func TestLoadErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"operation", "(allow file-fly)", `unknown operation "file-fly"`},
		{"operation that is a filter's name", "(allow subpath)", `unknown operation "subpath"`},
		{"filter", `(allow file-read* (subtree "/"))`, `unknown filter or function "subtree"`},
		{"symbol", "(allow file-read* (subpath where))", `unbound symbol "where"`},
		{"parameter", `(allow file-read* (subpath (param "NO")))`, `parameter "NO" is not given`},
		{"parameter alone", `(allow file-read* (param "P") (subpath (param "P")))`, "neither operation nor filter"},
		{"string alone", `(allow file-read* "/x")`, "neither operation nor filter"},
		{"filter and operation", `(allow file-read* (sysctl-name "x"))`, "sysctl-name does not go with operation file-read*"},
		{"… one of several", `(allow file-read* sysctl-read (subpath "/"))`, "subpath does not go with operation sysctl-read"},
		{"… inside", `(allow file-read* (require-not (global-name "x")))`, "global-name does not go"},
		{"… ioctl", `(deny file-read* (ioctl-command 1))`, "ioctl-command does not go"},
		{"… of nothing", `(allow process-fork (subpath "/"))`, "subpath does not go"},
		{"… of default", `(allow default (subpath "/"))`, "subpath does not go"},
		{"no operation", `(allow (subpath "/"))`, "without operation"},
		{"operation last", `(allow file-read* (subpath "/") file-write*)`, "after a filter"},
		{"no path", `(allow file-read* (subpath))`, "subpath of nothing"},
		{"empty path", `(allow file-read* (subpath ""))`, "empty path"},
		{"number for a path", `(allow file-read* (subpath 7))`, "the number 7 does not go here"},
		{"string for a target", `(allow signal (target "self"))`, "does not go here"},
		{"address", `(allow network-outbound (remote ip "example.com:80"))`, "HOST:PORT"},
		{"network", `(allow network-outbound (remote ip "10.0.0.0/8:*"))`, "HOST:PORT"},
		{"port 0", `(allow network-outbound (remote ip "localhost:0"))`, "HOST:PORT"},
		{"protocol", `(allow network-outbound (remote sctp "*:*"))`, `unbound symbol "sctp"`},
		{"flags in an expression", `(allow file-read* (regex #"(?i)^/x"))`, "no (? groups"},
		{"expression", `(allow file-read* (regex #"["))`, "no regular expression"},
		{"modifier", `(allow file-read* (with magic))`, "unknown modifier"},
		{"import", `(import "system.sb")`, `unknown filter or function "import"`},
		{"version", `(version 9)`, "no version that is known"},
		{"require-not of two", `(allow file-read* (require-not (subpath "/a") (subpath "/b")))`, "require-not of 2 filters"},
		{"definition", `(define d "/x")`, `unknown filter or function "define"`},
		{"another condition", `(when (param "P") (allow process-fork))`, "a condition that is not (defined? 'NAME)"},
		{"open list", "(allow", "a ( without its )"},
		{"close", ")", "a ) without its ("},
		{"open string", `(allow file-read* (subpath "/x))`, "a string without its end"},
		{"escape", `(allow file-read* (subpath "\x41"))`, "escape"},
		{"unicode escape", `(allow file-read* (subpath "/\u200b"))`, "escape"},
		{"character", `(allow #\a)`, "no form that is read here"},
		{"depth", strings.Repeat("(", 500), "levels deep"},
		{"quoted list", `(when (defined? '(a b)) (allow process-fork))`, "a condition that is not"},
		{"NUL", "(version 1)\x00", "NUL"},
		{"UTF-8", "(version 1)\xff", "UTF-8"},
		{"filter of a group that no member has", `(allow ipc-sysv* (ipc-posix-name "x"))`, "does not go with"},
		{"ioctl by an unknown name", `(deny file-ioctl (ioctl-command TIOCNOSUCH))`, "unbound symbol"},
	} {
		_, err := Load(head+tt.text, map[string]string{"P": "/p"})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestErrorPosition(t *testing.T) {
	_, err := Load("(version 1)\n(deny default)\n  (allow nothing-such)", nil)
	var e *Error
	if !errors.As(err, &e) || e.Line != 3 || e.Col != 10 {
		t.Errorf("%v", err)
	}
}

func TestUnusedParameter(t *testing.T) {
	text := head + `(when (defined? 'no-such-op) (deny no-such-op (subpath (param "A"))))`
	if _, err := Load(text, map[string]string{"A": "/a"}); err != nil {
		t.Errorf("a parameter of a part that is left out: %v", err)
	}
	if _, err := Load(text, map[string]string{"A": "/a", "B": "/b"}); err == nil || !strings.Contains(err.Error(), `"B" is given but never used`) {
		t.Errorf("%v", err)
	}
}

// TestLanguage evaluates the forms that profiles have; each loads to a rule that
// opens /yes and nothing that opens /no.
func TestLanguage(t *testing.T) {
	for _, text := range []string{
		`(allow file-read* (subpath (param "YES")))`,
		`(when (defined? 'file-read*) (allow file-read* (subpath "/yes")))`,
		`(when (defined? 'no-such) (allow file-read* (subpath "/no"))) (allow file-read* (subpath "/yes"))`,
		`(when (defined? 'subpath) (when (defined? 'file-clone) (allow file-read* (subpath "/yes"))))`,
		`(allow file-read* (literal "/no/x" "/yes"))`,
		`(allow file-read-data file-read-metadata (with report) (literal "/yes"))`,
		`(allow file-read* (require-all (prefix "/y") (require-any (literal "/yes") (literal "/maybe"))))`,
		`(allow file-read* (regex #"^/yes$" #"^/maybe\.x"))`,
		`; (allow file-read* (subpath "/no"))` + "\n" + `(allow file-read* (subpath "/yes")) ; "`,
		`(allow file-read* (subpath "/yes") (extension "com.apple.app-sandbox.read"))`,
	} {
		params := map[string]string{}
		if strings.Contains(text, `"YES"`) {
			params["YES"] = "/yes"
		}
		p := load(t, head+text, params)
		for _, m := range Models {
			if ok, why := p.Check(m, Do("read", "/yes")); !ok {
				t.Errorf("%s: %s", text, why)
			}
			if ok, why := p.Check(m, Do("read", "/no")); ok {
				t.Errorf("%s: %s", text, why)
			}
		}
	}
}

// TestInjection passes paths that would be Scheme if anything read them as such.
func TestInjection(t *testing.T) {
	text := head + `(allow file-read* (subpath (param "READ_0")))`
	for _, evil := range []string{
		`/p") (allow file-read* (subpath "/`,
		breakout,
		`/p\") (allow file-read* (subpath \"/`,
		"/p\n(allow default)", `/p;`, `/p#"`, `/p)`, `/(param "READ_0")`, `/p")) (allow default) (allow file-read* (subpath "/x`, "/p\xff",
	} {
		p := load(t, text, map[string]string{"READ_0": evil})
		if len(p.Rules) != 2 {
			t.Errorf("%q: %d rules", evil, len(p.Rules))
		}
		for _, m := range Models {
			if ok, why := p.Check(m, Do("read", "/etc/passwd")); ok {
				t.Errorf("%q: %s", evil, why)
			}
			// A path that ends with a slash matches nothing, as on a Mac.
			if ok, why := p.Check(m, Do("read", evil+"/file")); !ok && !strings.HasSuffix(evil, "/") {
				t.Errorf("%q: the path itself is closed by %s", evil, why)
			}
		}
	}
	// The twin: the same path in the text opens everything.
	p := load(t, head+`(allow file-read* (subpath "`+breakout+`"))`, nil)
	if ok, why := p.Check(Observed, Do("read", "/etc/passwd")); !ok {
		t.Errorf("the path as text did not break out: %s", why)
	}
}

const breakout = `/p")) (allow file-read* (subpath "/`

// FuzzRead wants neither a panic nor a position outside the text, and each form
// that is read to be read again from its own source.
func FuzzRead(f *testing.F) {
	for _, s := range []string{head, `(allow file-read* (subpath "/\"x\\") #x1f 'a)`, "#\"^/[a-z]\"", "(", "#", ";", "'", "\"", "-1 #t #f . (a . b)", "()"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		forms, err := read(text)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Line < 1 || e.Col < 1 {
				t.Fatalf("%v has no place", err)
			}
			return
		}
		for _, n := range forms {
			again, err := read(text[n.pos:n.end])
			if err != nil || len(again) != 1 || again[0].kind != n.kind || len(again[0].list) != len(n.list) {
				t.Fatalf("%q is read once, then: %v", text[n.pos:n.end], err)
			}
		}
	})
}

// FuzzLoad wants no panic from anything that is done with a profile, and no answer
// that depends on which mutant was looked at before.
func FuzzLoad(f *testing.F) {
	sb, err := os.ReadFile("testdata/example.sb")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(sb), "/Users/u/w/x", "/opt")
	for _, r := range real {
		f.Add("(version 1) "+r.profile, "/private/tmp/x", "")
	}
	f.Add(`(define (f x) (f x)) (f (allow default))`, "/../..", "/tmp")
	f.Add(`(let ((x (param "P"))) (when x (deny file* (require-not (regex x)))))`, "relative", "(((")
	f.Fuzz(func(t *testing.T, text, path, param string) {
		p, err := Options{lax: true}.Load(text, map[string]string{"P": param, "READ_0": param})
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without text")
			}
			return
		}
		if len(text) < 2000 {
			p.Lint()
			Mutants(text)
		}
		for _, r := range []Request{
			{Op: "file-read-data", Path: path}, {Op: "file-write-unlink", Path: path, NoFollow: true},
			{Op: "file-write-create", Path: path + "/x", NoFollow: true}, {Op: "network-outbound", Path: path},
			{Op: "sysctl-read", Name: path}, {Op: "signal", Target: path},
			{Op: "network-outbound", Net: "tcp", Remote: path}, {Op: "mach-lookup", Name: path},
		} {
			a := single(r)
			for _, m := range Models {
				first, _ := p.Check(m, a)
				if again, _ := p.Check(m, a); again != first {
					t.Fatalf("%s: %v, then %v", a.Name, first, again)
				}
			}
		}
	})
}
