// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// recorded is what fakeBwrap was given, as the kernel has it.
type recorded struct {
	Exe  string
	Argv []string
	Env  []string
	FDs  map[int]openFD
	Core uint64 // bytes a core dump may have
}

type openFD struct {
	Link string // as /proc/self/fd shows it
	Data []byte // content, when there is one to read without taking it away
}

const recordName = "recorded.json"

// fakeBwrap stands where bwrap is. It answers the probe as if it were one and
// writes what a run gives it to a file in the working directory.
func fakeBwrap() {
	args := os.Args[1:]
	switch {
	case len(args) == 1 && args[0] == "--version":
		fmt.Println("bubblewrap 0.8.0")
		return
	case len(args) > 0 && args[len(args)-1] == "--version":
		fmt.Println("sbx 0")
		return
	}
	exe, err := os.Readlink("/proc/self/exe")
	die(err)
	var core unix.Rlimit
	die(unix.Getrlimit(unix.RLIMIT_CORE, &core))
	data, err := json.Marshal(recorded{Exe: exe, Argv: os.Args, Env: os.Environ(), FDs: openFDs(), Core: core.Cur})
	die(err)
	die(os.WriteFile(recordName, data, 0o644))
}

func openFDs() map[int]openFD {
	out := make(map[int]openFD)
	for n := range 256 {
		var st syscall.Stat_t
		if syscall.Fstat(n, &st) != nil {
			continue
		}
		link, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(n))
		flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue // of this program's own
		}
		fd := openFD{Link: link}
		mode, err := unix.FcntlInt(uintptr(n), unix.F_GETFL, 0)
		if err == nil && st.Mode&syscall.S_IFMT == syscall.S_IFREG && mode&unix.O_ACCMODE != unix.O_WRONLY {
			fd.Data = make([]byte, st.Size)
			_, err := unix.Pread(n, fd.Data, 0)
			die(err)
		}
		out[n] = fd
	}
	return out
}

// world is a project, a home and an environment as scripts have them.
type world struct {
	dir, proj string
	env       []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := &testscript.Env{WorkDir: dir}
	if err := setup(e); err != nil {
		t.Fatal(err)
	}
	return &world{dir, e.Cd, e.Vars}
}

func (w *world) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a program of the world's PATH in a directory.
func (w *world) run(dir string, words ...string) (stdout, stderr string, status int) {
	path := words[0]
	for _, d := range []string{filepath.Join(w.dir, "home/bin"), filepath.Dir(sbxPath), "/usr/bin", "/bin"} {
		if _, err := os.Stat(filepath.Join(d, words[0])); err == nil {
			path = filepath.Join(d, words[0])
			break
		}
	}
	var out, said strings.Builder
	cmd := &exec.Cmd{Path: path, Args: words, Dir: dir, Env: append(slices.Clone(w.env), "PWD="+dir), Stdout: &out, Stderr: &said}
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		return "", err.Error(), -1
	}
	return out.String(), said.String(), shellStatus(err)
}

// TestPlanIsExecuted compares what --dry-run prints with what the engine gets:
// program, arguments, environment and the content of every descriptor.
func TestPlanIsExecuted(t *testing.T) {
	needBwrap(t)
	tests := []struct {
		name  string
		flags []string
		fds   []string // as fdrun has them
		dir   string   // below the project
		env   []string
	}{
		{name: "no flags"},
		{name: "strict", flags: []string{"-p", "strict"}},
		{name: "permissive", flags: []string{"-p", "permissive"}},
		{name: "permissive without net", flags: []string{"-p", "permissive", "--no-net"}},
		{name: "net", flags: []string{"--net"}},
		{name: "grants", flags: []string{"-w", "../out", "-r", "../data", "--block", "private", "--block", "a b"}},
		{name: "environment", flags: []string{"--env", "FOO_TOKEN", "--env", "SET=a\nb=c $x", "--env", "api_*"}},
		{name: "read-only", flags: []string{"--read-only"}},
		{name: "subdirectory of a work tree", dir: "sub/deep"},
		{name: "git full", flags: []string{"--git", "full"}},
		{name: "git none", flags: []string{"--git", "none"}},
		{name: "no cache", flags: []string{"--cache", "none"}},
		{name: "seccomp dev", flags: []string{"--seccomp", "dev"}},
		{name: "new session", flags: []string{"--new-session", "yes"}},
		{name: "shared pids", flags: []string{"--share-pid"}},
		{name: "elsewhere", flags: []string{"--workspace", "/workspace"}},
		{name: "time limit", flags: []string{"--timeout", "60"}},
		{name: "pipes and files", fds: []string{"9=pipe:x", "5<../data/d", "6<file", "7</", "8=pair:y", "4>../out/log"}},
		{name: "numbers taken", fds: []string{"20=pipe:x", "21=pipe:y", "23=pipe:z"}},
		{name: "kept by name", flags: []string{"--keep-fd", "7"}, fds: []string{"7</"}},
		{name: "standard input to be copied", fds: []string{"0<../data/d"}},
		{name: "flags of the environment", env: []string{"SBX_FLAGS=--net -w ../out"}},
		{name: "profile of the environment", env: []string{"SBX_PROFILE=strict"}},
	}
	// A copy of the caller's own: in a user's jail all else belongs to the user nobody.
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	fake := filepath.Join(t.TempDir(), "fake")
	if err := os.WriteFile(fake, self, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := planWorld(t)
			w.env = append(w.env, tt.env...)
			dir := filepath.Join(w.proj, tt.dir)
			prefix := append(append([]string{"jail", "-stub", fake, "fdrun"}, tt.fds...), "--", "sbx")
			command := []string{"--", "sh", "-c", "echo $0", "a b", "", "--", "caf\u00e9"}
			dry := append(append(slices.Clone(prefix), append(tt.flags, "--dry-run", "--json")...), command...)
			text, said, status := w.run(dir, dry...)
			if status != 0 {
				t.Fatalf("dry run: status %d: %s", status, said)
			}
			var plan planJSON
			if err := json.Unmarshal([]byte(text), &plan); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, recordName)); err == nil {
				t.Fatal("the dry run executed something")
			}
			for _, d := range plan.Dirs {
				if _, err := os.Lstat(d); err == nil {
					t.Errorf("%s is to be made, and is there", d)
				}
			}
			_, said, status = w.run(dir, append(append(slices.Clone(prefix), tt.flags...), command...)...)
			if status != 0 {
				t.Fatalf("run: status %d: %s", status, said)
			}
			data, err := os.ReadFile(filepath.Join(dir, recordName))
			if err != nil {
				t.Fatal(err)
			}
			var got recorded
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			comparePlan(t, w, &plan, &got)
		})
	}
}

