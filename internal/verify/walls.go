package verify

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// With Landlock nothing is mounted: what is hidden is there and cannot be
// opened. A refusal proves the wall only where permissions alone would have let
// the act happen, since a mode can be changed by its owner, the command.

// Paths that only the run knows begin with this name of its directory.
const (
	runDir       = "@run"
	runTmp       = runDir + "/tmp"
	runManifest  = runDir + "/policy.json"
	modeInTheWay = "a mode refuses it before the wall does, and its owner, the command, can change that: give it a mode that lets you, and verify again"
)

// spoken is a path as people know it.
func (s *Site) spoken(path string) string {
	switch path {
	case runTmp:
		return "$TMPDIR"
	case runManifest:
		return "$SBX_MANIFEST"
	case runDir:
		return "the directory of the run"
	}
	return path
}

// makes are attempts to make one of each kind in a directory.
func (s *Site) makes(dir string) []Question {
	var acts []Question
	for _, kind := range []string{"file", "directory", "link", "fifo", "socket"} {
		acts = append(acts, Question{Act: actMake, Path: []byte(s.free(dir, "make")), Text: kind})
	}
	return acts
}

// still proves that nothing can be made in a directory that is only open for
// what is in it, of whatever kind.
func (s *Site) still(dir string) Check {
	acts := s.makes(dir)
	return Check{Section: secProtected, Name: "make", Subject: dir, Ask: acts, Control: s.known("outside and in $TMPDIR all of it can be made"), Judge: s.changes(acts)}
}

// owned is the verdict on what could be done: a gap when the plan says so.
func (s *Site) owned(gap, text string) (Verdict, string) {
	if slices.ContainsFunc(s.Gaps, func(g string) bool { return strings.HasPrefix(g, gap) }) {
		return Gap, text
	}
	return Hole, text
}

// behind reports whether a refusal is that of the wall, or of something that
// the command cannot change; unsure is a mode of the command's own.
func (a *Answer) behind() (kept, unsure bool) {
	g := a.Guard
	switch {
	case !a.is(eperm, eacces) || g == nil:
		return false, false
	case g.May || !g.Own || g.ReadOnly:
		return true, false
	}
	return false, true
}

// judgeBehind is [judgeChanges] where a wall refuses and no mount does.
func judgeBehind(acts []Question, answers []Answer) (Verdict, string) {
	detail := ""
	for i := range answers {
		a := &answers[i]
		kept, unsure := a.behind()
		switch {
		case a.Errno == 0:
			return Hole, couldBe(acts[i].Act)
		case kept || a.is(erofs, ebusy, exdev, enoent, enotdir):
		case unsure:
			return Unchecked, acts[i].Act + ": " + modeInTheWay
		case a.is(etxtbsy):
			return Unchecked, "it is running, which keeps everyone from opening it for writing"
		default:
			return Unchecked, a.why()
		}
		if i > 0 {
			detail += ", "
		}
		act := acts[i].Act
		if act == actMake {
			act = acts[i].Text
		}
		detail += act + " " + errnoName(a.Errno)
	}
	return Proved, detail
}

// changes judges acts that the policy refuses.
func (s *Site) changes(acts []Question) func([]Answer) (Verdict, string) {
	if s.Walls {
		return func(a []Answer) (Verdict, string) { return judgeBehind(acts, a) }
	}
	return func(a []Answer) (Verdict, string) { return judgeChanges(acts, a) }
}

// judgeBehind judges a look at what is hidden and at some of what is in it.
func (h *Secret) judgeBehind(answers []Answer) (Verdict, string) {
	verdict, detail := Proved, ""
	for i := range answers {
		v, d := h.judgeClosed(&answers[i])
		if i > 0 {
			d = "in it " + policy.Plain(base(h.Inner[i-1])) + ": " + d
		}
		if v == Hole {
			return v, d
		}
		if i == 0 || v == Unchecked {
			verdict, detail = v, d
		}
	}
	return verdict, detail
}

func (h *Secret) judgeClosed(a *Answer) (Verdict, string) {
	f := a.File
	switch {
	case f == nil:
		return Unchecked, "the probe could not look: " + a.why()
	case f.Kind == kindAbsent:
		return Proved, "not there"
	case f.Kind == "":
		return h.unseen(a)
	case f.Kind == kindSocket:
		return Unchecked, "a socket is there, and it was none outside"
	case f.Read && f.Kind == kindDir:
		return Hole, "it can be listed"
	case f.Read:
		return Hole, "its content can be read"
	case f.May:
		return Proved, "it is there, and cannot be opened (" + errnoName(f.Errno) + ")"
	case f.Own:
		return Unchecked, modeInTheWay
	}
	return Proved, "not readable, as outside"
}

