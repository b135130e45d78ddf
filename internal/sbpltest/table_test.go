// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"strings"
	"testing"
)

func TestParseTable(t *testing.T) {
	_, err := ParseTable(`
# comment
profiles one two
allow deny read $H/x # comment
-     allow write "/a b/\"c#" # comment
deny  -    rename $H/a $$x/b
`+"\t", map[string]string{"H": "/h"})
	if err == nil || !strings.Contains(err.Error(), `line 6: rename: "$x/b" is not absolute`) {
		t.Errorf("%v", err)
	}
	table, err := ParseTable("\n# comment\nprofiles one two\nallow deny read $H/x # comment\n- allow write \"/a b/\\\"c#\" #x\ndeny - rename $H/a /$$x/b\n", map[string]string{"H": "/h"})
	if err != nil {
		t.Fatal(err)
	}
	one, err := table.Cases("one")
	if err != nil {
		t.Fatal(err)
	}
	two, err := table.Cases("two")
	if err != nil {
		t.Fatal(err)
	}
	if len(one) != 2 || !one[0].Want || one[0].Act.Name != "read /h/x" || one[0].Line != 4 || one[1].Want || one[1].Act.Name != "rename /h/a /$x/b" {
		t.Errorf("%+v", one)
	}
	if len(two) != 2 || two[0].Want || !two[1].Want || two[1].Act.Name != `write /a b/"c#` || two[1].Text != `- allow write "/a b/\"c#" #x` {
		t.Errorf("%+v", two)
	}
	if _, err := table.Cases("three"); err == nil {
		t.Error("a column that is not there")
	}
}

func TestParseTableErrors(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"", "without rows"},
		{"# only a comment", "without rows"},
		{"allow", "an action and targets"},
		{"maybe read /x", "neither allow nor deny"},
		{"allow frobnicate /x", "neither an action nor an operation"},
		{"allow read", "0 targets where 1 are wanted"},
		{"allow read /x /y", "2 targets"},
		{"allow rename /x", "1 targets where 2 are wanted"},
		{"allow read x", "is not absolute"},
		{"allow symlink x y", "is not absolute"},
		{"allow ioctl tty 1", "is not absolute"},
		{"allow ioctl /dev/tty TIOCNONE", "no ioctl that is known"},
		{"allow connect-ip example.com:80", "ADDRESS:PORT"},
		{"allow connect-ip 1.2.3.4", "ADDRESS:PORT"},
		{"allow connect-ip 1.2.3.4:http", "ADDRESS:PORT"},
		{"allow connect-ip 1.2.3.4:80 sctp", "ADDRESS:PORT"},
		{"allow signal everyone", "no process"},
		{"allow socket UNIX", "no domain"},
		{"allow socket AF_SYSTEM two", "no protocol"},
		{"allow fork me", "nothing that this is about"},
		{"allow read $NOWHERE/x", "$NOWHERE stands for nothing"},
		{`allow read "/x`, "without its end"},
		{"allow read /x kind=DOOR", "no kind of node"},
		{"allow read /x\nprofiles a b", `"profiles" is neither`},
	} {
		if _, err := ParseTable(tt.line, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.line, err, tt.want)
		}
	}
}

// TestActions makes an act of each action: it must pass where all is allowed and
// fail where all is denied.
func TestActions(t *testing.T) {
	var everything strings.Builder
	for name, op := range operations {
		if op.implicit {
			everything.WriteString("(deny " + name + ")")
		}
	}
	open := load(t, "(version 1) (allow default)", nil)
	closed := load(t, head+everything.String(), nil)
	about := map[string]string{
		"connect-ip": "1.2.3.4:80", "listen-ip": "[::1]:80 udp", "socket": "AF_UNIX", "mach": "a.b", "mach-register": "a.b",
		"sysctl": "kern.x", "sysctl-write": "kern.x", "signal": "others", "process-info": "others", "task-port": "others",
		"ioctl": "/dev/tty TIOCSTI", "shm": "x", "shm-create": "x", "sem": "x", "pref": "x", "pref-write": "x", "fork": "", "pty": "-",
		"lsopen": "", "appleevent-send": "com.apple.finder", "file-mount": "/Volumes/x", "mach-task-name": "others",
	}
	for name, a := range actions {
		if _, ok := about[name]; !ok {
			about[name] = strings.TrimSpace(strings.Repeat("/x ", len(a.targets)))
		}
	}
	for name, targets := range about {
		words, err := splitLine(name+" "+targets, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := ParseAct(words)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, m := range Models {
			if ok, why := open.Check(m, a); !ok {
				t.Errorf("%s: denied by %s", a.Name, why)
			}
			if ok, why := closed.Check(m, a); ok {
				t.Errorf("%s: allowed by %s", a.Name, why)
			}
		}
	}
}

func TestRunShowsRule(t *testing.T) {
	p := load(t, head+`(allow file-read* (subpath "/a"))`, nil)
	err := p.Run([]Case{{Act: Do("read", "/a/x"), Want: false, Line: 7}})
	if err == nil || !strings.Contains(err.Error(), `line 7: read /a/x: observed says allow by file-read-data /a/x: rule 1: (allow file-read* (subpath "/a"))`) {
		t.Errorf("%v", err)
	}
	table, err := ParseTable("allow file-write-create /a/s kind=SOCKET\ndeny file-write-create /a/s\nallow read /b extension=c.d", nil)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := table.Cases("")
	if err != nil {
		t.Fatal(err)
	}
	p = load(t, head+`(allow file-write-create (vnode-type SOCKET)) (allow file-read* (extension "c.d"))`, nil)
	if err := p.Run(cases); err != nil {
		t.Error(err)
	}
}
