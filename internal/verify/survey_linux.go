package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
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

// survey looks at the host: what there is to prove, and what is possible
// outside.
type survey struct {
	subject *Subject
	plan    *engine.Plan
	pol     *policy.Policy
	mounts  mounts
	site    *Site
	seen    map[string]bool
}

// Survey makes the site of a planned run.
func Survey(sub *Subject, plan *engine.Plan, planted *Plants) *Site {
	v := &survey{subject: sub, plan: plan, pol: plan.Report.Policy, mounts: plan.Report.Mounts()}
	v.site = &Site{
		UID: sub.Host.UID, Nonce: planted.Nonce, CWD: sub.Host.CWD, Network: v.pol.Network, SharePID: v.pol.SharePID, Seccomp: policy.SeccompLevel(v.pol.Seccomp), Filter: policy.SeccompFile(v.pol.Seccomp),
		OwnSession: plan.Report.OwnSession, Scoped: plan.Scoped(), Spaces: Spaces(), Kernel: controls(), Pass: plan.Keep,
		Helper: planted.Helper, Word: planted.Word,
	}
	if f := plan.Report.Filter; f != nil {
		v.site.Feigned = f.Feigns
	}
	v.walls(planted)
	if sub.Remap != sub.Host.CWD {
		v.site.Remap = sub.Remap
	}
	v.hidden()
	v.guarded()
	v.scratch()
	for _, m := range v.mounts {
		v.site.Plan = append(v.site.Plan, Planned{m.Path, m.Access})
	}
	for _, m := range mountPoints() {
		v.site.Host = append(v.site.Host, string(m.Path))
	}
	v.places()
	v.site.Servers = planted.servers(v.mounts, v.site.Walls)
	v.sockets()
	v.strangers()
	v.environment(planted)
	v.own()
	return v.site
}

// controls are the trials that do no harm outside, tried there.
func controls() map[string]int {
	out := make(map[string]int)
	for _, t := range slices.Concat(trials, strictTrials, hostTrials) {
		if t.harmless {
			var a Answer
			call(t.name, "", &a)
			out[t.name] = a.Errno
		}
	}
	for _, f := range slices.Concat(families, (&Site{Gaps: []string{engine.GapUnix}}).reducedFamilies()) {
		out[f.trial()] = 0
		if err := trySocket(f.question().Args); err != nil {
			out[f.trial()] = errnoOf(err)
		}
	}
	return out
}

// named returns the paths that exist and that rules of an access name,
// patterns replaced by what they match. The rules are read here once more, and
// not taken from the plan: what the plan has forgotten is to be found.
func (v *survey) named(a policy.Access) []string {
	var out []string
	for i := range v.pol.Rules {
		r := &v.pol.Rules[i]
		if r.Access != a || r.Except {
			continue
		}
		for _, path := range expand(v.pol, r) {
			var st unix.Stat_t
			if unix.Lstat(path, &st) == nil && !slices.Contains(out, path) {
				out = append(out, path)
			}
		}
	}
	return out
}

