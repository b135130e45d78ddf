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
// reads. What it is about stands in the Result; its Control is "" from inside,
// where nothing can be compared.
type check struct {
	Result
	Ask     []question // their IDs are given by [number]
	Judge   judge
	Twin    bool        // the first act is tried outside as well: see [check.compare]
	Out     *int        // the errno that it gives there; nil while it is not known
	Allowed string      // what is said of a hole that the policy allows; "" where it allows none
	Gap     string      // the gap that makes no hole of it where the plan names it; "" for none
	Heard   func() bool // outside, of what the probe did; nil where nothing is
}

// judge gives the verdict on the answers to a check, each of which is there.
type judge = func([]answer) (Verdict, string)

// table is how most judges are written: the first row that holds is the verdict.
type table []struct {
	holds   bool
	verdict Verdict
	text    string
}

func (t table) decide() (Verdict, string) {
	for _, row := range t {
		if row.holds {
			return row.verdict, row.text
		}
	}
	return unchecked, "nothing is known of such an answer"
}

// controlInside is the one control that can be made from inside.
const (
	noControl     = "no control from inside"
	controlInside = "the same acts succeed with the sandbox's own files"
)

// prover lists what is to be proved about a target, section by section.
type prover struct {
	*target
	section string
	out     []*check
}

// checks lists everything that is to be proved about a target.
func (s *target) checks() []*check {
	p := &prover{target: s}
	for _, part := range []struct {
		section string
		list    func()
	}{
		{secHidden, p.hidden}, {secProtected, p.protected}, {secOutside, p.outside}, {secNetwork, p.network},
		{secSockets, p.sockets}, {secKernel, p.kernel}, {secProcesses, p.processes}, {secEnv, p.environment},
		{secFDs, p.descriptors}, {secOwn, p.own},
	} {
		p.section = part.section
		part.list()
	}
	for _, c := range p.out {
		if s.Inside && c.Control != controlInside {
			c.Control = noControl
		}
	}
	return p.out
}

// prove adds a check.
func (p *prover) prove(name, subject, control string, judge judge, acts ...question) *check {
	result := Result{Section: p.section, Name: name, Subject: subject, Control: control}
	c := &check{Result: result, Ask: acts, Judge: judge}
	p.out = append(p.out, c)
	return c
}

// compared adds a check whose control is the same act, tried outside.
func (p *prover) compared(name, subject string, judge judge, act question) *check {
	c := p.prove(name, subject, "", judge, act)
	c.Twin = true
	return c
}

// known adds a check whose verdict needs no probe.
func (p *prover) known(name, subject string, v Verdict, detail string) {
	p.prove(name, subject, "", func([]answer) (Verdict, string) { return v, detail })
}

// self adds a check by what the probe knows of its own process.
func (p *prover) self(name, subject, control string, judge func(*selfInfo) (Verdict, string)) *check {
	return p.prove(name, subject, control, func(a []answer) (Verdict, string) {
		if a[0].Self == nil {
			return unchecked, a[0].why()
		}
		return judge(a[0].Self)
	}, question{Act: actSelf})
}

// unchanged adds a check of acts that would change something protected.
func (p *prover) unchanged(name, subject, control string, acts ...question) *check {
	return p.prove(name, subject, control, p.changes(acts), acts...)
}

// compare makes the outcome of the first act outside the control.
func (c *check) compare(errno int) {
	c.Out, c.Control = &errno, "outside: "+errnoName(errno)
	if c.Ask[0].Act == actConnect {
		c.Control = "outside it answers"
		if errno != 0 {
			c.Control = "outside it refuses, too (" + errnoName(errno) + ")"
		}
	}
}

// except gives another verdict where the first act ended in a certain way.
func (c *check) except(errno syscall.Errno, v Verdict, text string) {
	judge := c.Judge
	c.Judge = func(a []answer) (Verdict, string) {
		if a[0].Errno == int(errno) {
			return v, text
		}
		return judge(a)
	}
}

