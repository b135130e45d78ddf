package wrap

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/seccomp"
)

// ManifestDir holds policy.json, by which a program knows that it runs inside.
const ManifestDir = "/run/sbx"

// maxArgs is what bwrap accepts in all, options from --args included.
const maxArgs = 9000

// words writes the command line of bwrap.
func (p *Plan) words(req Request, h *Host, v *view, pol *policy.Policy) error {
	a := bwrapargs.Args{
		Version:  h.Bwrap.Version,
		ShareNet: pol.Network,
		SharePID: pol.SharePID,
		Ops:      v.ops(pol, h),
		Chdir:    v.inside(p.pwd),
	}
	for _, e := range p.lateEnv {
		a.Setenv = append(a.Setenv, bwrapargs.Var(e))
	}
	p.prefixed(&a)
	own, err := p.commandFilter(req, h)
	if err != nil {
		return err
	}
	next := p.numbers(h)
	command, self, err := p.command(req, h, v, pol, next)
	if err != nil {
		return err
	}
	if err := p.giveFilter(&a, own, h); err != nil {
		return err
	}
	a.Stage = p.Stage != nil && p.Stage.Group != pid1.Look
	a.Session = !a.Stage && ownSession(pol, h)
	if !a.Stage {
		p.Ends = &pid1.Ends{Setup: next(), Alive: -1, Info: -1}
		if pol.SharePID { // there is no process 1 that could hold a pipe
			p.Ends.Info = next()
			a.Info = p.Ends.Info
		} else {
			p.Ends.Alive = next()
			a.Sync = p.Ends.Alive
		}
		a.Block = p.Ends.Setup
	}
	a.Ops = append(a.Ops, p.manifest(v, pol, self)...)
	a.Ops = append(a.Ops, v.freeze()...)
	for i := range a.Ops {
		a.Ops[i].Dst = v.inside(a.Ops[i].Dst)
	}
	if watched := masks(a.Ops, pol); a.Stage {
		p.Stage.Masks = watched
	} else if len(watched) > 0 {
		p.Gaps = append(p.Gaps, unwatched)
	}
	if pol.Seccomp != "off" {
		filter, err := seccomp.Filter(seccomp.Options{Arch: h.Arch, Level: policy.SeccompLevel(pol.Seccomp), Root: h.UID == 0, Net: pol.Network})
		if err != nil {
			return &Error{StatusFailed, "seccomp: " + err.Error(), ""}
		}
		a.Seccomp = filter
	} else if h.Bwrap.Version.Less(bwrapargs.HasUserns) {
		return &Error{StatusFailed, "bwrap " + h.Bwrap.Version.String() + " cannot refuse nested user namespaces without seccomp",
			`install bubblewrap 0.8 or newer, or leave seccomp = "default"`}
	}
	// The options go through a descriptor: nothing of the policy shows in ps.
	argsFD := next()
	options, fds := a.Words(next)
	command, err = p.fit(command, len(options))
	if err != nil {
		return err
	}
	if p.Stage != nil {
		fds = append(fds, bwrapargs.FD{Num: p.orderFD, Name: "order for the stage", Data: p.Stage.Encode()})
	}
	p.FDs = slices.Concat([]bwrapargs.FD{{Num: argsFD, Name: "bwrap options", Data: joinNUL(options)}}, p.FDs, fds)
	p.Argv = append([]string{"bwrap", "--args", strconv.Itoa(argsFD), "--"}, command...)
	return p.prefix()
}

// selfInside is where sbx itself is, in the runs that need it.
const selfInside = ManifestDir + "/sbx"

