// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
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
	within := func(dir string) bool { return policy.Within(u.path, dir) }
	if slices.ContainsFunc([]string{"/proc", "/dev", host.ManifestDir}, within) {
		return ""
	}
	a := h.Ask(u.path)
	absent := a.Kind == host.Absent
	astray := a.Seen && absent && a.To != a.Path // a link to what does not exist inside
	hidden := a.Rule != nil && a.Rule.Access == policy.Block
	own := hidden || a.Rule == nil || a.Rule.Access == policy.Private
	switch {
	case u.bare && !hidden && !astray:
		return ""
	case h.Ruleset != nil && own && !hidden:
		return h.closed(&a, u.write, !u.dir && !u.tree && !u.fresh)
	case h.Ruleset != nil && a.Rule != nil && a.Rule.Access == policy.Write: // see frozen
		return ""
	case u.tree && !absent && own:
		return h.below(u)
	case !u.write && !absent && !hidden: // what is visible is a matter of permissions
		return ""
	case !u.write:
		return h.unseen(&a, "read", u.path, false)
	case !absent || !own:
		return h.kept(&a, u)
	case u.moves && !u.edited: // the command may have removed it
		return ""
	case u.edited:
		dir := h.Ask(path.Dir(a.To))
		if policy.Within(h.Home, dir.To) {
			return h.shown(u.path) + " is not visible in the sandbox" + h.rule(a.Rule) + ": what replaces a file there has to run outside"
		}
		return h.unseen(&dir, "write", dir.Path, false)
	case u.changed || u.dir || u.tree:
		return h.unseen(&a, "write", u.path, !u.changed || u.dir)
	case u.fresh:
		return ""
	}
	// Something can be made in a private directory, unless that is what
	// is missing.
	if dir := h.Ask(path.Dir(a.To)); dir.Kind == host.Absent {
		return h.unseen(&dir, "write", dir.Path, true)
	}
	return ""
}

// below is about what is read-only below a directory in which something is installed.
func (h *hinter) below(u *use) string {
	for i := range h.Rules {
		m := &h.Rules[i]
		if a := h.Ask(m.Path); m.Access == policy.Read && policy.Within(m.Path, u.path) && a.Kind == host.Dir && !a.Write {
			return h.kept(&a, u)
		}
	}
	return ""
}

// unseen is about what does not exist inside, or has no content. Whether the host
// has it is not known. Name is what the command said.
func (h *hinter) unseen(a *access.Verdict, to, name string, dir bool) string {
	m, access := a.Rule, policy.Unseen
	text, how, then := h.shown(a.To), to, ifExists
	if to == "write" && dir {
		how, then = "mkdir -p", allow
	}
	if a.To != name {
		text = h.shown(name) + " leads to " + text + ", which"
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
		if access, then = policy.Block, allow; h.confides(m) {
			then = secretTo
		}
	case h.Secret(a.To):
		text += " holds secrets and is not visible in the sandbox" + h.rule(m)
	default:
		text += " is not visible in the sandbox" + h.rule(m)
	}
	for _, l := range a.Remedies {
		switch {
		case l.To != to:
		case len(l.Flags) < 2:
			return text + allow + l.Text
		default:
			return text + h.remedy(how, l.Flags[1], access, m, then)
		}
	}
	if to == "write" && strings.HasSuffix(a.Fixed, neverWritable) {
		return text + ": " + a.Fixed
	}
	return ""
}

// confides reports whether a rule hides what is taken for a secret.
func (h *hinter) confides(m *view.Rule) bool {
	return strings.HasPrefix(m.Source, "secrets") || h.Secret(m.Path)
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

// state says by which rule a file cannot be written, "" where that is no one's
// intent.
func (h *hinter) state(a *access.Verdict) string {
	text := h.shown(a.To)
	switch {
	case a.Rule.Access == policy.Block:
		text += " is hidden"
	case a.Rule.Access == policy.Protect:
		text += " is protected, since the host may run or read it later"
	case h.Pinned(a.To):
		return ""
	default:
		text += " is read-only"
	}
	return text + h.rule(a.Rule)
}

// kept is about what exists, or could be made, where the command must not write.
func (h *hinter) kept(a *access.Verdict, u *use) string {
	m, exists := a.Rule, a.Kind != host.Absent
	if a.Write || m == nil || u.fresh && exists {
		return ""
	}
	text := h.state(a)
	if text == "" {
		return ""
	}
	for _, l := range a.Remedies {
		switch {
		case l.To != "write":
		case l.Text != "":
			return text + allow + l.Text
		case l.Flags[0] == "--git":
			return text + h.change("--git "+l.Flags[1], "git", strconv.Quote(l.Flags[1]), allow)
		default:
			opens := l.Flags[1]
			if u.moves && h.outside(opens) != m.Written { // its directory lets nothing be put in its place
				if opens = path.Dir(opens); h.Ask(opens).Fixed != "" {
					return ""
				}
			}
			return text + h.remedy("write", opens, m.Access, m, allow)
		}
	}
	// Never writable in a sandbox; outside it would be, for root.
	if h.Host.UID == 0 && strings.HasSuffix(a.Fixed, neverWritable) {
		return text + ": " + a.Fixed
	}
	return ""
}