func expand(pol *policy.Policy, r *policy.Rule) []string {
	if !r.Pattern {
		return []string{r.Path}
	}
	dir := policy.Dir(r.Path)
	f := Look(dir)
	var out []string
	for _, n := range f.Names {
		path := strings.TrimSuffix(dir, "/") + "/" + string(n)
		if policy.Match(base(r.Path), string(n)) && !pol.Excepted(path) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// canonical follows the links in a path; one that leads nowhere is itself.
func canonical(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

func (v *survey) hidden() {
	v.seen = make(map[string]bool)
	hidden := v.plan.Report.Hidden()
	for _, path := range v.named(policy.Block) {
		v.secret(path, v.opened(path, canonical(path), hidden))
	}
	for _, path := range hidden {
		v.secret(path, "")
	}
	for _, dir := range v.subject.OwnDirs {
		v.secret(dir, v.opened(dir, canonical(dir), hidden))
	}
	for i := range v.site.Hidden {
		if h := &v.site.Hidden[i]; h.Opened == "" && h.Out.Kind == kindDir {
			v.ways(h.Path, h.Out.Names, hidden)
		}
	}
}

// opened returns the rule by which a person shows a path that another rule
// hides, or "".
func (v *survey) opened(path, real string, hidden []string) string {
	if _, shown := v.plan.Report.Concealed(); slices.Contains(shown, real) {
		return "the repository: " + view.SourceTracked
	}
	if a := v.mounts.at(real); a.shows() && a.rule == view.SourceCleaned {
		return "settings: " + a.rule
	}
	if r, ok := v.pol.Decide(path); ok && r.Access != policy.Block && (r.Access == policy.Read || r.Access == policy.Write) {
		return r.Source
	}
	if a := v.mounts.at(real); a.shows() && a.layer > policy.Builtin && !slices.Contains(hidden, real) {
		return a.rule
	}
	return ""
}

func (v *survey) secret(path, opened string) {
	out := Look(path)
	if v.seen[path] || out.Kind == kindAbsent {
		return
	}
	v.seen[path] = true
	if out.Kind == kindSocket {
		out.Errno = errnoOf0(connectUnix(path))
	}
	real := canonical(path)
	h := Secret{Path: path, Out: out, Opened: opened, Private: v.mounts.at(policy.Dir(real)).own()}
	for _, m := range v.mounts {
		if m.Path == real || !policy.Within(m.Path, real) || m.Access == policy.Block || m.Access == policy.Unseen {
			continue
		}
		rest := strings.TrimPrefix(m.Path[len(real):], "/")
		name, _, deeper := strings.Cut(rest, "/")
		if !slices.Contains(h.Shown, name) {
			h.Shown = append(h.Shown, name)
		}
		if deeper && opened == "" && out.Kind == kindDir {
			// The directories on the way show no more than the way.
			defer v.secret(real+"/"+name, "")
		}
	}
	if v.site.Walls && out.Kind == kindDir {
		h.Inner = inner(path, out.Names, h.Shown)
	}
	v.site.Hidden = append(v.site.Hidden, h)
}

// inner are a few files and directories in a hidden one that can be read.
func inner(dir string, names [][]byte, shown []string) []string {
	const few = 3
	var out []string
	for _, n := range names {
		path := strings.TrimSuffix(dir, "/") + "/" + string(n)
		var st unix.Stat_t
		if len(out) == few || string(n) == "." || string(n) == ".." || slices.Contains(shown, string(n)) || unix.Lstat(path, &st) != nil {
			continue
		}
		if kind := kindOf(st.Mode); (kind == kindFile || kind == kindDir) && permitted(path, unix.R_OK) {
			out = append(out, path)
		}
	}
	return out
}

// walls notes what there is to prove of a run with Landlock beside the rest.
func (v *survey) walls(planted *Plants) {
	if v.plan.Confined == nil {
		return
	}
	v.site.Walls, v.site.Gaps, v.site.Mode = true, v.plan.Gaps, planted.Dir
	for _, m := range v.mounts {
		var st unix.Stat_t
		if m.Closed && unix.Lstat(m.Path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			v.site.Closed = append(v.site.Closed, m.Path)
		}
	}
	for _, how := range waysIn {
		v.site.Kernel["outside "+how] = errnoOf0(lookInto(planted.Helper, how))
	}
	for _, name := range closedOfOthers {
		var a Answer
		openForReading("/proc/"+strconv.Itoa(planted.Helper)+"/"+name, &a)
		v.site.Kernel["outside "+name] = a.Errno
	}
	for _, path := range hostDevices {
		if permitted(path, unix.R_OK) {
			v.site.Devices = append(v.site.Devices, path)
		}
	}
}

// writable reports whether the plan lets something be made in a directory.
func (v *survey) writable(dir string) bool {
	if v.site.Walls { // more is closed than the rules close
		return v.plan.Report.Ask(dir).Write
	}
	return v.mounts.at(dir).Access == policy.Write
}

func errnoOf0(err error) int {
	if err == nil {
		return 0
	}
	return errnoOf(err)
}

// ways states which links in a hidden directory lead to something that is
// visible by its own name: hidden is a name, not a content.
func (v *survey) ways(dir string, names [][]byte, hidden []string) {
	for _, n := range names {
		path := strings.TrimSuffix(dir, "/") + "/" + string(n)
		if to, err := os.Readlink(path); err != nil || to == "" {
			continue
		}
		real := canonical(path)
		ours := slices.ContainsFunc(v.subject.Host.Homes, func(h string) bool { return policy.Within(real, canonical(h)) })
		if real == path || !ours && !policy.Within(real, v.subject.Host.CWD) || v.seen[real] || slices.ContainsFunc(hidden, func(h string) bool { return policy.Within(real, h) }) {
			continue
		}
		if a := v.mounts.at(real); a.shows() && !a.shared {
			v.seen[real] = true
			v.site.Hidden = append(v.site.Hidden, Secret{Path: real, Opened: a.rule + ", by which it can be read, though the hidden " + policy.Plain(path) + " leads to it; hide it by its own name"})
		}
	}
}

func (v *survey) guarded() {
	v.seen = make(map[string]bool)
	moves := make(map[string]bool)
	for _, path := range v.plan.Report.Exposed {
		v.guard(path, nil, `protect = "watch": it is looked at afterwards`)
	}
	for _, m := range v.mounts {
		if v.seen[m.Path] {
			continue
		}
		tree := v.mounts.writableTree(m.Path)
		if len(tree) == 0 && m.Access == policy.Read && !m.Covered && m.Path != "/" {
			v.guard(m.Path, nil, "")
		}
		if len(tree) == 0 || m.Pinned || m.Access == policy.Write || m.Access == policy.Private || m.Access == policy.Unseen {
			continue
		}
		tops := []string{tree[0]}
		if top := tree[len(tree)-1]; top != tree[0] {
			tops = append(tops, top)
		}
		v.guard(m.Path, tops, "")
		for _, dir := range tree {
			if !moves[dir] {
				moves[dir] = true
				v.site.Moves = append(v.site.Moves, dir)
			}
		}
	}
	for _, path := range v.named(policy.Protect) {
		opened := ""
		if r, ok := v.pol.Decide(path); ok && r.Access == policy.Write {
			opened = r.Source
		}
		if target, err := os.Readlink(path); err == nil && target != "" {
			dir := canonical(policy.Dir(path))
			v.site.Guarded = append(v.site.Guarded, Guarded{Path: path, Kind: kindLink, Opened: opened, Loose: v.mounts.at(dir).Access == policy.Write})
			continue
		}
		v.guard(canonical(path), nil, opened)
	}
	for _, path := range v.named(policy.Block) {
		if target, err := os.Readlink(path); err == nil && target != "" && v.mounts.at(canonical(policy.Dir(path))).Access == policy.Write {
			v.site.Guarded = append(v.site.Guarded, Guarded{Path: path, Kind: kindLink, Loose: true, Hidden: true})
		}
	}
	v.unborn()
	slices.Sort(v.site.Moves)
	for _, dir := range v.site.Moves {
		if v.site.Walls && !v.writable(dir) {
			v.site.Frozen = append(v.site.Frozen, dir)
		}
	}
}

// unborn are the protected names that nothing has yet and that the command can
// therefore make: protecting them would leave something on the host.
func (v *survey) unborn() {
	for i := range v.pol.Rules {
		r := &v.pol.Rules[i]
		var st unix.Stat_t
		if r.Access == policy.Protect && !r.Pattern && !r.Except && unix.Lstat(r.Path, &st) != nil && v.writable(canonical(policy.Dir(r.Path))) {
			v.site.Unborn = append(v.site.Unborn, r.Path)
		}
	}
}

func (v *survey) guard(path string, tops []string, opened string) {
	var st unix.Stat_t
	if v.seen[path] || unix.Lstat(path, &st) != nil {
		return
	}
	v.seen[path] = true
	able := int(st.Uid) == v.subject.Host.UID || unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS) == nil
	v.site.Guarded = append(v.site.Guarded, Guarded{Path: path, Kind: kindOf(st.Mode), Tops: tops, Able: able, Opened: opened})
}

// scratch chooses a private directory for the controls inside.
func (v *survey) scratch() {
	if v.site.Walls {
		v.site.Scratch = runTmp
		return
	}
	for _, m := range v.mounts {
		if m.Access == policy.Private && (v.site.Scratch == "" || m.Path == "/tmp") {
			v.site.Scratch = m.Path
		}
	}
}

// usualPlaces are directories of the host's that a command might write to.
var usualPlaces = []string{"/", "/boot", "/dev", "/dev/shm", "/etc", "/home", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/srv", "/sys", "/tmp", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin", "/var", "/var/lib", "/var/spool/cron", "/var/tmp"}

// candidates are the places for a list of directories: they and all above.
func candidates(dirs ...string) []string {
	out := slices.Clone(usualPlaces)
	for _, dir := range dirs {
		for ; strings.HasPrefix(dir, "/") && dir != "/"; dir = policy.Dir(dir) {
			out = append(out, dir)
		}
	}
	var real []string
	for _, dir := range out {
		if f := Look(dir); f.Kind == kindDir {
			real = append(real, canonical(dir))
		}
	}
	slices.Sort(real)
	return slices.Compact(real)
}

func (v *survey) places() {
	h := v.subject.Host
	dirs := append([]string{policy.Dir(h.CWD), v.subject.Root}, v.subject.OwnDirs...)
	for _, home := range h.Homes {
		dirs = append(dirs, home, home+"/.config", home+"/.local/bin", home+"/bin")
	}
	for _, dir := range candidates(dirs...) {
		a := v.mounts.at(dir)
		p := Place{Path: dir, Private: a.own() && !v.site.Walls || policy.Within(dir, "/proc") || policy.Within(dir, "/dev") && !v.site.Walls || policy.Within(dir, "/sys") && v.site.Walls}
		p.Able = unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK, unix.AT_EACCESS) == nil
		if a.Access == policy.Write && !a.shared && v.writable(dir) {
			p.Opened = a.rule
		}
		v.site.Places = append(v.site.Places, p)
	}
}

func (v *survey) sockets() {
	for _, k := range services(v.subject.Host.Homes) {
		path := k.Path
		if path[0] != 0 {
			var st unix.Stat_t
			if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
				continue
			}
			path = canonical(path)
		} else if !listening(path) {
			continue
		}
		if slices.ContainsFunc(v.site.Sockets, func(o Socket) bool { return o.Path == path }) {
			continue
		}
		k.Path, k.Out = path, errnoOf0(connectUnix(path))
		if k.Opened = v.mounts.at(path).named(path); path[0] == 0 {
			k.Opened = ""
			if v.pol.Network && !v.site.Walls && !v.site.scoped(scopedAbstract) {
				k.Opened = "the shared network"
			}
		}
		v.site.Sockets = append(v.site.Sockets, k)
	}
}

