// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/limits"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// planJSON is a plan for programs. Values of the caller's variables are not
// in it: it goes to logs.
type planJSON struct {
	Engine string   `json:"engine"`
	Tier   string   `json:"tier"`
	Path   string   `json:"path"`
	Argv   []string `json:"argv"`
	Env    []string `json:"env"` // NAME for the caller's, NAME=value for sbx's own
	FDs    []fdJSON `json:"fds"`
	Keep   []int    `json:"keep_fds"`
	Reopen []int    `json:"reopened_fds"` // on a read-only mount, by init
	Copy   []int    `json:"copied_fds"`
	Dirs   []string `json:"make_dirs"`
	Limit  float64  `json:"limit_seconds"` // of the kernel's timer behind --timeout; 0 is none

	Cgroups []limits.Cgroup   `json:"cgroups"` // to make and enter; the name is made up at the run
	Rlimits map[string]uint64 `json:"rlimits"` // of the command, in bytes or processes

	Confined *confinedJSON `json:"confined,omitempty"` // with Landlock
	Files    []limits.File `json:"files,omitempty"`    // made in the directory of the run

	Lack   string         `json:"not_full,omitempty"` // why the tier is not full
	Filter *engine.Filter `json:"filter,omitempty"`   // from a file

	Gaps []string `json:"gaps"`
}

// confinedJSON is what a process puts around itself before it becomes the command.
type confinedJSON struct {
	FS      string     `json:"handled_access_fs"` // hexadecimal, as in linux/landlock.h
	Net     string     `json:"handled_access_net"`
	Scope   string     `json:"scoped"`
	Rules   []wallJSON `json:"rules"`
	Filters []fdJSON   `json:"filters"`
}

type wallJSON struct {
	Path  string `json:"path,omitempty"`
	FD    *int   `json:"fd,omitempty"`
	Allow string `json:"allow"`
}

// fdJSON is a descriptor: its content as words, text, or base64.
type fdJSON struct {
	Num    int      `json:"fd"`
	Name   string   `json:"name"`
	Words  []string `json:"words,omitempty"`
	Text   *string  `json:"text,omitempty"`
	Base64 string   `json:"base64,omitempty"`
	Path   string   `json:"path,omitempty"` // of a file that is passed itself (O_PATH)
	data   []byte
}

