// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/sbpltest"
)

// TestEvaluated gives the table to the evaluator of macOS profiles, in both of
// its models, with the profile that sbx makes for this fixture. On another
// system that is the profile of a Mac with the same fixture.
func TestEvaluated(t *testing.T) {
	sbx := build(t)
	for profile, name := range Profiles {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			p := h.plan(t, sbx, name)
			for _, model := range sbpltest.Models {
				mismatches, err := Compare("sandbox-exec", 0, profile,
					func(r Row) (bool, string, error) { return p.evaluate(h, model, r) })
				for _, m := range mismatches {
					t.Errorf("%v: %v", model, m)
				}
				if err != nil {
					t.Fatal(model, err)
				}
			}
		})
	}
}

// evaluated is a plan for sandbox-exec, ready to be asked.
type evaluated struct {
	profile *sbpltest.Profile
	env     []string
}

// onMac is where a path of a fixture is on a Mac.
func onMac(path string) string {
	if runtime.GOOS != "darwin" && strings.HasPrefix(path, "/tmp/") {
		return "/private" + path
	}
	return path
}

func (h *host) plan(t *testing.T, sbx, profile string) *evaluated {
	t.Helper()
	cmd := exec.Command(sbx, "--engine", "sandbox-exec", "-p", profile, "--dry-run", "--json", "--", "/usr/bin/true")
	cmd.Dir, cmd.Env = h.CWD, h.environ()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	var plan struct{ Argv, Env []string }
	if err := json.Unmarshal(out, &plan); err != nil {
		t.Fatal(err)
	}
	end := slices.Index(plan.Argv, "--")
	if end < 3 || plan.Argv[1] != "-p" {
		t.Fatalf("%.80q", plan.Argv)
	}
	params := map[string]string{}
	for i := 3; i+1 < end; i += 2 {
		key, value, _ := strings.Cut(plan.Argv[i+1], "=")
		if plan.Argv[i] != "-D" {
			t.Fatalf("%q", plan.Argv[i])
		}
		params[key] = value
	}
	links := map[string]string{}
	for _, n := range Layout() {
		if n.Kind == Link {
			links[onMac(h.Expand(n.Path))] = onMac(h.Expand(n.Text))
		}
	}
	p, err := sbpltest.Options{Links: links}.Load(plan.Argv[2], params)
	if err != nil {
		t.Fatal(err)
	}
	return &evaluated{p, plan.Env}
}

// evaluate answers for a row what its system calls would be told.
func (e *evaluated) evaluate(h *host, model sbpltest.Model, r Row) (bool, string, error) {
	args := make([]string, len(r.Args), len(r.Args)+2)
	for i, arg := range r.Args {
		args[i] = onMac(h.Expand(arg))
	}
	args = append(args, "", "")
	path, to := args[0], args[1]
	variable := func(name string) (string, bool) {
		for _, kv := range e.env {
			if n, v, set := strings.Cut(kv, "="); n == name && set {
				return v, true
			} else if n == name { // as it was
				return settings[name], true
			}
		}
		return "", false
	}
	var acts []sbpltest.Act
	switch r.Op {
	case "env":
		v, ok := variable(path)
		return ok && v == settings[path], "by the plan", nil
	case "read":
		acts = []sbpltest.Act{sbpltest.Do("read", path)}
	case "list":
		acts = []sbpltest.Act{sbpltest.Do("list", path)}
	case "stat":
		acts = []sbpltest.Act{sbpltest.Do("lstat", path)}
	case "write", "truncate", "device":
		acts = []sbpltest.Act{sbpltest.Do("write", path)}
	case "create":
		acts = []sbpltest.Act{sbpltest.Do("create", path)}
	case "mkdir":
		acts = []sbpltest.Act{sbpltest.Do("mkdir", path)}
	case "unlink", "rmdir":
		acts = []sbpltest.Act{sbpltest.Do("unlink", path)}
	case "rename":
		acts = []sbpltest.Act{sbpltest.Do("rename", path, to)}
		if _, err := os.Lstat(h.Expand(r.Args[1])); err == nil {
			acts = []sbpltest.Act{sbpltest.Do("rename-over", path, to)}
		}
	case "link":
		acts = []sbpltest.Act{sbpltest.Do("link", path, to)}
	case "symlink":
		acts = []sbpltest.Act{sbpltest.Do("symlink", path, to)}
	case "chmod":
		acts = []sbpltest.Act{sbpltest.Do("chmod", path)}
	case "exec": // of a script
		acts = []sbpltest.Act{sbpltest.Do("exec", path), sbpltest.Do("read", path), sbpltest.Do("interpret", "/bin/sh")}
	case "fork":
		acts = []sbpltest.Act{sbpltest.Do("fork")}
	case "tmp":
		dir, ok := variable("TMPDIR")
		if !ok {
			return false, "there is no TMPDIR", nil
		}
		acts = []sbpltest.Act{sbpltest.Do("create", dir+"/sbx"), sbpltest.Do("unlink", dir+"/sbx")}
	case "connect-unix":
		acts = []sbpltest.Act{sbpltest.Do("socket", "AF_UNIX"), sbpltest.Do("connect", path)}
	case "bind-unix":
		acts = []sbpltest.Act{sbpltest.Do("socket", "AF_UNIX"), sbpltest.Do("bind", path)}
	case "connect-ip":
		family := map[string]string{"tcp4": "AF_INET", "udp4": "AF_INET", "tcp6": "AF_INET6"}[path]
		acts = []sbpltest.Act{sbpltest.Do("socket", family), sbpltest.Do("connect-ip", "localhost:4711", path[:3])}
	case "listen-ip":
		acts = []sbpltest.Act{sbpltest.Do("socket", "AF_INET"), sbpltest.Do("listen-ip", "localhost:4711", "tcp")}
	case "signal-outside":
		acts = []sbpltest.Act{sbpltest.Do("signal", "others")}
	case "see-outside", "environ-outside":
		acts = []sbpltest.Act{sbpltest.Do("sysctl", "kern.procargs2")}
	default:
		return false, "", fmt.Errorf("%s: which system calls is that?", r.Op)
	}
	for _, a := range acts {
		if ok, rule := e.profile.Check(model, a); !ok {
			return false, a.Name + ": " + rule, nil
		}
	}
	return true, "every step", nil
}
