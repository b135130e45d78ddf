package seccomp

// verdict is what happens to a call. The first ones are final, the others look
// at arguments.
type verdict uint8

const (
	allow verdict = iota
	eperm
	enosys
	eafnosupport
	eprotonosupport

	cloneFlags
	unshareFlags
	ioctlCommand
	persona
	socketFamily
	pairFamily
	modeSecond // the mode is the second argument
	modeThird
	openMode // open: flags second, mode third
	openatMode

	verdicts              // how many there are
	finals   = cloneFlags // how many of them are final
)

// The numbers are Linux's; package syscall has the host's, which differ on
// macOS.
var errnos = [finals]uint32{eperm: 1, enosys: 38, eafnosupport: 97, eprotonosupport: 93}

// value is the return value of a final verdict.
func (v verdict) value() uint32 {
	if v == allow {
		return retAllow
	}
	return retErrno | errnos[v]
}

type refusal struct{ args, errno string }

var refusals = [verdicts][]refusal{
	eperm:           {{"", "EPERM"}},
	enosys:          {{"", "ENOSYS"}},
	eafnosupport:    {{"", "EAFNOSUPPORT"}},
	eprotonosupport: {{"", "EPROTONOSUPPORT"}},

	cloneFlags:   {{"a CLONE_NEW* flag", "EPERM"}},
	unshareFlags: {{"a CLONE_NEW* or unknown flag", "EPERM"}},
	ioctlCommand: {{"TIOCSTI or TIOCLINUX", "EPERM"}},
	persona:      {{"a flag other than PER_LINUX32, UNAME26, ADDR_NO_RANDOMIZE", "EPERM"}},
	socketFamily: {
		{"a family other than AF_UNIX, AF_INET, AF_INET6, AF_NETLINK; SOCK_PACKET", "EAFNOSUPPORT"},
		{"AF_NETLINK with a protocol other than NETLINK_ROUTE", "EPROTONOSUPPORT"},
	},
	pairFamily: {{"a family other than AF_UNIX", "EAFNOSUPPORT"}},
	modeSecond: {{"a mode with S_ISUID or S_ISGID", "EPERM"}},
	modeThird:  {{"a mode with S_ISUID or S_ISGID", "EPERM"}},
	openMode:   {{"O_CREAT or O_TMPFILE and a mode with S_ISUID or S_ISGID", "EPERM"}},
	openatMode: {{"O_CREAT or O_TMPFILE and a mode with S_ISUID or S_ISGID", "EPERM"}},
}

func (v verdict) refusals() []refusal { return refusals[v] }

const (
	// newNamespaces are CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID
	// and NEWNET. CLONE_NEWTIME (0x80) is not among them: in clone(2) that bit
	// belongs to the exit signal, and the kernel takes it from clone3 only.
	newNamespaces = 0x7e020000

	// unshareable are CLONE_VM, FS, FILES, SIGHAND, THREAD and SYSVSEM: all the
	// flags unshare(2) has that make no namespace. Allowing these, rather than
	// refusing the others, covers CLONE_NEWTIME and flags not invented yet.
	unshareable = 0x00050f00

	// personas are PER_LINUX32, UNAME26 and ADDR_NO_RANDOMIZE. The last one
	// weakens only the caller, and gdb, setarch -R and ThreadSanitizer need it.
	// READ_IMPLIES_EXEC, MMAP_PAGE_ZERO and other systems' personalities help
	// nobody but exploits.
	personas = 0x00060008

	tiocsti   = 0x5412 // types into the terminal
	tioclinux = 0x541c // pastes into a virtual console

	afUnix, afInet, afInet6, afNetlink = 1, 2, 10, 16

	sockTypeMask = 0xf
	sockPacket   = 10

	setID     = 0o6000        // S_ISUID | S_ISGID
	createsOn = 0o100 | 1<<22 // O_CREAT | __O_TMPFILE; without them open ignores its mode
)

// check emits the block that decides v by the arguments, and returns where it
// starts. It reads from the bottom up, see program.
func (p *program) check(v verdict) label {
	switch v {
	case cloneFlags:
		p.anyBit(newNamespaces, p.at[eperm], p.at[allow])
		return p.loadArg(0)
	case unshareFlags:
		p.anyBit(^uint32(unshareable), p.at[eperm], p.at[allow])
		return p.loadArg(0)
	case ioctlCommand:
		next := p.equal(tioclinux, p.at[eperm], p.at[allow])
		p.equal(tiocsti, p.at[eperm], next)
		return p.loadArg(1)
	case persona:
		next := p.anyBit(^uint32(personas), p.at[eperm], p.at[allow])
		p.equal(0xffffffff, p.at[allow], next) // asks, sets nothing
		return p.loadArg(0)
	case socketFamily:
		return p.socket()
	case pairFamily:
		p.equal(afUnix, p.at[allow], p.at[eafnosupport])
		return p.loadArg(0)
	case modeSecond:
		return p.mode(1)
	case modeThird:
		return p.mode(2)
	case openMode:
		return p.open(1)
	case openatMode:
		return p.open(2)
	}
	// Cannot happen: assemble places the final verdicts itself.
	return p.at[eperm]
}

// socket refuses families as a kernel built without them does. Of netlink
// only routes are served, which getifaddrs(3) and ip(8) need; libaudit and
// ss(8) take EPROTONOSUPPORT as "not in this kernel".
func (p *program) socket() label {
	p.equal(0, p.at[allow], p.at[eprotonosupport]) // NETLINK_ROUTE
	netlink := p.loadArg(2)

	// socket(AF_INET, SOCK_PACKET) is an old name for AF_PACKET, and the kernel
	// still translates it.
	p.equal(sockPacket, p.at[eafnosupport], p.at[allow])
	p.mask(sockTypeMask) // less SOCK_CLOEXEC and SOCK_NONBLOCK
	inet := p.loadArg(1)

	next := p.equal(afNetlink, netlink, p.at[eafnosupport])
	next = p.equal(afInet6, p.at[allow], next)
	next = p.equal(afInet, inet, next)
	p.equal(afUnix, p.at[allow], next)
	return p.loadArg(0)
}

func (p *program) mode(arg uint32) label {
	p.anyBit(setID, p.at[eperm], p.at[allow])
	return p.loadArg(arg)
}

// open checks the mode after the flags when these create a file.
func (p *program) open(flags uint32) label {
	mode := p.mode(flags + 1)
	p.anyBit(createsOn, mode, p.at[allow])
	return p.loadArg(flags)
}
