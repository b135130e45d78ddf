// SPDX-License-Identifier: Apache-2.0

package landlock

// FS is a set of LANDLOCK_ACCESS_FS_* rights, linux/landlock.h.
type FS uint64

const (
	Execute     FS = 1 << iota
	WriteFile      // open for writing
	ReadFile       // open for reading
	ReadDir        // open a directory, or list it
	RemoveDir      // remove or rename one
	RemoveFile     // unlink or rename
	MakeChar       // mknod, also by renaming or linking one here, as the next ones
	MakeDir        //
	MakeReg        //
	MakeSock       //
	MakeFifo       //
	MakeBlock      //
	MakeSym        //
	Refer          // link or rename to or from another directory; ABI 2
	Truncate       // ABI 3
	IoctlDev       // ioctl on devices; ABI 5
	ResolveUnix    // connect to named sockets of processes outside; ABI 9
)

// Sets of rights that belong together.
const (
	Read  = Execute | ReadFile | ReadDir
	Make  = RemoveDir | RemoveFile | MakeDir | MakeReg | MakeSock | MakeFifo | MakeSym | Refer
	Write = Read | WriteFile | Truncate | Make // no device nodes, which would be doors

	// OfFile are the rights that a rule about something other than a directory
	// can give; the kernel refuses the others.
	OfFile = Execute | WriteFile | ReadFile | Truncate | IoctlDev | ResolveUnix
)

// Net is a set of LANDLOCK_ACCESS_NET_* rights.
type Net uint64

const (
	BindTCP    Net = 1 << iota // ABI 4
	ConnectTCP                 // ABI 4
	BindUDP                    // ABI 10
	ConnectUDP                 // connect and send; ABI 10
)

// Scope is a set of LANDLOCK_SCOPE_*: what may not cross the border of the
// domain.
type Scope uint64

const (
	AbstractUnix Scope = 1 << iota // connecting to abstract sockets; ABI 6
	Signal                         // ABI 6
)

// Rule allows something below one path.
type Rule struct {
	Path     string // absolute, without links; "" for what FD leads to
	FD       int    // an open descriptor, only looked at without a path
	Allow    FS
	Fleeting bool // it is no error when nothing, or a link, is there any more: nothing is allowed then

	// Dev and Ino are what has to be there; 0 is anything.
	Dev, Ino uint64
}

// Ruleset says what is denied, and the exceptions. The zero value denies
// nothing.
type Ruleset struct {
	FS    FS
	Net   Net
	Scope Scope
	Rules []Rule
}

// rights by the version that brought them.
var rights = [...]struct {
	fs    FS
	net   Net
	scope Scope
}{
	1:  {fs: Refer - 1},
	2:  {fs: Refer},
	3:  {fs: Truncate},
	4:  {net: BindTCP | ConnectTCP},
	5:  {fs: IoctlDev},
	6:  {scope: AbstractUnix | Signal},
	9:  {fs: ResolveUnix},
	10: {net: BindUDP | ConnectUDP},
}

// Known returns all rights that a version of the interface has; 0 is a kernel
// without Landlock.
func Known(abi int) (fs FS, net Net, scope Scope) {
	for i := 1; i <= abi && i < len(rights); i++ {
		fs |= rights[i].fs
		net |= rights[i].net
		scope |= rights[i].scope
	}
	return fs, net, scope
}

// For returns the ruleset without the rights that a version does not have. What
// is missing then is not denied; the caller has to know whether that matters.
func (r Ruleset) For(abi int) Ruleset {
	fs, net, scope := Known(abi)
	out := Ruleset{FS: r.FS & fs, Net: r.Net & net, Scope: r.Scope & scope}
	for _, rule := range r.Rules {
		if rule.Allow &= out.FS; rule.Allow != 0 {
			out.Rules = append(out.Rules, rule)
		}
	}
	return out
}

// Empty reports whether the ruleset denies nothing.
func (r *Ruleset) Empty() bool { return r.FS|FS(r.Net)|FS(r.Scope) == 0 }
