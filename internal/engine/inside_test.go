// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/host"
)

// TestWithinBelievesTheKernel: a file may say more of the walls, and not that they
// are others.
func TestWithinBelievesTheKernel(t *testing.T) {
	dir := t.TempDir()
	walls := Manifest{Engine: host.EngineSeatbelt, Tier: host.TierFull}
	for name, c := range map[string]struct {
		data string
		want string // profile, "" for what the kernel says alone
	}{
		"good":    {`{"engine":"sandbox-exec","tier":"full","profiles":["strict"]}`, "strict"},
		"another": {`{"engine":"bwrap","tier":"full","profiles":["permissive"]}`, ""},
		"broken":  {`{`, ""},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(c.data), 0o600); err != nil {
			t.Fatal(err)
		}
		m := within(walls, file)
		if m.Engine != walls.Engine || m.Tier != walls.Tier || strings.Join(m.Profiles, "+") != c.want {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if m := within(walls, filepath.Join(dir, "none")); m.Engine != walls.Engine || len(m.Profiles) > 0 {
		t.Errorf("without a file: %+v", m)
	}
}

// A manifest of an older sbx, and one of a newer, can be read.
func TestReadManifest(t *testing.T) {
	m, ok := readManifest([]byte(`{"sbx":1,"profiles":["moderate"],"allow_network":"false","paths":[{"path":"/usr","access":"read"},{"path":"/x","access":"later"},{"path":"/y\ufffd","hex":"2f79ff","access":"block","source":"s","layer":"flag","rule":"/y*","pin":true}],"more":[]}`))
	if !ok {
		t.Fatal("not read")
	}
	marks := m.Rules()
	if len(marks) != 2 || marks[0].Path != "/usr" || marks[0].Written != "/usr" || marks[0].Source != "" || marks[1].Path != "/y\xff" || marks[1].Written != "/y*" || !marks[1].Pinned || marks[1].Layer.String() != "flag" {
		t.Errorf("%+v", marks)
	}
	for _, bad := range []string{"", "[]", `{"paths":1}`, `{"paths":[{"path":1}]}`, "\xff"} {
		if _, ok := readManifest([]byte(bad)); ok {
			t.Errorf("%q is read as a manifest", bad)
		}
	}
}

// With sandbox-exec the manifest says what is open, and a name where nothing is
// yet may have a rule of its own.
func TestSightOfSandboxExec(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", ".env"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(map[string]any{"engine": host.EngineSeatbelt, "tier": host.TierFull, "allow_network": "true", "paths": []map[string]any{
		{"path": dir, "access": "write", "source": "moderate"},
		{"path": dir + "/.env", "access": "block", "source": "secrets"},
		{"path": dir + "/.envrc", "access": "protect", "source": "moderate"},
		{"path": dir + "/.x", "access": "write", "source": "moderate", "pin": true},
		{"path": "/etc", "access": "closed", "source": "moderate"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	m, ok := readManifest(text)
	if !ok {
		t.Fatal("no manifest")
	}
	s, err := m.Sight(&host.Host{Facts: host.Facts{FS: host.OS{}}, Caller: host.Caller{UID: os.Getuid(), CWD: dir}}, "")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir + "/a": "true true", dir + "/b": "false true", dir + "/.env": "false false", dir + "/.envrc": "false false", dir + "/.x": "false false", dir + "/.x/y": "false false",
		"/etc/hosts": "false false", "/usr/bin": "false false", "/dev/null": "true true", dir: "true true"} {
		if a := s.Ask(path); fmt.Sprint(a.Read, a.Write) != want {
			t.Errorf("%s: %v %v, want %s: %s", path, a.Read, a.Write, want, a.Why)
		}
	}
	if !s.Network {
		t.Error("the network is off")
	}
}
