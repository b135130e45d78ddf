// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/host"
)

func TestHostName(t *testing.T) {
	for _, c := range []struct{ word, want string }{
		{"example.org", "example.org"}, {"example.org:443", "example.org:443"}, {"localhost", "localhost"}, {"10.0.0.1:80", "10.0.0.1:80"},
		{"::1", "::1"}, {"[::1]", "[::1]"}, {"[::1]:80", "[::1]:80"}, {"fe80::1%eth0", "fe80::1%eth0"}, {"@/tmp/.X11-unix/X0", "@/tmp/.X11-unix/X0"},
		{"https://example.org/a?b#c", "example.org"}, {"https://u:p@w@example.org:8443/a@b", "example.org:8443"}, {"HTTP://[::1]:80/", "[::1]:80"}, {"x://h?u:p@i", "h"},
		{"büro.example", "büro.example"}, {"_srv._tcp.example", "_srv._tcp.example"},
		{"", ""}, {":80", ""}, {"h:", ""}, {"h:0", ""}, {"h:65536", ""}, {"h:-1", ""}, {"h:x", ""}, {"[::1", ""}, {"[::1]x", ""}, {"[::1]:", ""}, {"[h]:80", ""}, {"[]", ""}, {"a b", ""}, {"a\nb", ""},
		{"@", ""}, {"u@h", ""}, {"https://", ""}, {"https://u:p@", ""}, {"https:///x", ""}, {strings.Repeat("a", 254), ""},
	} {
		if c.word == "" {
			continue // kind refuses it
		}
		got, err := hostName(c.word)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: %q, %v; want %q", c.word, got, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "u:p") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: %v", c.word, err)
		}
	}
}

func TestLoopback(t *testing.T) {
	for _, h := range []string{"localhost", "LOCALHOST:1", "a.localhost", "localhost.", "127.0.0.1", "127.1:80", "[::1]:80", "::1", "[::1]", "0.0.0.0", "::ffff:127.0.0.1"} {
		if !loopback(h) {
			t.Errorf("%s is no loopback", h)
		}
	}
	for _, h := range []string{"localhost.example.org", "127.example.org", "10.0.0.1", "[fe80::1]:80", "::2", "@localhost"} {
		if loopback(h) {
			t.Errorf("%s is a loopback", h)
		}
	}
}

func TestKindOfWord(t *testing.T) {
	in := &insight{
		exists:   func(name string) bool { return name == "FILE" || name == "go.mod" || name == "@at" || name == "-dash" },
		variable: func(name string) variable { return variable{known: name == "http_proxy" || name == "FILE"} },
		program: func(name string) (string, string, error) {
			return map[string]string{"npm": "/npm", "python3.11": "/p"}[name], "", nil
		},
	}
	for word, want := range map[string]string{
		"/x": "path", "./x": "path", "../x": "path", "~": "path", "~/x": "path", "~x": "path", "a/b": "path", ".": "path", "..": "path", ".hidden": "path", "10.0.0.0/8": "path", "example.org/x": "path",
		"FILE": "path", "go.mod": "path", "@at": "path", "-dash": "path", "unix:///run/x.sock": "path", "file:///etc/passwd": "path", "a b://x": "path",
		"https://x": "host", "git+ssh://x/y": "host", "@x": "host", "localhost": "host", "example.org": "host", "h:80": "host", "::1": "host", "[::1]:80": "host",
		"GH_TOKEN": "variable", "_": "variable", "A1": "variable", "http_proxy": "variable", "$HOME": "variable", "${A_B}": "variable",
		"npm": "program", "python3.11": "program", "cd": "program", "5432": "port", ":5432": "port",
		"": "", "word": "", "Word": "", "1A": "", "0": "", "65536": "", "$1": "", "a=b": "", "-x": "", "\xff": "", "a\nb": "",
	} {
		got, err := (&whyCmd{}).kind(in, word)
		var usage *host.Error
		if got != want || (want == "") != errors.As(err, &usage) {
			t.Errorf("%q: %q, %v; want %q", word, got, err, want)
		}
	}
	for _, c := range []whyCmd{{Path: true}, {Host: true}, {Var: true}} {
		want := map[bool]string{true: "path"}[c.Path] + map[bool]string{true: "host"}[c.Host] + map[bool]string{true: "variable"}[c.Var]
		for _, word := range []string{"/x", "x.org", "NAME", "word"} {
			if got, err := c.kind(in, word); got != want || err != nil {
				t.Errorf("%q: %q, %v; want %q", word, got, err, want)
			}
		}
	}
}
