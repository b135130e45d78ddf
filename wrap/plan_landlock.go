package wrap

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/seccomp"
)

// Names of engines.
const (
	EngineBwrap    = "bwrap"
	EngineLandlock = "landlock"
)

// Names of tiers.
const (
	TierFull    = "full"
	TierReduced = "reduced"
)

// Versions of Landlock that make a difference here.
const (
	abiRefer    = 2
	abiTruncate = 3
	abiScope    = 6 // signals, abstract sockets
	abiUnix     = 9 // named sockets
)

// Confined is what a process puts around itself before it becomes the command,
// where no other program does it.
type Confined struct {
	Wall    landlock.Ruleset
	Filters []Program // of system calls, in the order in which they are loaded
	NoCaps  bool      // the caller is root and gives up what that means
}

// Program is one of struct sock_filter, with a name for people.
type Program struct {
	Name string
	Code []byte
}

// OwnFile is one that sbx writes for a run, mode 0400.
type OwnFile struct {
	Path string
	Data []byte
}

// confine makes the plan for Landlock: this process limits itself and becomes
// the command, so there is no other process, and nothing that would have to
// be installed. What Landlock cannot do is a gap, and where a promise hangs on
// it a refusal.
func confine(req Request, h *Host) (*Plan, error) {
	pol, err := prepare(req.Policy, h)
	if err != nil {
		return nil, err
	}
	if err := unconfinable(req, pol, h); err != nil {
		return nil, err
	}
	res := newResolver(h.FS)
	pol, git := guardGit(pointed(pol, h), h, req.Root, res)
	v, own, err := lookWithOwn(pol, h, res)
	if err != nil {
		return nil, err
	}
	v.root, v.bare, v.watched = req.Root, true, pol.Protected == "watch"
	p := &Plan{Engine: EngineLandlock, Tier: TierReduced, Dirs: own, Confined: &Confined{NoCaps: h.UID == 0}}
	if err := p.descriptors(req, h, v); err != nil {
		return nil, err
	}
	if err := p.tied(h); err != nil {
		return nil, err
	}
	if err := p.privateCache(req, v, pol); err != nil {
		return nil, err
	}
	if err := p.limit(req, h, v, pol); err != nil {
		return nil, err
	}
	if len(p.Limits.Prefix) > 0 {
		return nil, &Error{StatusFailed, "limits for all processes together cannot be had here: systemd-run would have to start a sandbox that is up already",
			"use limits = \"best-effort\", or install bubblewrap"}
	}
	if err := v.reaches(h.dir()); err != nil {
		return nil, err
	}
	p.pwd = v.keepPWD()
	session, tmp, err := p.session(h)
	if err != nil {
		return nil, err
	}
	p.Env, p.lateEnv, p.Report.Env = environment(pol, h, v, p.pwd, append(p.variables(pol), policy.Var{Name: "TMPDIR", Value: tmp}, policy.Var{Name: "SBX_MANIFEST", Value: session + "/" + manifestName}))
	for _, e := range p.lateEnv { // nothing but the command is loaded with them
		p.Env = append(p.Env, e.Name+"="+e.Value)
	}
	p.lateEnv = nil
	if err := p.program(req, h, v); err != nil {
		return nil, err
	}
	v.conceal(req.Root, git)
	if err := v.clean(req.Root, git); err != nil {
		return nil, err
	}
	c, err := v.carve()
	if err != nil {
		return nil, err
	}
	if err := v.deafTo(h); err != nil {
		return nil, err
	}
	p.Report.Policy, p.Report.view = pol, v
	v.loose = append(v.loose, git.notes...)
	p.Report.Notes = slices.Concat(p.closed, c.notes(h), v.loose)
	p.Report.Watch, p.Report.Exposed = v.watch(git.watch, req.Tmp), c.exposed
	p.Report.Movable = c.moved
	p.wallOff(c, pol, h, tmp)
	if err := p.filters(req, pol, h); err != nil {
		return nil, err
	}
	p.Gaps = slices.Concat(v.loose, v.gaps, git.gaps, c.gaps, c.notes(h), p.Gaps, reducedGaps(pol, h), p.Limits.Gaps)
	p.Session = session
	p.Report.wall, p.Report.made = &p.Confined.Wall, p.Dirs
	if h.Lack != nil {
		p.Lack = h.Lack.Reason
	}
	p.Files = []OwnFile{{session + "/" + manifestName, Manifest(p, v, pol)}}
	return p, nil
}

