// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SBX_TEST_EXECVEAT makes the test binary execute a name in the directory of a
// descriptor, or the descriptor itself: FLAGS DIRECTORY NAME ARGV0.
func init() {
	v := os.Getenv("SBX_TEST_EXECVEAT")
	if v == "" {
		return
	}
	os.Unsetenv("SBX_TEST_EXECVEAT")
	os.Setenv("SBX_TEST_EXECUTED", "1")
	f := strings.Split(v, "|")
	open, flags := unix.O_PATH, 0
	if f[0] == "cloexec" {
		open |= unix.O_CLOEXEC
	}
	if f[2] == "" {
		flags = unix.AT_EMPTY_PATH
	}
	dir, err := unix.Open(f[1], open, 0)
	die(err)
	name, argv, env := []byte(f[2]+"\x00"), []*byte{&[]byte(f[3] + "\x00")[0], nil}, []*byte(nil)
	for _, kv := range os.Environ() {
		env = append(env, &[]byte(kv + "\x00")[0])
	}
	env = append(env, nil)
	_, _, errno := syscall.Syscall6(unix.SYS_EXECVEAT, uintptr(dir), uintptr(unsafe.Pointer(&name[0])),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])), uintptr(flags), 0)
	die(errno)
}

// TestExecutedFileDecides executes sbx in every way that execve(2) and execveat(2)
// know, under each argument 0: a file with the name of a tool or a shell is never
// sbx with its own command line.
func TestExecutedFileDecides(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range [][2]string{{self, "npm"}, {"npm", "node"}, {"node", "sbx"}, {"sbx", "yarn"}, {self, "sbx-bash"}, {"npm", "sbx-dev"}, {"npm", ".sbx-wrapped"}} {
		if err := os.Symlink(l[0], filepath.Join(dir, l[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := linkOrCopy(self, filepath.Join(dir, "hard")); err != nil {
		t.Fatal(err)
	}
	write("script", "#!"+dir+"/npm\n")
	write("sbx-script", "#!"+dir+"/npm\n")
	write("tool-script", "#!"+dir+"/sbx\n")
	argv0s := []string{"sbx", "/usr/bin/sbx", "sbx-bash", "-sbx-sh", "bash", "npm", "x", ""}
	tool := func(name string) string { return fmt.Sprintf("called %v %q", 2, name) }
	for _, tt := range []struct{ path, want string }{
		{dir + "/npm", tool("npm")},
		{"./npm", tool("npm")},
		{"../" + filepath.Base(dir) + "/npm", tool("npm")},
		{dir + "/node", tool("node")},
		{dir + "/yarn", tool("yarn")},
		{dir + "/hard", tool("hard")},
		{dir + "/sbx", `called 0 ""`},
		{dir + "/sbx-dev", `called 0 ""`},
		{dir + "/sbx-bash", `called 1 "bash"`},
		{dir + "/script", tool("npm")},
		{dir + "/sbx-script", tool("npm")},
		{dir + "/tool-script", `called 0 ""`},
		{"cloexec|" + dir + "|npm", tool("npm")},
		{"kept|" + dir + "|npm", tool("npm")},
		{"kept|" + dir + "|script", tool("npm")},
		{"kept|" + dir + "|sbx-script", tool("npm")},
		{"cloexec|" + dir + "|sbx-bash", `called 1 "bash"`},
		{"cloexec|" + dir + "|sbx", `called 0 ""`},
		// These give no name: argument 0 does.
		{"cloexec|" + dir + "/npm|", ""},
		{"kept|" + dir + "/npm|", ""},
		{dir + "/.sbx-wrapped", ""},
	} {
		for _, argv0 := range argv0s {
			want := tt.want
			if want == "" {
				want = map[string]string{"sbx": `called 0 ""`, "/usr/bin/sbx": `called 0 ""`, "sbx-bash": `called 1 "bash"`, "-sbx-sh": `called 1 ""`,
					"bash": `called 1 "bash"`, "npm": tool("npm"), "x": tool("x"), "": `called 0 ""`}[argv0]
			}
			cmd := exec.Command(tt.path)
			cmd.Args[0], cmd.Dir = argv0, dir
			cmd.Env = append(os.Environ(), "SBX_TEST_EXECUTED=1")
			if strings.Contains(tt.path, "|") {
				cmd = exec.Command(self)
				cmd.Env = append(os.Environ(), "SBX_TEST_EXECVEAT="+tt.path+"|"+argv0)
			}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), want+"\n") {
				t.Errorf("%s as %q: %v, %q, want %s", tt.path, argv0, err, out, want)
			}
		}
	}
}
