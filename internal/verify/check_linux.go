// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// check is one thing to prove: acts for the probe to try, and how their outcome
// reads.
type check struct {
	Section string // given by [target.checks]
	Name    string
	Subject string
	Control string     // "" from inside, where nothing can be compared
	Ask     []question // their IDs are given by [number]
	Judge   judge
	Allowed string      // what is said of a hole that the policy allows; "" where it allows none
	Gap     string      // the gap that makes no hole of it where the plan names it; "" for none
	Heard   func() bool // outside, of what the probe did; nil where nothing is
}

// judge gives the verdict on the answers to a check, each of which is there.
type judge = func([]answer) (Verdict, string)

// controlInside is the one control that can be made from inside.
const (
	noControl     = "no control from inside"
	controlInside = "the same acts succeed with the sandbox's own files"
)

// prover lists what is to be proved about a target, section by section.
type prover struct {
	*target
	out []check
}

// checks lists everything that is to be proved about a target.
func (s *target) checks() []check {
	p := &prover{target: s}
	for _, part := range []struct {
		section string
		list    func()
	}{
		{secHidden, p.hidden}, {secProtected, p.protected}, {secOutside, p.outside}, {secNetwork, p.network},
		{secSockets, p.sockets}, {secKernel, p.kernel}, {secProcesses, p.processes}, {secEnv, p.environment},
		{secFDs, p.descriptors}, {secOwn, p.own},
	} {
		begin := len(p.out)
		part.list()
		for i := begin; i < len(p.out); i++ {
			c := &p.out[i]
			c.Section = part.section
			if s.Inside && c.Control != controlInside {
				c.Control = noControl
			}
		}
	}
	return p.out
}

// number gives every question an ID and returns them in order.
func number(checks []check) []question {
	var out []question
	for i := range checks {
		for j := range checks[i].Ask {
			checks[i].Ask[j].ID = len(out) + 1
			out = append(out, checks[i].Ask[j])
		}
	}
	return out
}

// evaluate judges the answers. A check with a question that has no answer is
// unchecked.
func (s *target) evaluate(checks []check, answers map[int]answer) []Result {
	out := make([]Result, len(checks))
	for i := range checks {
		c := &checks[i]
		out[i] = Result{Section: c.Section, Name: c.Name, Subject: c.Subject, Control: c.Control}
		out[i].Verdict, out[i].Detail = s.verdict(c, answers)
	}
	return out
}

// verdict compares what could be done with what the policy and the plan say of
// it.
func (s *target) verdict(c *check, answers map[int]answer) (Verdict, string) {
	got := make([]answer, len(c.Ask))
	for i, q := range c.Ask {
		var ok bool
		if got[i], ok = answers[q.ID]; !ok {
			return Unchecked, "the probe inside gave no answer"
		}
	}
	v, text := c.Judge(got)
	switch {
	case v != Hole:
	case c.Allowed != "":
		return Allowed, c.Allowed
	case c.Gap != "" && s.names(c.Gap):
		return Gap, text
	case s.Feigned && c.feigned(got):
		return Unchecked, text + ", or the filter from a file says so"
	}
	return v, text
}

// telling are the acts of which more is known than an errno.
var telling = []string{actLook, actRead, actSelf, actSearch, actLocal, actUDP}

// feigned reports whether all that speaks for a hole is that nothing was refused.
// Where a filter answers with errno 0, what was done cannot be told from what was
// only said to be.
func (c *check) feigned(answers []answer) bool {
	for i := range answers {
		a := &answers[i]
		if a.Errno == 0 && len(a.Found) == 0 && !slices.Contains(telling, c.Ask[i].Act) &&
			(c.Heard == nil || !c.Heard()) {
			return true
		}
	}
	return false
}

// names reports whether the plan names a gap.
func (s *target) names(gap string) bool {
	return slices.ContainsFunc(s.Gaps, func(g string) bool { return strings.HasPrefix(g, gap) })
}

// owned is the verdict on what tier full refuses: a gap when the plan says so.
func (s *target) owned(gap, text string) (Verdict, string) {
	if s.names(gap) {
		return Gap, text
	}
	return Hole, text
}

// prove adds a check. What is returned holds until the next one is added.
func (s *prover) prove(name, subject, control string, judge judge, acts ...question) *check {
	s.out = append(s.out, check{Name: name, Subject: subject, Control: control, Ask: acts, Judge: judge})
	return &s.out[len(s.out)-1]
}

// known adds a check whose verdict needs no probe.
func (s *prover) known(name, subject string, v Verdict, detail string) {
	s.prove(name, subject, "", func([]answer) (Verdict, string) { return v, detail })
}

