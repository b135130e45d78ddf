package wrap

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// hintsFor are what the stage may have to say, the surest first.
func hintsFor(p *engine.Plan, req engine.Request, h *host.Host, v *view.View, pol *policy.Policy) []pid1.Hint {
	if !req.Hints.On || len(req.Command) == 0 || interactive(req.Command) {
		return nil
	}
	home, hasHome := host.LookupEnv(p.Env, "HOME")
	u := usageOf(req.Command, v.Inside(h.StartDir()), func(name string) (string, bool) {
		return home, name == "HOME" && hasHome && strings.HasPrefix(home, "/")
	})
	g := &hinter{p: p, h: h, v: v, pol: pol, say: req.Hints}
	g.notFound(u.programs)
	g.trapped()
	g.full()
	g.privileges(u.gains)
	g.debugger(u.debugger)
	g.network(u)
	g.files(u.uses)
	g.concealed()
	return g.out
}

// concealed is said after any failure that nothing else explains: a program that
// finds a .env without a line in it cannot know why. Of other hidden files it says
// itself that they cannot be opened.
func (g *hinter) concealed() {
	var names []string
	first, more := "", 0
	for _, path := range g.v.Hidden {
		i, ok := g.v.Find(path)
		switch {
		case !ok || !g.v.Mounts[i].Blank:
			continue
		case first == "":
			first = path
		case len(names) == view.MaxNamed:
			more++
			continue
		}
		name := path
		if policy.Within(path, g.h.CWD) {
			name = path[len(g.h.CWD)+1:]
		}
		names = append(names, g.shown(name))
	}
	if first == "" {
		return
	}
	if more > 0 {
		names = append(names, strconv.Itoa(more)+" more")
	}
	g.add(pid1.Always, "", "hidden here, and reads as empty: "+strings.Join(names, ", ")+g.lever("read", first, policy.Block, " shows "+host.Base(first)))
}

// interactive reports whether a command is a shell at which somebody sits.
func interactive(words []string) bool {
	if !isShell(words[0]) {
		return false
	}
	return !slices.ContainsFunc(words[1:], func(w string) bool {
		return w == "-c" || !strings.HasPrefix(w, "-") || len(w) > 1 && w[1] != '-' && strings.IndexByte(w, 'c') > 0
	})
}

// hinter writes hints.
type hinter struct {
	p   *engine.Plan
	h   *host.Host
	v   *view.View
	pol *policy.Policy
	say engine.Hints
	out []pid1.Hint
}

func (g *hinter) add(when pid1.When, path, text string) {
	text = strings.ReplaceAll(policy.Escape(text), "\n", `\n`) // the stage writes it as it is
	if len(text) <= pid1.MaxHint {
		g.out = append(g.out, pid1.Hint{When: when, Path: path, Text: text})
	}
}

// setting is the lever for a switch or a number: a flag, or a key of the config file.
func (g *hinter) setting(flag, key, value string) string {
	switch {
	case g.locked(key):
		return ""
	case g.say.Agent != "" && agentFlag(flag):
		return "sbx agent " + flag + " " + g.say.Agent
	case g.say.Config:
		return key + " = " + value + g.inConfig()
	}
	return g.flags(flag)
}

// flags is how flags are given: before a shim's own name they stand in SBX_FLAGS.
func (g *hinter) flags(text string) string {
	if g.say.Tool == "" {
		return text
	}
	had := ""
	if v, _ := host.LookupEnv(g.h.Environ, "SBX_FLAGS"); v != "" {
		had, text = `"$SBX_FLAGS"`, " "+text
	}
	return "SBX_FLAGS=" + had + host.SingleQuoted(text) + " " + host.ShellWord(g.say.Tool) + " …"
}

// agentFlag reports whether sbx agent has a flag, too.
func agentFlag(flag string) bool { return flag == "--net" }

func (g *hinter) inConfig() string {
	if g.h.Config == "" {
		return " in a profile"
	}
	return " in a profile in " + g.shown(g.h.Config+"/config.toml")
}

// locked reports whether the administrator lets nobody loosen one of the keys.
func (g *hinter) locked(keys ...string) bool {
	return slices.ContainsFunc(g.say.Locked, func(k string) bool { return k == "default_profile" || slices.Contains(keys, k) })
}

