// SPDX-License-Identifier: Apache-2.0

package seccomp

import (
	"cmp"
	"slices"
	"strings"
)

// Rule is one line of what is refused, for people and tests.
type Rule struct {
	Name   string // of the system call, as in man section 2
	Args   string // which arguments are refused, "" for all
	Action string // the errno returned, by name
}

// Rules lists what Filter refuses for the same Options, sorted by name, and
// nothing at all when Filter would fail. Numbers without a name, all of which
// answer ENOSYS in level strict and above the newest known one, are not in it.
func Rules(o Options) []Rule {
	if o.check() != nil {
		return nil
	}
	var rules []Rule
	for name, do := range refused(o) {
		for _, r := range do.refusals(o) {
			rules = append(rules, Rule{name, r.args, r.errno})
		}
	}
	slices.SortStableFunc(rules, func(a, b Rule) int { return cmp.Compare(a.Name, b.Name) })
	return rules
}

// refusal is what people are told of a verdict.
type refusal struct{ args, errno string }

var refusals = [verdicts][]refusal{
	eperm:           {{"", "EPERM"}},
	enosys:          {{"", "ENOSYS"}},
	eafnosupport:    {{"", "EAFNOSUPPORT"}},
	eprotonosupport: {{"", "EPROTONOSUPPORT"}},

	cloneFlags:       {{"a CLONE_NEW* flag", "EPERM"}},
	unshareFlags:     {{"a CLONE_NEW* or unknown flag", "EPERM"}},
	ioctlCommand:     {{"TIOCSTI or TIOCLINUX", "EPERM"}},
	persona:          {{"a flag other than PER_LINUX32, UNAME26, ADDR_NO_RANDOMIZE", "EPERM"}},
	pairFamily:       {{"a family other than AF_UNIX", "EAFNOSUPPORT"}},
	modeSecond:       {{"a mode with S_ISUID or S_ISGID", "EPERM"}},
	modeThird:        {{"a mode with S_ISUID or S_ISGID", "EPERM"}},
	othersLimits:     {{"a process other than 0 and a new limit", "EPERM"}},
	othersPriority:   {{"anything but PRIO_PROCESS 0", "EPERM"}},
	othersIOPriority: {{"anything but IOPRIO_WHO_PROCESS 0", "EPERM"}},
	initAffinity:     {{"process 1", "EPERM"}},
	initSchedule:     {{"process 1", "EPERM"}},
	markOption:       {{"option 0x53425821", "errno 1464"}},
}

// refusals tells what v refuses under o.
func (v verdict) refusals(o Options) []refusal {
	switch v {
	case cloneFlags:
		if o.Host {
			return []refusal{{"a CLONE_NEW* flag or CLONE_PARENT", "EPERM"}}
		}
	case ioctlCommand:
		if o.Level == "strict" {
			return []refusal{{"TIOCSTI, TIOCLINUX or TIOCSETD", "EPERM"}}
		}
	case othersPriority:
		if o.Level != "strict" && !o.Host {
			return []refusal{{"anything but PRIO_PROCESS, and that of process 1", "EPERM"}}
		}
	case initSchedule:
		if o.Level == "strict" {
			return []refusal{{"any process", "EPERM"}}
		}
	case pairFamily:
		if o.NoUnix {
			return []refusal{{"anything but AF_UNIX with SOCK_STREAM or SOCK_SEQPACKET", "EAFNOSUPPORT"}}
		}
	case openFlags, openatFlags:
		var out []refusal
		if o.Root {
			out = append(out, refusal{"O_CREAT or O_TMPFILE and a mode with S_ISUID or S_ISGID", "EPERM"})
		}
		if o.NoTruncate {
			out = append(out, refusal{"O_TRUNC with neither O_WRONLY nor O_RDWR", "EPERM"})
		}
		return out
	case socketFamily:
		return socketRefusals(o)
	}
	return refusals[v]
}

func socketRefusals(o Options) []refusal {
	var served []string
	if !o.NoUnix {
		served = append(served, "AF_UNIX")
	}
	if !o.NoInet {
		served = append(served, "AF_INET", "AF_INET6")
	}
	first := "a family other than " + strings.Join(append(served, "AF_NETLINK"), ", ")
	netlink := refusal{"AF_NETLINK with a protocol other than NETLINK_ROUTE", "EPROTONOSUPPORT"}
	switch {
	case o.NoInet:
		return []refusal{{first, "EAFNOSUPPORT"}, netlink}
	case o.Level == "strict":
		return []refusal{
			{first + "; AF_INET or AF_INET6 with a type other than SOCK_STREAM, SOCK_DGRAM, SOCK_RAW", "EAFNOSUPPORT"},
			{"AF_INET or AF_INET6 with a protocol other than 0, ICMP, TCP, UDP, ICMPV6, MPTCP", "EPROTONOSUPPORT"},
			netlink,
		}
	}
	return []refusal{{first + "; SOCK_PACKET", "EAFNOSUPPORT"}, netlink}
}