// command returns the words for bwrap to execute and, when sbx itself is among
// them, the mount that shows it: as the stage in front of the command, with an
// order that says all the rest. A command that shares the processes of the host
// has no stage to stay with it; there the stage looks at what bwrap before 0.10
// mounted by name, and becomes the command.
func (p *Plan) command(req Request, h *Host, v *view, pol *policy.Policy, next func() int) ([]string, []bwrapargs.Op, error) {
	words, path := req.Command, ""
	if len(req.Self) > 0 {
		words = append([]string{selfInside}, req.Self...)
	}
	if len(words) > 0 {
		if path = words[0]; !strings.Contains(path, "/") {
			path = v.inside(p.Report.Command)
		}
	}
	if req.Argv0 != "" {
		words = append([]string{req.Argv0}, words[min(1, len(words)):]...)
	}
	p.Limit = pol.TimeoutSeconds
	look := h.Bwrap.Version.Less(bwrapargs.HasBindFD)
	wall := p.wall(v, pol, h)
	const unseen = ": what is replaced on the host while the sandbox is being set up is noticed by no one"
	switch {
	case req.Direct && look:
		p.Gaps = append(p.Gaps, "bwrap "+h.Bwrap.Version.String()+" binds by name and there is no stage (--direct)"+unseen)
	case pol.SharePID && !look && wall == nil && len(p.Reopen) == 0 && req.Filter == nil:
		req.Direct = true // the stage would have nothing to do
	}
	if req.Direct && req.Argv0 != "" {
		return nil, nil, &Error{StatusFailed, "--argv0 needs the stage", "leave out --direct and --share-pid"}
	}
	if req.Direct && len(req.Self) == 0 {
		return words, nil, nil
	}
	self, ok := v.self(h)
	if !ok {
		if p.Limit > 0 || len(req.Self) > 0 || req.Argv0 != "" {
			return nil, nil, needsSelf(pol)
		}
		p.Gaps = append(p.Gaps, "sbx itself cannot be put inside, so signals and the terminal are bwrap's business")
		if look {
			p.Gaps = append(p.Gaps, "bwrap "+h.Bwrap.Version.String()+" binds by name and there is no stage"+unseen)
		}
		return words, nil, nil
	}
	show := []bwrapargs.Op{{Kind: bwrapargs.ROBind, Src: self, Dst: selfInside}}
	p.Report.staged = true
	if req.Direct {
		return words, show, nil
	}
	o := &pid1.Order{Path: path, Group: standing(pol, h), Limit: p.Limit, OOM: -1, Wires: pid1.NoWires, Reopen: p.Reopen, Wall: wall}
	show = append(show, p.shown(h)...)
	if p.Limits.Staged {
		o.Rlimits, o.Memory = p.Limits.Rlimits, p.Limits.Memory
	}
	if look {
		o.Expected = v.expected()
	}
	if wall != nil && wall.FS != 0 {
		o.Expected, o.Keep = v.private(o.Expected), p.Keep
	}
	p.orderFD = next()
	if o.Group != pid1.Look {
		o.Wires = pid1.Wires{Status: next(), Stat: -1, Epoll: next(), Signal: next(), Read: next(), Write: next(), Guard: next(), Relief: next(), Stderr: next()}
		if o.Group == pid1.Front {
			o.Wires.Stat = next()
		}
		if p.Limits.Counts() {
			o.OOM = next()
		}
	}
	if req.Argv0 != "" {
		o.Argv = words
	}
	if o.Group != pid1.Look {
		if req.Explain != nil {
			o.Hints = req.Explain(p, req, h, v, pol)
		}
	}
	p.Stage = o
	return append([]string{selfInside, pid1.Name, strconv.Itoa(p.orderFD)}, words...), show, nil
}

// standing is how the command stands to the caller's process group. In front of
// a terminal, where nothing else of a pipeline can be waiting for it, it gets a
// group of its own that has the terminal, as a shell would give it one: what is
// typed reaches it alone, and it can signal nobody outside. In a script or
// pipeline the terminal belongs to the whole group, and nobody inside could
// give it back.
func standing(pol *policy.Policy, h *Host) pid1.Group {
	switch {
	case pol.SharePID:
		return pid1.Look
	case ownSession(pol, h):
		return pid1.Apart
	case h.Front:
		return pid1.Front
	}
	return pid1.Shared
}

// sharesGroup reports whether the command can signal the caller's group:
// kill(0, …) knows no namespaces.
func (p *Plan) sharesGroup(pol *policy.Policy, h *Host) bool {
	return !ownSession(pol, h) && (p.Stage == nil || p.Stage.Group == pid1.Shared || p.Stage.Group == pid1.Look)
}

// fit gives the command's words to the stage by the order when they are more
// than bwrap takes, or a program in front of bwrap might change them. The first
// stays, for those who read ps.
func (p *Plan) fit(command []string, options int) ([]string, error) {
	n := options + len(command) + 4
	const before = 3 // the stage's own words
	inOrder := len(p.Limits.Prefix) > 0 && p.Stage != nil && len(command) > before
	if n <= maxArgs && !inOrder {
		return command, nil
	}
	if p.Stage == nil || len(command) <= before {
		return nil, &Error{StatusFailed, "bwrap takes no more than " + strconv.Itoa(maxArgs) + " arguments, and this run needs " + strconv.Itoa(n),
			"pass the arguments through a file or xargs; without --direct and --share-pid there is no such limit"}
	}
	if p.Stage.Argv == nil {
		p.Stage.Argv = command[before:]
	}
	return command[:before+1], nil
}

