// SPDX-License-Identifier: Apache-2.0

// Package hint explains in one line why a command may have failed in a sandbox:
// what was out of reach, by which rule, and what changes that. Start with [Line].
// And it tells what the command left in directories that end with the sandbox: [Left].
//
// It runs in a process that process 1 of the sandbox starts after the command and
// everything else in the sandbox have ended. It parses the command only then, and
// knows no more than `sbx why` does inside: whether the host has a file that is not
// visible cannot be told. What the command has left may be a trap: nothing is executed,
// and nothing opened but files of the kernel, and regular ones of git's and npm's up to a
// size; all else is only looked at by name; Left lists directories
// of file systems in memory, follows no link and enters no other mount; and process 1
// ends this process when it takes too long. A hint decides nothing and protects
// nothing.
package hint

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/lookpath"
	"github.com/sbx-sandbox/sbx/internal/text"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// Sandbox is what is known of the sandbox that this process runs in.
type Sandbox struct {
	*access.Checker
	CWD, Home, PATH string
	Secret          func(path string) bool                  // built-in profiles hide it as a secret
	Setting         func(key string) (value, source string) // by the manifest
	Full            func(path string) bool                  // there is no room left in its file system
	Snmp, Snmp6     string                                  // what the network namespace has counted
	Begun           int                                     // processes and threads of the command, in all
}

// Line explains the end of a command with a status, as a shell would have it. It
// is "" where nothing is known. What ended with 0 may not have done all: see
// [engine.Hints].
func Line(b *Sandbox, say engine.Hints, status int, words []string) string {
	if len(words) == 0 || interactive(words) {
		return ""
	}
	r := &reader{home: b.Home, cwd: b.CWD, live: true, last: true}
	r.command(words[:min(len(words), maxWords)])
	h := &hinter{b, say, words}
	git, husky := h.git(status, r.gits), h.husky(status, r.installs)
	line := cmp.Or(git, husky, h.crates(r.crates))
	if r.outward = r.outward && (husky == "" || status == 1); status != 0 && !h.unscripted(r.starts) { // else a script's own
		line = cmp.Or(h.notFound(status, r.programs), h.trapped(status), h.full(), h.privileges(r.gains),
			h.tracing(r.debugger), git,
			h.packed(status, r.programs), h.daemon(status, r.programs), h.network(r), husky, h.files(r.uses), h.agent(status, r.programs),
			h.limited(status), h.blank(status, r))
	}
	return strings.ReplaceAll(text.Escape(line), "\n", `\n`)
}

// interactive reports whether a command is a shell at which someone sits.
func interactive(words []string) bool {
	return is(shells, path.Base(words[0])) && !slices.ContainsFunc(words[1:], func(w string) bool {
		return !strings.HasPrefix(w, "-") || has([]string{w}, 'c')
	})
}

// hinter writes the lines.
type hinter struct {
	*Sandbox
	say   engine.Hints
	words []string // of the command
}

// notFound is about programs that may be in directories that PATH has lost.
func (h *hinter) notFound(status int, names []string) string {
	if status != host.StatusNotFound || len(h.say.Lost) == 0 {
		return ""
	}
	missing := slices.IndexFunc(names, func(name string) bool { return !h.inPath(name) })
	if missing < 0 {
		return ""
	}
	var lost []string
	for _, dir := range h.say.Lost[:min(len(h.say.Lost), maxNamed)] {
		lost = append(lost, h.shown(dir))
	}
	return text.Plain(names[missing]) + " was not found, and directories of PATH are not visible in the sandbox: " +
		strings.Join(lost, ", ") + h.remedy("read", h.say.Lost[0], policy.Unseen, nil, "; to allow the first: ")
}

func (h *hinter) inPath(name string) bool {
	return lookpath.First(h.PATH, name, h.exists) != ""
}

func (h *hinter) exists(name string) bool {
	a := h.Ask(name)
	return a.Seen || a.Kind != host.Absent
}

