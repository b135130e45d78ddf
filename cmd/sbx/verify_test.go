// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// mutant is a sandbox with one wall missing.
type mutant struct {
	name  string
	flags []string
	edit  func(lines [][]string) [][]string
	holes []string
}

// mutants are sandboxes with one wall missing: what a mutant does to the
// options of bwrap, and the holes that sbx verify has to find in it, all of
// them and no others. A star at the end stands for anything.
var mutants = []mutant{
	{"none", nil, func(l [][]string) [][]string { return append([][]string{{"--setenv", "SBX_TIER", "full"}}, l...) }, nil},
	{"net", nil, drop("--unshare-net"), []string{"network interfaces", "network reach TCP *", "network reach UDP *", "network reach abstract socket"}},
	{"filter", nil, drop("--seccomp"), []string{"kernel clone3", "kernel TIOCSTI*", "kernel TIOCLINUX", "kernel system call filter", "kernel *", "network socket family *"}},
	{"masked file", nil, drop("--ro-bind-data", "*", "$CWD/.env"), []string{"hidden read $CWD/.env", "protected write, move, link $CWD/.env"}},
	{"masked pattern", []string{"-p", "strict", "--env", "BWRAP_*", "--env", "WORK"}, drop("--ro-bind-data", "*", "$CWD/server.key"), []string{"hidden read $CWD/server.key"}},
	{"masked directory", []string{"-p", "permissive"}, drop("--tmpfs", "$HOME/.ssh"), []string{"hidden read $HOME/.ssh"}},
	{"masked link", []string{"-p", "permissive"}, drop("--ro-bind-data", "*", "$HOME/dots/netrc"), []string{"hidden read $HOME/.netrc", "hidden read $HOME/dots/netrc"}},
	{"hooks", nil, drop("--ro-bind", "$CWD/.git/hooks", "*"), []string{"protected write, move, link $CWD/.git/hooks"}},
	{"git config", nil, drop("--ro-bind", "$CWD/.git/config", "*"), []string{"protected write, move, link $CWD/.git/config"}},
	{"protected file", nil, drop("--ro-bind", "$CWD/.envrc", "*"), []string{"protected write, move, link $CWD/.envrc"}},
	{"pinned directory", nil, drop("--bind", "$CWD/.git", "*"), []string{"protected move $CWD/.git"}},
	{"writable grant", []string{"-r", "~/data"}, swap("--bind", "--ro-bind", "$HOME/data", "*"), []string{"protected write, move, link $HOME/data", "outside mounts"}},
	{"pid", nil, drop("--unshare-pid"), []string{"processes namespace pid", "processes see a process outside", "processes signal a process outside"}},
	{"session", nil, drop("--new-session"), []string{"processes session"}},
	{"ipc", nil, drop("--unshare-ipc"), []string{"processes namespace ipc"}},
	{"uts", nil, drop("--unshare-uts"), []string{"processes namespace uts"}},
	{"environment", nil, add("--setenv", "GH_TOKEN", "x"), []string{"environment variables"}},
	{"variable of nobody", nil, add("--setenv", "FROM_NOWHERE", "x"), []string{"environment variables"}},
	{"capabilities", nil, swapAll("--cap-drop", "--cap-add"), []string{"kernel capabilities"}},
	{"user namespaces", []string{"--seccomp", "off"}, drop("--disable-userns"), []string{"kernel user namespace"}},
	{"manifest", nil, drop("--remount-ro", "/run/sbx"), []string{"sbx itself write, move /run/sbx/policy.json"}},
	{"root", nil, drop("--remount-ro", "/"), []string{"outside create /", "outside create *", "outside mounts"}},
	{"host's directory", nil, add("--bind", "$WORK/everyone", "$WORK/everyone"), []string{"outside mounts"}},
	{"host's tree", nil, add("--bind", "$WORK", "$WORK"), []string{"hidden read $CWD/.env", "hidden *", "protected write, move, link *", "protected move *", "outside mounts", "outside create $HOME", "outside create *", "network reach socket in a directory outside", "sockets ssh-agent $WORK/run/agent"}},
	{"descriptor", nil, leaveOpen, []string{"descriptors open"}},
	{"agent", nil, add("--ro-bind", "$WORK/run", "$WORK/run"), []string{"hidden read $WORK/run", "hidden connect $WORK/run/agent", "outside mounts", "sockets ssh-agent $WORK/run/agent"}},
	{"devices", nil, swapAll("--dev", "--dev-bind", "/dev"), []string{"kernel devices", "kernel *"}},
	{"stub", nil, stub, []string{"residue changed $CWD/.mcp.json"}},
}

