// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/ownfile"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// notice is a line that -q silences. A client that called its shell reads all
// that is written for the command's own: it gets only what it must hear of.
func (c *Context) notice(line string) {
	if !c.Inv.Flags.Quiet && !c.Inv.Client {
		Say("notice", line)
	}
}

// TellNotices says what of the files does not count.
func (c *Context) TellNotices() {
	for _, n := range c.Notices {
		c.notice(n)
	}
}

// NotRead are lines about what looks like a config file and is none.
func (c *Caller) NotRead() (lines []string) {
	for _, f := range c.Unread() {
		lines = append(lines, text.Plain(f.Path)+" is not read: sbx reads "+text.Plain(f.Read))
	}
	return lines
}

// unset are lines about variables that the caller does not have and flags name.
func (c *Context) unset() (lines []string) {
	for _, name := range c.Inv.Flags.Env {
		if !strings.Contains(name, "=") && !slices.ContainsFunc(c.Host.Environ, func(v string) bool {
			has, _, _ := strings.Cut(v, "=")
			return policy.Match(name, has)
		}) {
			lines = append(lines, "--env "+text.ShellWord(name)+": no variable of that name is set here")
		}
	}
	return lines
}

// hintTrust says how a project file gets what it asked for.
func (c *Context) hintTrust() {
	asks := slices.ContainsFunc(c.Settings.Ignored, func(i config.Ignored) bool { return !i.Trusted })
	if asks && !c.doubted && !c.Inv.Flags.Quiet && !c.Inv.Client {
		Say("hint", "sbx trust shows what that would give, and agrees to it")
	}
}

// unsaid reports whether a text was not said in this project yet, to a terminal or
// elsewhere, and notes that it is now. Where nothing can be noted it is said again.
func (c *Context) unsaid(line string) bool {
	dir := c.dir("$XDG_STATE_HOME/sbx/said")
	if dir == "" || c.Inv.Flags.DryRun || c.Host.CheckOwnDir(dir) != nil {
		return true
	}
	sum := sha256.Sum256([]byte(strconv.FormatBool(IsTerminal(2)) + "\x00" + cmp.Or(c.Boundary, c.Host.CWD) + "\x00" +
		line))
	if _, err := ownfile.Make(dir, c.Host.UID); err != nil {
		return true
	}
	notes, err := ownfile.Open(dir, c.Host.UID)
	if err != nil {
		return true
	}
	defer notes.Close()
	name := hex.EncodeToString(sum[:16])
	if _, err := notes.Read(name, 0); err == nil {
		return false
	}
	_ = notes.Write(name, nil, false)
	return true
}

// brief is a line, or what is enough of it where it was said in this project before.
func (c *Context) brief(line, enough string) string {
	flags := c.Inv.Flags
	if enough == "" || flags.Verbose || flags.Quiet || c.Inv.Client || c.unsaid(line) {
		return line
	}
	return enough
}

// tellStatus tells a person at a terminal what is in force: standard error only,
// and never in the way of a program that reads it.
func (c *Context) tellStatus(p *engine.Plan) {
	const few = 8
	flags := c.Inv.Flags
	for _, n := range c.unset() {
		c.notice(n)
	}
	for i, n := range p.Report.Notes {
		if i == few {
			c.notice("and " + strconv.Itoa(len(p.Report.Notes)-few) + " more like that: sbx explain lists them")
			break
		}
		c.notice(c.brief(n, p.Report.Brief[n]))
	}
	once := slices.Concat(c.foreign(), c.agentLines(), p.Report.Once)
	if c.Inv.person && IsTerminal(2) { // elsewhere it is not worth looking for
		once = append(once, c.NotRead()...)
	}
	for _, n := range once {
		if flags.Verbose || !flags.Quiet && !c.Inv.Client && c.unsaid(n) {
			c.notice(n + " (said once)")
		}
	}
	if c.nowhere != "" && (flags.Verbose || IsTerminal(2)) {
		c.notice(c.nowhere)
	}
	if flags.Quiet || !c.Inv.person {
		return
	}
	if !flags.Verbose && !IsTerminal(2) {
		if p.Lack != "" { // less than there could be is never without a word
			if !slices.ContainsFunc(p.Report.Notes, func(n string) bool { return strings.HasSuffix(n, p.Lift) }) {
				lack := "tier " + p.Tier + ": " + p.Lack
				Say("notice", c.brief(lack+"; "+p.Lift, lack+" (sbx doctor says what to do)"))
			}
		}
		return
	}
	if c.atPrompt {
		Say("", c.welcome(p))
	}
	Say("", statusLine(p, c.Vars.CWD, c.Vars.Home))
	if flags.Verbose {
		for _, line := range restrictions(p) {
			Say("", line)
		}
	}
}

// foreign is a line about variables of the requirement documents, which do nothing here.
func (c *Context) foreign() []string {
	var names []string
	for _, v := range c.Host.Environ {
		if strings.HasPrefix(v, "CLAUDE_SANDBOX_") || strings.HasPrefix(v, "CLAUDE_SECCOMP_PROFILE=") {
			name, _, _ := strings.Cut(v, "=")
			names = append(names, text.Plain(name))
		}
	}
	if names == nil {
		return nil
	}
	slices.Sort(names)
	return []string{text.Few(names, 4, ", ") + ": not a setting of sbx, which reads SBX_ENGINE (bwrap, landlock), " +
		"SBX_PROFILE and SBX_FLAGS (--timeout 300s --procs 50 --seccomp FILE); --no-sandbox runs without a sandbox"}
}