// visible states that what is hidden is there to be seen.
func (s *Site) visible() Check {
	c := Check{Section: secHidden, Name: "see", Subject: "names, sizes and times", Control: s.known("outside they can be seen")}
	for i := range s.Hidden {
		if h := &s.Hidden[i]; h.Opened == "" {
			c.Ask = append(c.Ask, Question{Act: actLook, Path: []byte(h.Path)})
		}
	}
	c.Judge = func(answers []Answer) (Verdict, string) {
		seen := 0
		for i := range answers {
			if f := answers[i].File; f != nil && f.Kind != kindAbsent && f.Kind != "" {
				seen++
			}
		}
		if seen == 0 {
			return Proved, "nothing that is hidden can be seen"
		}
		return s.owned(engine.GapNames, "of "+strconv.Itoa(len(answers))+" hidden names "+strconv.Itoa(seen)+" can be seen, with size and time")
	}
	return c
}

// judgePlace wants nothing to appear on the host.
func (p *Place) judgeBehind(answers []Answer) (Verdict, string) {
	a := &answers[0]
	kept, unsure := a.behind()
	switch {
	case a.Errno == 0:
		return Hole, "a file can be made there, on the host"
	case kept, p.Private && a.is(eperm, eacces), a.is(erofs, enoent, enotdir):
		return Proved, a.why()
	case unsure:
		return Unchecked, modeInTheWay
	}
	return Unchecked, a.why()
}

// beyond are the gaps about places: what is private in tier full, and what can
// be done to files outside without opening them.
func (s *Site) beyond() []Check {
	var out []Check
	if len(s.Closed) > 0 {
		c := Check{Section: secOutside, Name: "use", Subject: "private directories", Control: s.known("in tier full a file can be made there")}
		for _, dir := range s.Closed {
			c.Ask = append(c.Ask, Question{Act: actCreate, Path: []byte(s.free(dir, "own"))})
		}
		c.Judge = func(answers []Answer) (Verdict, string) {
			for i := range answers {
				if answers[i].Errno == 0 {
					return Hole, "a file can be made in " + policy.Plain(s.Closed[i]) + ", on the host"
				}
			}
			return s.owned(engine.GapPlaces, "closed in their place: "+some(s.Closed))
		}
		out = append(out, c)
	}
	if s.Mode != "" {
		out = append(out, Check{Section: secOutside, Name: "change the mode", Subject: s.spoken(s.Mode), Control: s.known("outside it can be changed"), Ask: []Question{{Act: actMode, Path: []byte(s.Mode)}},
			Judge: func(a []Answer) (Verdict, string) {
				if a[0].Errno != 0 {
					return Proved, a[0].why()
				}
				return s.owned(engine.GapModes, "what belongs to the command's user can get another mode, owner or time")
			}})
	}
	return append(out, known(secOutside, "mounts", "", NotApplicable, "the engine mounts nothing"))
}

// reducedFamilies are the kinds of sockets that would reach the host's network
// and services, since those are not the command's own.
func (s *Site) reducedFamilies() []family {
	var out []family
	if !s.Network {
		out = append(out, []family{{"TCP", 2, 1, 0, false}, {"TCP over IPv6", 10, 1, 0, false}, {"UDP", 2, 2, 0, false}, {"UDP over IPv6", 10, 2, 0, false}, {"MPTCP", 2, 1, 262, false}, {"SCTP", 2, 1, 132, false}}...)
	}
	if v, _ := s.owned(engine.GapUnix, ""); v == Gap {
		out = append(out, []family{{"unix stream", 1, 1, 0, false}, {"unix datagram", 1, 2, 0, false}, {"unix packets", 1, 5, 0, false}, {"unix raw", 1, 3, 0, false}}...)
	}
	return out
}

