// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"net"
	"slices"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

func TestListening(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	for text, want := range map[string][]int{
		"":           nil,
		head:         nil,
		"nonsense\n": nil,
		head + "   0: 0100007F:144F 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0\n" +
			"   1: 0100007F:A2C2 0100007F:144F 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0\n" +
			"  12: 00000000000000000000000001000000:FFFF 00000000000000000000000000000000:0000 0A 0": {5199, 65535},
	} {
		if got := procfs.Listening(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v", text, got)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	text, err := procfs.Head("/proc/self/net/tcp", 1<<20)
	if port := l.Addr().(*net.TCPAddr).Port; err != nil || !slices.Contains(procfs.Listening(text), port) {
		t.Error(port, "is not in", text, err)
	}
}

func TestPortsText(t *testing.T) {
	for want, ports := range map[string][]int{
		"":                           nil,
		"port 80 is":                 {80, 80},
		"ports 80, 81 are":           {81, 80},
		"ports 1, 2, 3, 4, 5, … are": {7, 6, 5, 4, 3, 2, 1},
	} {
		if got := portsText(ports); got != want {
			t.Errorf("%v: %q", ports, got)
		}
	}
}
