package wrap

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSweep: the directories of runs that have ended go, and nothing else does.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	h := &Host{Runtime: dir, Instance: "1." + started(1) + "." + processes()}
	own := strings.SplitN(h.Instance, ".", 3)[2]
	ns, boot, _ := strings.Cut(own, ".")
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
		id(live, started(live), own), // runs
		id(gone, was, "1."+boot),     // another process namespace: who knows
		"notes", "1.2", "x.2." + own, "77.",
	}
	goes := []string{
		id(gone, was, own),
		id(live, "1", own),        // the number was given anew
		id(gone, was, ns+".0abc"), // before the machine was started
		id(live, "1", "1.0abc"),   // the same, of another namespace
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
	h.sweep()
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
		h := &Host{UID: uid, Environ: []string{"XDG_RUNTIME_DIR=" + dir}}
		h.settle("/cache/sbx")
		if got := h.Runtime == dir+"/sbx"; got != ok {
			t.Errorf("XDG_RUNTIME_DIR=%s: %s", dir, h.Runtime)
		}
	}
	if n := strings.Count((&Host{UID: uid}).named(), "."); n != 3 {
		t.Errorf("a run's name has %d dots", n)
	}
}

func (h *Host) named() string { h.settle(""); return h.Instance }