// sockpairs proves that a pair of sockets works, and that no kind of pair can be
// pointed at a socket of the host.
func (s *Site) sockpairs() []Check {
	pair := func(kind int) []Question { return []Question{{Act: actPair, Args: []int{kind}}} }
	out := []Check{{Section: secNetwork, Name: "control", Subject: "own pair of sockets", Ask: pair(1), Control: s.known("inside, a pair of the command's own works"), Judge: judgeLocal}}
	if v, _ := s.owned(engine.GapUnix, ""); v == Gap {
		for kind, name := range map[int]string{2: "datagram pair", 3: "raw pair"} {
			out = append(out, Check{Section: secNetwork, Name: "socket family", Subject: name, Ask: pair(kind), Control: s.known("outside: done"), Judge: func(a []Answer) (Verdict, string) {
				if a[0].Errno == 0 {
					return Hole, "such sockets can be had, and send to any socket with a name"
				}
				return Proved, a[0].why()
			}})
		}
		slices.SortFunc(out[1:], func(a, b Check) int { return strings.Compare(a.Subject, b.Subject) })
	}
	return out
}

// loopback states that the command cannot serve itself, and proves that it can
// serve nobody on the host.
func (s *Site) loopback() Check {
	return Check{Section: secNetwork, Name: "serve", Subject: "own loopback", Ask: []Question{{Act: actLocal}}, Control: s.known("in tier full the command can talk to itself"),
		Judge: func(a []Answer) (Verdict, string) {
			if a[0].Errno == 0 {
				return Hole, "it can listen on the host's loopback, where others see it"
			}
			return s.owned(engine.GapLoopback, "there is none ("+a[0].why()+")")
		}}
}

// hostTrials are calls that reach what an IPC namespace would keep apart.
var hostTrials = []trial{
	{"shmget", enosys, false, false, true},
	{"semget", enosys, false, false, true},
	{"msgget", enosys, false, false, true},
	{"mq_open", enosys, false, false, true},
	{"limits of another process", eperm, false, false, true},
}

// hostFiles are those of the host's /sys that change how it works.
var hostFiles = []string{"/sys/kernel/uevent_helper", "/sys/power/state", "/sys/fs/cgroup/cgroup.procs"}

// doors proves that devices are there and cannot be opened.
func (s *Site) doors() Check {
	c := Check{Section: secKernel, Name: "devices", Subject: "of the host", Control: s.known("outside they can be opened")}
	for _, path := range s.Devices {
		c.Ask = append(c.Ask, Question{Act: actRead, Path: []byte(path)})
	}
	if len(c.Ask) == 0 {
		return known(secKernel, "devices", "of the host", NotApplicable, "there is none that this user can open")
	}
	c.Judge = func(answers []Answer) (Verdict, string) {
		for i := range answers {
			switch a := &answers[i]; {
			case a.Errno == 0:
				return Hole, policy.Plain(s.Devices[i]) + " can be opened"
			case !a.is(eacces, eperm):
				return Unchecked, policy.Plain(s.Devices[i]) + ": " + a.why()
			}
		}
		return Proved, "closed: " + some(s.Devices)
	}
	return c
}

