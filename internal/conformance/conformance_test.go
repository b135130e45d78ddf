// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/testenv"
)

// temporary is where fixtures are: below a directory that each profile closes.
var temporary = map[string]string{"darwin": "/private/tmp", "linux": "/tmp"}[runtime.GOOS]

// settings are what the caller of sbx has in its environment.
var settings = map[string]string{
	"LANG": "C.UTF-8", "MY_SETTING": "mine", "GITHUB_TOKEN": "secret", "AWS_SECRET_ACCESS_KEY": "secret",
	"SSH_AUTH_SOCK": "/nonexistent/agent", "DATABASE_URL": "secret", "NODE_OPTIONS": "--max-old-space-size=99",
	"BASH_ENV": "/nonexistent/env",
}

// The test binary is also what does the acts, inside and outside, and the
// process that is attacked.
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == "actor":
		if len(os.Args) == 2 && os.Args[1] == "serve" {
			if err := Serve(os.Stdin, os.Stdout); err != nil {
				fmt.Fprintln(os.Stderr, "actor:", err)
				os.Exit(1)
			}
		}
		return
	case len(os.Args) > 1 && os.Args[1] == "victim":
		fmt.Println("here")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestConformance does what the table says under each engine of this system,
// and what is refused somewhere, outside.
//
// SBX_TEST_REQUIRE makes an engine that does not work a failure: bwrap,
// landlock, sandbox-exec. SBX_TEST_BINARY names an sbx to test in place of
// a fresh build.
func TestConformance(t *testing.T) {
	sbx := build(t)
	t.Run("outside", outside)
	for _, engine := range engines() {
		t.Run(engine.name, func(t *testing.T) {
			if err := engine.works(); err != nil {
				if slices.Contains(strings.Split(os.Getenv("SBX_TEST_REQUIRE"), ","), engine.name) {
					t.Fatalf("SBX_TEST_REQUIRE: %s: %v", engine.name, err)
				}
				t.Skip(engine.name + ": " + err.Error())
			}
			for profile, name := range Profiles {
				t.Run(name, func(t *testing.T) {
					h := newHost(t)
					a := h.actor(t, sbx, "--engine", engine.name, "--min-tier", engine.tier, "-p", name, "--protect", "enforce", "--")
					mismatches, err := Compare(engine.name, engine.version, profile,
						func(r Row) (bool, string, error) { return h.judge(t, r, a.do) })
					for _, m := range mismatches {
						t.Error(m)
					}
					if err != nil {
						t.Fatal(err)
					}
				})
			}
		})
	}
}

// engine is one that this system may have.
type engine struct {
	name, tier string
	version    int
	works      func() error
}

// changing are the acts that leave something else behind than they found.
var changing = []string{"write", "truncate", "create", "mkdir", "unlink", "rmdir", "rename", "link", "symlink", "chmod",
	"bind-unix"}

// outside is the positive control: what an engine refuses can be done on this
// host, in a fixture that nothing was done to yet.
func outside(t *testing.T) {
	a := newHost(t).actor(t) // in a fixture that stays
	var h *host
	for _, r := range Rows() {
		if !r.Denied() {
			continue
		}
		if h == nil {
			h = newHost(t)
		}
		var act Act
		allowed, detail, err := h.judge(t, r, func(it Act) (Done, error) { act = it; return a.do(it) })
		if err == nil && slices.Contains(changing, r.Op) {
			var restored bool
			if restored, err = h.restore(act); !restored {
				h.close()
				h = nil
			}
		}
		if err != nil {
			t.Fatalf("table.txt:%d: %s: %v", r.Line, r.Name(), err)
		}
		if !allowed {
			t.Errorf("table.txt:%d: %s is refused outside of any sandbox: %s", r.Line, r.Name(), detail)
		}
	}
}

// acting is a process that does acts.
type acting struct {
	in     *json.Encoder
	out    *json.Decoder
	stderr *strings.Builder
}

func (a *acting) do(act Act) (done Done, err error) {
	if err = a.in.Encode(act); err == nil {
		err = a.out.Decode(&done)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, a.stderr)
	}
	return done, err
}

// actor starts one in the project, behind the words of sbx if any.
func (h *host) actor(t *testing.T, words ...string) *acting {
	t.Helper()
	program := filepath.Join(h.CWD, "actor")
	if err := linkOrCopy(self(t), program); err != nil {
		t.Fatal(err)
	}
	words = append(words, program, "serve")
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = h.CWD, h.environ()
	a := &acting{stderr: new(strings.Builder)}
	cmd.Stderr = a.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	a.in, a.out = json.NewEncoder(in), json.NewDecoder(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.atEnd(func() {
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the actor: %v: %s", err, a.stderr)
		}
	})
	return a
}

// environ is what sbx and the actors outside are given.
func (h *host) environ() []string {
	env := []string{"HOME=" + h.Home, "TMPDIR=" + h.Tmp, "PATH=/usr/bin:/bin", "USER=" + os.Getenv("USER")}
	for name, value := range settings {
		env = append(env, name+"="+value)
	}
	return env
}

func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// build makes an sbx, where everyone may run it.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sbx")
	if given := os.Getenv("SBX_TEST_BINARY"); given != "" {
		if _, err := os.Stat(given); err != nil { // which the cache of test results takes note of
			t.Fatal(err)
		}
		return given
	}
	if err := testenv.Build(path, "github.com/sbx-sandbox/sbx/cmd/sbx", testenv.Start()...); err != nil {
		t.Fatalf("sbx for the test: %v", err)
	}
	return path
}
