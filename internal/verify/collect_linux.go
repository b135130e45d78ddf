package verify

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// collector looks at the host: what there is to prove, and what is possible
// outside.
type collector struct {
	*Subject
	plan   *engine.Plan
	pol    *policy.Policy
	mounts mounts
	hides  []string // paths that the plan hides
	site   *Site
	seen   map[string]bool
}

// collect makes the target of a planned run.
func collect(sub *Subject, plan *engine.Plan, planted *fixtures) *Site {
	pol := plan.Report.Policy
	v := &collector{Subject: sub, plan: plan, pol: pol, mounts: plan.Report.Mounts(), hides: plan.Report.Hidden(), seen: make(map[string]bool)}
	v.site = &Site{
		UID: sub.Host.UID, Nonce: planted.nonce, CWD: sub.Host.CWD, Network: pol.Network, SharePID: pol.SharePID,
		Seccomp: policy.SeccompLevel(pol.Seccomp), Filter: policy.SeccompFile(pol.Seccomp),
		Feigned:    plan.Report.Filter != nil && plan.Report.Filter.Feigns,
		OwnSession: plan.Report.OwnSession, Scoped: plan.Scoped(), Spaces: ownSpaces(), Kernel: outcomes(planted.helper), Pass: plan.Keep,
		Helper: planted.helper, Word: planted.word, Env: environment(plan, planted),
	}
	if sub.Remap != sub.Host.CWD {
		v.site.Remap = sub.Remap
	}
	if plan.Confined != nil {
		v.walls(planted.dir)
	}
	v.hidden()
	v.guarded()
	for _, m := range v.mounts {
		if !v.site.Walls && m.Access == policy.Private && (v.site.Scratch == "" || m.Path == "/tmp") {
			v.site.Scratch = m.Path
		}
		v.site.Plan = append(v.site.Plan, Planned{m.Path, m.Access})
	}
	for _, m := range mountPoints() {
		v.site.Host = append(v.site.Host, string(m.Path))
	}
	v.places()
	for _, l := range planted.listeners {
		v.server(l)
	}
	v.sockets()
	v.own()
	return v.site
}

// outcomes are what the acts that do no harm outside give there.
func outcomes(helper int) map[string]int {
	out := make(map[string]int)
	note := func(name string, q Question) { out[name] = q.answer().Errno }
	for _, t := range trials() {
		if t.is&harmless != 0 {
			note(t.name, Question{Act: actCall, Text: t.name})
		}
	}
	for _, f := range slices.Concat(families, hostFamilies, unixFamilies) {
		note(f.trial(), f.question())
	}
	for _, how := range waysIn {
		note("outside "+how, Question{Act: actTrace, Args: []int{helper}, Text: how})
	}
	for _, name := range closedOfOthers {
		note("outside "+name, ask(actRead, "/proc/"+strconv.Itoa(helper)+"/"+name))
	}
	return out
}

// environment is what has to become of the variables.
func environment(plan *engine.Plan, planted *fixtures) Env {
	e := Env{Planted: map[string]string{}, Mark: planted.mark}
	for _, c := range plan.Report.Env {
		if strings.Contains(c.Name, planted.nonce) {
			e.Planted[c.Name] = c.Source
			if c.Kept {
				e.MayShow = c.Source
			}
		}
		if c.Kept {
			e.Kept = append(e.Kept, c.Name)
		} else {
			e.Dropped = append(e.Dropped, c.Name)
		}
	}
	return e
}

// walls notes what there is to prove of a run with Landlock beside the rest.
func (v *collector) walls(dir string) {
	v.site.Walls, v.site.Gaps, v.site.Mode, v.site.Scratch = true, v.plan.Gaps, dir, runTmp
	for _, m := range v.mounts {
		if m.Closed && lkind(m.Path) == kindDir {
			v.site.Closed = append(v.site.Closed, m.Path)
		}
	}
	v.site.Devices = openDevices()
}

// openDevices are devices of the host's that would be doors, and do no harm when
// they are opened for reading, as far as this user may.
func openDevices() []string {
	return slices.DeleteFunc([]string{"/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/loop-control", "/dev/ptmx",
		"/dev/vsock", "/dev/vhost-net", "/dev/uinput", "/dev/input/event0", "/dev/dri/card0", "/dev/dri/renderD128", "/dev/snd/controlC0",
		"/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/userfaultfd"}, func(path string) bool { return !permitted(path, unix.R_OK) })
}

// lkind is what a path is, links not followed; "" for nothing.
func lkind(path string) string {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return ""
	}
	return kindOf(st.Mode)
}

