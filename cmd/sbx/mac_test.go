package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/wrap"
)

// TestDoctorOnMacOS: what the doctor says there, by what was found.
func TestDoctorOnMacOS(t *testing.T) {
	facts := wrap.Facts{MacOS: "15.1"}
	for _, c := range []struct {
		name   string
		err    error
		facts  wrap.Facts
		works  bool
		cause  string
		status string
		text   string
		hint   string
	}{
		{"works", nil, facts, true, "", "ok", wrap.SandboxExec + ", tried and working", ""},
		{"nested", &wrap.Unavailable{Cause: wrap.CauseNested, Reason: "inside", Hints: []string{"go out"}}, facts, false, "nested", "bad", "inside", "go out"},
		{"nested on a runner", &wrap.Unavailable{Cause: wrap.CauseNested, Reason: "inside", Hints: []string{"go out"}}, wrap.Facts{MacOS: "15.1", CI: "github"}, false, "nested", "bad", "inside", "GitHub's own runners"},
		{"missing", &wrap.Unavailable{Cause: wrap.CauseMissing, Reason: "not there", Hints: []string{"look"}}, facts, false, "missing", "bad", "not there", "look"},
		{"another error", errors.New("strange"), facts, false, "", "bad", "strange", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &diagnosis{Tier: "none", Wanted: "full"}
			if got := d.seatbelt(c.err, c.facts); got != c.works {
				t.Fatalf("it works: %v", got)
			}
			first := d.Checks[0]
			if first.Name != wrap.EngineSeatbelt || first.Status != c.status || first.Text != c.text || d.Cause != c.cause {
				t.Errorf("%+v, cause %q", first, d.Cause)
			}
			if c.hint != "" && (len(first.Hints) == 0 || !strings.HasPrefix(first.Hints[0], c.hint) || len(d.remedy) == 0) {
				t.Errorf("hints %q, remedy %q", first.Hints, d.remedy)
			}
			if c.works != (len(d.Checks) > 1) {
				t.Errorf("%d lines", len(d.Checks))
			}
		})
	}
}

// TestDoctorShowsNoLinuxOnMacOS: there is no word of what only Linux has.
func TestDoctorShowsNoLinuxOnMacOS(t *testing.T) {
	d := &diagnosis{Tier: "none", Wanted: "full"}
	f := wrap.Facts{MacOS: "26.1", Translated: true, Root: true, MaxUserns: "100", AppArmor: "1"}
	d.system(f)
	d.kernel(f)
	if d.seatbelt(nil, f) {
		d.Tier, d.Engine = wrap.TierFull, wrap.EngineSeatbelt
	}
	d.result(true)
	var names []string
	for _, c := range d.Checks {
		names = append(names, c.Name)
		if strings.Contains(c.Text, "bwrap") || strings.Contains(c.Text, "seccomp") {
			t.Errorf("%s: %s", c.Name, c.Text)
		}
	}
	got := strings.Join(names, " ")
	if got != "system system user sandbox-exec sandbox-exec differs differs differs differs result" || !d.OK || !strings.HasPrefix(d.Checks[0].Text, "macOS 26.1, ") {
		t.Errorf("%s, ok %v, %q", got, d.OK, d.Checks[0].Text)
	}
	linux := &diagnosis{}
	if linux.kernel(wrap.Facts{}); len(linux.Checks) != 2 {
		t.Errorf("on Linux: %+v", linux.Checks)
	}
}

func TestVerifiable(t *testing.T) {
	if err := verifiable("linux"); err != nil {
		t.Error(err)
	}
	for system, word := range map[string]string{"darwin": "macOS", "plan9": "plan9"} {
		var e *wrap.Error
		if err := verifiable(system); !errors.As(err, &e) || e.Status != wrap.StatusFailed || !strings.Contains(e.Text, word) {
			t.Errorf("%s: %v", system, err)
		}
	}
}

func TestSuppose(t *testing.T) {
	for system, engine := range map[string]string{"darwin": wrap.EngineSeatbelt, "linux": wrap.EngineBwrap} {
		h := &wrap.Host{OS: system}
		if suppose(h); h.Engine != engine || (h.Bwrap.Path != "") != (system == "linux") {
			t.Errorf("%s: %s, %v", system, h.Engine, h.Bwrap)
		}
	}
	seen := map[string]bool{}
	for _, engine := range []string{wrap.EngineBwrap, wrap.EngineLandlock, wrap.EngineSeatbelt} {
		seen[pathsHeading(engine)] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d headings", len(seen))
	}
}

// TestWithinBelievesTheKernel: a file may say more of the walls, and not that they
// are others.
func TestWithinBelievesTheKernel(t *testing.T) {
	dir := t.TempDir()
	walls := manifest{Engine: wrap.EngineSeatbelt, Tier: wrap.TierFull}
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
