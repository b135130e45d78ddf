// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
)

// realDir is a directory of the test's own by its canonical path: /var is a link.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestLookHere(t *testing.T) {
	h, err := host.Detect()
	if err != nil {
		t.Fatal(err)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if wd, err = filepath.EvalSymlinks(wd); err != nil {
		t.Fatal(err)
	}
	if h.CWD != wd || !filepath.IsAbs(h.Self) || h.OS != "darwin" || h.UID != os.Geteuid() {
		t.Errorf("cwd %q (want %q), self %q, %s, uid %d", h.CWD, wd, h.Self, h.OS, h.UID)
	}
	if home := host.Home(h.UID); !filepath.IsAbs(home) {
		t.Errorf("home %q", home)
	}
	if shell := host.PasswdShell(h.UID); !filepath.IsAbs(shell) {
		t.Errorf("shell %q", shell)
	}
	if f := host.GatherDiagnostics(h.Environ); !strings.Contains(f.MacOS, ".") {
		t.Errorf("%+v", f)
	}
	if host.Inside() != "" {
		t.Error("this is in a sandbox")
	}
}

// TestSpell: a path in other letters is that of the disk.
func TestSpell(t *testing.T) {
	dir := realDir(t)
	if err := os.MkdirAll(dir+"/Some/Dir", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/Some/Dir/File", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(dir+"/Some/Fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{"Some/Dir": "Some/Dir", "Some/Dir/File": "Some/Dir/File", "Some/none": "Some/none"}
	if _, err := os.Lstat(dir + "/sOME"); err == nil { // as on most volumes
		for in, out := range map[string]string{"sOME/dIR/fILE": "Some/Dir/File", "SOME/DIR": "Some/Dir", "SOME/fifo": "Some/Fifo", "SOME/none": "Some/none"} {
			cases[in] = out
		}
	}
	for in, want := range cases {
		if got := (host.OS{}).Spell(dir + "/" + in); got != dir+"/"+want {
			t.Errorf("%s: %s", in, got)
		}
	}
	if got := (host.OS{}).Spell(host.DataVolume + dir); got != dir {
		t.Errorf("by the volume: %s", got)
	}
	if got := (host.OS{}).Spell("/"); got != "/" {
		t.Errorf("the root: %s", got)
	}
}

// TestDescriptorsHere: what is passed on is known by what it is.
func TestDescriptorsHere(t *testing.T) {
	dir := realDir(t)
	name := dir + "/f"
	file, err := unix.Open(name, unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var pipe, pair [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); err != nil {
		t.Fatal(err)
	}
	null, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0) // as Node.js leaves the input of a program
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(dead[1])
	top, err := unix.Open(dir, unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	loose, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("/private/tmp", "sbx") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	l, err := net.Listen("unix", short+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	named, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Connect(named, &unix.SockaddrUnix{Name: short + "/s"}); err != nil {
		t.Fatal(err)
	}
	high, err := unix.FcntlInt(uintptr(null), unix.F_DUPFD, 300) // above what is looked at one by one
	if err != nil {
		t.Fatal(err)
	}
	all := []int{file, pipe[0], pipe[1], pair[0], pair[1], dead[0], null, top, loose, named, high}
	defer func() {
		for _, n := range all {
			unix.Close(n)
		}
	}()
	want := map[int]host.FD{
		file: {Kind: host.FDFile, Path: name, Reads: true, Writes: true}, pipe[0]: {Kind: host.FDPipe, Reads: true}, pipe[1]: {Kind: host.FDPipe, Writes: true},
		pair[0]: {Kind: host.FDPair, Reads: true, Writes: true}, dead[0]: {Kind: host.FDPair, Reads: true, Writes: true}, null: {Kind: host.FDDevice, Path: "/dev/null", Reads: true}, top: {Kind: host.FDDir, Reads: true},
		loose: {Kind: host.FDOther, Reads: true, Writes: true, Loose: true}, named: {Kind: host.FDOther, Reads: true, Writes: true}, high: {Kind: host.FDDevice, Path: "/dev/null", Reads: true},
	}
	fds, err := host.Descriptors()
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		w, ok := want[fd.Num]
		if !ok {
			continue
		}
		delete(want, fd.Num)
		if fd.Kind != w.Kind || fd.Path != w.Path || fd.Reads != w.Reads || fd.Writes != w.Writes || fd.Loose != w.Loose || fd.CloseOn {
			t.Errorf("%d: %+v, want %+v", fd.Num, fd, w)
		}
	}
	if len(want) > 0 {
		t.Errorf("not seen: %v", want)
	}
	if err := closeOthers(&engine.Plan{Keep: []int{file}}); err != nil {
		t.Fatal(err)
	}
	for _, n := range all {
		flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
		if passes := flags&unix.FD_CLOEXEC == 0; err != nil || passes != (n == file) {
			t.Errorf("%d passes: %v, %v", n, passes, err)
		}
	}
}

// TestSeatbeltWorks: this machine has it, and a verdict is kept and forgotten.
func TestSeatbeltWorks(t *testing.T) {
	dir := realDir(t) + "/cache"
	h := &host.Host{
		Facts:  host.Facts{FS: host.OS{}, OS: "darwin"},
		Caller: host.Caller{UID: os.Geteuid(), Environ: os.Environ()},
	}
	c, err := Choose(h, dir, "auto", "")
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != host.EngineSeatbelt || c.Runtime == "" || !isRun(strings.Split(c.Instance, ".")) {
		t.Errorf("%+v", c)
	}
	if !host.Forget(h, dir) || host.Forget(h, dir) {
		t.Error("it is not kept, or not forgotten once")
	}
	if _, err := Choose(&host.Host{Facts: host.Facts{FS: host.OS{}, OS: "darwin"}, Caller: host.Caller{UID: os.Geteuid()}}, "", host.EngineBwrap, ""); err == nil {
		t.Error("there is a bwrap")
	}
}

// TestStarted: a process is told from one that had its number before.
func TestStarted(t *testing.T) {
	own := started(os.Getpid())
	if own == "" || own != started(os.Getpid()) || strings.Trim(own, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		t.Errorf("%q", own)
	}
	cmd := exec.Command("/usr/bin/true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got := started(cmd.Process.Pid); got != "" {
		t.Errorf("one that has ended: %q", got)
	}
	if len(host.BootID()) < 8 {
		t.Errorf("boot %q", host.BootID())
	}
}

// TestSweepDarwin: the directory of a run that has ended goes, and that of a live
// one stays.
func TestSweepDarwin(t *testing.T) {
	dir := realDir(t)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	instance := macInstance(os.Getpid(), started(os.Getpid()), host.BootID())
	boot := strings.Split(instance, ".")[2]
	stays := []string{instance, "1.0.00000abc", "notes"}
	gone := strconv.Itoa(os.Getpid()) + ".1." + boot
	for _, name := range append(stays, gone) {
		if err := os.MkdirAll(dir+"/"+name+"/tmp/closed", 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range 600 { // more than are read at once
			if err := os.WriteFile(dir+"/"+name+"/tmp/"+strconv.Itoa(i), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir+"/"+name+"/tmp/closed", 0); err != nil {
			t.Fatal(err)
		}
	}
	for range 200 {
		sweep(dir, instance, os.Geteuid())
	}
	if _, err := os.Lstat(dir + "/" + gone); err == nil {
		t.Error("it stayed")
	}
	for _, name := range stays {
		if _, err := os.Lstat(dir + "/" + name + "/tmp/599"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