const isLocked = "; the administrator has locked that"

// network is about packets that had no way out. Without a namespace of its own
// there are none that sbx had to do with.
func (g *hinter) network(u *usage) {
	if g.pol.Network {
		return
	}
	text := "the network is off (" + g.source(g.pol.Where["allow_network"], "allow_network = false") + ")"
	switch lever := g.setting("--net", "allow_network", "true"); {
	case lever == "":
		text += isLocked
	case g.pol.Where["allow_network"] == "--no-net":
		text += ": --net in the place of --no-net turns it on"
	default:
		text += ": " + lever + " turns it on"
	}
	when := pid1.Cut
	switch {
	case u.outward || slices.ContainsFunc(u.borrowed, g.fetched):
		when = pid1.Unheard
	case u.curious:
		when = pid1.Often
	}
	g.add(when, "", text)
}

// fetched reports whether npx and its like would have to fetch a program.
func (g *hinter) fetched(b borrowed) bool {
	if strings.ContainsAny(b.name, "/@") {
		return true
	}
	there := func(path string) bool {
		to, err := g.v.Res.Resolve(path)
		return err != nil || to.Info.Kind != host.Absent
	}
	for dir, _ := g.v.Outside(b.dir); ; dir = policy.Dir(dir) {
		if there(host.Join(dir, "node_modules/.bin/"+b.name)) {
			return false
		}
		if len(dir) <= 1 {
			break
		}
	}
	path, _ := host.LookupEnv(g.p.Env, "PATH")
	return !slices.ContainsFunc(strings.Split(path, ":"), func(dir string) bool {
		return strings.HasPrefix(dir, "/") && there(host.Join(policy.Clean(dir), b.name))
	})
}

// source is who says something: "moderate: allow_network = false".
func (g *hinter) source(source, what string) string {
	switch {
	case source == "":
		return what
	case strings.HasPrefix(source, "--"):
		return source
	}
	return by(source) + ": " + what
}

// trapped is about system calls that end who makes them: all of another
// architecture, and what the filter of a file says so of.
func (g *hinter) trapped() {
	if g.pol.Seccomp == "off" {
		return
	}
	text := "the system call filter ended it (" + g.source(g.pol.Where["seccomp"], "seccomp = "+policy.Plain(g.pol.Seccomp)) + "), as it does programs for another architecture, 32-bit ones among them"
	if lever := g.setting("--seccomp off", "seccomp", `"off"`); lever != "" {
		text += ": " + lever + " takes the filter away"
	} else {
		text += isLocked
	}
	g.add(pid1.Trapped, "", text)
}

// full is about private directories, whose size is bounded.
func (g *hinter) full() {
	if g.pol.TmpfsLimitMB == 0 {
		return
	}
	key, limit := "tmpfs_limit_mb", g.pol.TmpfsLimitMB
	if half := g.pol.MemoryLimitMB / 2; half > 0 && half < limit { // see ops
		key, limit = "memory_limit_mb", g.pol.MemoryLimitMB
	}
	because := " is full, a directory of the sandbox's own in memory (" + g.source(g.pol.Where[key], key+" = "+strconv.Itoa(limit)) + ")"
	if g.locked(key) {
		because += isLocked
	} else {
		because += ": a larger " + key + " in a profile makes room"
	}
	for i := range g.v.Mounts {
		m := &g.v.Mounts[i]
		if m.Eff != policy.Private || m.Idle || m.Path == "/run" {
			continue
		}
		path := g.v.Inside(m.Path)
		g.add(pid1.Full, path, g.shown(path)+because)
	}
}

// privileges is about programs that are there to gain some.
func (g *hinter) privileges(name string) {
	if name == "" {
		return
	}
	if to, err := g.v.Res.Resolve("/usr/bin/" + name); err == nil && to.Info.Mode&0o4000 != 0 {
		g.add(pid1.Always, "", name+" gains no privileges in a sandbox: run what needs them outside")
	}
}

