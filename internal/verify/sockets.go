package verify

func judgeConnect(a *Answer) (Verdict, string) {
	if a.Errno == 0 {
		return Hole, "it can be connected to"
	}
	return Proved, a.why()
}

// sockets proves that no service of the host's answers that the policy does not
// name.
func (s *Site) sockets() []Check {
	var out []Check
	for i := range s.Sockets {
		k := &s.Sockets[i]
		subject := k.Path
		if len(subject) > 0 && subject[0] == 0 {
			subject = "@" + subject[1:]
		}
		c := Check{Section: secSockets, Name: k.Name, Subject: subject, Ask: []Question{{Act: actConnect, Path: []byte(s.at(k.Path))}}}
		if !s.Inside {
			c.Control = "outside it answers"
			if k.Out != 0 {
				c.Control = "outside it refuses, too (" + errnoName(k.Out) + ")"
			}
		}
		c.Judge = func(a []Answer) (Verdict, string) {
			v, d := judgeConnect(&a[0])
			if v == Hole && k.Opened != "" {
				return Allowed, "named by " + k.Opened
			}
			return v, d
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		out = append(out, known(secSockets, "services", "", NotApplicable, "none of the usual sockets is on this host"))
	}
	return out
}