func planWorld(t *testing.T) *world {
	w := newWorld(t)
	for name, text := range map[string]string{
		"data/d": "data\n", "proj/file": "file\n", "proj/private/p": "p\n", "proj/a b/x": "", "proj/sub/deep/x": "", "proj/.env": "K=v\n",
		"proj/.git/HEAD": "ref: refs/heads/main\n", "proj/.git/config": "", "proj/.git/hooks/x": "", "home/.gitconfig": "", "home/.ssh/id_rsa": "",
	} {
		w.write(t, name, text)
	}
	w.env = append(w.env, "FOO_TOKEN=planted-secret", "api_key=planted", "PLAIN=plain", "EMPTY=", "LD_LIBRARY_PATH=/x")
	return w
}

func comparePlan(t *testing.T, w *world, plan *planJSON, got *recorded) {
	t.Helper()
	if got.Exe != plan.Path {
		t.Errorf("executed %s, printed %s", got.Exe, plan.Path)
	}
	if diff := cmp.Diff(plan.Argv, got.Argv); diff != "" {
		t.Errorf("arguments: printed (-), executed (+):\n%s", diff)
	}
	if diff := cmp.Diff(plan.Env, shownAs(plan.Env, got.Env)); diff != "" {
		t.Errorf("environment: printed (-), executed (+):\n%s", diff)
	}
	want := map[int]bool{0: true, 1: true, 2: true}
	for _, fd := range plan.FDs {
		want[fd.Num] = true
		printed, executed := string(content(t, fd)), string(got.FDs[fd.Num].Data)
		if fd.Name == "configuration of process 1" { // its program stands before it, made from it alone
			executed = executed[max(0, len(executed)-len(printed)):]
		}
		if diff := cmp.Diff(printed, executed); diff != "" {
			t.Errorf("descriptor %d (%s): printed (-), executed (+):\n%s", fd.Num, fd.Name, diff)
		}
		if _, ok := got.FDs[fd.Num]; !ok {
			t.Errorf("descriptor %d (%s) is not open", fd.Num, fd.Name)
		}
	}
	for _, n := range plan.Keep {
		want[n] = true
	}
	for n, fd := range got.FDs {
		if !want[n] {
			t.Errorf("descriptor %d (%s) is open, and not printed", n, fd.Link)
		}
		delete(want, n)
	}
	if len(want) > 0 {
		t.Errorf("descriptors printed and not open: %v", want)
	}
	for _, n := range plan.Copy {
		if link := got.FDs[n].Link; !strings.HasPrefix(link, "/memfd:") {
			t.Errorf("descriptor %d is %s, not a copy", n, link)
		}
	}
	for _, d := range plan.Dirs {
		info, err := os.Lstat(d)
		if err != nil || info.Mode() != os.ModeDir|0o700 {
			t.Errorf("%s: %v %v, want a directory of mode 700", d, info, err)
		}
	}
	if got.Core > 1 {
		t.Errorf("a core dump may have %d bytes", got.Core)
	}
}

// shownAs writes an environment as a plan does: the name alone where the plan
// has the name alone.
func shownAs(plan, env []string) []string {
	names := make(map[string]bool)
	for _, kv := range plan {
		names[kv] = true
	}
	out := slices.Clone(env)
	for i, kv := range out {
		if name, _, _ := strings.Cut(kv, "="); names[name] {
			out[i] = name
		}
	}
	return out
}

func content(t *testing.T, fd fdJSON) []byte {
	t.Helper()
	switch {
	case fd.Words != nil:
		return []byte(strings.Join(fd.Words, "\x00") + "\x00")
	case fd.Text != nil:
		return []byte(*fd.Text)
	}
	data, err := base64.StdEncoding.DecodeString(fd.Base64)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
