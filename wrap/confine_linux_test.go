// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sbx-sandbox/sbx/internal/host"
)

// TestSweep: the directories of runs that have ended go, and nothing else does.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	runtime, instance := dir, "1."+started(1)+"."+processes()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Chmod(dir, 0o700))
	own := strings.SplitN(instance, ".", 3)[2]
	ns := strings.Split(own, ".")
	boot := ns[2]
	live := os.Getpid()
	ended := exec.Command("true")
	if err := ended.Start(); err != nil {
		t.Fatal(err)
	}
	gone := ended.Process.Pid
	was := started(gone)
	if err := ended.Wait(); err != nil {
		t.Fatal(err)
	}
	id := func(pid int, start, place string) string { return strconv.Itoa(pid) + "." + start + "." + place }
	stays := []string{
		id(live, started(live), own),               // runs
		id(gone, was, "1."+ns[1]+"."+boot),         // another process namespace: who knows
		id(gone, was, ns[0]+".1."+boot),            // or of time
		id(gone, was, ns[0]+"."+ns[1]+".00000abc"), // or another start of the machine
		"notes", "1.2", "x.2." + own, "77.", "2024.01.backup", "2024.01.02.03.backup", "2024.01.02.03.0bac", id(gone, was, own) + ".d",
	}
	goes := []string{
		id(gone, was, own),
		id(live, "1", own), // the number was given anew
		"aside.x.1",
	}
	outside := t.TempDir()
	keep := filepath.Join(outside, "keep")
	for _, err := range []error{os.WriteFile(keep, nil, 0o600), os.Symlink(outside, filepath.Join(dir, id(gone, "7", own)))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Concat(stays, goes) {
		if err := os.MkdirAll(filepath.Join(dir, name, "tmp", "a"), 0o700); err != nil {
			t.Fatal(err)
		}
		// What a command leaves may lead anywhere.
		if err := os.Symlink(outside, filepath.Join(dir, name, "tmp", "a", "out")); err != nil {
			t.Fatal(err)
		}
	}
	// And what it made so that no one can remove it: deep, and closed.
	deep := filepath.Join(dir, goes[0], "tmp", "deep")
	for range 200 {
		deep = filepath.Join(deep, "deeper")
	}
	must(os.MkdirAll(deep, 0o700))
	closed := filepath.Join(dir, goes[0], "tmp", "closed", "more")
	must(os.MkdirAll(closed, 0o700))
	must(os.WriteFile(filepath.Join(closed, "f"), nil, 0o600))
	must(os.Chmod(closed, 0))
	must(os.Chmod(filepath.Dir(closed), 0))
	for range 50 { // each has little time
		sweep(runtime, instance, os.Geteuid())
	}
	for _, name := range stays {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%q went: %v", name, err)
		}
	}
	for _, name := range goes {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%q stayed", name)
		}
	}
	if _, err := os.Stat(keep); err != nil {
		t.Errorf("a file outside went: %v", err)
	}
}

