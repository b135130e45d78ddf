// SPDX-License-Identifier: Apache-2.0

package hint

import "testing"

func TestOften(t *testing.T) {
	for _, tt := range []struct {
		c    traffic
		want bool
	}{
		{traffic{}, false}, {traffic{unrouted: 2}, false}, {traffic{unrouted: 12}, false}, {traffic{unrouted: 13}, true},
		{traffic{unheard: 24, sent: 24, discarded: 12}, false}, {traffic{unheard: 28, sent: 28, discarded: 14}, true}, {traffic{unheard: 28, sent: 28}, false},
	} {
		if got := tt.c.often(); got != tt.want {
			t.Errorf("%+v: %v", tt.c, got)
		}
	}
}

// What the kernel writes after this and that was tried in a network namespace
// with a loopback alone (Linux 6.x).
func TestCut(t *testing.T) {
	snmp := func(unrouted, discards, in, none, out string) string {
		return ("Ip: Forwarding DefaultTTL InReceives OutRequests OutDiscards OutNoRoutes ReasmTimeout OutTransmits\nIp: 2 64 8 8 " + discards + " " + unrouted + " 0 8\n" +
			"Icmp: InMsgs InErrors\nIcmp: 4 0\nIcmpMsg: InType3 OutType3\nIcmpMsg: 4 4\nUdp: InDatagrams NoPorts InErrors OutDatagrams\nUdp: " + in + " " + none + " 0 " + out + "\nUdpLite: InDatagrams NoPorts\nUdpLite: 9 9\n")
	}
	six := func(unrouted, none, out string) string {
		return ("Ip6InReceives                   \t2\nIp6OutNoRoutes                  \t" + unrouted + "\nUdp6NoPorts                     \t" + none + "\nUdp6OutDatagrams\t" + out + "\n")
	}
	for name, tt := range map[string]struct {
		snmp, snmp6 string
		cut         bool
		unheard     uint64
	}{
		"nothing":                               {snmp("0", "0", "0", "0", "0"), six("0", "0", "0"), false, 0},
		"no files":                              {"", "", false, 0},
		"TCP or UDP beyond":                     {snmp("1", "0", "0", "0", "0"), six("0", "0", "0"), true, 0},
		"IPv6":                                  {snmp("0", "0", "0", "0", "0"), six("1", "0", "0"), true, 0},
		"no IPv6 in the kernel":                 {snmp("2", "0", "0", "0", "0"), "", true, 0},
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
		"a table that is cut":                   {"Ip: Forwarding OutNoRoutes\nIp: 2", "", false, 0},
		"no number":                             {"Ip: OutNoRoutes\nIp: x\n", "", false, 0},
		"names without values":                  {"Ip: OutNoRoutes", "Ip6OutNoRoutes", false, 0},
		"a negative number, as Forwarding's is": {"Tcp: MaxConn\nTcp: -1\nIp: DefaultTTL OutNoRoutes\nIp: -1 3\n", "", true, 0},
	} {
		c := counted(tt.snmp, tt.snmp6)
		if got := c.cut(); got != tt.cut || c.unheard != tt.unheard {
			t.Errorf("%s: %v %+v", name, got, c)
		}
	}
}

func FuzzCounters(f *testing.F) {
	f.Add("Ip: A OutNoRoutes\nIp: 1 2\n", "Ip6OutNoRoutes \t3\n")
	f.Fuzz(func(_ *testing.T, a, b string) {
		c := counted(a, b)
		c.cut()
	})
}