// self is the file of sbx itself, false when it cannot be put inside.
func (v *view) self(h *Host) (string, bool) {
	self, err := v.res.resolve(policy.Clean(h.Self))
	return self.Path, err == nil && h.Self != "" && self.Info.Kind == File && v.ownRun()
}

// staged reports whether the stage will be there while the command runs.
func (v *view) staged(direct bool, pol *policy.Policy, h *Host) bool {
	_, ok := v.self(h)
	return ok && !v.bare && !direct && !pol.SharePID
}

func needsSelf(pol *policy.Policy) error {
	what := "a time limit"
	if pol.TimeoutSeconds == 0 {
		what = "this"
	}
	return &Error{StatusFailed, what + " needs sbx itself inside, and it cannot be put there", "leave /run to the sandbox, and sbx in a file"}
}

// held is the identity of what a mount shows, nil where nobody can have put
// something else in its place.
func (m *mount) held() *bwrapargs.Identity {
	if m.src != "" || m.info.Ino == 0 || !replaceable(m.path) {
		return nil
	}
	return &bwrapargs.Identity{Dev: m.info.Dev, Ino: m.info.Ino}
}

// expected lists for the stage what has to be where: records of "=" for a file
// that has to be the one that was looked at, "!" for one that must not be, since
// it is hidden, each with device, inode and path, NUL-terminated.
func (v *view) expected() []byte {
	b := make([]byte, 0, 2048)
	for i := range v.mounts {
		m := &v.mounts[i]
		id := m.held()
		if id == nil {
			continue
		}
		op, ok := v.op(*m, 0)
		if !ok {
			continue
		}
		sign := byte('=')
		if op.Held == nil {
			if sign = '!'; m.eff != policy.Block && !m.copied {
				continue
			}
		}
		b = appendExpected(b, sign, *id, v.inside(m.path))
	}
	return b
}

func appendExpected(b []byte, sign byte, id bwrapargs.Identity, path string) []byte {
	b = append(b, sign)
	b = strconv.AppendUint(b, id.Dev, 10)
	b = append(b, ' ')
	b = strconv.AppendUint(b, id.Ino, 10)
	b = append(b, ' ')
	b = append(b, path...)
	return append(b, 0)
}

// ownSession reports whether the command gets a session of its own, and with it
// no terminal.
func ownSession(pol *policy.Policy, h *Host) bool {
	return pol.NewSession == "yes" || pol.NewSession == "auto" && (pol.Seccomp == "off" || !h.TTY)
}

func joinNUL(words []string) []byte {
	n := 0
	for _, w := range words {
		n += len(w) + 1
	}
	out := make([]byte, 0, n)
	for _, w := range words {
		out = append(append(out, w...), 0)
	}
	return out
}

// firstFD is where the numbers of sbx's own descriptors begin; below are the
// ones that scripts use by hand.
const firstFD = 20

// numbers gives out descriptor numbers that nothing of the caller's uses.
func (p *Plan) numbers(h *Host) func() int {
	used := make(map[int]bool, len(h.FDs))
	for _, fd := range h.FDs {
		used[fd.Num] = true
	}
	n := firstFD - 1
	return func() int {
		for n++; used[n]; n++ {
		}
		return n
	}
}

// ops are the mount operations in bwrap's order: the base, then everything
// parents first, so that what lies deeper covers what lies above it.
func (v *view) ops(pol *policy.Policy, h *Host) []bwrapargs.Op {
	size := int64(pol.TmpfsLimitMB) << 20
	if half := int64(pol.MemoryLimitMB) << 19; half > 0 && half < size {
		// What is in private directories counts as memory that no killing frees: one
		// that is full is an error of the program's, not the end of the sandbox.
		size = half
	}
	ops := make([]bwrapargs.Op, 0, len(v.mounts)+16)
	if v.rootBound() {
		ops = append(ops, bwrapargs.Op{Kind: bwrapargs.ROBind, Src: "/", Dst: "/"})
	}
	ops = append(ops, bwrapargs.Op{Kind: bwrapargs.Proc, Dst: "/proc"}, bwrapargs.Op{Kind: bwrapargs.Dev, Dst: "/dev"})
	if h.UID == 0 {
		// Root owns what is in /proc of any namespace: sysctls, core_pattern,
		// sysrq-trigger, and more with each kernel.
		ops = append(ops, bwrapargs.Op{Kind: bwrapargs.RemountRO, Dst: "/proc"})
	}
	for _, m := range v.mounts {
		if op, ok := v.op(m, size); ok {
			ops = append(ops, op)
		}
	}
	for _, l := range v.links {
		ops = append(ops, bwrapargs.Op{Kind: bwrapargs.Symlink, Src: l.Text, Dst: l.Path})
	}
	return ops
}