// Tier is the tier of a plan, and why it is not full.
func Tier(p *engine.Plan) string {
	if p.Lack == "" {
		return "tier " + p.Tier
	}
	return "tier " + p.Tier + " (" + p.Lack + ")"
}

// welcome is the first line of a shell: that it is inside, and what does not last.
func (c *Context) welcome(p *engine.Plan) string {
	line := "this shell is in a sandbox (exit leaves it): network " + OnOff(p.Report.Policy.Network)
	write := "; what you write in "
	if kept := writable(p, c.Vars.CWD, c.Vars.Home); kept == "nothing" {
		line += "; your files cannot be changed"
	} else {
		line, write = line+"; changes are kept in "+kept, "; what you write elsewhere in "
	}
	if p.CacheDst != "" && p.Report.Unkept == "" && !p.Report.View.NoMounts {
		line += "; a ~/.cache is kept for this project"
	}
	var gone []string
	for _, d := range [][2]string{{c.Vars.Home, "~"}, {"/tmp", "/tmp"}} {
		if at := p.Report.View.At(d[0]); at != nil && at.Access == policy.Private && (d[1] != "/tmp" || c.Inv.tmp() == "") {
			gone = append(gone, d[1])
		}
	}
	switch {
	case p.Report.View.NoMounts:
		line += "; no file elsewhere can be written, and $TMPDIR does not last"
	case gone != nil:
		line += write + text.And(gone) + " is gone when you leave"
	}
	return line
}

func statusLine(p *engine.Plan, cwd, home string) string {
	pol := p.Report.Policy
	parts := []string{strings.Join(pol.Profiles, "+"), "net " + OnOff(pol.Network), "rw " + writable(p, cwd, home), Tier(p)}
	hidden, shown := p.Report.View.Hidden, p.Report.View.Tracked
	if len(hidden) > 0 {
		parts = append(parts, "hidden "+fewNames(hidden, cwd))
	}
	if len(shown) > 0 {
		parts = append(parts, "shown "+fewNames(shown, cwd)+" ("+view.SourceTracked+")")
	}
	if p.Report.Filter != nil {
		parts = append(parts, "filter "+p.Report.Filter.String())
	}
	if len(p.Report.Copied) > 0 {
		parts = append(parts, "git hooks unguarded while running")
	}
	if n := len(p.Gaps) - p.Report.Usual; n > 0 {
		parts = append(parts, "gaps "+strconv.Itoa(n)+" (sbx explain)")
	}
	return strings.Join(parts, " · ")
}

// writable are the trees that the command may write.
func writable(p *engine.Plan, cwd, home string) string {
	var trees []string
	for _, m := range p.Report.Mounts() {
		below := func(d string) bool { return policy.Within(m.Path, d) }
		if m.Access == policy.Write && !m.Pinned && m.Source != view.SourceCache && !slices.ContainsFunc(trees, below) {
			trees = append(trees, m.Path)
		}
	}
	if len(trees) == 0 {
		return "nothing"
	}
	for i, d := range trees {
		if d == cwd {
			trees[i] = "."
			continue
		}
		if below, in := strings.CutPrefix(d, home+"/"); in && home != "" {
			d = "~/" + below
		}
		trees[i] = text.Plain(d)
	}
	return strings.Join(trees, " ")
}

// fewNames are the first of some paths, as seen from the working directory.
func fewNames(paths []string, cwd string) string {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = text.Plain(strings.TrimPrefix(path, cwd+"/"))
	}
	return text.Few(names, 4, " ")
}

// OnOff says whether something is on.
func OnOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// restrictions lists what a plan enforces, one line each, for -v.
func restrictions(p *engine.Plan) []string {
	var out []string
	for _, m := range Shown(p) {
		out = append(out, fmt.Sprintf("  %-8s %s (%s)", m.Word(), text.Plain(m.Path), m.Source))
	}
	var dropped []string
	for _, c := range p.Report.Env {
		if c.Action == "drop" {
			dropped = append(dropped, text.Plain(c.Name))
		}
	}
	if len(dropped) > 0 {
		out = append(out, "  env dropped: "+strings.Join(dropped, " "))
	}
	for _, s := range p.Report.Policy.Scalars() {
		if s.Value != "" {
			out = append(out, "  "+s.Key+" = "+s.Value)
		}
	}
	for _, h := range p.Limits.Held {
		out = append(out, "  held by: "+h)
	}
	if p.Report.Unkept != "" {
		out = append(out, "  cache: of this run alone, since "+p.Report.Unkept)
	}
	for _, g := range p.Gaps {
		out = append(out, "  gap: "+g)
	}
	for _, n := range p.Reopen {
		out = append(out, "  descriptor "+strconv.Itoa(n)+" is opened anew, read-only: the policy does not let the command write the file")
	}
	for _, n := range p.Copy {
		out = append(out, "  descriptor "+strconv.Itoa(n)+" is a copy: the policy does not let the command write the file")
	}
	return out
}

// Shown are the mounts of a plan that a rule of its own makes.
func Shown(p *engine.Plan) []engine.Mounted {
	return slices.DeleteFunc(slices.Clone(p.Report.Mounts()), func(m engine.Mounted) bool {
		return m.Access == policy.Unseen || m.Pinned || m.Covered && m.Layer == policy.Builtin
	})
}
