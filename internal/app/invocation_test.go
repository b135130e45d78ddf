// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/session"
	"github.com/sbx-sandbox/sbx/shims"
)

// TestWaysIn: the variables count for a person who calls sbx or a shim, and only as a
// floor for a client that calls its shell.
func TestWaysIn(t *testing.T) {
	t.Setenv("SBX_PROFILE", "permissive")
	t.Setenv(session.Var, "")
	t.Setenv(depthVar, "")
	run := ForRun(Flags{Net: true}, []string{"make"})
	if run.profile != "permissive" || run.Client || !run.person || run.Tool != "" {
		t.Errorf("run: %+v", run)
	}
	tool := ForTool("npm", []string{"ci"}, nil)
	if diff := cmp.Diff([]string{"npm", "ci"}, tool.words); diff != "" || tool.profile != "permissive" || tool.Tool != "npm" {
		t.Errorf("tool: %+v %s", tool, diff)
	}
	floor := Floor{Profile: "permissive"}
	shell, err := ForShell(shims.Name{Kind: shims.Shell, Text: "bash"}, "/x/bash", []string{"-c", "true"},
		func() (Floor, error) { return floor, nil })
	if err != nil || !shell.Client || shell.profile != "" || shell.person || shell.floor.Profile != "permissive" || shell.path != "" {
		t.Errorf("shell: %+v, %v", shell, err)
	}
	t.Setenv(depthVar, "32")
	if _, err := ForShell(shims.Name{Kind: shims.Shell}, "", nil, func() (Floor, error) { return floor, nil }); err == nil {
		t.Error("a shell that leads to itself is started again")
	}
}

// TestOver: what a client's variables say comes on top of the session's flags and
// takes none of them away.
func TestOver(t *testing.T) {
	ses := Flags{Profile: []string{"go"}, AllowRead: []string{"/a"}, Block: []string{"/b"}, Env: []string{"A"}, NoNet: true}
	for _, c := range []struct {
		name      string
		say, want Flags
	}{
		{"nothing", Flags{}, ses},
		{"more", Flags{Profile: []string{"strict"}, AllowRead: []string{"/c"}, Block: []string{"/d"}, Memory: "1G"},
			Flags{Profile: []string{"strict"}, AllowRead: []string{"/a", "/c"}, Block: []string{"/b", "/d"}, Env: []string{"A"},
				NoNet: true, Memory: "1G"}},
		{"the network", Flags{Net: true}, // which is wider, and refused by the policy it makes
			Flags{Profile: []string{"go"}, AllowRead: []string{"/a"}, Block: []string{"/b"}, Env: []string{"A"}, Net: true}},
	} {
		if diff := cmp.Diff(c.want, c.say.over(ses)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestFlagsAsProfile: each setting names the flag that made it.
func TestFlagsAsProfile(t *testing.T) {
	f := Flags{NoNet: true, SharePID: true, Git: "none", Timeout: "90", Memory: "1G", FileSize: "512K", CPUs: "0.5", Procs: "9"}
	p, err := f.profile(&Caller{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"allow_network": "--no-net", "share_pid": "--share-pid", "git": "--git", "timeout_seconds": "--timeout",
		"memory_limit_mb": "--memory", "file_size_limit_mb": "--file-size", "cpus": "--cpus", "procs": "--procs"}
	if diff := cmp.Diff(want, p.Where); diff != "" {
		t.Error(diff)
	}
	got := []float64{p.TimeoutSeconds, float64(p.MemoryLimitMB), p.FileSizeMB, p.CPUs, float64(p.Procs)}
	if diff := cmp.Diff([]float64{90, 1024, 0.5, 0.5, 9}, got); diff != "" || p.AllowNetwork != policy.No {
		t.Error(diff, p.AllowNetwork)
	}
	for _, f := range []Flags{{Timeout: "0"}, {Timeout: "-1s"}, {Memory: "1"}, {Memory: "512K"}, {FileSize: "0K"}, {CPUs: "NaN"}, {CPUs: "0"},
		{Procs: "0"}, {Procs: "9999999"}, {Env: []string{"A B"}}, {Env: []string{"=x"}}} {
		if _, err := f.profile(&Caller{}); err == nil {
			t.Errorf("%+v is taken", f)
		}
	}
}

func TestLinksIn(t *testing.T) {
	got := linksIn("/a/sbx/shims:/a/sbx/shells:/b/sbx/shells/:rel/sbx/shims:/c/sbx:/d/notsbx/shims:/e/./sbx/shims")
	if diff := cmp.Diff([]string{"/a/sbx", "/b/sbx", "/e/sbx"}, got); diff != "" {
		t.Error(diff)
	}
}