// neighbours proves that processes outside can be seen and no more.
func (s *Site) neighbours() []Check {
	shared := s.SharePID
	proc := "/proc/" + strconv.Itoa(s.Helper)
	const outside = "a process outside"
	out := []Check{
		{Section: secProcesses, Name: "see", Subject: outside, Ask: []Question{{Act: actSearch, Text: s.Word}}, Control: "outside the word on its command line is found", Judge: func(a []Answer) (Verdict, string) {
			switch {
			case a[0].Errno != 0 || a[0].Read == 0:
				return Unchecked, "no process can be read inside, not even the probe"
			case len(a[0].Found) == 0:
				return Proved, "no process has the word"
			case shared:
				return Allowed, "its command line can be read: the processes of the host are shared"
			}
			return s.owned(engine.GapProcesses, "its command line can be read")
		}},
		{Section: secProcesses, Name: "namespaces", Ask: []Question{{Act: actSelf}}, Control: "compared with the caller's", Judge: ofSelf(func(self *Self) (Verdict, string) {
			var same []string
			for _, name := range []string{"user", "mnt", "pid", "ipc", "uts", "cgroup"} {
				if own := s.Spaces[name]; own != "" && self.Spaces[name] == own {
					same = append(same, name)
				}
			}
			if len(same) == 0 {
				return Proved, "all its own"
			}
			return s.owned(engine.GapProcesses, "those of the caller: "+strings.Join(same, " "))
		})},
		{Section: secProcesses, Name: "session", Ask: []Question{{Act: actSelf}}, Control: "compared with the caller's", Judge: ofSelf(func(self *Self) (Verdict, string) {
			return Allowed, "the command is in the caller's session, on its terminal"
		})},
	}
	for _, how := range []string{"kill", "tgkill", "pidfd_send_signal"} {
		out = append(out, Check{Section: secProcesses, Name: how, Subject: outside, Ask: []Question{{Act: actSignal, Args: []int{s.Helper}, Text: s.Word, To: []byte(how)}}, Control: "outside it can be signalled", Judge: func(a []Answer) (Verdict, string) {
			switch {
			case a[0].Errno == 0 && shared:
				return Allowed, "it can be signalled: the processes of the host are shared"
			case a[0].Errno == 0:
				return s.owned(engine.GapSignals, "it can be signalled")
			case a[0].is(eperm, enosys):
				return Proved, a[0].why()
			}
			return Unchecked, a[0].why()
		}})
	}
	for _, how := range waysIn {
		out = append(out, Check{Section: secProcesses, Name: how, Subject: outside, Ask: []Question{{Act: actTrace, Args: []int{s.Helper}, Text: how}}, Control: s.outcome(how), Judge: func(a []Answer) (Verdict, string) {
			switch {
			case a[0].is(eperm, eacces):
				return Proved, a[0].why()
			case a[0].is(enosys):
				return NotApplicable, "not in this kernel"
			}
			return Hole, "it is let in (" + a[0].why() + ")"
		}})
	}
	for _, name := range closedOfOthers {
		out = append(out, Check{Section: secProcesses, Name: "open", Subject: proc + "/" + name, Ask: []Question{{Act: actRead, Path: []byte(proc + "/" + name)}}, Control: s.outcome(name), Judge: func(a []Answer) (Verdict, string) {
			switch {
			case a[0].Errno == 0:
				return Hole, "it can be opened"
			case a[0].is(eacces, eperm):
				return Proved, a[0].why()
			}
			return Unchecked, a[0].why()
		}})
	}
	return out
}

// waysIn are calls by which one process reaches into another, and
// closedOfOthers what /proc has for that.
var (
	waysIn         = []string{"ptrace", "process_vm_readv", "pidfd_getfd"}
	closedOfOthers = []string{"environ", "mem", "maps", "auxv", "fd/0", "cwd", "root", "exe"}
)

// outcome is the control of an act on the process outside: how it goes there.
func (s *Site) outcome(act string) string {
	return "outside: " + errnoName(s.Kernel["outside "+act])
}

// runOwn proves that the command can change nothing of its run's and of sbx's.
func (s *Site) runOwn() []Check {
	beside := runDir + "-" + s.Nonce // beside the directory of the run
	acts := []Question{{Act: actOpen, Path: []byte(runManifest), Text: textOwn}, {Act: actCreate, Path: []byte(s.free(runDir, "in"))}, s.move(runManifest), {Act: actRename, Path: []byte(runDir), To: []byte(beside)}, {Act: actCreate, Path: []byte(beside)}}
	out := []Check{s.manifest(), {Section: secOwn, Name: "write, move", Subject: s.spoken(runManifest), Ask: acts, Control: s.known("the acts succeed where they may"), Judge: s.changes(acts)}}
	n := len(out)
	for path, rule := range s.Own.Programs {
		if rule != "" {
			out = append(out, known(secOwn, "write", path, Allowed, "it lies where the command may write ("+rule+")"))
			continue
		}
		move := []Question{s.move(path)}
		out = append(out, Check{Section: secOwn, Name: "move", Subject: path, Ask: move, Control: s.known("its owner can, outside"), Judge: s.changes(move)})
		acts := []Question{{Act: actOpen, Path: []byte(path)}}
		out = append(out, Check{Section: secOwn, Name: "write", Subject: path, Ask: acts, Control: s.known("its owner can, outside"), Judge: func(a []Answer) (Verdict, string) {
			if a[0].is(etxtbsy) {
				return NotApplicable, "it is running, which keeps everyone from opening it for writing"
			}
			return judgeBehind(acts, a)
		}})
	}
	slices.SortStableFunc(out[n:], func(a, b Check) int { return strings.Compare(a.Subject, b.Subject) })
	return out
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
