// SPDX-License-Identifier: Apache-2.0

package seccomp

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fileVar names a filter file that this binary, started again, loads for
// itself before it becomes the command in its arguments.
const fileVar = "SBX_SECCOMP_TEST_FILE"

func init() {
	path := os.Getenv(fileVar)
	if path == "" {
		return
	}
	os.Unsetenv(fileVar)
	fmt.Fprintln(os.Stderr, "under filter:", underFile(path, os.Args[1:]))
	os.Exit(99)
}

// underFile loads a file's program as init does, on the thread that then
// calls execve.
func underFile(path string, argv []string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := ParseFile(path, text)
	if err != nil {
		return err
	}
	f.Kernel = Kernel{6, 1}
	code, err := f.Filter(runtime.GOARCH)
	if err != nil {
		return err
	}
	ops := make([]unix.SockFilter, len(code)/8)
	if _, err := binary.Decode(code, binary.LittleEndian, ops); err != nil {
		return err
	}
	name, err := syscall.BytePtrFromString(argv[0])
	if err != nil {
		return err
	}
	args, err := syscall.SlicePtrFromStrings(argv)
	if err != nil {
		return err
	}
	env := []*byte{nil}
	prog := unix.SockFprog{Len: uint16(len(ops)), Filter: &ops[0]}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return errno
	}
	_, _, errno := syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&args[0])),
		uintptr(unsafe.Pointer(&env[0])))
	return errno
}

// starts runs a command under a filter and reports whether it ended well.
func starts(t *testing.T, filter string, argv ...string) bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.json")
	if err := os.WriteFile(path, []byte(filter), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", argv...)
	cmd.Env = append(os.Environ(), fileVar+"="+path)
	return cmd.Run() == nil
}

func refusing(names ...string) string {
	return `{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["` + strings.Join(names, `","`) +
		`"], "action": "SCMP_ACT_ERRNO"}]}`
}

// TestNeeded: what Hinders calls needed is: /bin/true starts without any other
// call, and without none of these.
func TestNeeded(t *testing.T) {
	if !starts(t, refusing("swapon"), "/bin/true") {
		t.Fatal("/bin/true does not start under a filter that refuses nothing of use")
	}
	var got []string
	for _, n := range syscalls {
		if n.number(runtime.GOARCH) == none || starts(t, refusing(n.name), "/bin/true") {
			continue
		}
		got = append(got, n.name)
		if !slices.Contains(needed, n.name) && n.name != "fstat" {
			t.Errorf("/bin/true does not start without %s, and needed has it not", n.name)
		}
		f, err := ParseFile("f", []byte(refusing(n.name)))
		if err != nil {
			t.Fatal(err)
		}
		if hinders, err := f.Hinders(runtime.GOARCH); err != nil || !slices.Equal(hinders, []string{n.name}) &&
			n.name != "fstat" {
			t.Errorf("without %s: Hinders says %q, %v", n.name, hinders, err)
		}
	}
	for _, name := range []string{"execve", "mmap", "openat", "read"} {
		if !slices.Contains(got, name) {
			t.Errorf("/bin/true starts without %s", name)
		}
	}
}

// TestMade: where a call kills, those that /bin/true could do without are
// needed as well.
func TestMade(t *testing.T) {
	kill := func(name string) string { return strings.Replace(refusing(name), "ERRNO", "KILL_PROCESS", 1) }
	for _, n := range syscalls {
		if n.number(runtime.GOARCH) == none || starts(t, kill(n.name), "/bin/true") {
			continue
		}
		if !slices.Contains(needed, n.name) && !slices.Contains(made, n.name) && n.name != "fstat" {
			t.Errorf("/bin/true is killed for %s, and made has it not", n.name)
		}
	}
	if starts(t, kill("exit_group"), "/bin/true") {
		t.Error("/bin/true ends well though exit_group kills")
	}
}

// TestSheen: the filter of a requirement, by itself, starts nothing (E-1b); with
// what Hinders names allowed, it does.
func TestSheen(t *testing.T) {
	text, err := os.ReadFile("testdata/sheen-seccomp.json")
	if err != nil {
		t.Fatal(err)
	}
	f, err := ParseFile("sheen-seccomp.json", text)
	if err != nil {
		t.Fatal(err)
	}
	if starts(t, string(text), "/bin/true") {
		t.Error("/bin/true starts")
	}
	hinders, err := f.Hinders(runtime.GOARCH)
	if err != nil || len(hinders) == 0 {
		t.Fatal(hinders, err)
	}
	if runtime.GOARCH == "amd64" && !slices.Equal(hinders, []string{"arch_prctl", "newfstatat", "pread64"}) {
		t.Errorf("Hinders says %q", hinders)
	}
	mended := strings.Replace(string(text), `"openat",`, `"openat", "`+strings.Join(hinders, `", "`)+`",`, 1)
	if !starts(t, mended, "/bin/true") {
		t.Errorf("/bin/true does not start with %q allowed", hinders)
	}
}
