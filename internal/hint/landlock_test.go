// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"strconv"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/landlock"
)

func TestLandlock(t *testing.T) {
	for _, tt := range []struct {
		script  string
		network bool
		want    string // a part of it
	}{
		{"curl localhost:3000", false, "; to allow both: sbx --net -- sh -c "}, {"git fetch https://x", false, "; to allow both: sbx --net -- sh -c "}, {"curl localhost:3000", true, ""},
		{"tmux new -d", false, "pseudo terminals and no Unix"}, {"ls /tmp", false, "$TMPDIR: R"}, {"f=$(mktemp /tmp/x.XXX) && rm $f", true, "$TMPDIR: R"}, {"echo x >/dev/shm/y", true, "$TMPDIR: R"},
		{"npm pack", false, "; to give the project its own: sbx --net"}, {"npm pack", true, "$TMPDIR: R"}, {"npm test", false, "the loopback is off with the network"}, {"cd x && python3 y", true, "$TMPDIR: R"},
		{"cp main.go ~/d/x", false, ": mkdir -p ~/d && sbx -w ~/d -- sh -c 'cp main.go ~/d/x'"}, {"make install DESTDIR=$HOME/d/", false, "mkdir -p ~/d && sbx -w ~/d -- "}, {"cat /srv/x", false, ""},
		{"go install .", false, "-w ~/go/bin"}, {"pip install --find-links ~/.ssh x", false, "~/.ssh holds secrets"}, {".venv/bin/pytest x", false, "semaphores by name"},
		{"false", false, ""}, {"git commit -m x", false, ""}, {"grep x /tmpx", false, ""}, {"", false, ""}, {"bash", false, ""},
	} {
		b := box()
		b.Ruleset, b.Setting = &landlock.Ruleset{FS: landlock.Write}, func(string) (string, string) { return strconv.FormatBool(tt.network), "moderate" }
		got := Landlock(b, engine.Hints{On: true}, 1, []string{"sh", "-c", tt.script}, Walls{Remedy: "R"})
		if !strings.Contains(got, tt.want) || got != "" && tt.want == "" || strings.Contains(got, "loopback") && tt.network {
			t.Errorf("%q, network %v: %q", tt.script, tt.network, got)
		}
	}
}
