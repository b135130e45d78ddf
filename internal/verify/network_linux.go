// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
)

// network proves that what listens outside cannot be reached, and that other
// families of sockets cannot be had.
func (s *prover) network() {
	local := question{Act: actLocal}
	if !s.Inside {
		for i := range s.Servers {
			s.server(&s.Servers[i])
		}
		if !s.Walls || s.Network {
			s.prove("control", "own loopback", "inside, the command's own socket answers", talks, local)
		}
	}
	if s.Walls {
		s.pairs()
		if !s.Network {
			s.prove("serve", "own loopback", "in tier full the command can talk to itself", s.loopback, local)
		}
		for _, f := range s.moreFamilies() {
			s.family(f)
		}
	}
	s.prove("interfaces", "", "outside the namespace is "+s.Spaces["net"], ofSelf(s.interfaces), askSelf)
	for _, f := range families {
		s.family(f)
	}
}

func (s *prover) server(srv *server) {
	if srv.Absent != "" {
		s.known("reach", srv.Name, NotApplicable, srv.Absent)
		return
	}
	c := s.prove("reach", srv.Name, "outside it answers", srv.unreached, srv.question)
	c.Heard = srv.Heard
	switch {
	case srv.Shared && s.Network && !(srv.abstract() && s.scoped(scopedAbstract)):
		c.Allowed = "reachable: the network is shared"
	case srv.Opened != "":
		c.Allowed = "reachable: shown by " + srv.Opened
	}
}

func (srv *server) unreached(a []answer) (Verdict, string) {
	switch {
	case srv.Heard() || a[0].Errno == 0 && srv.Act != actUDP:
		return Hole, "it was reached from inside"
	case a[0].Errno == 0:
		return Proved, "nothing arrived"
	}
	return Proved, a[0].why()
}

// talks is no promise, only the control that sockets work at all.
func talks(a []answer) (Verdict, string) {
	if a[0].Errno != 0 {
		return Unchecked, "no socket works inside (" + a[0].why() + "), so that others are refused proves nothing"
	}
	return Proved, "the command can talk to itself"
}

// loopback states that with Landlock the command cannot serve itself, and proves
// that it can serve no process on the host.
func (s *target) loopback(a []answer) (Verdict, string) {
	if a[0].Errno == 0 {
		return Hole, "it can listen on the host's loopback, where others see it"
	}
	return s.owned(engine.GapLoopback, "there is none ("+a[0].why()+")")
}

// pairs proves that a pair of sockets works, and where the plan says that sockets
// with names are refused by their kind, that no kind of pair can be pointed at
// one of the host.
func (s *prover) pairs() {
	pair := func(name, subject, control string, judge judge, kind int) {
		s.prove(name, subject, control, judge, question{Act: actPair, Args: []int{kind}})
	}
	pair("control", "own pair of sockets", "inside, the command's own pair works", talks, unix.SOCK_STREAM)
	if s.names(engine.GapUnix) {
		pointed := refused("such sockets can be had, and send to any socket with a name")
		pair("socket family", "datagram pair", "outside: done", pointed, unix.SOCK_DGRAM)
		pair("socket family", "raw pair", "outside: done", pointed, unix.SOCK_RAW)
	}
}

func (s *target) interfaces(self *selfInfo) (Verdict, string) {
	shared := s.Spaces["net"] != "" && self.Spaces["net"] == s.Spaces["net"]
	left := without(self.Links, []string{"lo"})
	switch {
	case s.Network:
		return Allowed, "the network is shared"
	case shared && s.Walls:
		return s.owned(engine.GapProcesses, "those of the host can be seen")
	case shared:
		return Hole, "the network namespace is the caller's"
	case len(left) > 0 && s.Walls:
		return s.owned(engine.GapProcesses, "those of the host can be seen: "+some(left))
	case len(left) > 0:
		return Hole, "there is more than the loopback: " + some(left)
	}
	return Proved, "its own namespace, with nothing but a loopback"
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

func (f family) question() question {
	return question{Act: actSocket, Args: []int{f.family, f.kind, f.proto}}
}

// trial is the name under which [target.Kernel] holds what a family gives outside.
func (f family) trial() string { return "socket " + f.name }

func (s *prover) family(f family) {
	control := ""
	if out, ok := s.Kernel[f.trial()]; ok {
		control = "outside: " + errnoName(out)
	}
	had := refused("such a socket can be had", unix.EPERM, unix.EACCES, unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT,
		unix.ESOCKTNOSUPPORT)
	s.prove("socket family", f.name, control, func(a []answer) (Verdict, string) {
		v, text := had(a)
		switch {
		case v == Hole && s.Seccomp == "off" && !f.privileged:
			return Allowed, noFilter
		case v == Unchecked && s.Seccomp == "off":
			return Allowed, noFilter + ": " + text
		}
		return v, text
	}, f.question())
}

const (
	connected = "it can be connected to"
	noFilter  = "there is no filter (seccomp = \"off\")"
)

// sockets proves that no service of the host's answers that the policy does not
// name.
func (s *prover) sockets() {
	for _, k := range s.Sockets {
		subject := k.Path
		if len(subject) > 0 && subject[0] == 0 {
			subject = "@" + subject[1:]
		}
		c := s.prove(k.Name, subject, answers(k.Out), refused(connected), ask(actConnect, s.at(k.Path)))
		if k.Opened != "" {
			c.Allowed = "named by " + k.Opened
		}
	}
	if len(s.Sockets) == 0 {
		s.known("services", "", NotApplicable, "none of the usual sockets is on this host")
	}
}

// sharesAbstract reports whether abstract sockets of the host's are within reach
// with its network.
func (s *target) sharesAbstract() bool { return s.Network && !s.Walls && !s.scoped(scopedAbstract) }