func (v *view) rootBound() bool {
	return len(v.mounts) > 0 && v.mounts[0].path == "/" && shows(v.mounts[0].eff)
}

// op is the operation that gives a mount its access, or none when what lies
// above gives it already.
func (v *view) op(m mount, size int64) (bwrapargs.Op, bool) {
	if !v.needed(&m) {
		return bwrapargs.Op{}, false
	}
	src := m.path
	if m.src != "" {
		src = m.src
	}
	switch m.eff {
	case policy.Private:
		perm := uint32(0)
		if m.path == "/tmp" || m.path == "/var/tmp" || m.path == "/dev/shm" {
			perm = 0o1777
		}
		return bwrapargs.Op{Kind: bwrapargs.Tmpfs, Dst: m.path, Size: size, Perm: perm}, true
	case policy.Write:
		return bwrapargs.Op{Kind: bwrapargs.Bind, Src: src, Dst: m.path, Held: m.held()}, true
	case policy.Read, policy.Protect:
		if m.copied {
			return bwrapargs.Op{Kind: bwrapargs.ROData, Dst: m.path, Data: m.copy, Perm: 0o444 | m.info.Mode&0o111}, true
		}
		return bwrapargs.Op{Kind: bwrapargs.ROBind, Src: src, Dst: m.path, Held: m.held()}, true
	case policy.Block:
		return mask(m), true
	}
	return bwrapargs.Op{}, false
}

// mask hides a file or directory that is there. A file keeps its place and
// cannot be opened, or loses its content, see conceal; so does a socket, to which
// no one can then connect.
func mask(m mount) bwrapargs.Op {
	if m.info.Kind == Dir {
		return bwrapargs.Op{Kind: bwrapargs.Tmpfs, Dst: m.path, Size: 4096, Perm: 0o755}
	}
	return bwrapargs.Op{Kind: bwrapargs.ROData, Dst: m.path, Data: []byte{}, Perm: 0o444, Shut: !m.blank}
}

// freeze makes read-only what had to be writable while mount points were made:
// masks, /dev, and the root when it is not the host's.
func (v *view) freeze() []bwrapargs.Op {
	var ops []bwrapargs.Op
	for _, m := range v.mounts {
		if m.eff == policy.Block && !m.idle && m.info.Kind == Dir {
			ops = append(ops, bwrapargs.Op{Kind: bwrapargs.RemountRO, Dst: m.path})
		}
	}
	ops = append(ops, bwrapargs.Op{Kind: bwrapargs.RemountRO, Dst: "/dev"})
	if !v.rootBound() {
		ops = append(ops, bwrapargs.Op{Kind: bwrapargs.RemountRO, Dst: "/"})
	}
	return ops
}

// SourceCache is the source of the rule for the private cache.
const SourceCache = "cache = private"