// printPlan writes a plan to standard output.
func printPlan(p *engine.Plan, asJSON bool) error {
	j := planFor(p)
	if asJSON {
		return printJSON(j)
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# engine %s, %s", p.Engine, app.Tier(p))
	for _, g := range p.Gaps {
		line("# gap: %s", g)
	}
	if j.Filter != nil {
		line("# filter: %s", j.Filter)
	}
	for _, d := range p.Dirs {
		line("mkdir -m 700 %s", text.ShellLine([]string{d}))
	}
	for _, kv := range j.Env {
		if strings.Contains(kv, "=") {
			line("set     %s", text.ShellLine([]string{kv}))
		} else {
			line("pass    %s", text.Plain(kv))
		}
	}
	for _, of := range []struct {
		what string
		fds  []int
	}{{"keep", p.Keep}, {"reopen", p.Reopen}, {"copy", p.Copy}} {
		for _, n := range of.fds {
			line("%-7s fd %d", of.what, n)
		}
	}
	if p.Limit > 0 {
		line("limit   %gs", p.Limit)
	}
	for _, c := range p.Limits.Cgroups {
		line("cgroup  %s", text.ShellLine([]string{c.Parent + "/sbx-PID-RANDOM"}))
		for _, f := range c.Files {
			line("          %s = %s", f.Name, f.Data)
		}
	}
	for _, l := range p.Limits.Rlimits {
		line("rlimit  %s %d", limits.Resource(l.Resource), l.Max)
	}
	if p.Init != nil && p.Init.OOM >= 0 {
		line("fd %-4d counts out-of-memory kills", p.Init.OOM)
	}
	for _, fd := range j.FDs {
		line("fd %-4d %s", fd.Num, fd.content())
	}
	for _, f := range j.Files {
		line("write   %s: %s", text.Plain(f.Name), strings.TrimSpace(f.Data))
	}
	if c := j.Confined; c != nil {
		line("landlock denies fs %s, net %s, scope %s, but for", c.FS, c.Net, c.Scope)
		for _, r := range c.Rules {
			what := text.Plain(r.Path)
			if r.FD != nil {
				what = "fd " + strconv.Itoa(*r.FD)
			}
			line("          %-7s %s", r.Allow, what)
		}
		for _, f := range c.Filters {
			line("filter  %s: %d instructions, sha256 %s", f.Name, len(f.data)/8, f.sum())
		}
	}
	line("exec    %s", text.Plain(p.Path))
	writeArgv(&b, p)
	_, err := exact.WriteString(b.String())
	return err
}

// writeArgv writes the words to execute. A profile of sandbox-exec's and its
// parameters have lines of their own; the whole is in the JSON.
func writeArgv(b *strings.Builder, p *engine.Plan) {
	n := slices.Index(p.Argv, "--")
	if p.Engine != host.EngineSeatbelt || n < 3 {
		fmt.Fprintf(b, "argv    %s\n", text.ShellLine(p.Argv))
		return
	}
	b.WriteString("-p\n")
	for line := range strings.Lines(p.Argv[2]) {
		b.WriteString("          " + line)
	}
	for i := 3; i+1 < n; i += 2 {
		fmt.Fprintf(b, "%s        %s\n", p.Argv[i], text.ShellLine(p.Argv[i+1:i+2]))
	}
	fmt.Fprintf(b, "argv    %s -p … -D … %s\n", text.ShellLine(p.Argv[:1]), text.ShellLine(p.Argv[n:]))
}

func confinedFor(c *engine.Confined) *confinedJSON {
	if c == nil {
		return nil
	}
	hexed := func(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }
	out := &confinedJSON{FS: hexed(uint64(c.Ruleset.FS)), Net: hexed(uint64(c.Ruleset.Net)),
		Scope: hexed(uint64(c.Ruleset.Scope)), Rules: []wallJSON{}}
	for _, r := range c.Ruleset.Rules {
		rule := wallJSON{Path: r.Path, Allow: hexed(uint64(r.Allow))}
		if r.Path == "" {
			rule.FD = &r.FD
		}
		out.Rules = append(out.Rules, rule)
	}
	for _, f := range c.Filters {
		out.Filters = append(out.Filters, fdFor(bwrapargs.FD{Name: f.Name, Data: f.Code}))
	}
	return out
}

// content is what people are shown of a descriptor: all of what can be read.
func (f *fdJSON) content() string {
	switch {
	case f.Path != "":
		return "O_PATH " + text.Plain(f.Path)
	case f.data == nil:
		return f.Name
	case f.Words != nil:
		out := f.Name + ":"
		for _, words := range optionLines(f.Words) {
			out += "\n          " + text.ShellLine(words)
		}
		return out
	case f.Text != nil && *f.Text != "":
		return text.Plain(f.Name) + ": " + strings.TrimSpace(*f.Text)
	}
	return fmt.Sprintf("%s: %d bytes, sha256 %s", text.Plain(f.Name), len(f.data), f.sum())
}

// sum is the beginning of the digest of what a descriptor holds.
func (f *fdJSON) sum() string {
	sum := sha256.Sum256(f.data)
	return hex.EncodeToString(sum[:8])
}

// fdFor is a descriptor with its content in the form that says most.
func fdFor(fd bwrapargs.FD) fdJSON {
	f := fdJSON{Num: fd.Num, Name: fd.Name, Path: fd.Path, data: fd.Data}
	switch content := string(fd.Data); {
	case fd.Path != "" || fd.Data == nil:
	case strings.HasSuffix(fd.Name, "options"):
		f.Words = words0(fd.Data)
	case utf8.Valid(fd.Data) && !strings.Contains(content, "\x00"):
		f.Text = &content
	default:
		f.Base64 = base64.StdEncoding.EncodeToString(fd.Data)
	}
	return f
}

// wires are the descriptors by which init sees and signals the process that
// the caller started, or the guard sees bwrap.
func wires(p *engine.Plan) (fds []bwrapargs.FD) {
	add := func(n int, name string) {
		if n >= 0 {
			fds = append(fds, bwrapargs.FD{Num: n, Name: name})
		}
	}
	if e := p.Setup; e != nil {
		add(e.Setup, "pipe, writing end, open while bwrap sets up")
		add(e.Alive, "pipe, writing end, open while process 1 lives")
		add(e.Info, "file for the number of bwrap's child")
	}
	if p.Init != nil {
		w := p.Init.Parent
		add(w.Status, "/proc/self/status")
		add(w.Epoll, "epoll")
		add(w.Signal, "signalfd")
		add(w.Read, "pipe, reading end, O_ASYNC")
		add(w.Write, "pipe, writing end")
		add(w.WatchdogRead, "pipe, reading end, O_ASYNC")
		add(w.WatchdogWrite, "pipe, writing end")
		add(w.Stderr, "standard error, which for bwrap itself is a pipe to the set-up watchdog")
		add(w.Stat, "/proc/self/stat")
	}
	return fds
}

func words0(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

// optionLines puts each option of bwrap with its arguments on a line.
func optionLines(words []string) [][]string {
	arity := map[string]int{"--bind": 2, "--ro-bind": 2, "--bind-fd": 2, "--ro-bind-fd": 2, "--symlink": 2,
		"--ro-bind-data": 2, "--perms": 1, "--size": 1, "--tmpfs": 1,
		"--dir": 1, "--proc": 1, "--dev": 1, "--remount-ro": 1, "--cap-drop": 1, "--seccomp": 1, "--add-seccomp-fd": 1,
		"--setenv": 2, "--unsetenv": 1, "--chdir": 1, "--block-fd": 1, "--sync-fd": 1, "--info-fd": 1}
	var lines [][]string
	for i := 0; i < len(words); {
		n := min(1+arity[words[i]], len(words)-i)
		lines = append(lines, words[i:i+n])
		i += n
	}
	return lines
}

func planFor(p *engine.Plan) planJSON {
	j := planJSON{
		Engine: p.Engine, Tier: p.Tier, Path: p.Path, Argv: p.Argv, Env: shownEnv(p), FDs: []fdJSON{}, Limit: p.Limit,
		Keep: orEmpty(p.Keep), Reopen: orEmpty(p.Reopen), Copy: orEmpty(p.Copy), Dirs: orEmpty(p.Dirs),
		Gaps: orEmpty(p.Gaps), Lack: p.Lack, Filter: p.Report.Filter, Confined: confinedFor(p.Confined),
		Cgroups: orEmpty(p.Limits.Cgroups), Rlimits: map[string]uint64{},
	}
	for _, f := range p.Files {
		j.Files = append(j.Files, limits.File{Name: f.Path, Data: string(f.Data)})
	}
	for _, l := range p.Limits.Rlimits {
		j.Rlimits[limits.Resource(l.Resource)] = l.Max
	}
	for _, fd := range slices.Concat(p.FDs, wires(p)) {
		j.FDs = append(j.FDs, fdFor(fd))
	}
	return j
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// shownEnv lists the variables of a plan: those that sbx sets with their
// value, the caller's by name alone.
func shownEnv(p *engine.Plan) []string {
	own, shown := make(map[string]bool), make(map[string]string)
	for _, c := range p.Report.Env {
		own[c.Name], shown[c.Name] = c.Action == "set", c.Value
	}
	out := make([]string, 0, len(p.Env))
	for _, kv := range p.Env {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case shown[name] != "":
			name += "=" + shown[name]
		case own[name]:
			name = kv
		}
		out = append(out, name)
	}
	return out
}

// jsonVersion is the form of the documents that commands print (docs/json.md).
const jsonVersion = 1

// listJSON is a document that is a list, by its name.
type listJSON map[string]any

// printJSON writes an object, with the version of its form as its first member.
func printJSON(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := fmt.Fprintf(exact, "{\n  \"version\": %d,%s", jsonVersion, b.Bytes()[1:])
	return err
}
