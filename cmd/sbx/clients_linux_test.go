// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-sandbox/sbx/internal/session"
)

// TestClients starts shells the way real clients do (testdata/clients.tsv):
// first a plain one, which shows that the row can be met and that the file
// that gives a run without walls away is there, then sbx under the name of one.
func TestClients(t *testing.T) {
	needBwrap(t)
	t.Parallel()
	c := newClients(t)
	each(t, 4, clientRows(t), c.try)
}

// clientRow is a line of testdata/clients.tsv.
type clientRow struct {
	id, kind string
	tools    []string
	status   string
	output   *regexp.Regexp
	command  string
}

func (r clientRow) String() string { return r.id }

// unmarked are the rows in which the shell runs nothing that could tell where
// it is.
var unmarked = []string{"15", "40"}

func clientRows(t *testing.T) (rows []clientRow) {
	for _, line := range strings.Split(strings.TrimSpace(readText("testdata/clients.tsv")), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.SplitN(line, "\t", 6)
		if len(f) != 6 || !strings.Contains("PTS", f[1]) {
			t.Fatalf("clients.tsv: %q", line)
		}
		r := clientRow{id: f[0], kind: f[1], status: f[3], output: regexp.MustCompile(f[4]), command: f[5]}
		r.tools = strings.FieldsFunc(f[2], func(c rune) bool { return c == ',' })
		if strings.Contains(r.command, "@IN@") == slices.Contains(unmarked, r.id) {
			t.Fatalf("%s: does not tell where it runs", r.id)
		}
		rows = append(rows, r)
	}
	if len(rows) < 40 {
		t.Fatalf("clients.tsv: %d rows", len(rows))
	}
	return rows
}

// clients is a home directory with a file that only the host shows, projects,
// and shells by the names of sbx and by their own.
type clients struct {
	dir, home, canary string
}

func newClients(t *testing.T) *clients {
	t.Helper()
	// Other users (su) have to get there.
	dir, err := os.MkdirTemp("/tmp", "clients")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	c := &clients{dir: dir, home: dir + "/home", canary: dir + "/home/canary"}
	for _, d := range []string{"home", "user", "proj", "sbx/names", "plain/names"} {
		must(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	must(t, os.WriteFile(c.canary, []byte("x\n"), 0o644))
	must(t, os.WriteFile(dir+"/passwd", []byte("root:*:0:0::"+c.home+":/bin/bash\nclient:*:4711:4711::"+dir+"/user:/bin/bash\n"), 0o644)) // to be with su
	must(t, linkOrCopy(sbxPath, dir+"/sbx/sbx"))
	for _, name := range []string{"sh", "bash", "zsh"} {
		must(t, os.Symlink("sbx", dir+"/sbx/sbx-"+name))
		must(t, os.Symlink("../sbx", dir+"/sbx/names/"+name))
		must(t, os.Symlink("/bin/"+name, dir+"/plain/"+name))
		must(t, os.Symlink("/bin/"+name, dir+"/plain/names/"+name))
	}
	if os.Geteuid() == 0 {
		must(t, os.Chown(dir+"/user", 4711, 4711))
	}
	return c
}

func (c *clients) try(t *testing.T, r clientRow) {
	needTools(t, r.tools)
	if r.kind != "S" {
		// sbx-bash is bash, and so on: what starts a shell as -sbx-zsh starts -zsh.
		plain := r
		plain.command = strings.ReplaceAll(r.command, "sbx-", "")
		if said := c.run(t, plain, "plain"); said != "leaked" && !slices.Contains(unmarked, r.id) {
			t.Errorf("plain shell: %s, so that the row shows nothing", said)
		}
	}
	if said := c.run(t, r, "sbx"); said != "held" && !slices.Contains(unmarked, r.id) {
		t.Errorf("sbx: %s", said)
	}
}

// run starts a row in a project of its own, since rows run side by side and a
// start fails when git replaces a file of its project meanwhile. It returns what
// the shell told of where it ran.
func (c *clients) run(t *testing.T, r clientRow, by string) string {
	t.Helper()
	dir := filepath.Join(c.dir, "proj", by+"-"+r.id)
	must(t, os.Mkdir(dir, 0o777))
	must(t, os.Chmod(dir, 0o777))
	marker := fmt.Sprintf("if test -r %s; then echo x >> leaked; else echo x >> held; fi", c.canary)
	text := strings.NewReplacer("@IN@", marker, "@PIPE@", pipeStyle()).Replace(r.command)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	words := withUsers(c.dir+"/passwd", "/bin/bash", "-c", text)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + c.home, "LANG=C.UTF-8", "TERM=xterm", "SHELL=/bin/bash", "LOGNAME=u", "USER=u", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:" + os.Getenv("PATH"),
		"S=" + filepath.Join(c.dir, by), "N=" + filepath.Join(c.dir, by, "names"), "npm_config_update_notifier=false"}
	if r.kind == "T" {
		store, err := session.Create(os.Geteuid(), session.Session{Client: "test", Root: dir, Home: c.home})
		must(t, err)
		defer os.RemoveAll(store)
		cmd.Env = append(cmd.Env, session.Var+"="+store, "SBX_ROOT="+dir, "TMPDIR="+session.Tmp(store))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	got := strings.ReplaceAll(strings.TrimRight(strings.ReplaceAll(string(out), "\r", ""), "\n"), "\n", "␤")
	if status := fmt.Sprint(shellStatus(err)); status != r.status || !r.output.MatchString(got) {
		t.Errorf("%s: status %s, want %s; %q does not match %q\n%s", by, status, r.status, got, r.output, &stderr)
	}
	leaked, held := readText(dir+"/leaked") != "", readText(dir+"/held") != ""
	switch {
	case leaked && held:
		return "some of it ran inside, some outside"
	case leaked:
		return "leaked"
	case held:
		return "held"
	}
	return "nothing ran"
}

// withUsers is a command under another user database, when root runs the test:
// sbx-sh looks up there where home is. For a plain user it is where it is.
func withUsers(passwd string, words ...string) []string {
	if os.Geteuid() != 0 {
		return words
	}
	return append([]string{"unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", `mount --bind "$0" /etc/passwd && exec "$@"`, passwd}, words...)
}

// needTools skips a test that has to do without a tool, or fails it when the
// tool is required.
func needTools(t *testing.T, tools []string) {
	t.Helper()
	for _, tool := range tools {
		if tool == "root" {
			if os.Geteuid() != 0 {
				t.Skip("only root may")
			}
			continue
		}
		_, err := exec.LookPath(tool)
		switch {
		case err != nil && required(tool):
			t.Fatal("SBX_TEST_REQUIRE:", err)
		case err != nil:
			t.Skip(err)
		}
	}
}

// pipeStyle is the flag for a jobserver of inherited descriptors, which make
// before 4.4 always has.
func pipeStyle() string {
	out, _ := exec.Command("make", "--help").Output()
	if strings.Contains(string(out), "--jobserver-style") {
		return "--jobserver-style=pipe"
	}
	return ""
}
