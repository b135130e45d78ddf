// SPDX-License-Identifier: Apache-2.0

package seccomp

import "golang.org/x/net/bpf"

// verdict is what happens to a call. The first ones are final, the others look
// at arguments.
type verdict uint8

const (
	allow verdict = iota
	eperm
	enosys
	eafnosupport
	eprotonosupport
	mark

	cloneFlags
	unshareFlags
	ioctlCommand
	persona
	socketFamily
	pairFamily
	modeSecond // the mode is the second argument
	modeThird
	openFlags // open: flags second, mode third
	openatFlags
	othersLimits
	othersPriority
	othersIOPriority
	initAffinity
	initSchedule
	markOption

	verdicts              // how many there are
	finals   = cloneFlags // how many of them are final
)

// answers are the errnos of final verdicts, as Linux numbers them.
var answers = [finals]uint32{eperm: 1, enosys: 38, eafnosupport: 97, eprotonosupport: 93, mark: Mark}

// value is the return value of a final verdict.
func (v verdict) value() uint32 {
	if v == allow {
		return retAllow
	}
	return retErrno | answers[v]
}

const (
	// newNamespaces are CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID
	// and NEWNET. CLONE_NEWTIME (0x80) is not among them: in clone(2) that bit
	// belongs to the exit signal, and the kernel takes it from clone3 only.
	newNamespaces = 0x7e020000

	// cloneParent makes a process a child of the caller's parent: without a
	// namespace, of a process of the host, which would wait for it.
	cloneParent = 0x8000

	// unshareable are CLONE_VM, FS, FILES, SIGHAND, THREAD and SYSVSEM: all the
	// flags unshare(2) has that make no namespace. Allowing these, rather than
	// refusing the others, covers CLONE_NEWTIME and flags not invented yet.
	unshareable = 0x00050f00

	// personas are PER_LINUX32, UNAME26 and ADDR_NO_RANDOMIZE. The last one
	// weakens only the caller, and gdb, setarch -R and ThreadSanitizer need it.
	// READ_IMPLIES_EXEC, MMAP_PAGE_ZERO and other systems' personalities help
	// only exploits.
	personas = 0x00060008

	tiocsti   = 0x5412 // types into the terminal
	tioclinux = 0x541c // pastes into a virtual console
	tiocsetd  = 0x5423 // loads a line discipline: drivers for modems and the like, with a history

	afUnix, afInet, afInet6, afNetlink = 1, 2, 10, 16

	sockTypeMask                                   = 0xf
	sockStream, sockRaw, sockSeqpacket, sockPacket = 1, 3, 5, 10

	ipICMP, ipTCP, ipUDP, ipICMPv6, ipMPTCP = 1, 6, 17, 58, 262

	setID     = 0o6000        // S_ISUID | S_ISGID
	createsOn = 0o100 | 1<<22 // O_CREAT | __O_TMPFILE; without them open ignores its mode

	oWronly, oRdwr, oAccmode, oTrunc = 1, 2, 3, 0o1000

	prioProcess, ioprioWhoProcess = 0, 1
)

// check emits the block that decides v by the arguments, and returns where it
// starts. It reads from the bottom up, see program.
func (p *levelProgram) check(v verdict) label {
	switch v {
	case cloneFlags:
		flags := uint32(newNamespaces)
		if p.o.Host {
			flags |= cloneParent
		}
		p.anyBit(flags, p.at[eperm], p.at[allow])
		return p.loadArg(0)
	case unshareFlags:
		p.anyBit(^uint32(unshareable), p.at[eperm], p.at[allow])
		return p.loadArg(0)
	case ioctlCommand:
		next := p.equal(tioclinux, p.at[eperm], p.at[allow])
		if p.o.Level == "strict" {
			next = p.equal(tiocsetd, p.at[eperm], next)
		}
		p.equal(tiocsti, p.at[eperm], next)
		return p.loadArg(1)
	case persona:
		next := p.anyBit(^uint32(personas), p.at[eperm], p.at[allow])
		p.equal(0xffffffff, p.at[allow], next) // asks, sets nothing
		return p.loadArg(0)
	case socketFamily:
		return p.socket()
	case pairFamily:
		return p.pair()
	case modeSecond:
		return p.mode(1)
	case modeThird:
		return p.mode(2)
	case openFlags:
		return p.open(1)
	case openatFlags:
		return p.open(2)
	case othersLimits:
		p.nonZero(2, p.at[eperm], p.at[allow]) // asks, sets nothing, with NULL
		return p.forOthers(0)
	case othersPriority:
		if p.o.Level != "strict" && !p.o.Host {
			who := p.notInit(1)
			p.equal(prioProcess, who, p.at[eperm])
			return p.loadArg(0)
		}
		return p.priority(prioProcess)
	case othersIOPriority:
		return p.priority(ioprioWhoProcess)
	case initAffinity:
		return p.notInit(0)
	case initSchedule:
		if p.o.Level == "strict" {
			return p.at[eperm]
		}
		return p.notInit(0)
	case markOption:
		p.equal(MarkOption, p.at[mark], p.at[allow])
		return p.loadArg(0)
	}
	// Cannot happen: assemble places the final verdicts itself.
	return p.at[eperm]
}

