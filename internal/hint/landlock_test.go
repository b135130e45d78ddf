// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"strings"
	"testing"
)

func TestLandlock(t *testing.T) {
	for _, tt := range []struct {
		script  string
		network bool
		want    string // a part of it
	}{
		{"curl localhost:3000", false, "--net turns both on"}, {"git fetch https://x", false, "--net turns both on"}, {"curl localhost:3000", true, ""},
		{"tmux new -d", false, "pseudo terminals and no Unix"}, {"ls /tmp", false, "$TMPDIR: R"}, {"f=$(mktemp /tmp/x.XXX) && rm $f", true, "$TMPDIR: R"}, {"echo x >/dev/shm/y", true, "$TMPDIR: R"},
		{"npm pack", false, "--net gives"}, {"npm pack", true, "$TMPDIR: R"}, {"npm test", false, "loopback while the network is off: R"}, {"cd x && python3 y", true, "$TMPDIR: R"},
		{"false", false, ""}, {"git commit -m x", false, ""}, {"grep x /tmpx", false, ""}, {"", false, ""}, {"bash", false, ""},
	} {
		got := Landlock([]string{"sh", "-c", tt.script}, tt.network, "R")
		if !strings.Contains(got, tt.want) || got != "" && tt.want == "" || strings.Contains(got, "loopback") && tt.network {
			t.Errorf("%q, network %v: %q", tt.script, tt.network, got)
		}
	}
}
