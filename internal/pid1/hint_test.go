package pid1

import (
	"strings"
	"testing"
)

func TestOwnFault(t *testing.T) {
	for _, tt := range []struct {
		exited bool
		n      int
		status int
		ok     bool
	}{
		{true, 0, 0, false}, {true, 1, 1, true}, {true, 2, 2, true}, {true, 126, 126, true}, {true, 127, 127, true}, {true, 255, 255, true},
		{true, 130, 130, false}, {true, 137, 137, false}, {true, 141, 141, false}, {true, 143, 143, false}, {true, 134, 134, true}, {true, 159, 159, true}, {true, 128, 128, true},
		{false, sigINT, 130, false}, {false, sigTERM, 143, false}, {false, sigKILL, 137, false}, {false, sigHUP, 129, false}, {false, sigPIPE, 141, false},
		{false, sigSYS, 159, true}, {false, 6, 134, true}, {false, 11, 139, true}, {false, 64, 192, true},
	} {
		if status, ok := ownFault(tt.exited, tt.n); status != tt.status || ok != tt.ok {
			t.Errorf("%v %d: %d %v, want %d %v", tt.exited, tt.n, status, ok, tt.status, tt.ok)
		}
	}
}

func TestOften(t *testing.T) {
	for _, tt := range []struct {
		c    netcount
		want bool
	}{
		{netcount{}, false}, {netcount{unrouted: 2}, false}, {netcount{unrouted: 12}, false}, {netcount{unrouted: 13}, true},
		{netcount{unheard: 24, sent: 24, discarded: 12}, false}, {netcount{unheard: 28, sent: 28, discarded: 14}, true}, {netcount{unheard: 28, sent: 28}, false},
	} {
		if got := tt.c.often(); got != tt.want {
			t.Errorf("%+v: %v", tt.c, got)
		}
	}
}

// What the kernel writes after this and that was tried in a network namespace
// with a loopback alone (Linux 6.x).
func TestCut(t *testing.T) {
	snmp := func(unrouted, discards, in, none, out string) []byte {
		return []byte("Ip: Forwarding DefaultTTL InReceives OutRequests OutDiscards OutNoRoutes ReasmTimeout OutTransmits\nIp: 2 64 8 8 " + discards + " " + unrouted + " 0 8\n" +
			"Icmp: InMsgs InErrors\nIcmp: 4 0\nIcmpMsg: InType3 OutType3\nIcmpMsg: 4 4\nUdp: InDatagrams NoPorts InErrors OutDatagrams\nUdp: " + in + " " + none + " 0 " + out + "\nUdpLite: InDatagrams NoPorts\nUdpLite: 9 9\n")
	}
	six := func(unrouted, none, out string) []byte {
		return []byte("Ip6InReceives                   \t2\nIp6OutNoRoutes                  \t" + unrouted + "\nUdp6NoPorts                     \t" + none + "\nUdp6OutDatagrams\t" + out + "\n")
	}
	for name, tt := range map[string]struct {
		snmp, snmp6 []byte
		cut         bool
		unheard     uint64
	}{
		"nothing":                               {snmp("0", "0", "0", "0", "0"), six("0", "0", "0"), false, 0},
		"no files":                              {nil, nil, false, 0},
		"TCP or UDP beyond":                     {snmp("1", "0", "0", "0", "0"), six("0", "0", "0"), true, 0},
		"IPv6":                                  {snmp("0", "0", "0", "0", "0"), six("1", "0", "0"), true, 0},
		"no IPv6 in the kernel":                 {snmp("2", "0", "0", "0", "0"), nil, true, 0},
		"a lookup, resolver on the loopback":    {snmp("0", "2", "0", "4", "4"), six("0", "0", "0"), true, 4},
		"two lookups":                           {snmp("0", "4", "0", "8", "8"), six("0", "0", "0"), true, 8},
		"one metric to nobody":                  {snmp("0", "0", "0", "1", "1"), six("0", "0", "0"), false, 1},
		"metrics, connected":                    {snmp("0", "2", "0", "3", "3"), six("0", "0", "0"), false, 3},
		"three metrics, connected":              {snmp("0", "1", "0", "2", "2"), six("0", "0", "0"), false, 2},
		"two metrics, connected":                {snmp("0", "1", "0", "1", "1"), six("0", "0", "0"), false, 1},
		"metrics, unconnected":                  {snmp("0", "0", "0", "9", "9"), six("0", "0", "0"), false, 9},
		"metrics, IPv6":                         {snmp("0", "0", "0", "0", "0"), six("0", "3", "3"), false, 3},
		"somebody listens, too":                 {snmp("0", "2", "3", "4", "7"), six("0", "0", "0"), false, 4},
		"TCP on the loopback":                   {snmp("0", "0", "0", "0", "0"), six("0", "0", "0"), false, 0},
		"a table that is cut":                   {[]byte("Ip: Forwarding OutNoRoutes\nIp: 2"), nil, false, 0},
		"no number":                             {[]byte("Ip: OutNoRoutes\nIp: x\n"), nil, false, 0},
		"names without values":                  {[]byte("Ip: OutNoRoutes"), []byte("Ip6OutNoRoutes"), false, 0},
		"a negative number, as Forwarding's is": {[]byte("Tcp: MaxConn\nTcp: -1\nIp: DefaultTTL OutNoRoutes\nIp: -1 3\n"), nil, true, 0},
	} {
		var c netcount
		c.read(tt.snmp, tt.snmp6)
		if got := c.cut(); got != tt.cut || c.unheard != tt.unheard {
			t.Errorf("%s: %v %+v", name, got, c)
		}
	}
}

func TestHintEncoding(t *testing.T) {
	for _, h := range []Hint{{Always, "", "x"}, {Missing, "/a b=\n\xff", " 1 2 x"}, {Full, "/", "y"}, {Cut, "", strings.Repeat("z", MaxHint)}, {Trapped, "", "="}} {
		if got, ok := decodeHint(h.encode()); !ok || got != h {
			t.Errorf("%+v: %+v %v", h, got, ok)
		}
	}
	for _, bad := range []string{"", "0", "0 0", "0 0 ", "8 0 x", "0 1 /x", "1 0 x", "1 2 ax", "1 2 /a", "2 9 /a", "-1 0 x", "0 18446744073709551615 x", "0 0 " + strings.Repeat("z", MaxHint+1)} {
		if h, ok := decodeHint(bad); ok {
			t.Errorf("%.40q is %+v", bad, h)
		}
	}
}

func FuzzCounters(f *testing.F) {
	f.Add([]byte("Ip: A OutNoRoutes\nIp: 1 2\n"), []byte("Ip6OutNoRoutes \t3\n"))
	f.Fuzz(func(_ *testing.T, a, b []byte) {
		var c netcount
		c.read(a, b)
		c.cut()
	})
}