// TestSettle: the place for temporary files has to be the caller's alone.
func TestSettle(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for dir, mode := range map[string]os.FileMode{"good": 0o700, "open": 0o755, "closed": 0o500} {
		if err := os.Mkdir(filepath.Join(base, dir), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(base, dir), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("good", filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	uid := os.Getuid()
	for dir, ok := range map[string]bool{base + "/good": true, base + "/open": false, base + "/link": false, base + "/no": false, "relative": false, base + "/good/": false, base + "/../" + filepath.Base(base) + "/good": false, "": false} {
		h := &host.Host{
			Facts:  host.Facts{FS: host.OS{}},
			Caller: host.Caller{UID: uid, Environ: []string{"XDG_RUNTIME_DIR=" + dir}},
		}
		runtime, _ := runDir(h, "/cache/sbx")
		if got := runtime == dir+"/sbx"; got != ok {
			t.Errorf("XDG_RUNTIME_DIR=%s: %s", dir, runtime)
		}
	}
	h := &host.Host{
		Facts:  host.Facts{FS: host.OS{}},
		Caller: host.Caller{UID: uid, Environ: []string{"XDG_RUNTIME_DIR=/nowhere"}},
	}
	if dir := "/run/user/" + strconv.Itoa(uid); !canonical(dir) {
		if runtime, _ := runDir(h, base+"/link/sbx"); runtime != base+"/good/sbx/runs" {
			t.Errorf("by a link: %s", runtime)
		}
		if runtime, _ := runDir(h, base+"/absent/home/.cache/sbx"); runtime != "/tmp/sbx-runs-"+strconv.Itoa(uid) {
			t.Errorf("without a home: %s", runtime)
		}
	}
	if n := strings.Count(named((&host.Host{Facts: host.Facts{FS: host.OS{}}, Caller: host.Caller{UID: uid}})), "."); n != 4 {
		t.Errorf("a run's name has %d dots", n)
	}
}

func named(h *host.Host) string {
	_, instance := runDir(h, "")
	return instance
}

// TestSweepTakesLittleTime: whatever is there, a run waits a moment for it.
func TestSweepTakesLittleTime(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	runtime, instance := dir, "1."+started(1)+"."+processes()
	old := filepath.Join(dir, "1.1."+strings.SplitN(instance, ".", 3)[2], "tmp")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 20_000 {
		if err := os.WriteFile(filepath.Join(old, strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; ; n++ {
		start := time.Now()
		sweep(runtime, instance, os.Geteuid())
		if took := time.Since(start); took > 40*sweepTime {
			t.Fatalf("a sweep took %v", took)
		}
		if _, err := os.Lstat(filepath.Dir(old)); err != nil {
			break
		}
		if n == 2000 {
			t.Fatal("it is never done")
		}
	}
}

// TestSweepOfLargeFiles: one goes bit by bit, and one with another name keeps
// its content.
func TestSweepOfLargeFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	runtime, instance := dir, "1."+started(1)+"."+processes()
	ended := filepath.Join(dir, "1.1."+strings.SplitN(instance, ".", 3)[2])
	keep := filepath.Join(t.TempDir(), "keep")
	data := make([]byte, 9<<20)
	for _, err := range []error{os.MkdirAll(ended, 0o700), os.WriteFile(filepath.Join(ended, "large"), data, 0o600), os.WriteFile(keep, data, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	linked := os.Link(keep, filepath.Join(ended, "linked")) == nil
	for n := 0; n < 100; n++ {
		sweep(runtime, instance, os.Geteuid())
	}
	if _, err := os.Lstat(ended); err == nil {
		t.Error("it is still there")
	}
	if info, err := os.Stat(keep); err != nil || linked && info.Size() != int64(len(data)) {
		t.Errorf("a file with another name: %v, %v", info, err)
	}
}

// TestSweepFollowsNoLink: what is in place of the directory decides nothing.
func TestSweepFollowsNoLink(t *testing.T) {
	base := t.TempDir()
	runtime, instance := filepath.Join(base, "sbx"), "1."+started(1)+"."+processes()
	keep := filepath.Join(base, "docs", "1.1."+strings.SplitN(instance, ".", 3)[2])
	for _, err := range []error{os.MkdirAll(keep, 0o700), os.Symlink("docs", runtime)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	sweep(runtime, instance, os.Geteuid())
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
	// The control: in its own directory it goes.
	runtime = filepath.Join(base, "docs")
	sweep(runtime, instance, os.Geteuid())
	if _, err := os.Stat(keep); err == nil {
		t.Error("nothing is removed at all")
	}
	// Nor one that others can write.
	if err := os.Mkdir(keep, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(runtime, 0o777); err != nil {
		t.Fatal(err)
	}
	sweep(runtime, instance, os.Geteuid())
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
}