// trapped is about system calls that end who makes them: all of another
// architecture, and what the filter of a file says so of.
func (h *hinter) trapped(status int) string {
	if value, _ := h.Setting("seccomp"); status != 128+31 || value == "off" { // SIGSYS
		return ""
	}
	return "the system call filter ended it" + h.by("seccomp") +
		", as it does programs for another architecture, 32-bit ones among them" +
		h.change("--seccomp off", "seccomp", `"off"`, "; to run without the filter: ")
}

// full is about private directories, whose size is bounded.
func (h *hinter) full() string {
	key := "tmpfs_limit_mb"
	limit := h.number(key)
	if limit == 0 {
		return ""
	}
	if half := h.number("memory_limit_mb") / 2; half > 0 && half < limit {
		key = "memory_limit_mb"
	}
	for i := range h.Rules {
		m := &h.Rules[i]
		if m.Access != policy.Private || m.Path == "/run" || !h.Full(m.Path) {
			continue
		}
		text := h.shown(m.Path) + " is full, a private directory in memory" + h.by(key)
		if h.locked(key) {
			return text + isLocked
		}
		return text + ": a larger " + key + " in a profile makes room"
	}
	return ""
}

func (h *hinter) number(key string) int {
	value, _ := h.Setting(key)
	n, _ := strconv.Atoi(value)
	return n
}

// privileges is about programs that are there to gain some.
func (h *hinter) privileges(name string) string {
	if name == "" {
		return ""
	}
	if info, err := h.FS.Lstat("/usr/bin/" + name); err != nil || info.Mode&0o4000 == 0 {
		return ""
	}
	return name + " gains no privileges in a sandbox: run what needs them outside"
}

// agent is about the keys of an SSH agent that cannot be reached.
func (h *hinter) agent(status int, programs []string) string {
	if status != 2 || !slices.Contains(programs, "ssh-add") ||
		slices.ContainsFunc(h.Rules, func(m view.Rule) bool { return strings.Contains(m.Source, "SSH_AUTH_SOCK") }) {
		return ""
	}
	return "the SSH agent is not visible in the sandbox" + h.change("-p ssh-agent", "extends", `["ssh-agent"]`, allow)
}

func (h *hinter) tracing(name string) string {
	value, _ := h.Setting("seccomp")
	if name == "" || value == "dev" || value == "off" || policy.SeccompFile(value) {
		return ""
	}
	return "no process can inspect another here" + h.by("seccomp") +
		h.change("--seccomp dev", "seccomp", `"dev"`, "; to let "+name+" work: ")
}

// inProject reports whether a file lies below the working directory, or beside a
// directory above it other than the home.
func (h *hinter) inProject(file string) bool {
	dir := path.Dir(file)
	return policy.Within(file, h.CWD) || policy.Within(h.CWD, dir) && !policy.Within(h.Home, dir)
}

// blank is said after any failure that nothing else explains: a program that
// finds a .env without a line in it cannot know why. Of other hidden files it says
// itself that they cannot be opened. Programs for files say so of all.
func (h *hinter) blank(status int, r *reader) string {
	const plain = "ssh-add cat ls grep sed docker podman " + making + " " + copying + " " + changing
	if status > 125 && status != 128 || len(r.programs) > 0 && !slices.ContainsFunc(r.programs, func(name string) bool { return !is(plain, name) }) {
		return ""
	}
	var hidden, names []string
	for i := range h.Rules {
		m := &h.Rules[i]
		info, err := h.FS.Lstat(m.Path)
		if m.Access != policy.Block || err != nil || info.Kind != host.File || info.Mode&0o444 == 0 ||
			!h.inProject(m.Path) {
			continue
		}
		name, ok := strings.CutPrefix(m.Path, h.CWD+"/")
		if !ok {
			name = h.outside(m.Path)
		}
		hidden, names = append(hidden, m.Path), append(names, h.shown(name))
	}
	if len(hidden) == 0 {
		return ""
	}
	return "hidden here, and reads as empty: " + text.FirstOf(names, maxNamed) +
		h.remedy("read", hidden[0], policy.Block, nil, secretTo)
}