// tied lets no socket pass that could be pointed at one of the host's: without
// a network namespace nothing else stands in between.
func (p *Plan) tied(h *Host) error {
	for _, fd := range h.FDs {
		switch {
		case !fd.Loose:
		case fd.Num <= 2:
			return &Error{StatusFailed, stdio[fd.Num] + " is a socket that is not connected or for datagrams, which leads out of the sandbox", ""}
		default:
			p.Keep = slices.DeleteFunc(p.Keep, func(n int) bool { return n == fd.Num })
		}
	}
	return nil
}

// deafTo refuses to open a socket by name where the kernel cannot tell that one
// from others.
func (v *view) deafTo(h *Host) error {
	for i := range v.mounts {
		if m := &v.mounts[i]; h.Landlock < abiUnix && m.info.Kind == Socket && shows(m.eff) && m.rule.Layer != policy.Builtin {
			return &Error{StatusFailed, m.rule.Source + ": " + policy.Plain(m.path) + " is a socket, and before version 9 (Linux 7.1) Landlock cannot open one and not all", "it needs tier full: sbx doctor says how to get there"}
		}
	}
	return nil
}

// unconfinable refuses what this engine cannot do at all.
func unconfinable(req Request, pol *policy.Policy, h *Host) error {
	no := func(what, hint string) error {
		return &Error{StatusFailed, what, hint}
	}
	const full = "it needs tier full: sbx doctor says how to get there"
	switch {
	case h.Landlock < 1:
		return no("Landlock is not there: the kernel is older than 5.13 or was started without it", full)
	case pol.MinTier == TierFull:
		return no("the policy asks for tier full ("+whence(pol, "min_tier")+"), and without namespaces there is only tier reduced", full)
	case pol.Seccomp == "off":
		return no("seccomp = \"off\" cannot be had with Landlock, which leaves UDP and sockets to the filter", "leave it out")
	case pol.TimeoutSeconds > 0:
		return no("a time limit cannot be enforced without a process namespace ("+whence(pol, "timeout_seconds")+")", "timeout(1) ends the command, but not what it started in sessions of their own; "+full)
	case pol.NewSession == "yes":
		return no("new_session = \"yes\" cannot be had with Landlock ("+whence(pol, "new_session")+")", "use setsid(1) in front of sbx")
	case req.Remap != "":
		return no("--workspace cannot be had with Landlock, which shows every path where it is", full)
	}
	return nil
}

func whence(pol *policy.Policy, key string) string {
	if where := pol.Where[key]; where != "" {
		return where
	}
	return "profile " + strings.Join(pol.Profiles, "+")
}

// program finds the file to execute and its words.
func (p *Plan) program(req Request, h *Host, v *view) error {
	words := req.Command
	if len(req.Self) > 0 {
		p.Path, words = h.Self, append([]string{h.Self}, req.Self...)
		p.Report.Command = h.Self
	}
	if len(req.Self) == 0 && len(words) > 0 {
		path, _ := lookupEnv(p.Env, "PATH")
		full, err := lookCommand(v, h, words[0], path)
		if err != nil {
			return err
		}
		p.Report.Command = full
		if p.Path = words[0]; !strings.Contains(p.Path, "/") {
			p.Path = full
		}
	}
	if req.Argv0 != "" && len(words) > 0 {
		words = append([]string{req.Argv0}, words[1:]...)
	}
	p.Argv = words
	return nil
}

