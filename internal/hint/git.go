// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// gitCall is a command of git's in the words.
type gitCall struct {
	dir  string      // where it runs, "" for who knows
	sub  string      // the subcommand
	args gitdir.Args // behind it
	idle bool        // its failure is not that of the whole
}

// git is about what git could not write, sign or reach. Where its own configuration
// is what it could not write, it may end with 0.
func (h *hinter) git(status int, calls []gitCall) string {
	for i := range calls {
		c := &calls[i]
		if c.dir == "" || status != 0 && c.idle || slices.Contains(c.args, "") {
			continue
		}
		r := h.repository(c.dir)
		switch {
		case r == nil && status == 128 && h.say.Root != "" && !is("init clone", c.sub):
			return "the repository is in " + h.shown(h.say.Root) + ", of which not all is visible" +
				h.remedy("read", h.say.Root, policy.Unseen, nil, allow)
		case r == nil:
			continue
		}
		line := h.unconfigured(c, r, status)
		if status != 0 {
			line = cmp.Or(line, h.unsigned(c, r, status), h.unreached(c, r))
		}
		if line = cmp.Or(line, h.unreplaced(c, r)); line != "" {
			return line
		}
	}
	return ""
}

// unconfigured is about settings that git wanted to write.
func (h *hinter) unconfigured(c *gitCall, r *repository, status int) string {
	file := r.config()
	if c.sub == "config" && c.args.Given("--global") {
		file = h.Home + "/.gitconfig"
	}
	a := h.Ask(file)
	if a.Write || a.Rule == nil || a.Kind != host.File {
		return ""
	}
	left, redo := r.left(c, status)
	flags := "--git full"
	switch {
	case redo == nil:
		return ""
	case len(redo) == 0:
		return h.state(&a) + left
	case file != r.config():
		return h.state(&a) + ", and git would replace it; to set it, outside: " + text.ShellLine(append([]string{"git"}, redo...))
	case !slices.ContainsFunc(a.Remedies, func(l access.Remedy) bool { return slices.Contains(l.Flags, "--git") }):
		return h.kept(&a, &use{path: a.Path, write: true})
	case h.say.Config || h.say.Tool != "" || h.locked("git"):
		return h.state(&a) + left + h.change("--git full", "git", `"full"`, allow)
	}
	if modules := h.Ask(r.top + "/.gitmodules"); (is("rm mv", c.sub) || is("add set-url set-branch", c.args[0])) && modules.Kind == host.File && !modules.Write {
		flags += " -w " + h.typed(h.outside(modules.Path))
	}
	for _, b := range r.remotes(c) {
		if c.sub == "submodule" && b.Kind == host.Absent {
			flags += " -r " + h.typed(h.outside(b.Path))
		}
	}
	return h.state(&a) + left + allow + h.say.Redo(flags, append(c.where(h), redo...))
}

// where is git with the directory in which it runs.
func (c *gitCall) where(h *hinter) []string {
	if c.dir == h.CWD {
		return []string{"git"}
	}
	return []string{"git", "-C", h.outside(c.dir)}
}

// rewrites are commands of git that write settings and do all they should when they run
// once more where they can; verbs are their first operands, ends how they end here, ""
// any failure.
var rewrites = []struct {
	sub, verbs, ends string
	undone           func(r *repository, c *gitCall, words []string) bool
}{
	{"config", "", "4", nil},
	{"remote", "set-url rm remove rename set-branches", "1 128", nil},
	{"remote", "add", "128", func(r *repository, _ *gitCall, words []string) bool {
		return len(words) > 2 && r.get("remote", words[1], "url") == ""
	}},
	{"sparse-checkout", "set init add disable", "", nil},
	{"submodule", "add sync set-url set-branch", "", nil},
	{"submodule", "deinit", "0 1 128", func(r *repository, c *gitCall, words []string) bool { return r.registered(c.dir, words[1:], true) }},
	{"submodule", "", "", func(r *repository, _ *gitCall, _ []string) bool { return r.registered("", nil, false) }},
	{"rm mv", "", "0 1 128", func(r *repository, c *gitCall, words []string) bool { return r.registered(c.dir, words, true) }},
}

