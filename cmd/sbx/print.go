// SPDX-License-Identifier: Apache-2.0

package main

import (
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

	Cgroups []cgroupJSON      `json:"cgroups"` // to make and enter; the name is made up at the run
	Rlimits map[string]uint64 `json:"rlimits"` // of the command, in bytes or processes

	Confined *confinedJSON `json:"confined,omitempty"` // with Landlock
	Files    []fileJSON    `json:"files,omitempty"`    // made in the directory of the run

	Lack   string      `json:"not_full,omitempty"` // why the tier is not full
	Filter *filterJSON `json:"filter,omitempty"`   // from a file

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

// cgroupJSON is a control group and what is written into it.
type cgroupJSON struct {
	Parent string     `json:"parent"`
	Files  []fileJSON `json:"files"`
}

type fileJSON struct {
	Name string `json:"name"`
	Data string `json:"data"`
}

// printPlan writes a plan to standard output.
func printPlan(p *engine.Plan, asJSON bool) error {
	j := planFor(p)
	if asJSON {
		return printJSON(j)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# engine %s, %s\n", p.Engine, app.Tier(p))
	for _, g := range p.Gaps {
		fmt.Fprintf(&b, "# gap: %s\n", g)
	}
	if p.Report.Filter != nil {
		fmt.Fprintf(&b, "# filter: %s\n", p.Report.Filter)
	}
	for _, d := range p.Dirs {
		fmt.Fprintf(&b, "mkdir -m 700 %s\n", shellLine([]string{d}))
	}
	for _, kv := range j.Env {
		if strings.Contains(kv, "=") {
			fmt.Fprintf(&b, "set     %s\n", shellLine([]string{kv}))
		} else {
			fmt.Fprintf(&b, "pass    %s\n", text.Plain(kv))
		}
	}
	for _, n := range p.Keep {
		fmt.Fprintf(&b, "keep    fd %d\n", n)
	}
	for _, n := range p.Reopen {
		fmt.Fprintf(&b, "reopen  fd %d\n", n)
	}
	for _, n := range p.Copy {
		fmt.Fprintf(&b, "copy    fd %d\n", n)
	}
	if p.Limit > 0 {
		fmt.Fprintf(&b, "limit   %gs\n", p.Limit)
	}
	writeLimits(&b, p)
	for _, fd := range j.FDs {
		fd.write(&b)
	}
	for _, f := range j.Files {
		fmt.Fprintf(&b, "write   %s: %s\n", text.Plain(f.Name), strings.TrimSpace(f.Data))
	}
	if j.Confined != nil {
		j.Confined.write(&b)
	}
	fmt.Fprintf(&b, "exec    %s\n", text.Plain(p.Path))
	writeArgv(&b, p)
	_, err := stdout.WriteString(b.String())
	return err
}

// writeArgv writes the words to execute. A profile of sandbox-exec's and its
// parameters have lines of their own; the whole is in the JSON.
func writeArgv(b *strings.Builder, p *engine.Plan) {
	n := slices.Index(p.Argv, "--")
	if p.Engine != host.EngineSeatbelt || n < 3 {
		fmt.Fprintf(b, "argv    %s\n", shellLine(p.Argv))
		return
	}
	b.WriteString("-p\n")
	for line := range strings.Lines(p.Argv[2]) {
		b.WriteString("          " + line)
	}
	for i := 3; i+1 < n; i += 2 {
		fmt.Fprintf(b, "%s        %s\n", p.Argv[i], shellLine(p.Argv[i+1:i+2]))
	}
	fmt.Fprintf(b, "argv    %s -p … -D … %s\n", shellLine(p.Argv[:1]), shellLine(p.Argv[n:]))
}

func (c *confinedJSON) write(b *strings.Builder) {
	fmt.Fprintf(b, "landlock denies fs %s, net %s, scope %s, but for\n", c.FS, c.Net, c.Scope)
	for _, r := range c.Rules {
		what := text.Plain(r.Path)
		if r.FD != nil {
			what = "fd " + strconv.Itoa(*r.FD)
		}
		fmt.Fprintf(b, "          %-7s %s\n", r.Allow, what)
	}
	for _, f := range c.Filters {
		fmt.Fprintf(b, "filter  %s: %d instructions, sha256 %s\n", f.Name, len(f.data)/8, f.sum())
	}
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
		out.Filters = append(out.Filters, fdJSON{Name: f.Name, Base64: base64.StdEncoding.EncodeToString(f.Code),
			data: f.Code})
	}
	return out
}

func writeLimits(b *strings.Builder, p *engine.Plan) {
	for _, c := range p.Limits.Cgroups {
		fmt.Fprintf(b, "cgroup  %s\n", shellLine([]string{c.Parent + "/sbx-PID-RANDOM"}))
		for _, f := range c.Files {
			fmt.Fprintf(b, "          %s = %s\n", f.Name, f.Data)
		}
	}
	for _, l := range p.Limits.Rlimits {
		fmt.Fprintf(b, "rlimit  %s %d\n", limits.Resource(l.Resource), l.Max)
	}
	if p.Init != nil && p.Init.OOM >= 0 {
		fmt.Fprintf(b, "fd %-4d counts out-of-memory kills\n", p.Init.OOM)
	}
}

func (f *fdJSON) write(b *strings.Builder) {
	switch {
	case f.Path != "":
		fmt.Fprintf(b, "fd %-4d O_PATH %s\n", f.Num, text.Plain(f.Path))
	case f.data == nil:
		fmt.Fprintf(b, "fd %-4d %s\n", f.Num, f.Name)
	case f.Words != nil:
		fmt.Fprintf(b, "fd %-4d %s:\n", f.Num, f.Name)
		for _, line := range optionLines(f.Words) {
			fmt.Fprintf(b, "          %s\n", shellLine(line))
		}
	case f.Text != nil && *f.Text != "":
		fmt.Fprintf(b, "fd %-4d %s: %s\n", f.Num, text.Plain(f.Name), strings.TrimSpace(*f.Text))
	default:
		fmt.Fprintf(b, "fd %-4d %s: %d bytes, sha256 %s\n", f.Num, text.Plain(f.Name), len(f.data), f.sum())
	}
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
func wires(p *engine.Plan) []bwrapargs.FD {
	var fds []bwrapargs.FD
	if e := p.Setup; e != nil {
		fds = append(fds, bwrapargs.FD{Num: e.Setup, Name: "pipe, writing end, open while bwrap sets up"})
		if e.Alive >= 0 {
			fds = append(fds, bwrapargs.FD{Num: e.Alive, Name: "pipe, writing end, open while process 1 lives"})
		}
		if e.Info >= 0 {
			fds = append(fds, bwrapargs.FD{Num: e.Info, Name: "file for the number of bwrap's child"})
		}
	}
	if p.Init == nil {
		return fds
	}
	w := p.Init.Parent
	for _, f := range []struct {
		n    int
		name string
	}{{w.Status, "/proc/self/status"}, {w.Epoll, "epoll"}, {w.Signal, "signalfd"},
		{w.Read, "pipe, reading end, O_ASYNC"}, {w.Write, "pipe, writing end"},
		{w.WatchdogRead, "pipe, reading end, O_ASYNC"}, {w.WatchdogWrite, "pipe, writing end"},
		{w.Stderr, "standard error, which for bwrap itself is a pipe to the set-up watchdog"},
		{w.Stat, "/proc/self/stat"}} {
		if f.n >= 0 {
			fds = append(fds, bwrapargs.FD{Num: f.n, Name: f.name})
		}
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
	j := planJSON{Engine: p.Engine, Tier: p.Tier, Path: p.Path, Argv: p.Argv, Env: shownEnv(p), FDs: []fdJSON{},
		Limit: p.Limit, Keep: orEmpty(p.Keep), Reopen: orEmpty(p.Reopen), Copy: orEmpty(p.Copy), Dirs: orEmpty(p.Dirs),
		Gaps:    orEmpty(p.Gaps),
		Cgroups: []cgroupJSON{}, Rlimits: map[string]uint64{}}
	j.Lack, j.Confined = p.Lack, confinedFor(p.Confined)
	for _, f := range p.Files {
		j.Files = append(j.Files, fileJSON{f.Path, string(f.Data)})
	}
	if p.Report.Filter != nil {
		j.Filter = filterFor(p.Report.Filter)
	}
	for _, c := range p.Limits.Cgroups {
		g := cgroupJSON{Parent: c.Parent}
		for _, f := range c.Files {
			g.Files = append(g.Files, fileJSON{f.Name, f.Data})
		}
		j.Cgroups = append(j.Cgroups, g)
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
	own := make(map[string]bool)
	for _, c := range p.Report.Env {
		own[c.Name] = c.Set
	}
	out := make([]string, 0, len(p.Env))
	for _, kv := range p.Env {
		name, _, _ := strings.Cut(kv, "=")
		if own[name] {
			name = kv
		}
		out = append(out, name)
	}
	return out
}

func printJSON(v any) error {
	e := json.NewEncoder(stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// filterJSON is a seccomp filter from a file, for programs.
type filterJSON struct {
	Path    string   `json:"path"`
	Rules   int      `json:"rules"`
	Hinders []string `json:"hinders"` // calls refused without which not even /bin/true starts
	text    string
}

func filterFor(f *engine.Filter) *filterJSON {
	return &filterJSON{f.Path, f.Rules, orEmpty(f.Hinders), f.String()}
}

func (f *filterJSON) String() string { return f.text }
