package verify

// processes proves that no process of the host is seen or signalled.
func (s *Site) processes() []Check {
	if s.Inside {
		return []Check{known(secProcesses, "see, signal", "", NotApplicable, "what runs outside is not known inside")}
	}
	if s.Walls {
		return s.neighbours()
	}
	out := s.namespaces()
	share := func(v Verdict, text string) (Verdict, string) {
		if v == Hole && s.SharePID {
			return Allowed, text + ": the processes of the host are shared"
		}
		return v, text
	}
	id := []int{s.Helper}
	return append(out,
		Check{Section: secProcesses, Name: "see", Subject: "a process outside", Ask: []Question{{Act: actSearch, Text: s.Word}},
			Control: "outside the word on its command line is found", Judge: func(a []Answer) (Verdict, string) {
				switch {
				case a[0].Errno != 0:
					return Unchecked, a[0].why()
				case a[0].Read == 0:
					return Unchecked, "no process can be read inside, not even the probe"
				case len(a[0].Found) > 0:
					return share(Hole, "its command line can be read")
				}
				return Proved, "no process has the word"
			}},
		Check{Section: secProcesses, Name: "signal", Subject: "a process outside", Ask: []Question{{Act: actSignal, Args: id, Text: s.Word}},
			Control: "outside it can be signalled", Judge: func(a []Answer) (Verdict, string) {
				switch {
				case a[0].Errno == 0 && s.scoped(scopedSignal):
					return Hole, "it can be signalled"
				case a[0].Errno == 0:
					return share(Hole, "it can be signalled")
				case a[0].is(esrch), a[0].is(eperm) && s.scoped(scopedSignal):
					return Proved, a[0].why()
				}
				return Unchecked, a[0].why()
			}},
		Check{Section: secProcesses, Name: "session", Ask: []Question{{Act: actSelf}}, Control: "the session of the caller is another", Judge: ofSelf(func(self *Self) (Verdict, string) {
			switch {
			case self.Session > 0:
				return Proved, "a session of its own"
			case (s.SharePID || !s.OwnSession) && s.scoped(scopedSignal):
				return Allowed, "the command is in the caller's session, and kept from signalling what is outside"
			case s.SharePID || !s.OwnSession:
				return Allowed, "the command is in the caller's session and process group, and can signal it"
			}
			return Hole, "the command is in the caller's session"
		})})
}

// namespaces proves that the command's are not the caller's.
func (s *Site) namespaces() []Check {
	var out []Check
	for _, name := range []string{"user", "mnt", "pid", "ipc", "uts", "cgroup"} {
		own, ok := s.Spaces[name]
		if !ok {
			continue
		}
		out = append(out, Check{Section: secProcesses, Name: "namespace", Subject: name, Control: "outside it is " + own, Ask: []Question{{Act: actSelf}},
			Judge: ofSelf(func(self *Self) (Verdict, string) {
				switch in := self.Spaces[name]; {
				case in == "":
					return Unchecked, "it cannot be read inside"
				case in != own:
					return Proved, "one of its own"
				case name == "pid" && s.SharePID:
					return Allowed, "the processes of the host are shared"
				}
				return Hole, "it is the caller's"
			})})
	}
	return out
}
