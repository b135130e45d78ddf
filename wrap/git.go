package wrap

import "github.com/sbx-sandbox/sbx/policy"

// gitRules are the rules for the repository of a work tree, by the policy's
// git setting:
//
//	none    .git is read-only
//	commit  .git is writable but for what git or the host executes from it
//	full    .git is writable
//
// Only a .git that is a directory of the caller's own is opened. One that is
// a file or a link points somewhere a repository's author chose, and is left
// as the rules of the work tree have it, read-only where it lies.
func gitRules(pol *policy.Policy, h *Host, root string, names func(dir string) ([]string, error)) []policy.Rule {
	if d, ok := pol.Decide(h.CWD); !ok || d.Access != policy.Write || !policy.Within(h.CWD, root) {
		return nil
	}
	git := join(root, ".git")
	info, err := h.FS.Lstat(git)
	if err != nil || info.Kind == Absent {
		return nil
	}
	rule := func(path string, a policy.Access) policy.Rule {
		return policy.Rule{Path: path, Access: a, Layer: policy.Builtin, Source: "git = " + pol.Git}
	}
	if info.Kind != Dir || info.UID != h.UID || pol.Git == "none" {
		return []policy.Rule{rule(git, policy.Protect)}
	}
	rules := []policy.Rule{rule(git, policy.Write)}
	if pol.Git == "full" {
		return rules
	}
	for _, name := range executed {
		rules = append(rules, rule(join(git, name), policy.Protect))
	}
	modules := join(git, "modules")
	subs, err := names(modules)
	if err != nil {
		// It cannot be listed now; the command could open it and go on.
		rules = append(rules, rule(modules, policy.Protect))
	}
	for _, m := range subs {
		rules = append(rules, rule(join(modules, m)+"/hooks", policy.Protect), rule(join(modules, m)+"/config", policy.Protect))
	}
	return rules
}

// executed is what lies in a git directory and makes git run programs or look
// elsewhere (gitrepository-layout(5), git-config(1)).
var executed = []string{"hooks", "config", "config.worktree", "commondir", "info/attributes", "info/grafts", "objects/info/alternates", "gitdir"}
