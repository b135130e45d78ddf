// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/agents"
	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/credentials"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/lookpath"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// wrong is a flag that cannot stand as it was typed.
type wrong struct {
	text string   // what is wrong
	take int      // how many words it is
	fix  []string // the words that were probably meant; nil when that is not known
	hint string   // what to do where no line can be shown
}

// error is the error for a line, with the one that was probably meant.
func (w *wrong) error(hint string) error {
	return app.Failed(w.text, cmp.Or(hint, w.hint, "sbx --help lists the flags"))
}

// foreign are flags by the names that they have elsewhere.
func foreign() map[string]string {
	return map[string]string{
		"network": "net", "allow-net": "net", "allow-network": "net", "share-net": "net", "no-network": "no-net",
		"unshare-net": "no-net", "offline": "no-net", "write": "allow-write", "rw": "allow-write", "bind": "allow-write",
		"read": "allow-read", "ro-bind": "allow-read", "deny": "block", "hide": "block", "e": "env", "setenv": "env",
		"mem": "memory", "pids-limit": "procs", "nproc": "procs", "backend": "engine", "V": "version", "silent": "quiet",
	}
}

// sample is a value to show for a flag.
func sample(name string) string {
	if known := words(name); len(known) > 0 {
		return known[0]
	}
	return map[string]string{"timeout": "30s", "memory": "512M", "cpus": "2", "procs": "64", "file-size": "100M",
		"profile": "moderate", "device": "gpu"}[name]
}

// dashes are what editors and chat programs make of "-" and "--".
const dashes = "‐‑‒–—―−"

// meant is the long name that a person means by another, "" when none is near.
func (s flagSet) meant(name string) string {
	var names []string
	for _, f := range s {
		if !f.hidden {
			names = append(names, f.name)
		}
	}
	for other, known := range foreign() {
		if slices.Contains(names, known) {
			names = append(names, other)
		}
	}
	slices.Sort(names)
	near := text.Within(name, names, min(2, len(name)/3))
	return cmp.Or(foreign()[near], near)
}

func missingValue(word string, f *flag) *wrong {
	bad := &wrong{text: word + ": a value is missing", take: 1, hint: "write " + word + " " + f.placeholder}
	if value := sample(f.name); value != "" {
		bad.fix = []string{strings.TrimSuffix(word, "="), value}
	}
	return bad
}

// negative reports whether a word is a number below 0: a value, if no good one.
func negative(w string) bool { return len(w) > 1 && w[0] == '-' && '0' <= w[1] && w[1] <= '9' }

// unknown is the error for a flag that there is not.
func (s flagSet) unknown(w string) *wrong {
	bad := &wrong{text: "unknown flag " + text.Plain(w), take: 1}
	name, value, set := strings.Cut(strings.TrimLeft(w, "-"), "=")
	if near := s.meant(name); near != "" {
		bad.fix = []string{"--" + near}
		if set && !s.long(near).bool {
			bad.fix[0] += "=" + value
		}
	}
	return bad
}

// first is where the first word stands that is no flag and no value of one.
func (s flagSet) first(words []string) (i int, bad *wrong) {
	for i < len(words) {
		n, bad := s.at(words[i:])
		if n == 0 || bad != nil {
			return i, bad
		}
		i += n
	}
	return i, nil
}

// repair is the line with each wrong flag as it was probably meant, and the first error.
// It is nil when that is not known of one. Over words that are no flags it goes on where
// they may stand between flags.
func (s flagSet) repair(words []string, over bool) (fixed []string, at int, first *wrong) {
	fixed = slices.Clone(words)
	for i := 0; i < len(fixed) && fixed[i] != "--"; at = i {
		n, bad := s.at(fixed[i:])
		switch {
		case bad != nil:
			first = cmp.Or(first, bad)
			if bad.fix == nil || len(fixed) > 2*len(words) {
				return nil, 0, first
			}
			fixed = slices.Replace(fixed, i, min(i+bad.take, len(fixed)), bad.fix...)
		case n == 0 && !over:
			return fixed, i, first
		default:
			i += max(n, 1)
		}
	}
	return fixed, at, first
}

