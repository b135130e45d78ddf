package wrap

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/credentials"
	"github.com/sbx-sandbox/sbx/gitdir"
	"github.com/sbx-sandbox/sbx/policy"
)

// SourceCleaned is the source of the rule for a settings file that is shown
// without the credentials in it.
const SourceCleaned = "a copy without credentials"

const (
	maxConfigs  = 256       // config files of git that are searched for credentials
	maxSettings = 256 << 10 // bytes of a settings file of another program
)

// cleaner looks for credentials in the settings files that the command sees.
type cleaner struct {
	v    *view
	g    *gitGuard
	left int
	seen map[string]bool
	made []mount    // copies at paths that have no mount yet
	cut  []withheld // shown without
	had  []withheld // shown with, since no copy can stand in their place
}

// withheld is a file with the names of the credentials in it.
type withheld struct {
	path  string
	names []string
}

// clean puts copies without credentials in the place of settings files: those of
// git, with all that they include, and those of package managers at the top of a
// project. Where mounts cannot do that, or the file is to be written, it is told.
func (v *view) clean(root string, g *gitGuard) error {
	c := &cleaner{v: v, g: g, left: maxConfigs, seen: make(map[string]bool, 16)}
	for _, home := range v.host.Homes {
		c.git(join(home, ".gitconfig"), 0)
		c.git(join(home, ".config/git/config"), 0)
	}
	for i := range g.pol.Rules {
		if r := &g.pol.Rules[i]; base(r.Path) == "config" && base(policy.Dir(r.Path)) == "git" && isGrant(r) {
			c.git(r.Path, 0)
		}
	}
	c.git("/etc/gitconfig", 0)
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} {
		if path, _ := lookupEnv(v.host.Environ, name); strings.HasPrefix(path, "/") {
			c.git(policy.Clean(path), 0)
		}
	}
	for _, dir := range g.gits {
		c.repository(dir, 0)
	}
	tops := append([]string{root, v.host.CWD}, g.trees...)
	for i, top := range tops {
		if top == "" || slices.Contains(tops[:i], top) {
			continue
		}
		for _, name := range []string{".npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml"} {
			c.settings(join(top, name))
		}
	}
	for i := range v.mounts {
		m := &v.mounts[i]
		if m.eff == policy.Block && !m.idle && m.info.Kind == File && m.rule.Layer == policy.Builtin && credentials.Settings(base(m.path)) && !v.bare && slices.Contains(tops, policy.Dir(m.path)) {
			c.hidden(m)
		}
	}
	if len(c.made) > 0 {
		v.mounts = append(v.mounts, c.made...)
		v.sort()
	}
	return c.tell()
}

// keys are names in a git directory below which extensions of git keep keys and
// logins.
var keys = []string{"git-crypt", "annex/creds"}

// repository looks at the config files of a git directory, and of those in it.
func (c *cleaner) repository(dir string, depth int) {
	for _, name := range keys {
		to, err := c.v.res.resolve(join(dir, name))
		if _, taken := c.v.find(to.Path); err == nil && !taken && (to.Info.Kind == Dir || to.Info.Kind == File) && shows(c.v.access(to.Path)) && !c.seen[to.Path] {
			c.seen[to.Path] = true
			r := &policy.Rule{Path: to.Path, Access: policy.Block, Layer: policy.Builtin, Source: "keys of git-crypt and git-annex"}
			c.made = append(c.made, mount{path: to.Path, info: to.Info, rule: r, rules: policy.Stand{Give: r}, eff: policy.Block})
		}
	}
	c.git(join(dir, "config"), 0)
	c.git(join(dir, "config.worktree"), 0)
	if depth > maxDepth {
		return
	}
	for _, sub := range c.below(join(dir, "worktrees")) {
		c.git(join(sub, "config.worktree"), 0)
		c.modules(join(sub, "modules"), depth+1)
	}
	c.modules(join(dir, "modules"), depth+1)
}

func (c *cleaner) modules(dir string, depth int) {
	for _, sub := range c.below(dir) {
		switch {
		case c.g.exists(join(sub, "config")):
			c.repository(sub, depth)
		case depth <= maxDepth && !slices.Contains(gitdir.Bulk, base(sub)):
			c.modules(sub, depth+1)
		}
	}
}

// below are the directories in one.
func (c *cleaner) below(dir string) []string {
	to, err := c.v.res.resolve(dir)
	if err != nil || to.Info.Kind != Dir {
		return nil
	}
	entries, err := c.v.res.entries(to.Path)
	if err != nil || len(entries) > maxGitDirs {
		return nil // what git guards is read-only as a whole then
	}
	var out []string
	for _, e := range entries {
		if e.Kind == Dir || e.Kind == Absent {
			out = append(out, join(to.Path, e.Name))
		}
	}
	return out
}

// visible finds a file that the command sees and has not been looked at.
func (c *cleaner) visible(name string) (to resolved, ok bool) {
	to, err := c.v.res.resolve(name)
	if err != nil || to.Info.Kind != File || c.seen[to.Path] || !shows(c.v.access(to.Path)) {
		return to, false
	}
	c.seen[to.Path] = true
	if i, ok := c.v.find(to.Path); ok {
		m := &c.v.mounts[i]
		// One that a person opened by its name is wanted as it is.
		return to, !m.copied && (m.rules.Give == nil || m.rules.Give.Layer == policy.Builtin || m.rules.Give.Pattern || m.eff != m.rules.Give.Access)
	}
	return to, true
}

