// SPDX-License-Identifier: Apache-2.0

//go:build linux

package everyday

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mattn/go-shellwords"
	"github.com/rogpeppe/go-internal/txtar"
)

// lane is a home directory with a project. It is put back before each run, at the same
// path, so that what a command prints and writes can be compared byte for byte.
type lane struct {
	dir, home, project string
	env                []string
	stamps             map[string]stamp    // of what restore has put there, by path
	states             map[string][]string // of what is as it was put there
}

// newLane prepares the home and the project: a txtar file whose comment is a script.
func newLane(t *testing.T, name string) *lane {
	t.Helper()
	dir, err := os.MkdirTemp("", "everyday")
	must(t, err)
	t.Cleanup(func() { remove(dir) })
	must(t, os.Chmod(dir, 0o755))
	l := &lane{dir: dir, home: dir + "/home", project: dir + "/home/src/" + name}
	must(t, os.MkdirAll(l.project, 0o755))
	l.env = environment(l)
	for _, name := range []string{"home", name} {
		a, err := txtar.ParseFile("testdata/projects/" + name + ".txtar")
		must(t, err)
		for _, f := range a.Files {
			path := filepath.Join(l.project, f.Name)
			if rest, ok := strings.CutPrefix(f.Name, "~/"); ok {
				path = filepath.Join(l.home, rest)
			}
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(t, os.WriteFile(path, f.Data, 0o644))
		}
		if out := l.run(l.project, nil, nil, []string{"sh", "-euc", string(a.Comment)}); out.status != 0 {
			t.Fatalf("%s: status %d\n%s%s", name, out.status, out.stdout, out.stderr)
		}
	}
	if name == "go" {
		l.seedGo()
	}
	// Caches stay warm over all runs.
	must(t, os.MkdirAll(l.home+"/.cache", 0o755))
	must(t, os.Rename(l.home+"/.cache", dir+"/cache"))
	must(t, exec.Command("cp", "-a", l.home, dir+"/saved").Run())
	must(t, os.Rename(dir+"/cache", l.home+"/.cache"))
	l.stamp(t)
	return l
}

// seedGo puts the standard library, compiled, into the private cache: compiling it again
// takes a minute. A row with "fresh" has an empty one.
func (l *lane) seedGo() {
	to := strings.TrimSpace(l.run(l.project, nil, []string{"--engine", "landlock"}, []string{"go", "env", "GOCACHE"}).stdout)
	if filepath.IsAbs(to) && os.MkdirAll(to, 0o755) == nil {
		_ = exec.Command("cp", "-a", l.home+"/.cache/go-build/.", to).Run() // slow where it fails
	}
}

// serverURL is a server of the host's loopback.
var serverURL string

func environment(l *lane) []string {
	path := "/usr/bin:/bin:/usr/local/bin"
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		path = strings.TrimSpace(string(out)) + "/bin:" + path
	}
	for _, name := range []string{"pnpm", "just"} { // where .ci/run puts them
		if file, err := exec.LookPath(name); err == nil && !slices.Contains(strings.Split(path, ":"), filepath.Dir(file)) {
			path += ":" + filepath.Dir(file)
		}
	}
	user := fmt.Sprintf("ada%d", os.Getuid()) // pytest names a directory in /tmp after it
	const when = "2026-01-02T03:04:05Z"
	return []string{"HOME=" + l.home, "PATH=" + l.home + "/bin:" + filepath.Dir(sbxPath) + ":" + path, "LANG=C.UTF-8", "TERM=dumb", "USER=" + user, "LOGNAME=" + user,
		"SHELL=/bin/bash", "GIT_AUTHOR_DATE=" + when, "GIT_COMMITTER_DATE=" + when, "GIT_CONFIG_NOSYSTEM=1",
		"GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off", "CGO_ENABLED=0", "SOURCE_DATE_EPOCH=1767323045",
		// Java takes the home directory from passwd.
		"MAVEN_OPTS=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Duser.home=" + l.home, "npm_config_update_notifier=false", "npm_config_fund=false", "npm_config_audit=false"}
}

// remove removes a tree, closed directories as well.
func remove(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	_ = exec.Command("chmod", "-R", "u+rwx", path).Run()
	return os.RemoveAll(path)
}

type outcome struct {
	status         int
	stdout, stderr string
	state          []string
}

