package hint

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// files is about files that the command names and that the policy keeps from it.
func (h *hinter) files(uses []use) string {
	var made []string
	for i := range uses {
		u := &uses[i]
		own := func(dir string) bool { return policy.Within(u.path, dir) }
		if u.write && !u.changed {
			made = append(made, u.path)
		} else if slices.ContainsFunc(made, own) {
			continue // the command's own
		}
		if u.idle {
			continue
		}
		if text := h.file(u); text != "" {
			return text
		}
	}
	return ""
}

// file looks whether a use of a file can be one that the policy prevents.
func (h *hinter) file(u *use) string {
	for _, dir := range []string{"/proc", "/dev", host.ManifestDir} {
		if policy.Within(u.path, dir) {
			return ""
		}
	}
	a, from := h.follow(u.path)
	hidden := a.Rule != nil && a.Rule.Access == policy.Block
	own := hidden || a.Rule == nil || a.Rule.Access == policy.Private
	switch absent := a.Kind == host.Absent; {
	case u.bare && !hidden && from == "":
		return ""
	case !u.write && !absent && !hidden: // what is visible is a matter of permissions
		return ""
	case !u.write:
		return h.unseen(&a, "read", from)
	case !absent || !own:
		return h.kept(&a, u)
	case u.moves: // the command may have removed it
		return ""
	case u.changed || u.dir:
		return h.unseen(&a, "write", from)
	case u.fresh:
		return ""
	}
	// Something can be made in a directory of the sandbox's own, unless that is what
	// is missing.
	if dir := h.Ask(path.Dir(a.To)); dir.Kind == host.Absent {
		return h.unseen(&dir, "write", "")
	}
	return ""
}

// follow asks for a path, and where a link on the way leads to what does not exist
// inside, for all of where it leads. From is the path itself when it is that link.
func (h *hinter) follow(name string) (a access.Verdict, from string) {
	a = h.Ask(name)
	for range 8 {
		if a.Kind != host.Absent || a.To == a.Path {
			break
		}
		for end := 1; end <= len(a.Path); end++ {
			if end < len(a.Path) && a.Path[end] != '/' {
				continue
			}
			link := h.Ask(a.Path[:end])
			if !link.Seen || link.Kind != host.Absent {
				continue
			}
			to, err := h.FS.Readlink(link.Path)
			if err != nil {
				return a, from
			}
			if !path.IsAbs(to) {
				to = path.Join(path.Dir(link.Path), to)
			}
			if end == len(a.Path) {
				from = name
			}
			a = h.Ask(path.Clean(to + a.Path[end:]))
			break
		}
	}
	return a, from
}

// unseen is about what does not exist inside, or has no content. Whether the host
// has it is not known. From is a link that leads there.
func (h *hinter) unseen(a *access.Verdict, to, from string) string {
	m, access := a.Rule, policy.Unseen
	text, exists := h.shown(a.To), ", if it exists"
	if from != "" {
		text = h.shown(from) + " leads to " + text + ", which"
	}
	switch {
	case m == nil && !hostly(a.To): // words such as /api/v1 are no files
		return ""
	case a.Kind == host.Absent && !h.holds(path.Dir(a.To)):
		return ""
	case m == nil:
		text += " is not visible in the sandbox (no rule opens it)"
	case m.Access == policy.Block:
		text += " is hidden" + h.rule(m)
		access, exists = policy.Block, ""
	default:
		text += " is not visible in the sandbox" + h.rule(m)
	}
	does := " shows it"
	if to == "write" {
		does = " opens it for writing"
	}
	for _, l := range a.Remedies {
		switch {
		case l.To != to:
		case len(l.Flags) < 2:
			return text + ": " + l.Text
		default:
			lever := h.lever(to, l.Flags[1], access, m, does)
			if lever != isLocked && !strings.Contains(lever, ownFiles) {
				lever += exists
			}
			return text + lever
		}
	}
	if to == "write" && strings.HasSuffix(a.Fixed, neverWritable) {
		return text + ": " + a.Fixed
	}
	return ""
}

// holds reports whether a path may be a directory of the host's.
func (h *hinter) holds(dir string) bool {
	kind := h.Ask(dir).Kind
	return kind == host.Dir || kind == host.Absent
}

// hostly reports whether a path lies in a directory that hosts have and that a
// profile need not show.
func hostly(path string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return is("srv mnt media opt root home var run data boot", top)
}

