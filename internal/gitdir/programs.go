// SPDX-License-Identifier: Apache-2.0

package gitdir

import (
	"slices"
	"strings"
)

// Runs reports whether a setting's value is a command line that git runs, or
// may be one.
func Runs(s *Setting) bool {
	switch s.Section {
	case "alias":
		return strings.HasPrefix(s.Value, "!")
	case "pager", "man", "browser", "mergetool", "difftool", "guitool":
		return s.Key != "prompt" && s.Key != "trustexitcode" && s.Key != "keepbackup"
	case "filter":
		return s.Key != "required"
	}
	switch s.Name() {
	case "core.fsmonitor":
		return !boolean(s.Value)
	case "core.sshcommand", "core.editor", "core.pager", "core.askpass", "core.gitproxy", "core.alternaterefscommand",
		"sequence.editor", "diff.external", "diff.command", "diff.textconv", "merge.driver", "gpg.program",
		"credential.helper", "interactive.difffilter", "uploadpack.packobjectshook", "receive.procreceiverefs",
		"remote.uploadpack", "remote.receivepack", "remote.vcs", "sendemail.sendmailcmd", "sendemail.tocmd",
		"sendemail.cccmd",
		"submodule.update", "trailer.command", "trailer.cmd", "trailer.ifexists", "instaweb.httpd", "web.browser",
		"imap.tunnel", "init.templatedir",
		"hook.command", "gc.recentobjectshook", "tar.command", "gpg.defaultkeycommand", "sendemail.smtpserver",
		"remote.proxy",
		"gpg.ssh.program", "gpg.x509.program":
		return true
	}
	return false
}

func boolean(value string) bool {
	switch strings.ToLower(value) {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1":
		return true
	}
	return false
}

// Words splits a command line roughly, quotes taken away: to find the paths in
// it, not to run it.
func Words(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;|&()<>=!", r) })
}

// Notable lists the settings in a config file that are not plain: those that
// make git run or read something, and those that are not known, as
// "section.sub.key=value". Of a file that git would refuse the last one says so.
func Notable(data []byte) []string {
	var out []string
	err := Each(data, func(s Setting) {
		if !plain(&s) {
			out = append(out, s.Full()+"="+s.Value)
		}
	})
	if err != nil {
		out = append(out, "what follows is not read: there is a mistake in it")
	}
	return out
}

// plain reports whether a setting cannot make git run anything or read its
// settings elsewhere. What is not known is not plain.
func plain(s *Setting) bool {
	switch s.Section {
	case "user", "color", "push", "pull", "fetch":
		return true
	case "gc":
		return s.Key != "recentobjectshook"
	}
	switch s.Name() {
	case "core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates", "core.ignorecase",
		"core.precomposeunicode", "core.symlinks", "core.autocrlf", "core.eol", "core.safecrlf",
		"core.sharedrepository", "core.abbrev", "core.quotepath", "core.compression", "core.protecthfs",
		"core.protectntfs", "core.longpaths", "core.untrackedcache", "core.preloadindex", "branch.remote",
		"branch.merge", "branch.rebase", "branch.description", "branch.pushremote", "remote.fetch", "remote.tagopt",
		"remote.prune", "remote.push", "remote.mirror", "submodule.active", "init.defaultbranch",
		"extensions.objectformat", "extensions.refstorage", "extensions.compatobjectformat", "core.commentchar",
		"merge.conflictstyle", "merge.ff", "diff.renames", "diff.renamelimit", "diff.algorithm", "rerere.enabled",
		"rerere.autoupdate", "rebase.autosquash", "rebase.autostash", "rebase.updaterefs", "branch.autosetupmerge",
		"branch.autosetuprebase", "submodule.recurse", "extensions.worktreeconfig", "lfs.repositoryformatversion",
		"svn-remote.fetch":
		return true
	case "commit.gpgsign", "tag.gpgsign": // true runs a program
		return boolean(s.Value) && !slices.Contains([]string{"", "true", "yes", "on", "1"}, strings.ToLower(s.Value))
	case "branch.vscode-merge-base", "branch.github-pr-owner-number", "branch.gh-merge-base", "remote.gh-resolved":
		return !strings.HasPrefix(s.Value, "-") // programs hand it to git
	case "gui.geometry", "gui.wmstate":
		return strings.Trim(s.Value, "abcdefghijklmnopqrstuvwxyz0123456789+- ") == ""
	case "svn-remote.url":
		scheme, _, ok := strings.Cut(s.Value, "://")
		return ok && slices.Contains([]string{"http", "https", "svn", "file"}, scheme)
	case "core.fsmonitor":
		return boolean(s.Value)
	case "remote.url", "remote.pushurl", "submodule.url":
		// "ext::sh -c …" runs a command, other helpers run git-remote-NAME.
		return !strings.Contains(s.Value, "::") && !strings.HasPrefix(s.Value, "-")
	}
	return false
}
