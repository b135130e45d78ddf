// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
)

const (
	connected = "it can be connected to"
	noFilter  = "there is no filter (seccomp = \"off\")"
)

// network proves that what listens outside cannot be reached, and that other
// families of sockets cannot be had.
func (p *prover) network() {
	local := question{Act: actLocal}
	if !p.Inside {
		for i := range p.Servers {
			p.server(&p.Servers[i])
		}
		if !p.Walls || p.Network {
			p.prove("control", "own loopback", "inside, the command's own socket answers", talks, local)
		}
	}
	if p.Walls {
		p.pairs()
		if !p.Network {
			p.prove("serve", "own loopback", "in tier full the command can talk to itself", p.loopback, local)
		}
		for _, f := range p.moreFamilies() {
			p.family(f)
		}
	}
	p.self("interfaces", "", "outside the namespace is "+p.Spaces["net"], p.interfaces)
	for _, f := range families {
		p.family(f)
	}
}

func (p *prover) server(srv *server) {
	if srv.Absent != "" {
		p.known("reach", srv.Name, notApplicable, srv.Absent)
		return
	}
	c := p.prove("reach", srv.Name, "outside it answers", srv.unreached, srv.question)
	c.Heard = srv.Heard
	switch {
	case srv.Shared && p.Network && !(srv.abstract() && p.scoped(scopedAbstract)):
		c.Allowed = "reachable: the network is shared"
	case srv.Opened != "":
		c.Allowed = "reachable: shown by " + srv.Opened
	}
}

func (srv *server) unreached(a []answer) (Verdict, string) {
	done := a[0].Errno == 0
	return table{
		{srv.Heard() || done && srv.Act != actUDP, hole, "it was reached from inside"},
		{done, proved, "nothing arrived"},
		{true, proved, a[0].why()},
	}.decide()
}

// talks is no promise, only the control that sockets work at all.
func talks(a []answer) (Verdict, string) {
	if a[0].Errno != 0 {
		return unchecked, "no socket works inside (" + a[0].why() + "), so that others are refused proves nothing"
	}
	return proved, "the command can talk to itself"
}

// loopback states that with Landlock the command cannot serve itself, and proves
// that it can serve no process on the host.
func (s *target) loopback(a []answer) (Verdict, string) {
	if a[0].Errno == 0 {
		return hole, "it can listen on the host's loopback, where others see it"
	}
	return s.owned(engine.GapLoopback), "there is none (" + a[0].why() + ")"
}

// pairs proves that a pair of sockets works, and where the plan says that sockets
// with names are refused by their kind, that no kind of pair can be pointed at
// one of the host.
func (p *prover) pairs() {
	pair := func(kind int) question { return question{Act: actPair, Args: []int{kind}} }
	p.prove("control", "own pair of sockets", "inside, the command's own pair works", talks, pair(unix.SOCK_STREAM))
	if p.names(engine.GapUnix) {
		pointed := refused("such sockets can be had, and send to any socket with a name")
		p.compared("socket family", "datagram pair", pointed, pair(unix.SOCK_DGRAM))
		p.compared("socket family", "raw pair", pointed, pair(unix.SOCK_RAW))
	}
}

func (s *target) interfaces(self *selfInfo) (Verdict, string) {
	const ofHost = "those of the host can be seen"
	shared := s.Spaces["net"] != "" && self.Spaces["net"] == s.Spaces["net"]
	left := without(self.Links, []string{"lo"})
	more := len(left) > 0
	return table{
		{s.Network, allowed, "the network is shared"},
		{shared && s.Walls, s.owned(engine.GapProcesses), ofHost},
		{shared, hole, "the network namespace is the caller's"},
		{more && s.Walls, s.owned(engine.GapProcesses), ofHost + ": " + some(left)},
		{more, hole, "there is more than the loopback: " + some(left)},
		{true, proved, "its own namespace, with nothing but a loopback"},
	}.decide()
}