// strangers are the sockets of the host in directories that are shown, whoever's
// they are: as far as the kernel names them, and as far as a look goes that is
// longer than a run could take.
func (v *survey) strangers() {
	const names = 20000
	found := slices.Clone(v.subject.Host.Sockets)
	for _, dir := range append([]string{"/opt", "/srv", "/usr/local", "/etc", "/var/lib"}, v.subject.Host.Homes...) {
		if dir = canonical(dir); v.mounts.at(dir).shows() {
			found = append(found, host.Sockets(dir, names)...)
		}
	}
	for _, path := range found {
		var st unix.Stat_t
		path = canonical(path)
		a := v.mounts.at(path)
		if !a.shows() && !(a.Access == policy.Block && a.mount == path && a.rule == view.SourceSocket) || unix.Lstat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK ||
			slices.ContainsFunc(v.site.Sockets, func(o Socket) bool { return o.Path == path }) {
			continue
		}
		k := Socket{Name: "service", Path: path, Out: errnoOf0(connectUnix(path)), Opened: a.named(path)}
		if k.Opened == "" && (policy.Within(path, v.subject.Host.CWD) || policy.Within(path, v.subject.Root)) {
			k.Opened = a.rule + ", in the project"
		}
		v.site.Sockets = append(v.site.Sockets, k)
	}
}