// kept is about what exists, or could be made, where the command must not write.
func (h *hinter) kept(a *access.Verdict, u *use) string {
	m, exists := a.Rule, a.Kind != host.Absent
	if a.Write || m == nil || u.fresh && exists {
		return ""
	}
	text := h.shown(a.To)
	switch {
	case m.Access == policy.Block:
		text += " is hidden"
	case m.Access == policy.Protect:
		text += " is protected, since the host may run or read it later"
	case h.pinned(a.To):
		return ""
	default:
		text += " is read-only"
	}
	text += h.rule(m)
	const does = " lets it be written"
	for _, l := range a.Remedies {
		switch {
		case l.To != "write":
		case l.Text != "":
			return text + ": " + l.Text
		case l.Flags[0] == "--git":
			return text + h.change("--git "+l.Flags[1], "git", strconv.Quote(l.Flags[1]), does)
		default:
			opens := l.Flags[1]
			if u.moves && h.outside(opens) != m.Written { // its directory lets nothing be put in its place
				if opens = path.Dir(opens); h.Ask(opens).Fixed != "" {
					return ""
				}
			}
			return text + h.lever("write", opens, m.Access, m, does)
		}
	}
	// Never writable in a sandbox; outside it would be, for root.
	if h.Host.UID == 0 && strings.HasSuffix(a.Fixed, neverWritable) {
		return text + ": " + a.Fixed
	}
	return ""
}

const (
	neverWritable = " and is never made writable"
	ownFiles      = ": sbx keeps files of its own there, and that is never made writable"
)

func (h *hinter) pinned(path string) bool {
	return slices.ContainsFunc(h.Rules, func(r view.Rule) bool { return r.Pinned && r.Path == path })
}

// rule names one as its file has it.
func (h *hinter) rule(m *view.Rule) string {
	key := listKey(m.Access)
	switch {
	case strings.Contains(m.Source, " = ") || key == "":
		return " (" + m.Source + ")"
	case strings.HasPrefix(m.Source, "--"):
		return " (" + m.Source + " " + h.shown(m.Written) + ")"
	}
	return " (" + named(m.Source) + ": " + key + " " + h.shown(m.Written) + ")"
}

// listKey is the key of a profile by which paths get an access.
func listKey(a policy.Access) string {
	return map[policy.Access]string{
		policy.Read: "readonly_paths", policy.Write: "writable_paths", policy.Protect: "protected_paths",
		policy.Block: "blocked_paths", policy.Private: "private_paths",
	}[a]
}

// lever is how a path, by its name inside, is opened that a rule with an access
// keeps, and what that does.
func (h *hinter) lever(to, path string, access policy.Access, m *view.Rule, does string) string {
	flag, key := "-r ", "readonly_paths"
	if to == "write" {
		flag, key = "-w ", "writable_paths"
	}
	path = h.outside(path)
	typed := flag + h.typed(path)
	switch {
	case to == "write" && h.sbxOwn(path):
		return ownFiles
	case h.locked(key, listKey(access)):
		return isLocked
	case h.say.Agent != "":
		return ": sbx agent " + typed + " " + h.say.Agent + does
	case !h.say.Config && h.say.Tool != "" && !text.Printable(path):
		return ": sbx " + typed + " -- " + text.ShellWord(h.say.Tool) + " …" + does
	case !h.say.Config:
		return ": " + h.flags(typed) + does
	case m != nil && m.Written == path && (m.Access == policy.Block || m.Access == policy.Protect):
		return ": no configuration file can undo that; sbx " + typed + " -- COMMAND does" // at one path the tighter rule wins
	case !text.Printable(path):
		return ": sbx " + typed + " -- COMMAND" + does // not every file can hold that name
	}
	return ": " + key + " = [" + strconv.Quote(strings.ReplaceAll(path, "$", "$$")) + "]" + h.inConfig() + does
}

// sbxOwn reports whether sbx keeps files in a directory.
func (h *hinter) sbxOwn(path string) bool {
	rest, ok := h.tilde(path)
	return ok && slices.ContainsFunc(strings.Fields("/.local/share /.local/state /.cache /.config"), func(dir string) bool {
		return policy.Within(rest, dir+"/sbx")
	})
}

// outside is the host's name of a path inside.
func (h *hinter) outside(path string) string {
	if h.say.Remap != "" && policy.Within(path, h.say.Remap) {
		return h.say.CWD + path[len(h.say.Remap):]
	}
	return path
}

// tilde shortens a path in the home directory.
func (h *hinter) tilde(path string) (rest string, ok bool) {
	if h.Home != "" && h.Home != "/" && policy.Within(path, h.Home) {
		return path[len(h.Home):], true
	}
	return path, false
}

// shown is a path as people read it.
func (h *hinter) shown(path string) string {
	if rest, ok := h.tilde(path); ok && text.Plain("~"+rest) == "~"+rest {
		return "~" + rest
	}
	return text.Plain(path)
}

// typed is a path as a shell takes it.
func (h *hinter) typed(path string) string {
	if rest, ok := h.tilde(path); ok && (rest == "" || text.ShellWord(rest) == rest) {
		return "~" + rest
	}
	return text.ShellWord(path)
}