// socket refuses families as a kernel built without them does. Of netlink
// only routes are served, which getifaddrs(3) and ip(8) need; libaudit and
// ss(8) take EPROTONOSUPPORT as "not in this kernel".
func (p *levelProgram) socket() label {
	p.equal(0, p.at[allow], p.at[eprotonosupport]) // NETLINK_ROUTE
	next := p.equal(afNetlink, p.loadArg(2), p.at[eafnosupport])
	if !p.o.NoInet {
		inet, inet6 := p.inet()
		next = p.equal(afInet6, inet6, next)
		next = p.equal(afInet, inet, next)
	}
	if !p.o.NoUnix {
		p.equal(afUnix, p.at[allow], next)
	}
	return p.loadArg(0)
}

// inet checks what follows the family. SOCK_PACKET of AF_INET is an old name
// for AF_PACKET, which the kernel still translates. In level strict there is
// none of what a protocol other than the usual ones would load: SCTP and DCCP
// have been ways into the kernel, and SMC is refused as a family as well.
func (p *levelProgram) inet() (inet, inet6 label) {
	if p.o.Level == "strict" {
		next := p.at[eprotonosupport]
		for _, protocol := range [...]uint32{ipMPTCP, ipICMPv6, ipICMP, ipUDP, ipTCP, 0} {
			next = p.equal(protocol, p.at[allow], next)
		}
		p.test(bpf.JumpGreaterThan, sockRaw, p.at[eafnosupport], p.loadArg(2))
		p.mask(sockTypeMask) // less SOCK_CLOEXEC and SOCK_NONBLOCK
		types := p.loadArg(1)
		return types, types
	}
	p.equal(sockPacket, p.at[eafnosupport], p.at[allow])
	p.mask(sockTypeMask)
	return p.loadArg(1), p.at[allow]
}

// pair refuses pairs of other families. An end of a pair of datagrams sends to
// any socket that has a name, like a socket of socket(2); an end of the other
// types is connected for good.
func (p *levelProgram) pair() label {
	unix := p.at[allow]
	if p.o.NoUnix {
		next := p.equal(sockSeqpacket, p.at[allow], p.at[eafnosupport])
		p.equal(sockStream, p.at[allow], next)
		p.mask(sockTypeMask)
		unix = p.loadArg(1)
	}
	p.equal(afUnix, unix, p.at[eafnosupport])
	return p.loadArg(0)
}

func (p *levelProgram) mode(arg uint32) label {
	p.anyBit(setID, p.at[eperm], p.at[allow])
	return p.loadArg(arg)
}

// open checks the mode when the flags create a file, and that who truncates a
// file also opens it for writing. Access mode 3 opens for neither, though the
// kernel asks for permission to do both.
func (p *levelProgram) open(flags uint32) label {
	rest := p.at[allow]
	if p.o.Root {
		mode := p.mode(flags + 1)
		p.anyBit(createsOn, mode, p.at[allow])
		rest = p.loadArg(flags)
	}
	if p.o.NoTruncate {
		next := p.equal(oRdwr, rest, p.at[eperm])
		p.equal(oWronly, rest, next)
		p.mask(oAccmode)
		how := p.loadArg(flags)
		p.anyBit(oTrunc, how, rest)
		p.loadArg(flags)
	}
	return label(len(p.ops))
}

// nonZero tests all 64 bits of an argument, as a pointer has them: its lower
// half may be zero.
func (p *levelProgram) nonZero(arg uint32, yes, no label) label {
	p.equal(0, no, yes)
	upper := p.load(offArgs + 8*arg + 4)
	p.equal(0, upper, yes)
	return p.loadArg(arg)
}

// forOthers goes on with the instruction emitted before it unless an argument,
// a process, is 0: the caller itself.
func (p *levelProgram) forOthers(arg uint32) label {
	p.equal(0, p.at[allow], label(len(p.ops)))
	return p.loadArg(arg)
}

// notInit refuses what is about process 1.
func (p *levelProgram) notInit(arg uint32) label {
	p.equal(1, p.at[eperm], p.at[allow])
	return p.loadArg(arg)
}

// priority allows a process to set its own alone.
func (p *levelProgram) priority(which uint32) label {
	p.equal(0, p.at[allow], p.at[eperm])
	who := p.loadArg(1)
	p.equal(which, who, p.at[eperm])
	return p.loadArg(0)
}