func (g *hinter) debugger(name string) {
	if name == "" || g.pol.Seccomp == "dev" || g.pol.Seccomp == "off" || policy.SeccompFile(g.pol.Seccomp) {
		return
	}
	text := "no process looks into another here (" + g.source(g.pol.Where["seccomp"], "seccomp = "+g.pol.Seccomp) + ")"
	if lever := g.setting("--seccomp dev", "seccomp", `"dev"`); lever != "" {
		text += ": " + lever + " lets " + name + " work"
	} else {
		text += isLocked
	}
	g.add(pid1.Always, "", text)
}

// notFound is about programs in directories that PATH has lost.
func (g *hinter) notFound(names []string) {
	outer, _ := host.LookupEnv(g.h.Environ, "PATH")
	inner, _ := host.LookupEnv(g.p.Env, "PATH")
	if outer == inner {
		return
	}
	dirs := func(path string) []string {
		d := strings.Split(path, ":")
		return d[:min(len(d), 32)]
	}
	kept := dirs(inner)
	var lost []string
	for _, dir := range dirs(outer) {
		if strings.HasPrefix(dir, "/") && !slices.Contains(kept, dir) {
			lost = append(lost, dir)
		}
	}
	for _, name := range names[:min(len(names), 4)] {
		for _, dir := range lost {
			full := host.Join(policy.Clean(dir), name)
			to, err := g.v.Res.Resolve(full)
			if err != nil || to.Info.Kind != host.File || !g.h.FS.Access(full, 'x') {
				continue
			}
			if !slices.ContainsFunc(kept, func(dir string) bool { _, ok := g.v.Visible(host.Join(policy.Clean(dir), name)); return ok }) {
				text := g.shown(full) + " is not visible in the sandbox" + g.lever("read", policy.Dir(to.Path), policy.Unseen, " shows its directory")
				g.add(pid1.NotFound, "", text)
			}
			return
		}
	}
}

// Bounds on how much is looked at for files: a long script names many.
const (
	maxUses      = 32
	maxFileHints = 3 // about files
)

// files is about those that are named and that the policy keeps.
func (g *hinter) files(uses []use) {
	var made []string
	hints := 0
	for _, u := range uses[:min(len(uses), maxUses)] {
		if u.write && !u.there {
			made = append(made, u.path)
		} else if slices.ContainsFunc(made, func(m string) bool { return policy.Within(u.path, m) }) {
			continue // the command's own
		}
		if u.idle {
			continue
		}
		if when, path, text, ok := g.file(&u); ok {
			g.add(when, path, text)
			if hints++; hints == maxFileHints {
				return
			}
		}
	}
}

// file looks whether a use of a file can be one that the policy prevents.
func (g *hinter) file(u *use) (when pid1.When, path, text string, ok bool) {
	h, ok := g.v.Outside(u.path)
	if !ok || policy.Within(h, "/proc") || policy.Within(h, "/dev") || policy.Within(h, host.ManifestDir) {
		return 0, "", "", false
	}
	a, from := g.v.Access(h), ""
	if view.Shows(a) { // a link that is there may lead to what is not
		to, err := g.v.Res.Resolve(h)
		if err != nil {
			return 0, "", "", false
		}
		if len(to.Links) > 0 && !view.Shows(g.v.Access(to.Path)) {
			from = g.shown(g.v.Inside(h)) + " leads to "
			h, a = to.Path, g.v.Access(to.Path)
		}
	}
	dir := policy.Dir(h)
	switch hides := a == policy.Private || a == policy.Unseen; {
	case a == policy.Write, !u.write && view.Shows(a):
		return 0, "", "", false // what nearly all are
	case u.name && a != policy.Block && from == "":
		return 0, "", "", false
	case u.write && hides && u.there:
		// What is mounted by itself can be changed, and not be taken away.
		if u.moves {
			if g.h.Writable(dir) != nil {
				return 0, "", "", false
			}
			when, path, text, ok = g.unseen(h, "write", dir)
			break
		}
		when, path, text, ok = g.unseen(h, "write", "")
	case u.write && hides && u.dir:
		when, path, text, ok = g.unseen(h, "write", "")
	case u.write && hides:
		// Something can be made here, or nothing outside either, unless the
		// directory is what is missing.
		if dir == "/" || g.v.Access(dir) != policy.Private && g.v.Access(dir) != policy.Unseen {
			return 0, "", "", false
		}
		when, path, text, ok = g.unseen(dir, "write", "")
	case u.write:
		when, path, text, ok = g.unwritten(h, u)
	default:
		when, path, text, ok = g.unseen(h, "read", "")
	}
	if shown := g.shown(g.v.Inside(h)); ok && from != "" && strings.HasPrefix(text, shown) {
		text = from + shown + ", which" + text[len(shown):]
	}
	return when, path, text, ok
}