// canonical follows the links in a path; one that leads nowhere is itself.
func canonical(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// named returns the paths that exist and that rules of an access name, patterns
// replaced by what they match. The rules are read here once more, and not taken
// from the plan: what the plan has forgotten is to be found.
func (v *collector) named(a policy.Access) []string {
	var out []string
	for i := range v.pol.Rules {
		r := &v.pol.Rules[i]
		if r.Access != a || r.Except {
			continue
		}
		for _, path := range v.expand(r) {
			if lkind(path) != "" && !slices.Contains(out, path) {
				out = append(out, path)
			}
		}
	}
	return out
}

func (v *collector) expand(r *policy.Rule) []string {
	if !r.Pattern {
		return []string{r.Path}
	}
	var out []string
	dir := Look(policy.Dir(r.Path))
	for _, n := range dir.names() {
		path := below(policy.Dir(r.Path), n)
		if policy.Match(base(r.Path), n) && !v.pol.Excepted(path) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

func below(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }

func (v *collector) hidden() {
	for _, path := range v.named(policy.Block) {
		v.secret(path, v.opened(path))
	}
	for _, path := range v.hides {
		v.secret(path, "")
	}
	for _, dir := range v.OwnDirs {
		v.secret(dir, v.opened(dir))
	}
	for i := range v.site.Hidden {
		if h := &v.site.Hidden[i]; h.Opened == "" && h.Out.Kind == kindDir {
			v.links(h.Path, h.Out.names())
		}
	}
}

// opened returns the rule by which a person shows a path that another rule hides,
// or "".
func (v *collector) opened(path string) string {
	real := canonical(path)
	_, shown := v.plan.Report.Concealed()
	a := v.mounts.at(real)
	r, ok := v.pol.Decide(path)
	switch {
	case slices.Contains(shown, real):
		return "the repository: " + view.SourceTracked
	case a.shows() && a.rule == view.SourceCleaned:
		return "settings: " + a.rule
	case ok && (r.Access == policy.Read || r.Access == policy.Write):
		return r.Source
	case a.shows() && a.layer > policy.Builtin && !slices.Contains(v.hides, real):
		return a.rule
	}
	return ""
}

func (v *collector) secret(path, opened string) {
	out := Look(path)
	if v.seen[path] || out.Kind == kindAbsent {
		return
	}
	v.seen[path] = true
	if out.Kind == kindSocket {
		out.Errno = int(errnoOf(connectUnix(path)))
	}
	real := canonical(path)
	h := Secret{Path: path, Out: out, Opened: opened, Private: v.mounts.at(policy.Dir(real)).own()}
	for _, m := range v.mounts {
		if m.Path == real || !policy.Within(m.Path, real) || m.Access == policy.Block || m.Access == policy.Unseen {
			continue
		}
		name, _, deeper := strings.Cut(strings.TrimPrefix(m.Path[len(real):], "/"), "/")
		if !slices.Contains(h.Shown, name) {
			h.Shown = append(h.Shown, name)
		}
		if deeper && opened == "" && out.Kind == kindDir {
			// The directories on the way show no more than the way.
			defer v.secret(real+"/"+name, "")
		}
	}
	if v.site.Walls && out.Kind == kindDir {
		h.Inner = inner(path, without(out.names(), h.Shown))
	}
	v.site.Hidden = append(v.site.Hidden, h)
}

// inner are a few files and directories in a hidden one that can be read.
func inner(dir string, names []string) []string {
	const few = 3
	var out []string
	for _, n := range names {
		path := below(dir, n)
		if kind := lkind(path); len(out) < few && (kind == kindFile || kind == kindDir) && permitted(path, unix.R_OK) {
			out = append(out, path)
		}
	}
	return out
}

// links states which links in a hidden directory lead to something that is visible
// by its own name: hidden is a name, not a content.
func (v *collector) links(dir string, names []string) {
	for _, n := range names {
		path := below(dir, n)
		if lkind(path) != kindLink {
			continue
		}
		real := canonical(path)
		ours := slices.ContainsFunc(v.Host.Homes, func(h string) bool { return policy.Within(real, canonical(h)) }) || policy.Within(real, v.Host.CWD)
		if real == path || !ours || v.seen[real] || slices.ContainsFunc(v.hides, func(h string) bool { return policy.Within(real, h) }) {
			continue
		}
		if a := v.mounts.at(real); a.shows() && !a.shared {
			v.seen[real] = true
			v.site.Hidden = append(v.site.Hidden, Secret{Path: real, Opened: a.rule + ", by which it can be read, though the hidden " +
				policy.Plain(path) + " leads to it; hide it by its own name"})
		}
	}
}

func (v *collector) guarded() {
	v.seen = make(map[string]bool)
	for _, path := range v.plan.Report.Exposed {
		v.guard(path, nil, `protect = "watch": it is looked at afterwards`)
	}
	moves := make(map[string]bool)
	for _, m := range v.mounts {
		tree := v.mounts.writableTree(m.Path)
		switch {
		case v.seen[m.Path]:
		case len(tree) == 0:
			if m.Access == policy.Read && !m.Covered && m.Path != "/" {
				v.guard(m.Path, nil, "")
			}
		case !m.Pinned && m.Access != policy.Write && m.Access != policy.Private && m.Access != policy.Unseen:
			v.guard(m.Path, slices.Compact([]string{tree[0], tree[len(tree)-1]}), "")
			for _, dir := range tree {
				moves[dir] = true
			}
		}
	}
	v.protected()
	for dir := range moves {
		v.site.Moves = append(v.site.Moves, dir)
	}
	slices.Sort(v.site.Moves)
	for _, dir := range v.site.Moves {
		if v.site.Walls && !v.writable(dir) {
			v.site.Frozen = append(v.site.Frozen, dir)
		}
	}
}

// protected notes what rules protect, links and names that do not exist among
// them: protecting those would leave something on the host.
func (v *collector) protected() {
	loose := func(path string) bool { return v.mounts.at(canonical(policy.Dir(path))).Access == policy.Write }
	for _, path := range v.named(policy.Protect) {
		opened := ""
		if r, ok := v.pol.Decide(path); ok && r.Access == policy.Write {
			opened = r.Source
		}
		if lkind(path) != kindLink {
			v.guard(canonical(path), nil, opened)
			continue
		}
		v.site.Guarded = append(v.site.Guarded, Guarded{Path: path, Kind: kindLink, Opened: opened, Loose: loose(path)})
	}
	for _, path := range v.named(policy.Block) {
		if lkind(path) == kindLink && loose(path) {
			v.site.Guarded = append(v.site.Guarded, Guarded{Path: path, Kind: kindLink, Loose: true, Hidden: true})
		}
	}
	for i := range v.pol.Rules {
		r := &v.pol.Rules[i]
		if r.Access == policy.Protect && !r.Pattern && !r.Except && lkind(r.Path) == "" && v.writable(canonical(policy.Dir(r.Path))) {
			v.site.Unborn = append(v.site.Unborn, r.Path)
		}
	}
}

func (v *collector) guard(path string, tops []string, opened string) {
	var st unix.Stat_t
	if v.seen[path] || unix.Lstat(path, &st) != nil {
		return
	}
	v.seen[path] = true
	able := int(st.Uid) == v.Host.UID || permitted(path, unix.W_OK)
	v.site.Guarded = append(v.site.Guarded, Guarded{Path: path, Kind: kindOf(st.Mode), Tops: tops, Able: able, Opened: opened})
}

// writable reports whether the plan lets something be made in a directory.
func (v *collector) writable(dir string) bool {
	if v.site.Walls { // more is closed than the rules close
		return v.plan.Report.Ask(dir).Write
	}
	return v.mounts.at(dir).Access == policy.Write
}

// candidates are directories of the host's that a command might write to: the usual
// ones, and those of a list with all above them.
func candidates(dirs ...string) []string {
	out := []string{"/", "/boot", "/dev", "/dev/shm", "/etc", "/home", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/srv", "/sys", "/tmp",
		"/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin", "/var", "/var/lib", "/var/spool/cron", "/var/tmp"}
	for _, dir := range dirs {
		for ; strings.HasPrefix(dir, "/") && dir != "/"; dir = policy.Dir(dir) {
			out = append(out, dir)
		}
	}
	out = slices.DeleteFunc(out, func(dir string) bool { return Look(dir).Kind != kindDir })
	for i, dir := range out {
		out[i] = canonical(dir)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ownPlace reports whether what is made in a directory of a name is no more than
// the process's own: /proc, and /dev where it is the sandbox's.
func (s *Site) ownPlace(dir string) bool {
	if s.Walls {
		return policy.Within(dir, "/proc") || policy.Within(dir, "/sys")
	}
	return policy.Within(dir, "/proc") || policy.Within(dir, "/dev")
}

func (v *collector) places() {
	dirs := append([]string{policy.Dir(v.Host.CWD), v.Root}, v.OwnDirs...)
	for _, home := range v.Host.Homes {
		dirs = append(dirs, home, home+"/.config", home+"/.local/bin", home+"/bin")
	}
	for _, dir := range candidates(dirs...) {
		a := v.mounts.at(dir)
		p := Place{Path: dir, Able: permitted(dir, unix.W_OK), Private: a.own() && !v.site.Walls || v.site.ownPlace(dir)}
		if a.Access == policy.Write && !a.shared && v.writable(dir) {
			p.Opened = a.rule
		}
		v.site.Places = append(v.site.Places, p)
	}
}

// server notes a socket that listens outside.
func (v *collector) server(l *listener) {
	s := l.Server
	s.Heard = l.heard
	s.Shared = s.Act != actConnect || s.abstract() && !v.site.Walls
	if s.Act == actConnect && !s.abstract() && !v.site.Walls {
		if a := v.mounts.at(canonical(string(s.Path))); a.shows() {
			s.Opened = a.rule
		}
	}
	v.site.Servers = append(v.site.Servers, s)
}

// sockets notes the services of the host, and whoever's sockets lie in directories
// that are shown: as far as the kernel names them, and as far as a look goes that
// is longer than a run could take.
func (v *collector) sockets() {
	for _, k := range services(v.Host.Homes) {
		if k.Path[0] == 0 {
			if listening(k.Path) {
				v.socket(k)
			}
			continue
		}
		if k.Path = canonical(k.Path); lkind(k.Path) == kindSocket {
			k.Opened = v.mounts.at(k.Path).named(k.Path)
			v.socket(k)
		}
	}
	const names = 20000
	found := slices.Clone(v.Host.Sockets)
	for _, dir := range append([]string{"/opt", "/srv", "/usr/local", "/etc", "/var/lib"}, v.Host.Homes...) {
		if dir = canonical(dir); v.mounts.at(dir).shows() {
			found = append(found, host.Sockets(dir, names)...)
		}
	}
	for _, path := range found {
		path = canonical(path)
		a := v.mounts.at(path)
		masked := a.Access == policy.Block && a.mount == path && a.rule == view.SourceSocket
		if !a.shows() && !masked || lkind(path) != kindSocket {
			continue
		}
		k := Socket{Name: "service", Path: path, Opened: a.named(path)}
		if k.Opened == "" && (policy.Within(path, v.Host.CWD) || policy.Within(path, v.Root)) {
			k.Opened = a.rule + ", in the project"
		}
		v.socket(k)
	}
}

func (v *collector) socket(k Socket) {
	if slices.ContainsFunc(v.site.Sockets, func(o Socket) bool { return o.Path == k.Path }) {
		return
	}
	k.Out = int(errnoOf(connectUnix(k.Path)))
	if k.Path[0] == 0 && v.site.sharesAbstract() {
		k.Opened = "the shared network"
	}
	v.site.Sockets = append(v.site.Sockets, k)
}

// own notes sbx's own files, and what the manifest of the run is to hold.
func (v *collector) own() {
	o := Own{Dir: host.ManifestDir, Programs: map[string]string{host.ManifestDir + "/sbx": ""}}
	if v.site.Walls {
		o = Own{Dir: runDir, Manifest: runManifest, Sum: sumOf(v.plan.Files[0].Data), Programs: map[string]string{}}
	}
	for _, fd := range v.plan.FDs {
		if fd.Name == host.ManifestDir+"/policy.json" {
			o.Manifest, o.Sum = fd.Name, sumOf(fd.Data)
		}
	}
	for _, path := range []string{v.Host.Self, v.Bwrap} {
		if !strings.HasPrefix(path, "/") {
			continue
		}
		path = canonical(path)
		o.Programs[path] = ""
		if a := v.mounts.at(path); a.Access == policy.Write {
			o.Programs[path] = a.rule
		}
	}
	v.site.Own = o
}

// mounts answers what the plan gives at a path.
type mounts []engine.Mounted

// access is what a mount amounts to, with the rule it comes from.
type access struct {
	policy.Access
	rule   string
	layer  policy.Layer
	mount  string // where it stands
	shared bool   // it is the private cache of the project
}

// at returns the deepest mount that holds a canonical path.
func (m mounts) at(path string) (a access) {
	for i := range m { // parents first
		if policy.Within(path, m[i].Path) {
			a = access{m[i].Access, m[i].Source, m[i].Layer, m[i].Path, m[i].Source == view.SourceCache}
		}
	}
	return a
}

func (a access) shows() bool {
	return a.Access == policy.Read || a.Access == policy.Write || a.Access == policy.Protect
}

// own reports whether what is there is the sandbox's and not the host's.
func (a access) own() bool { return a.Access == policy.Private || a.shared }

// named returns the rule that shows a path because a person or a profile named it,
// and not only a directory above.
func (a access) named(path string) string {
	if a.shows() && (a.mount == path || a.layer > policy.Builtin) {
		return a.rule
	}
	return ""
}

// writableTree returns the directories of the writable tree that path lies in, the
// nearest first and the top last.
func (m mounts) writableTree(path string) []string {
	var out []string
	for dir := path; dir != "/"; {
		dir = policy.Dir(dir)
		if m.at(dir).Access != policy.Write {
			break
		}
		out = append(out, dir)
	}
	return out
}
