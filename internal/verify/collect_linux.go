// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/procfs"
	"github.com/sbx-sandbox/sbx/internal/text"
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
	target *target
	seen   map[string]bool
}

// collect makes the target of a planned run.
func collect(sub *Subject, plan *engine.Plan, planted *fixtures) *target {
	pol := plan.Report.Policy
	c := &collector{Subject: sub, plan: plan, pol: pol, mounts: plan.Report.Mounts(), hides: plan.Report.Hidden()}
	c.target = &target{
		UID: sub.Host.UID, Nonce: planted.nonce, CWD: sub.Host.CWD, Network: pol.Network, SharePID: pol.SharePID,
		Seccomp: policy.SeccompLevel(pol.Seccomp), Filter: policy.SeccompFile(pol.Seccomp),
		Feigned:    plan.Report.Filter != nil && plan.Report.Filter.Feigns,
		OwnSession: plan.Report.OwnSession, Scoped: plan.Scoped(), Spaces: ownSpaces(),
		Pass:   plan.Keep,
		Helper: planted.helper, Word: planted.word, Env: environment(plan, planted), Plan: c.mounts,
		Given: plan.Report.View.Devices(),
	}
	if sub.Remap != sub.Host.CWD {
		c.target.Remap = sub.Remap
	}
	if plan.Confined != nil {
		c.walls(planted.dir)
	}
	c.hidden()
	c.guarded()
	for _, m := range c.mounts {
		if !c.target.Walls && m.Access == policy.Private && (c.target.Scratch == "" || m.Path == "/tmp") {
			c.target.Scratch = m.Path
		}
	}
	for _, m := range mountPoints() {
		c.target.Host = append(c.target.Host, string(m.Path))
	}
	c.places()
	for _, l := range planted.listeners {
		c.server(l)
	}
	c.sockets()
	c.own()
	return c.target
}

// tryOutside tries outside what [check.compare] wants to know.
func (s *target) tryOutside(checks []*check) {
	for _, c := range checks {
		if c.Twin {
			q := c.Ask[0]
			q.Path = []byte(s.outsidePath(string(q.Path)))
			c.compare(q.answer().Errno)
		}
	}
}

// environment is what has to become of the variables.
func environment(plan *engine.Plan, planted *fixtures) variables {
	e := variables{Planted: map[string]string{}, Mark: planted.mark}
	for _, c := range plan.Report.Env {
		if strings.Contains(c.Name, planted.nonce) {
			e.Planted[c.Name] = c.Source
			if c.Action != "drop" {
				e.MayShow = c.Source
			}
		}
		if c.Action != "drop" {
			e.Kept = append(e.Kept, c.Name)
		} else {
			e.Dropped = append(e.Dropped, c.Name)
		}
	}
	return e
}

// walls notes what there is to prove of a run with Landlock beside the rest.
func (c *collector) walls(dir string) {
	c.target.Walls, c.target.Gaps, c.target.Mode, c.target.Scratch = true, c.plan.Gaps, dir, runTmp
	for _, m := range c.mounts {
		if m.Closed && lkind(m.Path) == kindDir {
			c.target.Closed = append(c.target.Closed, m.Path)
		}
	}
	c.target.Devices = without(openDevices(), c.target.Given)
}

const doors = "/dev/mem /dev/kmsg /dev/kvm /dev/fuse /dev/net/tun /dev/loop-control /dev/ptmx /dev/vsock " +
	"/dev/vhost-net /dev/uinput /dev/input/event0 /dev/dri/card0 /dev/dri/renderD128 /dev/snd/controlC0 /dev/sda " +
	"/dev/vda /dev/nvme0n1 /dev/userfaultfd"