// number gives every question an ID and returns them in order.
func number(checks []*check) []question {
	var out []question
	for _, c := range checks {
		for i := range c.Ask {
			c.Ask[i].ID = len(out) + 1
			out = append(out, c.Ask[i])
		}
	}
	return out
}

// evaluate judges the answers.
func (s *target) evaluate(checks []*check, answers map[int]answer) []Result {
	out := make([]Result, len(checks))
	for i, c := range checks {
		out[i] = c.Result
		out[i].Verdict, out[i].Detail = s.verdict(c, answers)
	}
	return out
}

// verdict compares what could be done with what the policy and the plan say of
// it. A check with a question that has no answer is unchecked.
func (s *target) verdict(c *check, answers map[int]answer) (Verdict, string) {
	got := make([]answer, len(c.Ask))
	for i, q := range c.Ask {
		var ok bool
		if got[i], ok = answers[q.ID]; !ok {
			return unchecked, "the probe inside gave no answer"
		}
	}
	v, text := c.Judge(got)
	switch {
	case v != hole:
	case c.Allowed != "":
		return allowed, c.Allowed
	case c.Gap != "" && s.names(c.Gap):
		return gap, text
	case s.Feigned && c.feigned(got):
		return unchecked, text + ", or the filter from a file says so"
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
func (s *target) names(words string) bool {
	return slices.ContainsFunc(s.Gaps, func(g string) bool { return strings.HasPrefix(g, words) })
}

// owned is the verdict on what tier full refuses: a gap when the plan says so.
func (s *target) owned(words string) Verdict {
	if s.names(words) {
		return gap
	}
	return hole
}

// refused judges one act that has to fail with one of some errnos; with none
// given, any will do.
func refused(done string, by ...syscall.Errno) judge {
	return func(a []answer) (Verdict, string) {
		return table{
			{a[0].Errno == 0, hole, done},
			{len(by) == 0 || a[0].is(by...), proved, a[0].why()},
			{true, unchecked, a[0].why()},
		}.decide()
	}
}

// cause tells refusals by the sandbox, or something else that the command cannot
// change, from those by a mode, which its owner, the command, can change; both are
// false where it is not known. With Landlock nothing is mounted, and what
// permissions alone would let happen was refused by it.
func (s *target) cause(a *answer, act string) (held, byMode bool) {
	g := a.Guard
	if !a.is(unix.EPERM, unix.EACCES) || g == nil {
		return false, false
	}
	held = g.ReadOnly || !g.Own || s.Walls && g.May || !s.Walls && act == actRename && g.Mount
	return held, !held
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
			held, byMode := s.cause(a, q.Act)
			busy := a.is(unix.ETXTBSY) // the kernel looks at that before it looks at the mount
			refusal := q.name() + " " + errnoName(a.Errno)
			v, text := table{
				{a.Errno == 0, hole, q.couldBe()},
				{held || a.is(unix.EROFS, unix.EBUSY, unix.EXDEV, unix.ENOENT, unix.ENOTDIR), proved, refusal},
				{byMode && s.Walls, unchecked, q.name() + ": " + modeInTheWay},
				{byMode, hole, q.couldBe() + " once its owner, the command, changes a mode (" + a.why() + ")"},
				{busy && s.Walls, unchecked, running},
				{busy && a.Guard != nil && a.Guard.ReadOnly, proved, refusal},
				{busy, hole, "it could be opened for writing, were it not running now"},
				{true, unchecked, a.why()},
			}.decide()
			if v != proved {
				return v, text
			}
			details = append(details, text)
		}
		return proved, strings.Join(details, ", ")
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
	if q.name() != q.Act {
		return "something can be made in it"
	}
	return q.act().done
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

// some lists the first few of many names for people.
func some(names []string) string {
	const few = 3
	var out []string
	for _, n := range names[:min(len(names), few)] {
		out = append(out, plain(n))
	}
	if len(names) > few {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

// without returns the names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(others, n) })
}
