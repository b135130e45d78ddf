// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// tried is what one run of sandbox-exec gives.
type tried struct {
	status int
	said   string
	err    error
}

func TestProbeSeatbelt(t *testing.T) {
	works := tried{}
	denied := tried{71, "sandbox-exec: execvp() of '/usr/bin/true' failed: Operation not permitted\n", nil}
	nested := tried{71, "sandbox-exec: sandbox_apply: Operation not permitted\n", nil}
	for _, c := range []struct {
		name         string
		open, closed tried
		cause        Cause // "" for one that works
		reason       string
	}{
		{"works", works, denied, "", ""},
		{"nested", nested, tried{}, CauseNested, "this runs inside another sandbox already"},
		{"nested, and it cannot be executed", tried{err: &os.PathError{Op: "fork/exec", Path: SandboxExec, Err: syscall.EPERM}}, tried{}, CauseNested, "this runs inside another sandbox"},
		{"nothing is enforced", works, works, causeToothless, SandboxExec + " enforces nothing"},
		{"not there", tried{err: &os.PathError{Op: "fork/exec", Path: SandboxExec, Err: syscall.ENOENT}}, tried{}, CauseMissing, SandboxExec + " does not exist"},
		{"not executable", tried{err: &os.PathError{Op: "fork/exec", Path: SandboxExec, Err: syscall.EACCES}}, tried{}, causeNoExec, SandboxExec + " cannot be executed"},
		{"no answer", tried{err: os.ErrDeadlineExceeded}, tried{}, CauseHangs, SandboxExec + " gives no answer"},
		{"no answer behind walls", works, tried{err: os.ErrDeadlineExceeded}, CauseHangs, SandboxExec + " gives no answer"},
		{"killed", tried{status: 128 + 9}, tried{}, CauseBusy, SandboxExec + " could not be tried: it was ended by signal 9"},
		{"works, and the kernel ends it", works, tried{status: 128 + 9}, "", ""},
		{"ended behind walls", works, tried{status: 128 + 15}, CauseBusy, SandboxExec + " could not be tried: it was ended by signal 15"},
		{"too many processes", tried{err: &os.PathError{Op: "fork/exec", Path: SandboxExec, Err: syscall.EAGAIN}}, tried{}, CauseBusy, SandboxExec + " could not be tried"},
		{"usage", tried{64, "Usage: sandbox-exec [options] command [args]\n", nil}, tried{}, causeOther, SandboxExec + " does not work here: it does not read the profile"},
		{"profile", tried{65, "sandbox-exec: <input string>:1:0: unsupported version\n", nil}, tried{}, causeOther, SandboxExec + " does not work here: it does not read the profile"},
		{"profile with a parameter", works, tried{65, "sandbox-exec: unbound variable: param\n", nil}, causeOther, SandboxExec + " does not work here: it does not read the profile"},
		{"another failure", tried{71, "sandbox-exec: execvp() of '/usr/bin/true' failed: No such file or directory\n", nil}, tried{}, causeOther, SandboxExec + " does not work here: it ended with status 71"},
		{"another failure behind walls", works, tried{1, "", nil}, causeOther, SandboxExec + " does not work here: it ended with status 1"},
		{"nested at the second try", works, nested, CauseNested, "this runs inside another sandbox"},
		{"a control character", tried{1, "a\x1b[2Jb", nil}, tried{}, causeOther, SandboxExec + " does not work here: it ended with status 1: a?[2Jb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			u := probeSeatbelt(func(argv []string) (int, string, error) {
				n++
				if argv[0] != SandboxExec || argv[len(argv)-1] != probed || argv[len(argv)-2] != "--" {
					t.Errorf("it runs %q", argv)
				}
				if a := c.open; !strings.Contains(argv[2], "deny") {
					return a.status, a.said, a.err
				}
				return c.closed.status, c.closed.said, c.closed.err
			})
			switch {
			case c.cause == "" && u == nil && n == 2:
			case u == nil:
				t.Errorf("it works after %d runs", n)
			case u.Cause != c.cause || !strings.HasPrefix(u.Reason, c.reason) || len(u.Hints) == 0 || strings.ContainsAny(u.Reason, "\n\x1b") || strings.HasSuffix(u.Reason, "."):
				t.Errorf("%s: %q, %q", u.Cause, u.Reason, u.Hints)
			}
		})
	}
}