// drop takes the options away that begin with the words; a star is any word.
// With a private directory goes what makes it read-only in the end.
func drop(words ...string) func([][]string) [][]string {
	return func(lines [][]string) [][]string {
		if words[0] == "--tmpfs" {
			lines = drop("--remount-ro", words[1])(lines)
		}
		var out [][]string
		for _, l := range lines {
			if !begins(l, words) {
				out = append(out, l)
				continue
			}
			// --perms and --size are about the option that is gone.
			for len(out) > 0 && (out[len(out)-1][0] == "--perms" || out[len(out)-1][0] == "--size") {
				out = out[:len(out)-1]
			}
			if l[0] == "--ro-bind-data" || l[0] == "--seccomp" {
				die(syscall.Close(atoi(l[1]))) // or it would be a hole of its own
			}
		}
		return out
	}
}

func begins(line, words []string) bool {
	for i, w := range words {
		if i >= len(line) || w != "*" && line[i] != os.ExpandEnv(strings.ReplaceAll(w, "$CWD", "$WORK/proj")) {
			return false
		}
	}
	return true
}

// swap gives another option the arguments of those that begin with the words.
func swap(option string, words ...string) func([][]string) [][]string {
	return func(lines [][]string) [][]string {
		for _, l := range lines {
			if begins(l, words) {
				l[0] = option
			}
		}
		return lines
	}
}

// swapAll is swap for an option whatever its arguments are. With a path, that
// is the argument that goes before them.
func swapAll(from, to string, path ...string) func([][]string) [][]string {
	return func(lines [][]string) [][]string {
		for i, l := range lines {
			if l[0] == from {
				lines[i] = slices.Concat([]string{to}, path, l[1:])
			}
		}
		return lines
	}
}

func add(words ...string) func([][]string) [][]string {
	return func(lines [][]string) [][]string {
		line := make([]string, len(words))
		for i, w := range words {
			line[i] = os.ExpandEnv(w)
		}
		return append(lines, line)
	}
}

// leaveOpen opens a directory for the command to find.
func leaveOpen(lines [][]string) [][]string {
	fd, err := syscall.Open("/", syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
	die(err)
	die(move(fd, 9))
	return append(lines, []string{"--setenv", "SBX_TIER", "full"})
}

// stub leaves an empty file, as a mount point would.
func stub(lines [][]string) [][]string {
	die(os.WriteFile(os.ExpandEnv("$WORK/proj/.mcp.json"), nil, 0o644))
	return append(lines, []string{"--setenv", "SBX_TIER", "full"})
}

// mutantBwrap executes the real bwrap with options that a mutant has edited.
// One that changes nothing ends the run: it would be a test of nothing.
func mutantBwrap(name string) {
	i := slices.Index(os.Args, "--args")
	if i < 0 {
		return
	}
	n, err := strconv.Atoi(os.Args[i+1])
	die(err)
	in := os.NewFile(uintptr(n), "options")
	data, err := io.ReadAll(in)
	die(err)
	var edited bytes.Buffer
	m := slices.IndexFunc(mutants, func(m mutant) bool { return m.name == name })
	for _, l := range mutants[m].edit(optionLines(words0(data))) {
		for _, w := range l {
			edited.WriteString(w + "\x00")
		}
	}
	if bytes.Equal(edited.Bytes(), data) {
		die(fmt.Errorf("mutant %s changes nothing", name))
	}
	fd, err := unix.MemfdCreate("options", 0)
	die(err)
	_, err = unix.Pwrite(fd, edited.Bytes(), 0)
	die(err)
	in.Close()
	die(move(fd, n))
	real := os.Getenv("BWRAP_REAL")
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "BWRAP_") {
			env = append(env, kv)
		}
	}
	die(syscall.Exec(real, append([]string{"bwrap"}, os.Args[1:]...), env))
}

// verdicts is what the test reads of sbx verify --json.
type verdicts struct {
	OK     bool
	Checks []struct{ Section, Check, Subject, Verdict, Detail string }
}

