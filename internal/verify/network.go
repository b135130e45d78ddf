package verify

import "github.com/sbx-sandbox/sbx/internal/engine"

// network proves that what listens outside cannot be reached, and that other
// families of sockets cannot be had.
func (s *Site) network() []Check {
	var out []Check
	if !s.Inside {
		for i := range s.Servers {
			out = append(out, s.server(&s.Servers[i]))
		}
		if !s.Walls || s.Network {
			out = append(out, Check{Section: secNetwork, Name: "control", Subject: "own loopback", Ask: []Question{{Act: actLocal}},
				Control: "inside, a socket of the command's own answers", Judge: judgeLocal})
		}
	}
	if s.Walls {
		out = append(out, s.sockpairs()...)
		if !s.Network {
			out = append(out, s.loopback())
		}
		for _, f := range s.reducedFamilies() {
			out = append(out, s.family(f))
		}
	}
	out = append(out, s.interfaces())
	for _, f := range families {
		out = append(out, s.family(f))
	}
	return out
}

func (s *Site) server(srv *Server) Check {
	if srv.Absent != "" {
		return known(secNetwork, "reach", srv.Name, NotApplicable, srv.Absent)
	}
	c := Check{Section: secNetwork, Name: "reach", Subject: srv.Name, Control: "outside it answers", Heard: srv.Heard}
	q := Question{Act: srv.Act, Path: srv.Path, Text: srv.Text}
	if srv.Port > 0 {
		q.Args = []int{srv.Port}
		q.Path = []byte(s.Nonce)
	}
	c.Ask = []Question{q}
	c.Judge = func(a []Answer) (Verdict, string) {
		reached := srv.Heard() || a[0].Errno == 0 && srv.Act != actUDP
		switch {
		case reached && srv.Shared && s.Network && !(srv.abstract() && s.scoped(scopedAbstract)):
			return Allowed, "reachable: the network is shared"
		case reached && srv.Opened != "":
			return Allowed, "reachable: shown by " + srv.Opened
		case reached:
			return Hole, "it was reached from inside"
		case a[0].Errno == 0:
			return Proved, "nothing arrived"
		}
		return Proved, a[0].why()
	}
	return c
}

// judgeLocal is no promise, only the control that sockets work at all.
func judgeLocal(a []Answer) (Verdict, string) {
	if a[0].Errno != 0 {
		return Unchecked, "no socket works inside (" + a[0].why() + "), so that others are refused proves nothing"
	}
	return Proved, "the command can talk to itself"
}

func (s *Site) interfaces() Check {
	return Check{Section: secNetwork, Name: "interfaces", Ask: []Question{{Act: actSelf}}, Control: s.netControl(),
		Judge: func(a []Answer) (Verdict, string) {
			self := a[0].Self
			if self == nil {
				return Unchecked, a[0].why()
			}
			if s.Network {
				return Allowed, "the network is shared"
			}
			if out := s.Spaces["net"]; out != "" && self.Spaces["net"] == out {
				if s.Walls {
					return s.owned(engine.GapProcesses, "those of the host can be seen")
				}
				return Hole, "the network namespace is the caller's"
			}
			if left := without(self.Links, []string{"lo"}); len(left) > 0 {
				if s.Walls {
					return s.owned(engine.GapProcesses, "those of the host can be seen: "+some(left))
				}
				return Hole, "there is more than the loopback: " + some(left)
			}
			return Proved, "a namespace of its own, with nothing but a loopback"
		}}
}

func (s *Site) netControl() string {
	if s.Inside {
		return ""
	}
	return "outside the namespace is " + s.Spaces["net"]
}

// family is a kind of socket that the filter, or the absence of privilege,
// refuses.
type family struct {
	name                string
	family, kind, proto int
	privileged          bool
}

var families = []family{
	{"packet", 17, 3, 0, true}, {"raw IPv4", 2, 3, 1, true}, {"raw IPv6", 10, 3, 58, true}, {"netlink audit", 16, 3, 9, false}, {"netlink uevent", 16, 3, 15, false},
	{"netlink generic", 16, 3, 16, false}, {"netlink netfilter", 16, 3, 12, false}, {"vsock", 40, 1, 0, false}, {"bluetooth", 31, 3, 1, false}, {"alg", 38, 5, 0, false},
	{"key", 15, 3, 2, true}, {"xdp", 44, 3, 0, true}, {"can", 29, 3, 1, false}, {"tipc", 30, 1, 0, false}, {"rds", 21, 5, 0, false}, {"ax25", 3, 2, 0, false}, {"nfc", 39, 5, 0, false},
}

func (f family) question() Question {
	return Question{Act: actSocket, Args: []int{f.family, f.kind, f.proto}}
}

// socketTrial is the name under which [Site.Kernel] holds what a family gives
// outside.
func (f family) trial() string { return "socket " + f.name }

func (s *Site) family(f family) Check {
	c := Check{Section: secNetwork, Name: "socket family", Subject: f.name, Ask: []Question{f.question()}}
	if out, ok := s.Kernel[f.trial()]; ok {
		c.Control = "outside: " + errnoName(out)
	}
	c.Judge = func(a []Answer) (Verdict, string) {
		switch n := a[0].Errno; {
		case n == 0 && s.Seccomp == "off" && !f.privileged:
			return Allowed, "there is no filter (seccomp = \"off\")"
		case n == 0:
			return Hole, "such a socket can be had"
		case a[0].is(eperm, eacces, eafnosupport, eprotonosupport):
			return Proved, a[0].why()
		case a[0].Errno == 94: // ESOCKTNOSUPPORT
			return Proved, a[0].why()
		case s.Seccomp == "off":
			return Allowed, "there is no filter (seccomp = \"off\"): " + a[0].why()
		}
		return Unchecked, a[0].why()
	}
	return c
}