// left is what is missing in the configuration after a command, and the words for git
// that bring it there; nil for nothing, none where git has done all else.
func (r *repository) left(c *gitCall, status int) (left string, redo []string) {
	words := c.args.Operands(map[string]string{"remote": "-t -m", "branch": "-u --set-upstream-to",
		"push": "-o --push-option", "checkout": "-b -B", "switch": "-c -C", "submodule": "-b --branch --name --reference"}[c.sub])
	if c.sub == "branch" && c.args.Given("-m -M --move") && len(words) == 1 {
		words = []string{r.renamed(words[0]), words[0]}
	}
	first, last := strings.Join(words[:min(1, len(words))], ""), strings.Join(words[max(len(words)-1, 0):], "")
	for _, w := range rewrites {
		if is(w.sub, c.sub) && (w.verbs == "" || is(w.verbs, first)) && !(c.sub == "config" && c.args.Given("--system --file -f")) &&
			(is(w.ends, strconv.Itoa(status)) || w.ends == "" && status != 0) && (w.undone == nil || w.undone(r, c, words)) {
			return "", append([]string{c.sub}, c.args...)
		}
	}
	switch {
	case c.sub == "branch" && c.args.Given("-d -D --delete") && status == 0:
		for _, name := range words {
			if r.configured(name) && !r.made(name) {
				return ", and keeps what it says of the branch " + text.Plain(name), []string{"config", "--remove-section", "branch." + name}
			}
		}
	case c.sub == "branch" && c.args.Given("-m -M --move") && status == 128 && len(words) == 2 && r.made(last) && !r.made(first):
		if !r.configured(first) {
			return "; it says nothing of " + text.Plain(first) + ", so all is done", []string{}
		}
		return "", []string{"config", "--rename-section", "branch." + first, "branch." + last}
	case c.sub == "branch" && c.args.Given("-u --set-upstream-to"):
		up, _ := c.args.Option("-u --set-upstream-to")
		return r.upstream(cmp.Or(first, r.branch()), up)
	case status != 0 || c.args.Given("--no-track"):
	case c.sub == "push" && c.args.Given("-u --set-upstream"):
		from, to, _ := strings.Cut(strings.TrimPrefix(strings.Join(words[min(1, len(words)):min(2, len(words))], ""), "+"), ":")
		from = cmp.Or(strings.TrimPrefix(from, "HEAD"), r.branch())
		return r.upstream(from, cmp.Or(first, "origin")+"/"+cmp.Or(to, from))
	case c.sub == "checkout" || c.sub == "switch":
		name, _ := c.args.Option("-b -B -c -C")
		up, tracks := c.args.Option("-t --track")
		log, _, _ := strings.Cut(string(r.h.content(r.common+"/logs/refs/heads/"+first, maxGitFile)), "\n")
		switch _, from, guessed := strings.Cut(log, "branch: Created from refs/remotes/"); {
		case name != "":
			return r.upstream(name, r.tracked(first))
		case tracks:
			_, name, _ = strings.Cut(up, "/")
			return r.upstream(name, up)
		case guessed && len(words) == 1 && r.made(first):
			return r.upstream(first, from)
		}
	case c.sub == "branch" && len(words) == 2 && len(c.args) == 2:
		return r.upstream(first, r.tracked(last))
	}
	return "", nil
}