// joined puts a value that begins with a dash behind its flag, where it is read as one.
func (s flagSet) joined(words []string) (out []string) {
	for i := 0; i < len(words); i++ {
		if n, bad := s.at(words[i:]); n == 2 && bad == nil && negative(words[i+1]) && strings.HasPrefix(words[i], "--") {
			out = append(out, words[i]+"="+words[i+1])
			i++
			continue
		}
		out = append(out, words[i])
	}
	return out
}

// typed is a line that has a command without -- before it, or words before that.
type typed struct {
	set            flagSet
	flags          []string // of sbx
	words, command []string // left and right of --
	cut            bool     // there is one
}

// sbxLine is a line to type, or "" for one that no one would, or with a credential in it.
func sbxLine(words ...[]string) string {
	const most = 1000
	all := slices.Concat(words...)
	if i := slices.Index(all, "--"); i >= 0 && i == len(all)-1 {
		all = all[:i]
	}
	line := strings.TrimSpace("sbx " + text.ShellLine(all))
	if len(line) > most || credentials.InLine(line) {
		return ""
	}
	return line
}

var dashDash = []string{"--"}

// runWords runs what a line says whose first word is no command of sbx.
func runWords(left, command []string, cut bool) error {
	set := runFlags()
	n, bad := set.first(left)
	var err error
	l := &typed{set, left[:n], left[n:], command, cut}
	switch {
	case bad != nil:
		err = l.wrongFlag(bad)
	case len(l.words) > 0:
		err = l.refused()
	case !cut:
		err = l.noCommand()
	}
	if err != nil {
		return err
	}
	if len(l.words) > 0 {
		command = l.words
		if cut {
			command = slices.Concat(l.words, dashDash, l.command)
		}
	}
	opts, err := parseRun(l.flags)
	if err != nil {
		return err
	}
	if len(opts.Command) > 0 && len(l.words) > 0 { // as in -nc
		return app.Failed("unexpected word "+strconv.Quote(l.words[0])+": -c takes one string", "quote all of it")
	}
	return l.set.notFound(execute(app.ForRun(opts.Flags, command)), l.flags, command)
}

// noCommand is the error for a command that a flag took for its path, as in "sbx -w
// make": a shell would start.
func (l *typed) noCommand() error {
	last := len(l.flags) - 1
	if last < 1 || !slices.Contains([]string{"-w", "--allow-write", "-r", "--allow-read", "--block"}, l.flags[last-1]) {
		return nil
	}
	flag, word := l.flags[last-1], l.flags[last]
	if _, err := os.Lstat(word); err == nil || strings.Contains(word, "/") || programFor(word) == "" {
		return nil
	}
	return app.Failed(flag+" takes a path, and there is no file "+text.Plain(word)+" here; no command is left",
		sbxLine(l.flags[:last], []string{"."}, dashDash, []string{word}))
}

// wrongFlag is the error for a line with a wrong flag before its first word.
func (l *typed) wrongFlag(bad *wrong) error {
	if line := l.asString(); line != "" && bad.fix == nil {
		return bad.error(line)
	}
	fixed, n, _ := l.set.repair(slices.Concat(l.flags, l.words), false)
	switch {
	case fixed == nil:
		return bad.error("")
	case n < len(fixed) && fixed[n] == "--":
		return bad.error(sbxLine(fixed, l.command))
	case l.cut || n < len(fixed):
		return bad.error(sbxLine(fixed[:n], dashDash, fixed[n:], l.command))
	}
	return bad.error(sbxLine(fixed))
}

// asString is the line that has all words in the string of -c, "" without that flag.
func (l *typed) asString() string {
	for i, w := range l.flags {
		value, joined := strings.CutPrefix(w, "-c")
		if !joined {
			value, joined = strings.CutPrefix(w, "--command=")
		}
		after := l.flags[i+1:]
		if w == "-c" || w == "--command" {
			value, after = after[0], after[1:]
		} else if !joined {
			continue
		}
		return sbxLine(l.flags[:i], []string{"-c", value + " " + text.ShellLine(l.words)}, after)
	}
	return ""
}

