// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sbx-sandbox/sbx/bwrapargs"
)

// fakeBwrap puts a script in place of bwrap and counts its runs.
type fakeBwrap struct {
	t    *testing.T
	dir  string
	path string
	host *Host
}

func newFakeBwrap(t *testing.T, version, body string) *fakeBwrap {
	f := &fakeBwrap{t: t, dir: t.TempDir(), host: &Host{Facts: Facts{FS: OS{}}, Caller: Caller{UID: os.Geteuid()}}}
	bin := filepath.Join(f.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	f.path = filepath.Join(bin, "bwrap")
	f.write("#!/bin/sh\necho run >>'" + f.dir + "/runs'\nif [ \"$1\" = --version ]; then echo '" + version + "'; exit; fi\n" + body + "\n")
	old := binDirs
	binDirs = []string{bin}
	t.Cleanup(func() { binDirs = old })
	return f
}

func (f *fakeBwrap) write(text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path, []byte(text), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Chmod(f.path, 0o755); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fakeBwrap) runs() int {
	data, _ := os.ReadFile(filepath.Join(f.dir, "runs"))
	return strings.Count(string(data), "\n")
}

func (f *fakeBwrap) cache() string { return filepath.Join(f.dir, "cache") }

func (f *fakeBwrap) verdict() string {
	return filepath.Join(f.cache(), "probe-"+strconv.Itoa(os.Geteuid()))
}

// find asks for a bwrap and says how many processes that took.
func (f *fakeBwrap) find() (Bwrap, int, error) {
	before := f.runs()
	b, err := Find(f.host, f.cache())
	return b, f.runs() - before, err
}

const works = "echo 'sbx 1'"

func TestProbeIsRemembered(t *testing.T) {
	f := newFakeBwrap(t, "bubblewrap 0.9.1", works)
	want := Bwrap{Path: f.path, Version: bwrapargs.Version{Minor: 9, Patch: 1}}
	expect := func(what string, processes int) {
		t.Helper()
		if b, n, err := f.find(); b != want || n != processes || err != nil {
			t.Fatalf("%s: %+v, %d processes, %v; want %d processes", what, b, n, err, processes)
		}
	}
	expect("nothing kept", 2)
	expect("kept", 0)
	expect("kept still", 0)
	if info, err := os.Lstat(f.verdict()); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	if err := os.Chtimes(f.path, time.Now(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	expect("another mtime", 2)
	expect("kept again", 0)

	spoil := func(what string, change func() error) {
		t.Helper()
		if err := change(); err != nil {
			t.Fatal(what, err)
		}
		expect(what, 2)
		expect("kept after "+what, 0)
	}
	spoil("garbage", func() error { return os.WriteFile(f.verdict(), []byte("\x00\xff garbage"), 0o600) })
	spoil("an empty file", func() error { return os.WriteFile(f.verdict(), nil, 0o600) })
	spoil("half a verdict", func() error {
		data, err := os.ReadFile(f.verdict())
		return errors.Join(err, os.WriteFile(f.verdict(), data[:len(data)-1], 0o600))
	})
	spoil("writable by others", func() error { return os.Chmod(f.verdict(), 0o666) })
	spoil("a link", func() error {
		other := filepath.Join(f.dir, "planted")
		return errors.Join(os.Rename(f.verdict(), other), os.Symlink(other, f.verdict()))
	})
	if os.Geteuid() == 0 {
		spoil("of another user", func() error { return os.Chown(f.verdict(), 12345, 12345) })
	}
	left, err := filepath.Glob(f.cache() + "/*")
	if err != nil || !slices.Equal(left, []string{f.verdict()}) {
		t.Errorf("left in the cache: %q, %v", left, err)
	}
}

// An overlay is used where it was seen to be writable, and a bwrap that cannot lay one
// works without.
func TestProbeTriesAnOverlay(t *testing.T) {
	for _, c := range []struct {
		version, body string
		want          bool
		processes     int
	}{
		{"bubblewrap 0.10.0", works, false, 2},
		{"bubblewrap 0.11.0", works, true, 3},
		{"bubblewrap 0.11.0", `case " $* " in *" --tmp-overlay /tmp/over "*) exit 1; esac; ` + works, false, 3},
	} {
		f := newFakeBwrap(t, c.version, c.body)
		for _, processes := range []int{c.processes, 0} { // it is kept, too
			if b, n, err := f.find(); b.Overlay != c.want || n != processes || err != nil {
				t.Errorf("%+v: %+v, %d processes, %v", c, b, n, err)
			}
		}
	}
}

// Another program in the same place is another one, whatever its size and time:
// what was kept for a newer bwrap does not hold for an older.
func TestDowngradeIsNoticed(t *testing.T) {
	f := newFakeBwrap(t, "bubblewrap 0.9.1", works)
	if b, _, err := f.find(); err != nil || b.Version != (bwrapargs.Version{Minor: 9, Patch: 1}) {
		t.Fatal(b, err)
	}
	before, err := os.Stat(f.path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"in place", "renamed"} {
		old := strings.Replace(string(text), "0.9.1", map[string]string{"in place": "0.6.2", "renamed": "0.5.0"}[how], 1)
		if how == "renamed" {
			if err := os.Rename(f.path, f.path+".old"); err != nil {
				t.Fatal(err)
			}
		}
		f.write(old)
		if err := os.Chtimes(f.path, before.ModTime(), before.ModTime()); err != nil {
			t.Fatal(err)
		}
		want, _ := bwrapargs.ParseVersion(map[string]string{"in place": "0.6.2", "renamed": "0.5.0"}[how])
		if b, n, err := f.find(); err != nil || n != 2 || b.Version != want {
			t.Errorf("%s: %+v, %d processes, %v", how, b, n, err)
		}
	}
	// And one that is too old is refused, and not kept.
	f.write(strings.Replace(string(text), "0.9.1", "0.3.1", 1))
	var u *Unavailable
	for range 2 {
		if _, n, err := f.find(); !errors.As(err, &u) || u.Cause != causeOld || n != 1 {
			t.Errorf("%v after %d processes", err, n)
		}
	}
}

func TestProbeWithoutPlaceToRemember(t *testing.T) {
	f := newFakeBwrap(t, "bubblewrap 0.8.0", works)
	for range 2 {
		before := f.runs()
		if _, err := Find(f.host, ""); err != nil || f.runs()-before != 2 {
			t.Error(err, f.runs()-before)
		}
	}
	if err := os.WriteFile(f.cache(), []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, n, err := f.find(); n != 2 || err != nil {
		t.Error(n, err)
	}
}

func TestFailedProbes(t *testing.T) {
	for _, c := range []struct {
		name, version, body string
		cause               Cause
		reason              string
	}{
		{"too old", "bubblewrap 0.3.3", works, causeOld, "is version 0.3.3; sbx needs 0.4.0 or newer"},
		{"not bubblewrap", "busybox 1.36", works, causeNotBwrap, `is not bubblewrap: it says "busybox 1.36"`},
		{"no version", "bubblewrap", works, causeNotBwrap, `is not bubblewrap: it says "bubblewrap"`},
		{"it fails", "bubblewrap 0.8.0", "echo 'bwrap: Can'\\''t make it' >&2; exit 1", causeOther, "bwrap does not work here: Can't make it"},
		{"it fails at once", "x'; echo 'bwrap: broken' >&2; exit 1; echo '", works, causeOther, "bwrap does not work here: broken"},
		{"it is silent", "bubblewrap 0.8.0", "exit 3", causeOther, "bwrap does not work here: exit status 3"},
		{"it does nothing", "bubblewrap 0.8.0", "exit 0", causeNotBwrap, "does not run what it is told"},
		{"no namespaces", "bubblewrap 0.8.0", "echo 'bwrap: Creating new namespace failed: No space left on device' >&2; exit 1", causeMax, "no further user namespace is allowed here"},
		{"much output", "bubblewrap 0.8.0", "head -c 1000000 /dev/zero | tr '\\0' x; echo 'bwrap: x' >&2; exit 1", causeOther, "bwrap does not work here: x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeBwrap(t, c.version, c.body)
			_, _, err := f.find()
			var u *Unavailable
			if !errors.As(err, &u) || u.Cause != c.cause || !strings.Contains(u.Reason, c.reason) {
				t.Errorf("%+v", err)
			}
			if _, err := os.Lstat(f.verdict()); err == nil {
				t.Error("a failure was kept")
			}
		})
	}
}

func TestUnsafeBwrap(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(f *fakeBwrap) error
		cause  Cause
	}{
		{"writable by others", func(f *fakeBwrap) error { return os.Chmod(f.path, 0o777) }, causeUnsafe},
		{"writable by the group", func(f *fakeBwrap) error { return os.Chmod(f.path, 0o775) }, causeUnsafe},
		{"not executable", func(f *fakeBwrap) error { return os.Chmod(f.path, 0o644) }, causeNoExec},
		{"not a file", func(f *fakeBwrap) error { return errors.Join(os.Remove(f.path), os.Symlink("/dev/null", f.path)) }, ""},
		{"a directory", func(f *fakeBwrap) error { return errors.Join(os.Remove(f.path), os.Mkdir(f.path, 0o755)) }, CauseMissing},
		{"absent", func(f *fakeBwrap) error { return os.Remove(f.path) }, CauseMissing},
		{"dangling", func(f *fakeBwrap) error { return errors.Join(os.Remove(f.path), os.Symlink("nowhere", f.path)) }, CauseMissing},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeBwrap(t, "bubblewrap 0.8.0", works)
			if err := c.change(f); err != nil {
				t.Fatal(err)
			}
			_, n, err := f.find()
			var u *Unavailable
			if !errors.As(err, &u) || c.cause != "" && u.Cause != c.cause || n != 0 {
				t.Errorf("%+v after %d processes, want %s", err, n, c.cause)
			}
		})
	}
}