// git looks at a config file and at what it includes.
func (c *cleaner) git(name string, depth int) {
	to, ok := c.visible(name)
	if !ok {
		return
	}
	if c.left--; c.left < 0 {
		c.show(to, nil, nil, false)
		return
	}
	data, ok := c.g.content(to)
	if !ok {
		if c.v.host.FS.Access(to.Path, 'r') {
			c.show(to, nil, nil, false)
		}
		return
	}
	copied, names, err := credentials.Git(data)
	if err != nil || len(names) > 0 || len(copied) != len(data) {
		c.show(to, copied, names, err == nil)
	}
	_ = gitdir.Each(data, func(s gitdir.Setting) {
		if n := s.Name(); (n == "include.path" || n == "includeif.path") && depth < maxIncludes+2 {
			if path := c.g.plainPath(s.Value, policy.Dir(name)); path != "" {
				c.git(path, depth+1)
			}
		}
	})
}

// settings looks at a settings file of a package manager.
func (c *cleaner) settings(name string) {
	to, ok := c.visible(name)
	if !ok {
		return
	}
	data, err := c.v.host.FS.Content(to.Path, to.Info, maxSettings)
	if err != nil {
		if c.v.host.FS.Access(to.Path, 'r') {
			c.show(to, nil, nil, false)
		}
		return
	}
	copied, names, err := credentials.Lines(data)
	if err != nil || len(names) > 0 || len(copied) != len(data) {
		c.show(to, copied, names, err == nil)
	}
}

// hidden shows of a project's settings file that is hidden for its credentials
// the rest.
func (c *cleaner) hidden(m *mount) {
	data, err := c.v.host.FS.Content(m.path, m.info, maxSettings)
	if err != nil {
		return
	}
	if copied, _, err := credentials.Lines(data); err == nil {
		m.turn(copied)
		c.v.hidden = slices.DeleteFunc(c.v.hidden, func(path string) bool { return path == m.path })
	}
}

// turn has a mount show a copy.
func (m *mount) turn(data []byte) {
	m.rule = &policy.Rule{Path: m.path, Access: policy.Read, Layer: policy.Builtin, Source: SourceCleaned}
	m.rules, m.eff, m.idle = policy.Stand{Give: m.rule}, policy.Read, false
	m.copied, m.copy = true, data
}

// show puts a copy in the place of a file, or something that cannot be opened,
// when it could not be read as what it is.
func (c *cleaner) show(to resolved, copied []byte, names []string, good bool) {
	w := withheld{to.Path, names}
	if !good {
		w.names = []string{"all of it: it cannot be read as settings"}
	}
	full := c.g.pol.Git == "full" && c.v.access(to.Path) == policy.Write && slices.ContainsFunc(c.g.gits, func(dir string) bool { return policy.Within(to.Path, dir) })
	if c.v.bare || full {
		if good && len(names) == 0 {
			return // a comment
		}
		c.had = append(c.had, w)
		return
	}
	m := &mount{path: to.Path, info: to.Info}
	if i, ok := c.v.find(to.Path); ok {
		m = &c.v.mounts[i]
	} else {
		c.made = append(c.made, mount{})
		m = &c.made[len(c.made)-1]
		m.path, m.info = to.Path, to.Info
	}
	if m.turn(copied); !good {
		m.rule.Access, m.eff, m.copied = policy.Block, policy.Block, false
		m.rule.Source = "it may hold credentials, and cannot be read as settings"
	}
	if len(w.names) > 0 {
		c.cut = append(c.cut, w)
	}
}

// tell says what was left out, or could not be, once for all files.
func (c *cleaner) tell() error {
	if len(c.cut) > 0 {
		c.v.notes = append(c.v.notes, "credentials are left out of "+c.list(c.cut)+": better kept by a credential helper or in a variable (in CI persist-credentials: false); -r FILE shows a file whole")
	}
	if len(c.had) == 0 {
		return nil
	}
	const remedy = "better kept by a credential helper or in a variable (in CI persist-credentials: false)"
	text := "the command can read the credentials in " + c.list(c.had)
	if !c.v.bare {
		c.v.loose = append(c.v.loose, text+", which git = full lets it write: "+remedy)
		return nil
	}
	text += ", of which this engine can show no copy without them"
	if strictWalls(c.g.pol) {
		return &Error{StatusFailed, text, remedy}
	}
	c.v.loose = append(c.v.loose, text+": "+remedy)
	return nil
}

// list names files with the settings in them.
func (c *cleaner) list(files []withheld) string {
	var out []string
	for i, w := range files {
		if i == maxNamed {
			out = append(out, strconv.Itoa(len(files)-i)+" more files")
			break
		}
		names := w.names
		if n := len(names); n > maxNamed {
			names = append(slices.Clone(names[:maxNamed]), strconv.Itoa(n-maxNamed)+" more")
		}
		path := w.path
		if policy.Within(path, c.v.host.CWD) {
			path = path[len(c.v.host.CWD)+1:]
		} else if homes := c.v.host.Homes; len(homes) > 0 && policy.Within(path, homes[0]) {
			path = "~" + path[len(homes[0]):]
		}
		out = append(out, policy.Plain(path)+" ("+policy.Plain(strings.Join(names, ", "))+")")
	}
	return strings.Join(out, ", ")
}