// wallOff adds to the rules for the policy's files what every command needs:
// its own /proc, of which Landlock keeps what belongs to other processes'
// memory, files and environment, the harmless devices, the terminal and the
// files that it was given, and the directory for temporary files.
func (p *Plan) wallOff(c *carver, pol *policy.Policy, h *Host, tmp string) {
	all, _, _ := landlock.Known(h.Landlock)
	w := landlock.Ruleset{FS: all, Rules: c.rules, Scope: landlock.AbstractUnix | landlock.Signal}
	if !pol.Network {
		w.Net = landlock.BindTCP | landlock.ConnectTCP | landlock.BindUDP | landlock.ConnectUDP
	}
	if pol.SharePID {
		w.Scope &^= landlock.Signal
	}
	add := func(path string, allow landlock.FS) {
		w.Rules = append(w.Rules, landlock.Rule{Path: path, Allow: allow, Fleeting: true})
	}
	add("/proc", landlock.Read)
	const device = landlock.ReadFile | landlock.WriteFile | landlock.Truncate | landlock.IoctlDev
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		add("/dev/"+name, device)
	}
	w.Rules = append(w.Rules, landlock.Rule{Path: tmp, Allow: landlock.Write}, landlock.Rule{Path: policy.Dir(tmp), Allow: landlock.ReadFile})
	if len(p.Argv) > 0 && p.Path == h.Self {
		add(h.Self, landlock.Execute|landlock.ReadFile)
	}
	// /dev/stdout and the like open the file itself once more, as it was opened.
	for _, fd := range h.FDs {
		if fd.Num > 2 && !slices.Contains(p.Keep, fd.Num) {
			continue
		}
		switch fd.Kind {
		case FDFile:
			allow := landlock.FS(0)
			if fd.Reads {
				allow |= landlock.ReadFile
			}
			if fd.Writes {
				allow |= landlock.WriteFile | landlock.Truncate
			}
			w.Rules = append(w.Rules, landlock.Rule{FD: fd.Num, Allow: allow})
		case FDDevice:
			w.Rules = append(w.Rules, landlock.Rule{FD: fd.Num, Allow: device})
		}
	}
	p.Confined.Wall = w.For(h.Landlock)
}

// filters adds the system call filters.
func (p *Plan) filters(req Request, pol *policy.Policy, h *Host) error {
	unix := h.Landlock >= abiUnix
	code, err := seccomp.Filter(seccomp.Options{Arch: h.Arch, Level: policy.SeccompLevel(pol.Seccomp), Root: h.UID == 0, Net: pol.Network,
		Host: true, NoInet: !pol.Network, NoUnix: !unix, NoTruncate: h.Landlock < abiTruncate})
	if err != nil {
		return &Error{StatusFailed, "seccomp: " + err.Error(), ""}
	}
	p.Confined.Filters = append(p.Confined.Filters, Program{"seccomp filter", code})
	if code, err = p.commandFilter(req, h); code != nil {
		p.Confined.Filters = append(p.Confined.Filters, Program{"seccomp filter from a file", code})
	}
	return err
}

// What the gaps of this engine begin with: whoever tries a sandbox knows by them
// what its plan has owned up to.
const (
	GapNames     = "files outside keep their names, sizes, times, extended attributes and the texts of links visible to those who know where to look, and who looks at a directory is told what is used in it (inotify)"
	GapModes     = "what belongs to you can get another mode, owner, time or attribute everywhere (chmod, touch): a file can be opened to other users, a hook made executable"
	GapRoot      = "as root that goes for nearly every file of this machine"
	GapProcesses = "the processes of this host, their names and arguments, and its network interfaces and connections can be seen, and your processes be slowed (scheduling)"
	GapPlaces    = "/tmp, /dev/shm and the home directory are not private but closed, and there are no new pseudo terminals; $TMPDIR is for temporary files"
	GapLoopback  = "with the network off there is no loopback either: no program can serve another"
	GapSignals   = "your other processes can be signalled"
	GapUnix      = "there are no Unix sockets but pairs"
)