// In PATH, the directories above count, too: /tmp is everyone's.
func TestBwrapFromPath(t *testing.T) {
	f := newFakeBwrap(t, "bubblewrap 0.8.0", works)
	bin := binDirs[0]
	binDirs = nil
	f.host.Environ = []string{"PATH=relative::" + bin}
	_, n, err := f.find()
	safe := true
	for d := bin; d != "/"; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		safe = safe && err == nil && info.Mode().Perm()&0o022 == 0
	}
	var u *Unavailable
	if !safe && (!errors.As(err, &u) || u.Cause != causeUnsafe || n != 0) {
		t.Errorf("%+v after %d processes", err, n)
	}
	if safe && err != nil {
		t.Error(err)
	}
	if err := os.Chmod(bin, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, n, err := f.find(); !errors.As(err, &u) || u.Cause != causeUnsafe || n != 0 {
		t.Errorf("%+v after %d processes", err, n)
	}
}

// In the PATH of a client that called its shell nothing is looked for: what is
// there may be the project's.
func TestBwrapFromPathOfClient(t *testing.T) {
	f := newFakeBwrap(t, "bubblewrap 0.8.0", works)
	f.host.Environ = []string{"PATH=" + binDirs[0]}
	binDirs = nil
	var u *Unavailable
	if _, _, err := f.find(); errors.As(err, &u) && u.Cause == CauseMissing {
		t.Fatal("not even without a client: ", err)
	}
	f.host.Client = true
	if _, n, err := f.find(); !errors.As(err, &u) || u.Cause != CauseMissing || n != 0 {
		t.Errorf("%+v after %d processes", err, n)
	}
}