// openDevices are devices of the host's that would be doors, and do no harm when
// they are opened for reading, as far as this user may.
func openDevices() []string {
	return slices.DeleteFunc(strings.Fields(doors), func(path string) bool { return !permitted(path, unix.R_OK) })
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
func (c *collector) named(a policy.Access) []string {
	var out []string
	for i := range c.pol.Rules {
		r := &c.pol.Rules[i]
		if r.Access != a || r.Except {
			continue
		}
		for _, path := range c.expand(r) {
			if lkind(path) != "" && !slices.Contains(out, path) {
				out = append(out, path)
			}
		}
	}
	return out
}

func (c *collector) expand(r *policy.Rule) []string {
	if !r.Pattern {
		return []string{r.Path}
	}
	var out []string
	names, _ := procfs.Names(policy.Dir(r.Path))
	for _, n := range names {
		path := host.Join(policy.Dir(r.Path), n)
		if policy.Match(base(r.Path), n) && !c.pol.Excepted(path) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

func (c *collector) hidden() {
	c.seen = make(map[string]bool)
	for _, path := range c.named(policy.Block) {
		c.secret(path, c.opened(path))
	}
	for _, path := range c.hides {
		c.secret(path, "")
	}
	for _, dir := range c.OwnDirs {
		c.secret(dir, c.opened(dir))
	}
	for i := range c.target.Hidden {
		if h := &c.target.Hidden[i]; h.Opened == "" && h.Out.Kind == kindDir {
			c.links(h.Path, h.Out.names())
		}
	}
}

// opened returns the rule by which a person shows a path that another rule hides,
// or "".
func (c *collector) opened(path string) string {
	real := canonical(path)
	shown := c.plan.Report.View.Tracked
	a := c.mounts.at(real)
	r, ok := c.pol.Decide(path)
	switch {
	case slices.Contains(shown, real):
		return "the repository: " + view.SourceTracked
	case a.shows() && a.Source == view.SourceCleaned:
		return "settings: " + a.Source
	case ok && (r.Access == policy.Read || r.Access == policy.Write):
		return r.Source
	case a.shows() && a.Layer > policy.Builtin && !slices.Contains(c.hides, real):
		return a.Source
	}
	return ""
}

func (c *collector) secret(path, opened string) {
	out := lookAt(path)
	if c.seen[path] || out.Kind == kindAbsent {
		return
	}
	c.seen[path] = true
	real := canonical(path)
	h := secret{Path: path, Out: out, Opened: opened, Private: c.mounts.at(policy.Dir(real)).own()}
	var way []string
	h.Shown, way = c.mounts.shownIn(real)
	if c.target.Walls && out.Kind == kindDir {
		h.Inner = inner(path, without(out.names(), h.Shown))
	}
	c.target.Hidden = append(c.target.Hidden, h)
	for _, name := range slices.Backward(way) {
		if at := host.Join(real, name); opened == "" && out.Kind == kindDir && !c.mounts.at(at).shows() {
			// The directories on the way show no more than the way.
			c.secret(at, "")
		}
	}
}

// inner are a few files and directories in a hidden one that can be read.
func inner(dir string, names []string) []string {
	const few = 3
	var out []string
	for _, n := range names {
		path := host.Join(dir, n)
		if kind := lkind(path); len(out) < few && (kind == kindFile || kind == kindDir) && permitted(path, unix.R_OK) {
			out = append(out, path)
		}
	}
	return out
}

// links states which links in a hidden directory lead to something that is visible
// by its own name: hidden is a name, not a content.
func (c *collector) links(dir string, names []string) {
	ours := []string{c.Host.CWD}
	for _, home := range c.Host.Homes {
		ours = append(ours, canonical(home))
	}
	for _, n := range names {
		path := host.Join(dir, n)
		if lkind(path) != kindLink {
			continue
		}
		real := canonical(path)
		if real == path || !policy.WithinAny(real, ours...) || c.seen[real] || policy.WithinAny(real, c.hides...) {
			continue
		}
		if a := c.mounts.at(real); a.shows() && !a.shared() {
			c.seen[real] = true
			why := ", by which it can be read, though the hidden " + text.Plain(path) +
				" leads to it; hide it by its own name"
			c.target.Hidden = append(c.target.Hidden, secret{Path: real, Opened: a.Source + why})
		}
	}
}

func (c *collector) guarded() {
	c.seen = make(map[string]bool)
	for _, path := range c.plan.Report.Exposed {
		c.guard(path, nil, restored)
	}
	for _, m := range c.mounts {
		tree := c.mounts.writableTree(m.Path)
		switch {
		case c.seen[m.Path]:
		case len(tree) == 0:
			if m.Access == policy.Read && !m.Covered && m.Path != "/" {
				c.guard(m.Path, nil, "")
			}
		case !m.Pinned && m.Access != policy.Write && m.Access != policy.Private && m.Access != policy.Unseen:
			c.guard(m.Path, slices.Compact([]string{tree[0], tree[len(tree)-1]}), "")
			c.target.Moves = append(c.target.Moves, tree...)
		}
	}
	c.protected()
	c.target.freeze(c.writable)
}

// protected notes what rules protect, links and names that do not exist among
// them: protecting those would leave something on the host.
func (c *collector) protected() {
	loose := func(path string) bool { return c.mounts.at(canonical(policy.Dir(path))).Access == policy.Write }
	for _, path := range c.named(policy.Protect) {
		opened := ""
		if r, ok := c.pol.Decide(path); ok && r.Access == policy.Write {
			opened = r.Source
		}
		if lkind(path) != kindLink {
			c.guard(canonical(path), nil, opened)
			continue
		}
		g := guardedPath{Path: path, Kind: kindLink, Opened: opened, Loose: loose(path)}
		c.target.Guarded = append(c.target.Guarded, g)
	}
	for _, path := range c.named(policy.Block) {
		if lkind(path) == kindLink && loose(path) {
			g := guardedPath{Path: path, Kind: kindLink, Loose: true, Hidden: true}
			c.target.Guarded = append(c.target.Guarded, g)
		}
	}
	for i := range c.pol.Rules {
		r := &c.pol.Rules[i]
		if r.Access == policy.Protect && !r.Pattern && !r.Except && lkind(r.Path) == "" &&
			c.writable(canonical(policy.Dir(r.Path))) {
			c.target.Unborn = append(c.target.Unborn, r.Path)
		}
	}
}

func (c *collector) guard(path string, tops []string, opened string) {
	var st unix.Stat_t
	if c.seen[path] || unix.Lstat(path, &st) != nil {
		return
	}
	c.seen[path] = true
	g := guardedPath{Path: path, Kind: kindOf(st.Mode), Tops: tops, Opened: opened}
	g.Able = int(st.Uid) == c.Host.UID || permitted(path, unix.W_OK)
	c.target.Guarded = append(c.target.Guarded, g)
}

// writable reports whether the plan lets something be made in a directory.
func (c *collector) writable(dir string) bool {
	if c.target.Walls { // more is closed than the rules close
		return c.plan.Report.Ask(dir).Write
	}
	return c.mounts.at(dir).Access == policy.Write
}

// candidates are directories of the host's that a command might write to: the usual
// ones, and those of a list with all above them.
func candidates(dirs ...string) []string {
	out := strings.Fields("/ /boot /dev /dev/shm /etc /home /media /mnt /opt /proc /root /run /srv /sys /tmp " +
		"/usr /usr/bin /usr/lib /usr/local /usr/local/bin /var /var/lib /var/spool/cron /var/tmp")
	for _, dir := range dirs {
		for ; strings.HasPrefix(dir, "/") && dir != "/"; dir = policy.Dir(dir) {
			out = append(out, dir)
		}
	}
	out = slices.DeleteFunc(out, func(dir string) bool { return lookAt(dir).Kind != kindDir })
	for i, dir := range out {
		out[i] = canonical(dir)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ownPlace reports whether what is made in a directory of a name is no more than
// the process's own: /proc, and /dev where it is the sandbox's.
func (s *target) ownPlace(dir string) bool {
	if s.Walls {
		return policy.Within(dir, "/proc") || policy.Within(dir, "/sys")
	}
	return policy.Within(dir, "/proc") || policy.Within(dir, "/dev")
}

// freeze sorts the directories that must not be moved, and notes with Landlock
// those in which nothing can be made.
func (s *target) freeze(writable func(dir string) bool) {
	slices.Sort(s.Moves)
	s.Moves = slices.Compact(s.Moves)
	for _, dir := range s.Moves {
		if s.Walls && !writable(dir) {
			s.Frozen = append(s.Frozen, dir)
		}
	}
}

func (c *collector) places() {
	dirs := append([]string{policy.Dir(c.Host.CWD), c.Root}, c.OwnDirs...)
	for _, home := range c.Host.Homes {
		dirs = append(dirs, home, home+"/.config", home+"/.local/bin", home+"/bin")
	}
	for _, dir := range candidates(dirs...) {
		a := c.mounts.at(dir)
		p := place{Path: dir, Able: permitted(dir, unix.W_OK)}
		p.Private = a.own() && !c.target.Walls || c.target.ownPlace(dir)
		if a.Access == policy.Write && !a.shared() && c.writable(dir) {
			p.Opened = a.Source
		}
		c.target.Places = append(c.target.Places, p)
	}
}

// own notes sbx's own files, and what the manifest of the run is to hold.
func (c *collector) own() {
	o := ownFiles{Dir: host.ManifestDir, Programs: map[string]string{host.ManifestDir + "/sbx": ""}}
	if c.target.Walls {
		o = ownFiles{Dir: runDir, Manifest: runManifest, Sum: sumOf(c.plan.Files[0].Data),
			Programs: map[string]string{}}
	}
	for _, fd := range c.plan.FDs {
		if fd.Name == host.ManifestDir+"/policy.json" {
			o.Manifest, o.Sum = fd.Name, sumOf(fd.Data)
		}
	}
	for _, path := range []string{c.Host.Self, c.Bwrap} {
		if !strings.HasPrefix(path, "/") {
			continue
		}
		path = canonical(path)
		o.Programs[path] = ""
		if a := c.mounts.at(path); a.Access == policy.Write {
			o.Programs[path] = a.Source
		}
	}
	c.target.Own = o
}