// unseen is about what is not there inside, or has no content; opens is what
// has to be opened for it, "" for itself.
func (g *hinter) unseen(h, to, opens string) (when pid1.When, path, text string, ok bool) {
	real, err := g.v.Res.Resolve(h)
	if err != nil || view.Shows(g.v.Access(real.Path)) && g.v.CarriesAll(real.Links) {
		return 0, "", "", false
	}
	if i, ok := g.v.Find(real.Path); ok && g.v.Mounts[i].Eff == policy.Private && !g.v.Mounts[i].Idle {
		return 0, "", "", false // a directory of the sandbox's own, which is there
	}
	rule, ruled := g.pol.Decide(h)
	if !ruled || rule.Access != policy.Block {
		rule, ruled = g.pol.Decide(real.Path)
	}
	// Whether something hidden is there is not told.
	hidden := ruled && rule.Access == policy.Block
	if real.Info.Kind == host.Absent && !hidden {
		return 0, "", "", false
	}
	a := g.p.Report.Ask(h)
	if a.Kind != host.Absent && (a.Mark == nil || a.Mark.Access != policy.Block) {
		return 0, "", "", false // a directory of the sandbox's own, which is there
	}
	if real.Info.Kind != host.Absent && !g.p.Report.Sight.HostMay(real.Path, 'r') {
		return 0, "", "", false
	}
	shown := g.shown(g.v.Inside(h))
	if hidden {
		text = shown + " is hidden (" + g.rule(policy.Block, rule.Path, rule.Source) + ")"
	} else if a.Mark != nil {
		text = shown + " is not visible in the sandbox (" + g.rule(a.Mark.Access, a.Mark.Rule, a.Mark.Source) + ")"
	} else {
		text = shown + " is not visible in the sandbox (no rule opens it)"
	}
	when, path = pid1.Missing, a.Path
	if a.Kind != host.Absent {
		when, path = pid1.Always, ""
	}
	lever := ""
	for _, l := range a.Levers {
		if l.To == to && len(l.Flags) == 2 {
			lever = l.Flags[1]
		} else if l.To == to && l.Text != "" {
			return when, path, text + ": " + l.Text, true
		}
	}
	switch {
	case lever == "" && !hidden && to == "write" && a.Fixed != "" && a.Fixed != access.OwnUser && g.h.Writable(h) != nil:
		return when, path, text + ": " + host.OneLine(a.Fixed), true
	case lever == "" && !hidden:
		return 0, "", "", false // nobody's to open
	case lever == "":
		lever = h
	}
	if to == "read" && !hidden && !g.v.CarriesAll(real.Links) {
		lever = h // by that name: the link is not there either
	}
	if opens != "" {
		lever = opens
	}
	if err := g.h.Writable(lever); to == "write" && err != nil {
		return when, path, text + ": " + host.OneLine(err.Error()), true
	}
	does := " shows it"
	if to == "write" {
		does = " opens it for writing"
	}
	access := policy.Unseen
	if hidden {
		access = policy.Block
	}
	return when, path, text + g.lever(to, lever, access, does), true
}