// Whom /etc/passwd does not have may be known to a directory service.
func TestHome(t *testing.T) {
	defer func(dirs []string) { binDirs = dirs }(binDirs)
	dir := t.TempDir()
	binDirs = []string{t.TempDir(), dir}
	const nobodys = 1<<31 - 77
	for script, want := range map[string]string{
		"test \"$*\" = 'passwd 2147483571' && echo 'ann:*:2147483571:1:Ann,,,:/home//ann:/bin/zsh'": "/home/ann",
		"exit 2":                                       "",
		"echo ann:*:1:1::home:/bin/zsh":                "",
		"echo ann:*:1:1::/home/ann; exit 0":            "",
		"echo 'ann:*:1:1::/home/ann:/bin/zsh'; exit 1": "",
	} {
		if err := os.WriteFile(dir+"/getent", []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := Home(nobodys); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
		if got := Home(0); got != passwdHome(0) || got == "" {
			t.Errorf("root: %q", got)
		}
	}
}

// What may be over in a moment is told from what stays.
func TestPassing(t *testing.T) {
	run := func(script string) (string, error) {
		out, err := exec.Command("/bin/sh", "-c", script).CombinedOutput()
		return string(out), err
	}
	for script, want := range map[string]bool{
		"echo 'bwrap: Creating new namespace failed: Resource temporarily unavailable'; exit 1": true,
		"echo 'runtime: failed to create new OS thread (have 2 already; errno=11)'; exit 2":     true,
		"echo 'bwrap: Cannot allocate memory'; exit 1":                                          true,
		"kill -KILL $$": true,
		"exit 137":      true,
		"exit 139":      true,
		"echo 'fatal error: failed to reserve page summary memory'; exit 2":                          true,
		"echo \"bwrap: Can't find source path /x/sbx (deleted): No such file or directory\"; exit 1": true,
		"kill -TERM $$": true,
		"kill -SEGV $$": true,
		"kill -ABRT $$": true,
		"echo 'bwrap: No permissions to create new namespace'; exit 1": false,
		"exit 1": false,
	} {
		said, err := run(script)
		if err == nil {
			t.Fatal(script)
		}
		u := failure(Diagnostics{}, "/usr/bin/bwrap", said, err)
		if got := u.Cause == CauseBusy; got != want {
			t.Errorf("%s: cause %s", script, u.Cause)
		}
	}
}