// family is a kind of socket that the filter, or the absence of privilege,
// refuses.
type family struct {
	name                string
	family, kind, proto int
	privileged          bool
}

var families = []family{
	{"packet", unix.AF_PACKET, unix.SOCK_RAW, 0, true},
	{"raw IPv4", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, true},
	{"raw IPv6", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6, true},
	{"netlink audit", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT, false},
	{"netlink uevent", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT, false},
	{"netlink generic", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC, false},
	{"netlink netfilter", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER, false},
	{"vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0, false},
	{"bluetooth", unix.AF_BLUETOOTH, unix.SOCK_RAW, unix.BTPROTO_HCI, false},
	{"alg", unix.AF_ALG, unix.SOCK_SEQPACKET, 0, false},
	{"key", unix.AF_KEY, unix.SOCK_RAW, 2, true},
	{"xdp", unix.AF_XDP, unix.SOCK_RAW, 0, true},
	{"can", unix.AF_CAN, unix.SOCK_RAW, unix.CAN_RAW, false},
	{"tipc", unix.AF_TIPC, unix.SOCK_STREAM, 0, false},
	{"rds", unix.AF_RDS, unix.SOCK_SEQPACKET, 0, false},
	{"ax25", unix.AF_AX25, unix.SOCK_DGRAM, 0, false},
	{"nfc", unix.AF_NFC, unix.SOCK_SEQPACKET, 0, false},
}

// Without a network namespace the host's network is reached by these, and where
// Landlock does not hold sockets with names, its services by those.
var (
	hostFamilies = []family{
		{"TCP", unix.AF_INET, unix.SOCK_STREAM, 0, false}, {"TCP over IPv6", unix.AF_INET6, unix.SOCK_STREAM, 0, false},
		{"UDP", unix.AF_INET, unix.SOCK_DGRAM, 0, false}, {"UDP over IPv6", unix.AF_INET6, unix.SOCK_DGRAM, 0, false},
		{"MPTCP", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, false},
		{"SCTP", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP, false},
	}
	unixFamilies = []family{
		{"unix stream", unix.AF_UNIX, unix.SOCK_STREAM, 0, false},
		{"unix datagram", unix.AF_UNIX, unix.SOCK_DGRAM, 0, false},
		{"unix packets", unix.AF_UNIX, unix.SOCK_SEQPACKET, 0, false},
		{"unix raw", unix.AF_UNIX, unix.SOCK_RAW, 0, false},
	}
)

func (s *target) moreFamilies() (out []family) {
	if !s.Network {
		out = append(out, hostFamilies...)
	}
	if s.names(engine.GapUnix) {
		out = append(out, unixFamilies...)
	}
	return out
}

func (p *prover) family(f family) {
	had := refused("such a socket can be had", unix.EPERM, unix.EACCES, unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT,
		unix.ESOCKTNOSUPPORT)
	p.compared("socket family", f.name, func(a []answer) (Verdict, string) {
		v, text := had(a)
		off := p.Seccomp == "off"
		return table{
			{v == hole && off && !f.privileged, allowed, noFilter},
			{v == unchecked && off, allowed, noFilter + ": " + text},
			{true, v, text},
		}.decide()
	}, question{Act: actSocket, Args: []int{f.family, f.kind, f.proto}})
}

// sockets proves that no service of the host's answers that the policy does not
// name.
func (p *prover) sockets() {
	for _, k := range p.Sockets {
		subject := k.Path
		if len(subject) > 0 && subject[0] == 0 {
			subject = "@" + subject[1:]
		}
		c := p.compared(k.Name, subject, refused(connected), ask(actConnect, p.at(k.Path)))
		if k.Opened != "" {
			c.Allowed = "named by " + k.Opened
		}
	}
	if len(p.Sockets) == 0 {
		p.known("services", "", notApplicable, "none of the usual sockets is on this host")
	}
}

// sharesAbstract reports whether abstract sockets of the host's are within reach
// with its network.
func (s *target) sharesAbstract() bool { return s.Network && !s.Walls && !s.scoped(scopedAbstract) }