// run runs a command, in front of it sbx with flags unless those are nil.
func (l *lane) run(dir string, env, flags, words []string) outcome {
	if flags != nil {
		words = slices.Concat([]string{sbxPath}, flags, []string{"--"}, words)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/env", words...) // which looks in the lane's PATH
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, slices.Concat(l.env, []string{"PWD=" + dir}, env), &stdout, &stderr, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	out := outcome{stdout: stdout.String(), stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		out.status, out.stderr = -1, out.stderr+"\n(2 minutes are over)"
	case errors.As(err, &exit):
		if out.status = exit.ExitCode(); out.status < 0 {
			out.status = 128 + int(exit.Sys().(syscall.WaitStatus).Signal())
		}
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		out.status, out.stderr = -1, out.stderr+err.Error()
	}
	return out
}

// words are a command's: itself where no shell is needed.
func words(command string) []string {
	if !strings.ContainsAny(command, "|&;<>()$`\\*?[#~{\n") {
		if w, err := shellwords.Parse(command); err == nil && !strings.Contains(w[0], "=") && !builtin[w[0]] {
			return w
		}
	}
	return []string{"sh", "-c", command}
}

var builtin = map[string]bool{"cd": true, "umask": true, "ulimit": true, "command": true, "trap": true, "read": true}

// do restores the lane, makes directories, runs a row, and takes down what came of it.
func (l *lane) do(t *testing.T, r *row, flags, dirs []string) outcome {
	t.Helper()
	l.restore(t)
	for _, dir := range dirs {
		must(t, os.MkdirAll(dir, 0o755))
	}
	if r.fresh {
		must(t, remove(l.home+"/.cache/sbx"))
	}
	return l.outcome(t, r, l.run(filepath.Join(l.project, r.dir), r.env, flags, words(strings.ReplaceAll(r.command, "$URL", serverURL))))
}

// outcome takes down what came of a run.
func (l *lane) outcome(t *testing.T, r *row, out outcome) outcome {
	t.Helper()
	if r.output == "any" {
		out.stdout = ""
	}
	if r.state != "any" {
		out.state = l.state(t, r, l.project)
	}
	for _, path := range r.keep {
		out.state = append(out.state, l.state(t, r, filepath.Join(l.home, strings.TrimPrefix(path, "~/")))...)
	}
	return out
}

// state lists a tree: names, modes and contents; of git's index what git says of it. A
// tree in which nothing has happened is listed once.
func (l *lane) state(t *testing.T, r *row, top string) []string {
	t.Helper()
	key := fmt.Sprint(top, r.state, r.ignore)
	same := l.untouched(top)
	if lines := l.states[key]; same && lines != nil {
		return lines
	}
	lines := l.list(t, r, top)
	if same && l.untouched(top) {
		l.states[key] = lines
	}
	return lines
}

func (l *lane) list(t *testing.T, r *row, top string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, l.home+"/")
		if errors.Is(err, fs.ErrNotExist) {
			lines = append(lines, name+" does not exist")
			return nil
		} else if err != nil {
			lines = append(lines, err.Error())
			return nil
		}
		if ignored(r, path) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if r.state == "names" {
			lines = append(lines, name)
			return nil
		}
		line, err := describe(path, d)
		lines = append(lines, name+" "+line)
		if d.Name() == ".git" {
			lines = append(lines, l.git(filepath.Dir(path)))
		}
		return err
	})
	must(t, err)
	return lines
}

func ignored(r *row, path string) bool {
	// Python leaves these beside sources where it can.
	return filepath.Base(path) == "__pycache__" || slices.ContainsFunc(r.ignore, func(pattern string) bool {
		ok, _ := filepath.Match(pattern, filepath.Base(path))
		return ok
	})
}

func describe(path string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	line := info.Mode().String()
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		return line + " -> " + to, err
	case info.Mode().IsRegular() && d.Name() != "index":
		data, err := os.ReadFile(path)
		return fmt.Sprintf("%s %d bytes %.8x", line, len(data), sha256.Sum256(data)), err
	}
	return line, nil
}

// git is what git says of a work tree.
func (l *lane) git(dir string) string {
	out := l.run(dir, nil, nil, []string{"sh", "-c", "GIT_OPTIONAL_LOCKS=0 git status --porcelain=v2 --branch; git ls-files -s; git stash list"})
	return out.stdout + out.stderr
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
