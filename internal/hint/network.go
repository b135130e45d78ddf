package hint

import (
	"strconv"
	"strings"
)

// traffic is what a network namespace has counted since it was made for the run.
type traffic struct {
	unrouted  uint64 // packets for which there was no way, of both versions of IP
	unheard   uint64 // datagrams to a port on which nobody listens
	heard     uint64 // datagrams to one where somebody does
	sent      uint64 // datagrams
	discarded uint64 // packets that were not sent, for an error that was still to be told
}

// cut reports whether something tried to reach beyond the loopback. In a
// namespace that has no other interface, nothing on it is ever unrouted.
//
// Where the system's resolver is on the loopback (systemd-resolved's
// 127.0.0.53, or no resolv.conf at all) a lookup looks like any datagram that
// nobody takes, but for how the C library asks: it sends two, for both families
// of addresses, by one call; the first one comes back before the second is sent,
// which is discarded with that error and sent once more; and then all of it
// again. A program that sends metrics to nobody, connected or not, does not come
// to these numbers.
func (c *traffic) cut() bool {
	return c.unrouted > 0 || c.unheard >= 4 && c.heard == 0 && c.sent == c.unheard && c.unheard == 2*c.discarded
}

// often reports whether that was more than the one lookup with which npm and others
// look for a newer version of theirs, whatever they are told to do: two packets
// for each name server, of which there are up to three, and once more for a
// domain to be searched. On a loopback each packet takes two.
func (c *traffic) often() bool {
	const lookup = 2 * 3 * 2
	return c.cut() && (c.unrouted > lookup || c.unheard > 2*lookup)
}

// counted reads /proc/net/snmp and /proc/net/snmp6.
func counted(snmp, snmp6 string) traffic {
	return traffic{
		unrouted:  column(snmp, "Ip:", "OutNoRoutes") + entry(snmp6, "Ip6OutNoRoutes"),
		discarded: column(snmp, "Ip:", "OutDiscards") + entry(snmp6, "Ip6OutDiscards"),
		unheard:   column(snmp, "Udp:", "NoPorts") + entry(snmp6, "Udp6NoPorts"),
		heard:     column(snmp, "Udp:", "InDatagrams") + entry(snmp6, "Udp6InDatagrams"),
		sent:      column(snmp, "Udp:", "OutDatagrams") + entry(snmp6, "Udp6OutDatagrams"),
	}
}

// column finds a counter in a table of two lines, the first of which has the
// names: "Udp: InDatagrams NoPorts …", "Udp: 0 4 …".
func column(text, table, name string) uint64 {
	at := 0
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] != table:
		case at > 0 && at < len(words):
			n, _ := strconv.ParseUint(words[at], 10, 64)
			return n
		case at > 0:
			return 0
		default:
			for i, w := range words {
				if w == name {
					at = i
				}
			}
			if at == 0 {
				return 0
			}
		}
	}
	return 0
}

// entry finds a counter in a list of names and numbers.
func entry(text, name string) uint64 {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == name {
			n, _ := strconv.ParseUint(words[1], 10, 64)
			return n
		}
	}
	return 0
}