func TestOtherEngine(t *testing.T) {
	for name, ok := range map[string]bool{"": true, "auto": true, EngineSeatbelt: true, EngineBwrap: false, EngineLandlock: false, "none": false} {
		u := OtherEngine(name)
		if ok != (u == nil) || u != nil && (u.Cause != CauseSystem || !strings.Contains(u.Reason, name) || !strings.Contains(u.Reason, "macOS")) {
			t.Errorf("%q: %v", name, u)
		}
	}
	var none *Unavailable
	if !errors.As(error(OtherEngine("bwrap")), &none) {
		t.Error("it is another error")
	}
}

// TestSeatbeltKey: a verdict holds for one program, system and start of it.
func TestSeatbeltKey(t *testing.T) {
	keys := map[string]bool{}
	for _, k := range []string{
		seatbeltKey(501, []int64{1, 2}, "A", "15.1"), seatbeltKey(502, []int64{1, 2}, "A", "15.1"), seatbeltKey(501, []int64{1, 3}, "A", "15.1"),
		seatbeltKey(501, []int64{1, 2}, "B", "15.1"), seatbeltKey(501, []int64{1, 2}, "A", "15.2"), seatbeltKey(501, []int64{1, 2}, "A\" \"15.1", ""),
	} {
		if keys[k] || !strings.HasSuffix(k, "\n") {
			t.Errorf("%q", k)
		}
		keys[k] = true
	}
}

func TestHemmed(t *testing.T) {
	for env, want := range map[string]bool{"CODEX_SANDBOX=seatbelt": true, "SANDBOX_RUNTIME=": true, "APP_SANDBOX_CONTAINER_ID=x": true, "SBX_MANIFEST=/x": true, "CODEX=1": false, "": false} {
		if got := inOtherSandbox([]string{"A=1", env}); got != want {
			t.Errorf("%q: %v", env, got)
		}
	}
}

func TestUserTemp(t *testing.T) {
	for path, want := range map[string]bool{
		"/private/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T":     true,
		"/private/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/C":     false,
		"/private/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/x":   false,
		"/private/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/0/x/T": false,
		"/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T":             false,
		"/private/var/folders/zz/T":                                    false,
		"/private/var/folders/zz//T":                                   false,
		"/private/var/folders":                                         false,
		"/private/tmp":                                                 false,
		"":                                                             false,
	} {
		if UserTemp(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}

func TestFirmlinked(t *testing.T) {
	for path, want := range map[string]string{
		"/System/Volumes/Data/Users/ann": "/Users/ann", "/System/Volumes/Data": "", "/System/Volumes/Data/": "", "/System/Volumes/Database/x": "", "/Users/ann": "",
	} {
		got, ok := firmlinked(path)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q %v", path, got, ok)
		}
	}
}

func TestRespelled(t *testing.T) {
	for _, c := range []struct {
		path, name    string
		several, want bool
	}{
		{"/Users/Ann/src", "/users/ann/SRC", false, true}, {"/Users/Ann/f", "/users/ann/F", true, true}, {"/a/b", "/a/c", false, false}, {"/a/b", "/a/bb", false, false},
		{"/a/caf\u00e9", "/a/cafe\u0301", false, true}, // what APFS takes for one name
		{"/a/caf\u00e9", "/a/cafe\u0301", true, false},
		{"/\u00e9/secret", "/\u00e9/public", true, false}, // a hard link
		{"/a/caf\u00e9", "/a/x/cafe\u0301", false, false},
	} {
		if got := sameSpelling(c.path, c.name, c.several); got != c.want {
			t.Errorf("%q %q %v: %v", c.path, c.name, c.several, got)
		}
	}
}

func TestDsclValue(t *testing.T) {
	for out, want := range map[string]string{
		"UserShell: /bin/zsh\n":                        "/bin/zsh",
		"UserShell:\n /opt/a b/zsh\n":                  "/opt/a b/zsh",
		"NFSHomeDirectory: /x\nUserShell: /bin/bash\n": "/bin/bash",
		"UserShellX: /bin/zsh\n":                       "",
		"No such key: UserShell\n":                     "",
		"UserShell:":                                   "",
		"":                                             "",
		"<dscl_cmd> DS Error: -14136 (eDSRecordNotFound)": "",
	} {
		if got := dsclValue(out, "UserShell"); got != want {
			t.Errorf("%q: %q", out, got)
		}
	}
	for name, want := range map[string]bool{"ann": true, "_www": true, "ann.b": true, "": false, "-x": false, "a/b": false, "a\nb": false} {
		if plainUser(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