// reducedGaps are the promises that Landlock cannot keep whole.
func reducedGaps(pol *policy.Policy, h *Host) []string {
	gaps := []string{
		GapNames,
		GapModes,
		GapProcesses,
		GapPlaces,
		"what the command leaves running in the background goes on when it ends",
	}
	if h.UID == 0 {
		gaps = append(gaps, GapRoot)
	}
	if !pol.Network {
		gaps = append(gaps, GapLoopback)
	}
	if h.Landlock < abiScope && !pol.SharePID {
		gaps = append(gaps, GapSignals+" (Landlock here is version "+strconv.Itoa(h.Landlock)+"; 6 and Linux 6.12 prevent it)")
	}
	if h.Landlock < abiUnix {
		gaps = append(gaps, GapUnix+": Landlock here is version "+strconv.Itoa(h.Landlock)+" and cannot tell those of the host from others (9 and Linux 7.1 can)")
	}
	if h.Landlock < abiRefer {
		gaps = append(gaps, "nothing can be renamed or linked from one directory to another (Landlock here is version 1)")
	}
	return gaps
}

// notes are the gaps in what a command would expect to be able to do where the
// policy lets it write.
func (c *carver) notes(h *Host) []string {
	var out []string
	if len(c.frozen) > 0 {
		const few = 4
		names := make([]string, 0, few+1)
		for i, dir := range c.frozen {
			if i == few {
				names = append(names, strconv.Itoa(len(c.frozen)-few)+" more")
				break
			}
			names = append(names, policy.Plain(dir))
		}
		out = append(out, "nothing can be made, removed or renamed directly in "+strings.Join(names, ", ")+": something there is protected or hidden, and Landlock cannot tell it from the rest")
	}
	if n := len(c.exposed); n > 0 {
		out = append(out, "protected paths ("+strconv.Itoa(n)+") can be changed, and what changed is said by the next run and sbx status (protect = \"watch\")")
	}
	for _, dir := range c.unlisted {
		if dir == h.CWD {
			out = append(out, policy.Plain(dir)+" cannot be listed: there is a hidden directory in it")
		}
	}
	return out
}

// manifestName is the file in the directory of a run that says what
// policy.json does elsewhere.
const manifestName = "policy.json"

// session plans the directory of the run: 0700, with the manifest in it and the
// directory for temporary files. Nobody is there to remove it when the command
// has ended; the next run does it, see sweep.
func (p *Plan) session(h *Host) (dir, tmp string, err error) {
	if h.Runtime == "" {
		return "", "", &Error{StatusFailed, "there is no place for temporary files of the command's own: no home directory, no XDG_RUNTIME_DIR, and others can replace what is in /tmp", "set HOME"}
	}
	dir = h.Runtime + "/" + h.Instance
	tmp = dir + "/tmp"
	p.Dirs = append(p.Dirs, h.Runtime, dir, tmp)
	if p.Report.Unkept != "" {
		p.cacheDst = tmp + "/cache"
		p.Dirs = append(p.Dirs, p.cacheDst)
	}
	return dir, tmp, nil
}

// privateCache is [Plan.cache] without mounts: the directory is used where it
// is.
func (p *Plan) privateCache(req Request, v *view, pol *policy.Policy) error {
	if pol.Cache != "private" || req.Cache == "" || len(v.host.Homes) == 0 {
		return nil
	}
	home, err := v.res.resolve(v.host.Homes[0])
	if err != nil || v.access(home.Path) != policy.Private {
		return nil
	}
	if _, taken := v.find(join(home.Path, ".cache")); taken {
		return nil
	}
	src, err := p.cacheDir(req, v)
	if err != nil || p.Report.Unkept != "" { // then it is with the temporary files, see session
		return err
	}
	r := &policy.Rule{Path: src, Access: policy.Write, Layer: policy.Builtin, Source: SourceCache}
	v.mounts = append(slices.DeleteFunc(v.mounts, func(m mount) bool { return policy.Within(m.path, src) }),
		mount{path: src, info: Info{Kind: Dir}, rule: r, src: src})
	v.sort()
	p.cacheDst = src
	return nil
}
