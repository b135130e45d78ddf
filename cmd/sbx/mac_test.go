// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/host"
)

// TestDoctorOnMacOS: what the doctor says there, by what was found.
func TestDoctorOnMacOS(t *testing.T) {
	facts := host.Diagnostics{MacOS: "15.1"}
	for _, c := range []struct {
		name   string
		err    error
		facts  host.Diagnostics
		works  bool
		cause  string
		status string
		text   string
		hint   string
	}{
		{"works", nil, facts, true, "", "ok", host.SandboxExec + ", tried and working", ""},
		{"nested", &host.Unavailable{Cause: host.CauseNested, Reason: "inside", Hints: []string{"go out"}}, facts, false, "nested", "bad", "inside", "go out"},
		{"nested on a runner", &host.Unavailable{Cause: host.CauseNested, Reason: "inside", Hints: []string{"go out"}}, host.Diagnostics{MacOS: "15.1", CI: "github"}, false, "nested", "bad", "inside", "GitHub's own runners"},
		{"missing", &host.Unavailable{Cause: host.CauseMissing, Reason: "not there", Hints: []string{"look"}}, facts, false, "missing", "bad", "not there", "look"},
		{"another error", errors.New("strange"), facts, false, "", "bad", "strange", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &diagnosis{Tier: "none", Wanted: "full"}
			if got := d.seatbelt(c.err, c.facts); got != c.works {
				t.Fatalf("it works: %v", got)
			}
			first := d.Checks[0]
			if first.Name != host.EngineSeatbelt || first.Status != c.status || first.Text != c.text || d.Cause != c.cause {
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
	f := host.Diagnostics{MacOS: "26.1", Translated: true, Root: true, MaxUserns: "100", AppArmor: "1"}
	d.system(f)
	d.kernel(f)
	if d.seatbelt(nil, f) {
		d.Tier, d.Engine = host.TierFull, host.EngineSeatbelt
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
	if linux.kernel(host.Diagnostics{}); len(linux.Checks) != 2 {
		t.Errorf("on Linux: %+v", linux.Checks)
	}
}

func TestVerifiable(t *testing.T) {
	if err := verifiable("linux"); err != nil {
		t.Error(err)
	}
	for system, word := range map[string]string{"darwin": "macOS", "plan9": "plan9"} {
		var e *host.Error
		if err := verifiable(system); !errors.As(err, &e) || e.Status != host.StatusFailed || !strings.Contains(e.Text, word) {
			t.Errorf("%s: %v", system, err)
		}
	}
}

func TestPathsHeading(t *testing.T) {
	seen := map[string]bool{}
	for _, engine := range []string{host.EngineBwrap, host.EngineLandlock, host.EngineSeatbelt} {
		seen[pathsHeading(engine)] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d headings", len(seen))
	}
}