// cache plans the private cache of the project: a directory of sbx's own that
// is seen as ~/.cache. A link anywhere on its way is refused, since a command
// in another sandbox might have left it there.
func (p *Plan) cache(req Request, v *view, pol *policy.Policy) error {
	if pol.Cache != "private" || req.Cache == "" || len(v.host.Homes) == 0 {
		return nil
	}
	home, err := v.res.resolve(v.host.Homes[0])
	if err != nil || v.access(home.Path) != policy.Private {
		return nil
	}
	dst := join(home.Path, ".cache")
	if _, taken := v.find(dst); taken {
		return nil
	}
	src, err := p.cacheDir(req, v)
	if err != nil {
		return err
	}
	if p.Report.Unkept != "" { // an empty one, which ends with the run
		r := &policy.Rule{Path: dst, Access: policy.Private, Layer: policy.Builtin, Source: SourceCache}
		v.mounts = append(v.mounts, mount{path: dst, info: Info{Kind: Dir}, rule: r})
		v.sort()
		p.cacheDst = dst
		return nil
	}
	r := &policy.Rule{Path: dst, Access: policy.Write, Layer: policy.Builtin, Source: SourceCache}
	// What the rules say of the host's ~/.cache is not about this one, and a
	// mask there would need a mount point in it.
	v.mounts = slices.DeleteFunc(v.mounts, func(m mount) bool { return policy.Within(m.path, dst) && !isGrant(m.rule) })
	// A mount point in the cache is made by bwrap, which follows links there: a
	// command may have left some.
	for _, m := range v.mounts {
		if !policy.Within(m.path, dst) {
			continue
		}
		for at := m.path; at != dst; at = policy.Dir(at) {
			if info, err := v.host.FS.Lstat(src + at[len(dst):]); err != nil || info.Kind == Link {
				return &Error{StatusFailed, policy.Plain(at) + " is a link in the private cache, and nothing can be opened through it", "remove " + policy.Plain(src+at[len(dst):])}
			}
		}
	}
	v.links = slices.DeleteFunc(v.links, func(l link) bool { return policy.Within(l.Path, dst) })
	v.mounts = append(v.mounts, mount{path: dst, info: Info{Kind: Dir}, rule: r, src: src})
	v.sort()
	p.cacheDst = dst
	return nil
}

// cacheDir is the directory of sbx's own that is the private cache of the
// project, by its canonical path. Where none can be kept it notes why.
func (p *Plan) cacheDir(req Request, v *view) (string, error) {
	dir, name := req.Cache, "/"+cacheName(req.Root, v.host.UID)
	unkept := func(why string) (string, error) {
		p.Report.Unkept = why
		return "", nil
	}
	parent, err := v.res.resolve(policy.Dir(dir))
	if errors.As(err, new(deniedError)) {
		return unkept(err.Error())
	}
	if err != nil || parent.Info.Kind != Absent && parent.Info.Kind != Dir {
		return "", &Error{StatusFailed, "private cache: " + policy.Plain(policy.Dir(dir)) + " is not a directory", ""}
	}
	var missing []string
	for _, elem := range []string{"", "/projects", name} {
		info, err := v.host.FS.Lstat(dir + elem)
		switch {
		case err == nil && info.Kind == Dir && info.UID != v.host.UID:
			return unkept(policy.Plain(dir+elem) + " belongs to another user")
		case err == ErrDenied:
			return unkept(policy.Plain(policy.Dir(dir+elem)) + " may not be searched")
		case err != nil || info.Kind != Absent && info.Kind != Dir:
			return "", &Error{StatusFailed, "private cache: " + policy.Plain(dir+elem) + " is not a directory of the caller's own", "move it away, or use --cache none"}
		case info.Kind == Absent:
			missing = append(missing, dir+elem)
		}
	}
	switch {
	case len(missing) > 0:
		if why := v.host.Keeps(dir); why != nil {
			return unkept(why.Error())
		}
	case !v.host.FS.Access(dir+name, 'w'):
		return unkept(policy.Plain(dir+name) + " cannot be written")
	}
	p.Dirs = append(p.Dirs, missing...)
	return join(parent.Path, base(dir)) + name, nil
}

// cacheName is where the private cache of a project is in the place of sbx's own.
func cacheName(root string, uid int) string {
	return "projects/" + digest([]byte(join(root, "") + "\x00" + strconv.Itoa(uid)))[:16]
}

// SourceSession is the source of the rule for what the commands of a session
// share.
const SourceSession = "sbx agent"

// shareTmp puts a directory of the session in the place of the private /tmp:
// what one command leaves there the next one finds. Not where something else is
// to be seen below /tmp: its mount point would be made in that directory, and a
// command that runs at the same time could put a link in its place.
func (v *view) shareTmp(dir string) {
	at := -1
	for i := range v.mounts {
		switch m := &v.mounts[i]; {
		case m.path == "/tmp" && m.eff == policy.Private && m.info.Kind == Dir:
			at = i
		case policy.Within(m.path, "/tmp") && !m.idle:
			return
		}
	}
	if dir == "" || at < 0 || slices.ContainsFunc(v.links, func(l link) bool { return policy.Within(l.Path, "/tmp") }) {
		return
	}
	m := &v.mounts[at]
	m.src, m.rule = dir, &policy.Rule{Path: m.path, Access: policy.Write, Layer: policy.Builtin, Source: SourceSession}
	v.sort()
}
