// SPDX-License-Identifier: Apache-2.0

package host

import "testing"

func TestFix(t *testing.T) {
	for _, c := range []struct {
		cause Cause
		hint  string
		root  bool
		runs  bool
	}{
		{CauseMissing, "sudo apt-get install bubblewrap", false, true},
		{CauseMissing, "apt-get install bubblewrap", true, true},
		{CauseMissing, "apt-get update && apt-get install bubblewrap", true, true},
		{CauseMissing, "apt-get install bubblewrap", false, false}, // of whom the hint is not
		{CauseMissing, "doas apk add bubblewrap", false, true},
		{CauseMissing, "install the package bubblewrap with your package manager", false, false},
		{CauseMissing, "add pkgs.bubblewrap to environment.systemPackages", true, false},
		{causeAppArmor, "sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict", false, true},
		{causeAppArmor, "on the host of the container: sudo apparmor_parser -r /x", false, false},
		{causeAppArmor, "a step before: - run: sudo apt-get update", false, false},
		{causeMax, "sudo sysctl -w user.max_user_namespaces=15000", false, false},
		{causeClone, "sudo sysctl -w kernel.unprivileged_userns_clone=1", false, false},
		{causeSetUID, "sudo chmod u-s /usr/bin/bwrap", false, false},
	} {
		u := &Unavailable{Cause: c.cause, Hints: []string{c.hint}}
		if got := u.Fix(c.root); got != c.hint && c.runs || got != "" && !c.runs {
			t.Errorf("%s, %q, root %v: %q", c.cause, c.hint, c.root, got)
		}
	}
	if (&Unavailable{Cause: CauseMissing}).Fix(true) != "" {
		t.Error("something without a remedy is fixed")
	}
}
