// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// traffic is what a network namespace has counted since it was made for the run.
type traffic struct {
	unrouted  uint64 // packets for which there was no way, of both versions of IP
	unheard   uint64 // datagrams to a port on which no process listens
	heard     uint64 // datagrams to one on which a process does
	sent      uint64 // datagrams
	discarded uint64 // packets that were not sent, for an error that was still to be told
	refused   uint64 // connections that were not made
	accepted  uint64 // and those that were, to this namespace
}

// cut reports whether something tried to reach beyond the loopback. In a
// namespace that has no other interface, nothing on it is ever unrouted.
//
// Where the system's resolver is on the loopback (systemd-resolved's
// 127.0.0.53, or no resolv.conf at all) a lookup looks like any datagram that
// no one takes, but for how the C library asks: it sends two, for both families
// of addresses, by one call; the first one comes back before the second is sent,
// which is discarded with that error and sent once more; and then all of it
// again. A program that sends metrics to no one, connected or not, does not come
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
	n := counters(snmp, snmp6)
	return traffic{
		unrouted:  n["Ip:OutNoRoutes"] + n["Ip6OutNoRoutes"],
		discarded: n["Ip:OutDiscards"] + n["Ip6OutDiscards"],
		unheard:   n["Udp:NoPorts"] + n["Udp6NoPorts"],
		heard:     n["Udp:InDatagrams"] + n["Udp6InDatagrams"],
		sent:      n["Udp:OutDatagrams"] + n["Udp6OutDatagrams"],
		refused:   n["Tcp:AttemptFails"],
		accepted:  n["Tcp:PassiveOpens"],
	}
}

// counters reads tables of two lines, the first of which has the names ("Udp:
// InDatagrams NoPorts …", "Udp: 0 4 …"), and a list of names and numbers.
func counters(tables, list string) map[string]uint64 {
	out := make(map[string]uint64)
	var names []string
	for line := range strings.Lines(tables + "\n" + list) {
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && !strings.HasSuffix(words[0], ":"):
			out[words[0]] += number(words[1])
		case len(words) == 0 || len(names) == 0 || names[0] != words[0]:
			names = words
		default:
			for i := 1; i < min(len(words), len(names)); i++ {
				out[words[0]+names[i]] += number(words[i])
			}
			names = nil
		}
	}
	return out
}

// number is 0 for what is none.
func number(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}

// network is about packets that had no way out. Without a namespace of its own
// there are none that sbx had to do with.
func (h *hinter) network(r *reader) string {
	value, source := h.Setting("allow_network")
	c, text := counted(h.Snmp, h.Snmp6), "the network is off"+h.by("allow_network")
	switch {
	case value == "true" || h.unlocked(r.installs):
		return ""
	case r.near && c.refused > 0 && c.accepted == 0:
		text += ", and no server of the host's loopback is here"
	case r.outward || slices.ContainsFunc(r.borrowed, h.fetched):
		if !c.cut() && c.unheard == 0 {
			return ""
		}
	case r.curious && !c.often(), !c.cut():
		return ""
	}
	if source == "--no-net" && !h.locked("allow_network") && !h.say.Config && h.say.Tool == "" {
		if i := slices.Index(h.say.Typed, "--no-net"); i >= 0 {
			h.say.Typed = slices.Delete(slices.Clone(h.say.Typed), i, i+1)
			return text + allow + h.line("", "--net")
		}
		return text + "; to allow: take --no-net out of SBX_FLAGS"
	}
	return text + h.change("--net", "allow_network", "true", allow)
}

// loopback reports whether a word is an address on the loopback, as a URL or without
// its scheme.
func loopback(word string) bool {
	if _, rest, ok := strings.Cut(word, "://"); ok {
		word = rest
	}
	for _, local := range []string{"localhost:", "localhost/", "127.", "[::1]"} {
		if strings.HasPrefix(word, local) {
			return true
		}
	}
	return word == "localhost"
}

// fetched reports whether npx and its like would have to fetch a program.
func (h *hinter) fetched(b borrowed) bool {
	if strings.ContainsAny(b.name, "/@") {
		return true
	}
	for dir := b.dir; dir != ""; dir = path.Dir(dir) {
		if h.exists(dir + "/node_modules/.bin/" + b.name) {
			return false
		}
		if dir == "/" {
			break
		}
	}
	return !h.inPath(b.name)
}
