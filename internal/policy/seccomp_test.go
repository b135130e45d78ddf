// SPDX-License-Identifier: Apache-2.0

package policy

import "testing"

func TestSeccompFile(t *testing.T) {
	vars := Vars{CWD: "/p", Home: "/home/u", Root: "/p"}
	tests := []struct {
		value, want string // what it becomes, or an error
		level       string
	}{
		{"default", "default", "default"},
		{"strict", "strict", "strict"},
		{"off", "off", "off"},
		{"/etc/f.json", "/etc/f.json", "dev"},
		{"/etc//./filter", "/etc/filter", "dev"},
		{"~/f.json", "/home/u/f.json", "dev"},
		{"$XDG_CONFIG_HOME/sbx/f.json", "/home/u/.config/sbx/f.json", "dev"},
		{"$CWD/f", "/p/f", "dev"},
		{"/a$$b/f.json", "/a$b/f.json", "dev"},
		{"f.json", `x:1:1: seccomp: "f.json": not absolute: start it with /, ~/ or $CWD/`, "dev"},
		{"/a/../f.json", `x:1:1: seccomp: "/a/../f.json": ".." is not allowed in a configured path`, "dev"},
		{"$XDG_RUNTIME_DIR/f.json", `x:1:1: seccomp: "$XDG_RUNTIME_DIR/f.json": a variable in it has no value here`,
			"dev"},
	}
	for _, tt := range tests {
		p := &Profile{Name: "p", Seccomp: tt.value, Where: map[string]string{"seccomp": "x:1:1"}}
		pol, err := Resolve(Set{"p": {p}}, []string{"p"}, vars)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = pol.Seccomp
		}
		if got != tt.want || SeccompLevel(tt.value) != tt.level {
			t.Errorf("%s: got %s (%s), want %s", tt.value, got, SeccompLevel(tt.value), tt.want)
		}
	}
}

// TestSeccompFileIsNoLevel: a file is neither tighter nor wider than anything,
// and so wider than all: whoever may only tighten may neither name one nor take
// one away.
func TestSeccompFileIsNoLevel(t *testing.T) {
	for _, level := range []string{"strict", "default", "dev", "off", "/b.json"} {
		if !Wider("seccomp", "/a.json", level) || !Wider("seccomp", level, "/a.json") {
			t.Errorf("a file can be compared with %s", level)
		}
	}
	if Wider("seccomp", "/a.json", "/a.json") {
		t.Error("a file is wider than itself")
	}
	if !Tighter("seccomp", "off", "dev") || Tighter("seccomp", "dev", "off") || Tighter("seccomp", "dev", "dev") ||
		Tighter("seccomp", "off", "/a.json") || Tighter("seccomp", "/a.json", "strict") {
		t.Error("Tighter")
	}
}