// refused judges one act that has to fail with one of some errnos; with none
// given, any will do.
func refused(done string, by ...syscall.Errno) judge {
	return func(a []answer) (Verdict, string) {
		switch {
		case a[0].Errno == 0:
			return Hole, done
		case len(by) == 0 || a[0].is(by...):
			return Proved, a[0].why()
		}
		return Unchecked, a[0].why()
	}
}

// ofSelf judges by what the probe knows of its own process.
func ofSelf(judge func(*selfInfo) (Verdict, string)) judge {
	return func(a []answer) (Verdict, string) {
		if a[0].Self == nil {
			return Unchecked, a[0].why()
		}
		return judge(a[0].Self)
	}
}

// refusal is where a refusal comes from.
type refusal uint8

const (
	otherCause refusal = iota // not known, or nothing to do with the sandbox
	held                      // the sandbox, or something else that the command cannot change
	byMode                    // a mode, which its owner, the command, can change
)

// refusal tells the sandbox's refusals from those of permissions. With Landlock
// nothing is mounted, and what permissions alone would let happen was refused by
// it.
func (s *target) refusal(a *answer, act string) refusal {
	g := a.Guard
	switch {
	case !a.is(unix.EPERM, unix.EACCES) || g == nil:
		return otherCause
	case g.ReadOnly, !g.Own, s.Walls && g.May, !s.Walls && act == actRename && g.Mount:
		return held
	}
	return byMode
}

const (
	modeInTheWay = "a mode refuses it before the sandbox does, and its owner, the command, can change that: " +
		"give it a mode that lets you, and verify again"
	running = "it is running, which keeps everyone from opening it for writing"
)

// changes judges acts that have to be refused by something that the command
// cannot change: a read-only mount, a mount point, another file system, a
// Landlock rule. A mode alone is no wall to its owner.
func (s *target) changes(acts []question) judge {
	return func(answers []answer) (Verdict, string) {
		var details []string
		for i := range answers {
			a, q := &answers[i], &acts[i]
			cause := s.refusal(a, q.Act)
			switch {
			case a.Errno == 0:
				return Hole, q.couldBe()
			case cause == held, a.is(unix.EROFS, unix.EBUSY, unix.EXDEV, unix.ENOENT, unix.ENOTDIR):
			case cause == byMode && s.Walls:
				return Unchecked, q.name() + ": " + modeInTheWay
			case cause == byMode:
				return Hole, q.couldBe() + " once its owner, the command, changes a mode (" + a.why() + ")"
			case a.is(unix.ETXTBSY) && s.Walls:
				return Unchecked, running
			case a.is(unix.ETXTBSY) && (a.Guard == nil || !a.Guard.ReadOnly): // the kernel looks at that first
				return Hole, "it could be opened for writing, were it not running now"
			case !a.is(unix.ETXTBSY):
				return Unchecked, a.why()
			}
			details = append(details, q.name()+" "+errnoName(a.Errno))
		}
		return Proved, strings.Join(details, ", ")
	}
}

// name is the act for people.
func (q *question) name() string {
	if q.Act == actCreate && q.Text != "" {
		return q.Text
	}
	return q.Act
}

// couldBe says that the act could be done.
func (q *question) couldBe() string {
	switch q.Act {
	case actCreate:
		if q.Text != "" {
			return "something can be made in it"
		}
		return "a file can be made in it"
	case actOpen:
		return "it can be opened for writing"
	case actLink:
		return "a hard link of it can be opened for writing"
	case actRemove:
		return "it can be removed"
	}
	return "it can be moved away"
}

// why names an errno as errno(3) does, with the part of the act it came from.
func (a *answer) why() string {
	text := errnoName(a.Errno)
	if a.Step != "" {
		text = a.Step + ": " + text
	}
	return text
}

func (a *answer) is(errnos ...syscall.Errno) bool {
	return slices.Contains(errnos, syscall.Errno(a.Errno))
}

func errnoName(n int) string {
	if n == 0 {
		return "done"
	}
	if name := unix.ErrnoName(syscall.Errno(n)); name != "" {
		return name
	}
	return "errno " + strconv.Itoa(n)
}

// ask is one question about a path.
func ask(act, path string) question { return question{Act: act, Path: []byte(path)} }

// askSelf is the question of all checks that judge by the probe's process.
var askSelf = question{Act: actSelf}

// some lists the first few of many names for people.
func some(names []string) string {
	const few = 3
	out := make([]string, 0, few)
	for _, n := range names[:min(len(names), few)] {
		out = append(out, plain(n))
	}
	text := strings.Join(out, ", ")
	if len(names) > few {
		text += ", …"
	}
	return text
}

// without returns the names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(others, n) })
}