// TestVerifyFindsHoles runs sbx verify on sandboxes with a wall missing.
func TestVerifyFindsHoles(t *testing.T) {
	needBwrap(t)
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			w := verifyWorld(t)
			got, code := w.verify(t, m.name, m.flags)
			var holes, other []string
			for _, c := range got.Checks {
				text := strings.TrimSpace(c.Section + " " + c.Check + " " + c.Subject)
				switch c.Verdict {
				case "hole":
					holes = append(holes, w.short(text)+": "+c.Detail)
				case "unchecked":
					other = append(other, w.short(text)+": "+c.Detail)
				}
			}
			if len(w.dir)+len("/tmp/sbx-verify-0123456789") > 90 {
				// The address of a socket is too short for this TMPDIR: it lies in /tmp.
				m.holes = slices.DeleteFunc(slices.Clone(m.holes), func(h string) bool { return h == "network reach socket in a directory outside" })
			}
			if want := len(m.holes) > 0; want != (code == 1) || want == got.OK {
				t.Errorf("exit status %d, ok %v, %d holes\n%s", code, got.OK, len(holes), strings.Join(holes, "\n"))
			}
			if diff := cmp.Diff(m.holes, named(holes, m.holes)); diff != "" {
				t.Errorf("holes (-want +got):\n%s\nall:\n%s", diff, strings.Join(holes, "\n"))
			}
			if len(other) > 0 {
				t.Errorf("unchecked:\n%s", strings.Join(other, "\n"))
			}
			if after := w.files(t); m.name != "stub" {
				if diff := cmp.Diff(w.before, after); diff != "" {
					t.Errorf("left behind (-before +after):\n%s", diff)
				}
			}
		})
	}
}

// named gives each hole the pattern of want that it matches, or itself.
func named(holes, want []string) []string {
	var out []string
	for _, h := range holes {
		at := slices.IndexFunc(want, func(w string) bool {
			prefix, star := strings.CutSuffix(w, "*")
			return star && strings.HasPrefix(h, prefix) || strings.HasPrefix(h, w+": ")
		})
		name := h
		if at >= 0 {
			name = want[at]
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return slices.Index(want, a) - slices.Index(want, b) })
	return out
}

// sandboxWorld is a project with secrets, and a bwrap that can be mutated.
type sandboxWorld struct {
	*world
	before string
}

func verifyWorld(t *testing.T) *sandboxWorld {
	t.Helper()
	w := &sandboxWorld{world: newWorld(t)}
	home := filepath.Join(w.dir, "home")
	for path, text := range map[string]string{
		"proj/.env": "SECRET\n", "proj/server.key": "SECRET\n", "proj/.envrc": "export A=1\n", "proj/file": "x\n",
		"proj/.git/HEAD": "ref: refs/heads/main\n", "proj/.git/config": "[core]\n", "proj/.git/hooks/pre-commit": "#!/bin/sh\n", "proj/.git/objects/info/x": "", "proj/.git/refs/x": "",
		"home/.ssh/id_rsa": "SECRET\n", "home/dots/netrc": "SECRET\n", "home/data/d": "data\n",
	} {
		full := filepath.Join(w.dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("dots/netrc", filepath.Join(home, ".netrc")); err != nil {
		t.Fatal(err)
	}
	agent, err := net.Listen("unix", filepath.Join(w.dir, "run/agent"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { agent.Close() })
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{bwrap: "real", self: "mutant"} {
		if err := linkOrCopy(from, filepath.Join(w.dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	w.before = w.files(t)
	return w
}

// verify runs sbx verify where bwrap is a mutant.
func (w *sandboxWorld) verify(t *testing.T, mutant string, flags []string) (verdicts, int) {
	t.Helper()
	words := append([]string{"-stub", w.dir + "/mutant", sbxPath, "verify", "--direct", "--json"}, flags...)
	cmd := exec.Command(filepath.Join(w.dir, "home/bin/jail"), words...)
	cmd.Dir = w.proj
	cmd.Env = append(slices.Clone(w.env), "BWRAP_MUTANT="+mutant, "BWRAP_REAL="+w.dir+"/real", "GH_TOKEN=x", "SSH_AUTH_SOCK="+w.dir+"/run/agent")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var v verdicts
	if jerr := json.Unmarshal(stdout.Bytes(), &v); jerr != nil {
		t.Fatalf("%v: %v\n%s%s", jerr, err, stdout.String(), stderr.String())
	}
	return v, shellStatus(err)
}

func (w *sandboxWorld) short(s string) string {
	s = strings.ReplaceAll(s, w.proj, "$CWD")
	s = strings.ReplaceAll(s, w.dir+"/home", "$HOME")
	return strings.ReplaceAll(s, w.dir, "$WORK")
}

// files describes everything in the world but sbx's own cache and what the
// test itself puts there.
func (w *sandboxWorld) files(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(w.dir, "home/bin/treehash"), "-x", w.dir+"/home/.cache", "-x", w.dir+"/home/bin", w.proj, w.dir+"/out", w.dir+"/everyone", w.dir+"/run", w.dir+"/home/.ssh", w.dir+"/home/dots", w.dir+"/home/data")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// Where the probe could make a file and removed it, the directory has
	// another time.
	return regexp.MustCompile(`(mode 4[0-7]+ uid [0-9]+) mtime [0-9.]+`).ReplaceAllString(string(out), "$1")
}