// unsigned is about signatures, whose keys are hidden.
func (h *hinter) unsigned(c *gitCall, r *repository, status int) string {
	tag := c.sub == "tag"
	on := r.get(map[bool]string{true: "tag", false: "commit"}[tag], "", "gpgsign")
	_, asked := c.args.Option("-S --gpg-sign")
	asked = asked || tag && has(c.args, 's')
	key := strings.Replace(r.get("user", "", "signingkey"), "~/", h.Home+"/", 1)
	rebase := status == 1 && c.sub == "rebase" && h.exists(r.dir+"/rebase-merge")
	switch {
	case !rebase && (!is("commit tag merge revert cherry-pick am", c.sub) || status != 128), !asked && !is("true yes on 1", strings.ToLower(on)):
		return ""
	case h.opened(h.Home + "/.gnupg"), path.IsAbs(key) && h.exists(strings.TrimSuffix(key, ".pub")):
		return ""
	}
	args, later := []string{"--no-gpg-sign"}, ""
	if tag {
		args = []string{"-a"}
	} else if !rebase {
		later = " (git commit --amend --no-edit -S outside signs it later)"
	}
	for _, a := range c.args {
		if tag && a == "-s" || !tag && (a == "-S" || strings.HasPrefix(a, "--gpg-sign")) {
			continue
		}
		args = append(args, a)
	}
	line := h.redo("", append(append(c.where(h), c.sub), args...))
	if rebase {
		line = h.redo("", append(c.where(h), "rebase", "--abort")) + " && " + line
	}
	return "git signs here, and keys are hidden in the sandbox" + later + "; to do without: " + line
}

// redo is a line for another command, which is for outside where sbx takes no flags.
func (h *hinter) redo(flags string, words []string) string {
	if h.say.Config || h.say.Tool != "" {
		return text.ShellLine(words)
	}
	return h.say.Redo(flags, words)
}

// opened reports whether a rule shows a path.
func (h *hinter) opened(path string) bool {
	a := h.Ask(path)
	return a.Rule != nil && view.Shows(a.Rule.Access)
}

// unreached is about remotes on this machine that are not visible.
func (h *hinter) unreached(c *gitCall, r *repository) string {
	to := "read"
	if c.sub == "push" {
		to = "write"
	}
	for _, a := range r.remotes(c) {
		switch {
		case h.Ruleset != nil:
			return h.closed(&a, to == "write", false)
		case a.Kind == host.Absent:
			return h.unseen(&a, to, a.Path, false)
		case to == "write" && !a.Write:
			return h.kept(&a, &use{path: a.Path, write: true})
		}
	}
	return ""
}

// unreplaced is about files that git took from another commit and could not put in
// their place: they are mounts inside.
func (h *hinter) unreplaced(c *gitCall, r *repository) string {
	if !is("checkout switch merge pull rebase reset stash restore cherry-pick revert am", c.sub) {
		return ""
	}
	var names, plain, opens []string
	for _, name := range gitdir.Unwritten(h.content(r.dir+"/index", maxIndex)) {
		a := h.Ask(path.Join(r.top, name))
		if a.Kind != host.File || a.Write || a.Rule == nil || a.Rule.Access == policy.Read && a.Rule.Source != view.SourceTracked {
			continue
		}
		if names, plain = append(names, name), append(plain, text.Plain(name)); !slices.Contains(opens, a.Rule.Written) {
			opens = append(opens, a.Rule.Written)
		}
		if len(names) == maxNamed {
			break
		}
	}
	if len(names) == 0 {
		return ""
	}
	redo := append([]string{"git", "-C", h.outside(r.top), "checkout", "--"}, names...)
	if r.top == h.CWD {
		redo = slices.Delete(redo, 1, 3)
	}
	line := "git could not replace " + text.And(plain) + ", hidden or protected here, and a commit would put back " +
		"what was there; "
	if h.say.Config || h.say.Tool != "" || h.locked("protected_paths", "blocked_paths") {
		return line + "outside this replaces it: " + text.ShellLine(redo)
	}
	flags := ""
	for _, at := range opens {
		flags += " -w " + h.typed(at)
	}
	return line + "to replace it: " + h.say.Redo(flags[1:], redo)
}