// unwritten is about what is read-only, and the caller could write outside.
func (g *hinter) unwritten(h string, u *use) (when pid1.When, path, text string, ok bool) {
	a := g.p.Report.Ask(h)
	if a.Write || a.Mark == nil || u.fresh && a.Kind != host.Absent {
		return 0, "", "", false
	}
	shown := g.shown(g.v.Inside(h))
	because := " (" + g.rule(a.Mark.Access, a.Mark.Rule, a.Mark.Source) + ")"
	switch {
	case a.Mark.Access == policy.Block:
		text = shown + " is hidden" + because
	case a.Mark.Access == policy.Protect:
		text = shown + " is protected, since the host may run or read it later" + because
	case g.pinned(a.To):
		return 0, "", "", false
	default:
		text = shown + " is read-only" + because
	}
	for _, l := range a.Levers {
		switch {
		case l.To != "write":
		case l.Text != "":
			return pid1.Always, "", text + ": " + l.Text, true
		case l.Flags[0] == "--git":
			if lever := g.setting("--git "+l.Flags[1], "git", strconv.Quote(l.Flags[1])); lever != "" {
				return pid1.Always, "", text + ": " + lever + " lets it be written", true
			}
			return pid1.Always, "", text + isLocked, true
		default:
			opens := l.Flags[1]
			if u.moves && opens != a.Mark.Rule { // its directory lets nothing be put in its place
				if opens = policy.Dir(opens); g.h.Writable(opens) != nil {
					return 0, "", "", false
				}
			}
			return pid1.Always, "", text + g.lever("write", opens, a.Mark.Access, " lets it be written"), true
		}
	}
	// Never writable in a sandbox; outside it would be, for root.
	if at, _ := g.p.Report.Sight.Standing(a.To); a.Fixed != "" && a.Fixed != access.OwnUser && g.p.Report.Sight.HostMay(at, 'w') {
		return pid1.Always, "", text + ": " + a.Fixed, true
	}
	return 0, "", "", false
}

func (g *hinter) pinned(path string) bool { return g.p.Report.Sight.Pinned(path) }

// rule names one as its file has it.
func (g *hinter) rule(access policy.Access, path, source string) string {
	key := listKey(access)
	switch {
	case strings.Contains(source, " = ") || key == "":
		return host.OneLine(source)
	case strings.HasPrefix(source, "--"):
		return source + " " + g.shown(path)
	}
	return by(source) + ": " + key + " " + g.shown(path)
}

// listKey is the key of a profile by which paths get an access.
func listKey(a policy.Access) string {
	switch a {
	case policy.Read:
		return "readonly_paths"
	case policy.Write:
		return "writable_paths"
	case policy.Protect:
		return "protected_paths"
	case policy.Block:
		return "blocked_paths"
	case policy.Private:
		return "private_paths"
	}
	return ""
}

// lever is how a path is opened that a rule with an access keeps, and what that
// does.
func (g *hinter) lever(to, path string, access policy.Access, does string) string {
	flag, key := "-r ", "readonly_paths"
	if to == "write" {
		flag, key = "-w ", "writable_paths"
	}
	own := func(dir string) bool { return policy.Within(path, dir) || policy.Within(dir, path) }
	switch {
	case to == "write" && (slices.ContainsFunc(g.h.Links, own) || slices.ContainsFunc(g.h.Own, own)):
		return ": sbx keeps files of its own there, and that is never made writable"
	case g.locked(key, listKey(access)):
		return isLocked
	case g.say.Agent != "":
		return ": sbx agent " + flag + g.typed(path) + " " + g.say.Agent + does
	case !g.say.Config && g.say.Tool != "" && !host.Plain(path):
		return ": sbx " + flag + g.typed(path) + " -- " + host.ShellWord(g.say.Tool) + " …" + does
	case !g.say.Config:
		return ": " + g.flags(flag+g.typed(path)) + does
	case slices.ContainsFunc(g.pol.Rules, func(r policy.Rule) bool {
		return r.Path == path && !r.Pattern && !r.Except && (r.Access == policy.Block || r.Access == policy.Protect)
	}):
		return ": no configuration file can undo that; sbx " + flag + g.typed(path) + " -- COMMAND does" // at one path the tighter rule wins
	case !host.Plain(path):
		return ": sbx " + flag + g.typed(path) + " -- COMMAND" + does // not every file can hold that name
	}
	return ": " + key + " = [" + policy.Quote(strings.ReplaceAll(path, "$", "$$")) + "]" + g.inConfig() + does
}

// shown is a path as people read it.
func (g *hinter) shown(path string) string { return g.h.Shown(path) }

// typed is a path as a shell takes it.
func (g *hinter) typed(path string) string {
	if rest, ok := g.h.Tilde(path); ok && host.WordSafe(rest) {
		return "~" + rest
	}
	return host.ShellWord(path)
}

// by names the source of a rule: "go, $GOMODCACHE", "/home/u/x y.toml:3:1".
func by(source string) string {
	if host.Plain(source) {
		return source
	}
	return policy.Quote(source)
}