// refused is the error for words before the command that do not say what they mean.
func (l *typed) refused() error {
	word, rest := l.words[0], l.words[1:]
	if line := l.asString(); line != "" {
		return app.Failed("unexpected word "+strconv.Quote(word)+": -c takes one string", line)
	}
	if !l.cut && slices.Contains(commandNames, word) {
		hint := sbxLine([]string{word}, rest)
		if slices.Contains(takesFlags, word) {
			hint = sbxLine([]string{word}, l.flags, rest)
		}
		if program := programFor(word); program != "" && !slices.Contains(takesFlags, word) {
			hint = "to run " + text.ShellWord(program) + ": " + sbxLine(l.flags, dashDash, l.words)
		}
		return app.Failed("unexpected word "+strconv.Quote(word)+": the commands of sbx come before any flag", hint)
	}
	if l.cut && !slices.ContainsFunc(rest, func(w string) bool { return !strings.HasPrefix(w, "-") }) {
		words := l.words
		if slices.Contains(starters, word) && programFor(word) == "" {
			words = words[1:]
		}
		flags := l.flags
		if n, bad := l.set.first(rest); n == len(rest) && bad == nil { // they are sbx's
			flags, words = slices.Concat(flags, rest), words[:len(words)-len(rest)]
		}
		return app.Failed("unexpected word "+strconv.Quote(word)+" before --", sbxLine(flags, dashDash, words, l.command))
	}
	if near := nearCommand(word); near != "" && !strings.Contains(word, "/") && programFor(word) == "" {
		return &host.Error{Status: host.StatusNotFound, Hint: nearLine(near, l.flags, rest),
			Text: text.Plain(word) + " is no command of sbx, and no program in PATH"}
	}
	return nil
}

// starters are words that other programs have before a command.
var starters = []string{"run", "exec", "x", "shell"}

// takesFlags are the commands that take the flags of a run.
var takesFlags = []string{"explain", "why", "verify"}

// nearCommand is the command of sbx that a word was probably meant to be, or "".
func nearCommand(word string) string { return text.Within(word, commandNames, min(2, len(word)/2)) }

func nearLine(near string, flags, rest []string) string {
	if !slices.Contains(takesFlags, near) {
		flags = nil
	}
	return sbxLine([]string{near}, flags, rest)
}

// programFor is the file in PATH that a person might mean by a word, or "".
func programFor(word string) string {
	return lookpath.First(os.Getenv("PATH"), word, func(file string) bool { return app.Runs(file) && !app.Ourselves(file) })
}

// tellProgram says on a terminal that a program has the name of a command of sbx.
func tellProgram(left []string) {
	if app.IsTerminal(2) {
		if program := programFor(left[0]); program != "" {
			app.Say("note", "this is sbx's "+left[0]+"; to run "+text.ShellWord(program)+": "+sbxLine(dashDash, left))
		}
	}
}

// notFound adds to the error for a command that was not found the line that was
// probably meant.
func (s flagSet) notFound(err error, flags, command []string) error {
	var missing *host.Error
	if len(command) == 0 {
		return err
	}
	program, _, _ := strings.Cut(command[0], " ")
	if !errors.As(err, &missing) || missing.Status != host.StatusNotFound ||
		missing.Hint != "" && !slices.Contains(starters, command[0]) || strings.Contains(program, "/") {
		return err
	}
	if s == nil {
		s = runFlags()
	}
	missing.Hint = cmp.Or(s.otherLine(flags, command), missing.Hint)
	return err
}

func (s flagSet) otherLine(flags, command []string) string {
	word, rest := command[0], command[1:]
	name, _, assigns := strings.Cut(word, "=")
	switch near := nearCommand(word); {
	case strings.HasPrefix(word, "-"):
		if fixed, n, _ := s.repair(command, false); n > 0 && n < len(fixed) {
			return sbxLine(flags, fixed[:n], dashDash, fixed[n:])
		}
	case assigns && text.ValidName(name, "_") && len(rest) > 0:
		return sbxLine(flags, []string{"--env", word}, dashDash, rest)
	case strings.ContainsAny(word, " \t\n;|&<>"):
		return sbxLine(flags, []string{"-c", strings.TrimSpace(word + " " + text.ShellLine(rest))})
	case slices.Contains(starters, word) && len(rest) > 0:
		return sbxLine(flags, dashDash, rest)
	case near != "":
		return nearLine(near, flags, rest)
	case slices.Contains(agents.Names(), word) && len(flags) == 0:
		return sbxLine([]string{"agent", word}, rest)
	}
	return ""
}