func (v *survey) environment(planted *Plants) {
	e := Env{Planted: map[string]string{}, Mark: planted.Mark}
	for _, c := range v.plan.Report.Env {
		if c.Kept {
			e.Kept = append(e.Kept, c.Name)
		} else {
			e.Dropped = append(e.Dropped, c.Name)
		}
		if planted.holds(c.Name) {
			e.Planted[c.Name] = c.Source
			if c.Kept {
				e.MayShow = c.Source
			}
		}
	}
	v.site.Env = e
}

func (v *survey) own() {
	o := Own{Dir: host.ManifestDir, Programs: map[string]string{host.ManifestDir + "/sbx": ""}}
	if v.site.Walls {
		data := v.plan.Files[0].Data
		sum := sha256.Sum256(data[:min(len(data), readBytes)])
		o = Own{Dir: runDir, Manifest: runManifest, Sum: hex.EncodeToString(sum[:]), Programs: map[string]string{}}
	}
	for _, fd := range v.plan.FDs {
		if fd.Name == host.ManifestDir+"/policy.json" {
			sum := sha256.Sum256(fd.Data[:min(len(fd.Data), readBytes)])
			o.Manifest, o.Sum = fd.Name, hex.EncodeToString(sum[:])
		}
	}
	for _, path := range []string{v.subject.Host.Self, v.subject.Bwrap} {
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

// hostDevices would be doors, and do no harm when they are opened for reading.
var hostDevices = []string{"/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/loop-control", "/dev/ptmx", "/dev/vsock", "/dev/vhost-net", "/dev/uinput", "/dev/input/event0",
	"/dev/dri/card0", "/dev/dri/renderD128", "/dev/snd/controlC0", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/userfaultfd"}
