// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/copies"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/hint"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/tripwire"
)

// after is what is to be known when a run has ended, in which sbx was the parent of the
// command. The environment was the command's own, and counts for nothing.
type after struct {
	Copies   copies.Store
	Tripwire string // the directory of its records
	Root     string
	Quiet    bool
	Told     []string // changed paths that were told before the run
	Words    []string // of the command, when its failure is to be explained
	Hints    []string // and how
	Manifest string
	Home     string
	CWD      string
	PATH     string
	Walls    hint.Walls
}

func (c *Context) copies() copies.Store {
	return copies.Store{Dir: c.dir("$XDG_STATE_HOME/sbx/copies"), UID: c.Host.UID}
}

// recoverCopies does what a run that was killed did not come to.
func (c *Context) recoverCopies() error {
	if c.Inv.Flags.DryRun {
		return nil
	}
	res, err := c.copies().Recover()
	if err != nil {
		return Failed("what an earlier run changed cannot be put back: "+err.Error(), shut(err))
	}
	tellCopies(res, c.Vars.Root, "a run that was killed")
	return nil
}

// shut says how to open again what a command has closed by chmod(2), which Landlock
// does not hold: the highest directory first.
func shut(err error) (hint string) {
	var at *os.PathError
	if !errors.As(err, &at) || !errors.Is(err, os.ErrPermission) {
		return ""
	}
	for dir := at.Path; dir != policy.Dir(dir); dir = policy.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
			hint = "a command may have closed it: chmod u+rwx " + text.ShellWord(dir)
		}
	}
	return hint
}

// keepCopies keeps copies of what is to be put back after the run.
func (c *Context) keepCopies(p *engine.Plan, root string, told []tripwire.Change) error {
	if len(p.Report.Copied) == 0 {
		return nil
	}
	a := after{Copies: c.copies(), Tripwire: c.records().Dir, Root: root, Quiet: c.Inv.Flags.Quiet}
	for _, t := range told {
		a.Told = append(a.Told, t.Path)
	}
	if n := len(strings.Join(p.Argv, " ")); p.Init.Hints != nil && n < 4096 {
		env := func(name string) string { value, _ := host.LookupEnv(p.Env, name); return value }
		a.Words, a.Hints, a.CWD = p.Argv, p.Init.Hints, c.Host.StartDir()
		a.Manifest, a.Home, a.PATH = env("SBX_MANIFEST"), env("HOME"), env("PATH")
		a.Walls = hint.Walls{Remedy: "--engine bwrap has all that", Reveal: p.Report.Reveal}
		if p.Lack != "" {
			a.Walls.Remedy = "sbx doctor says how to get bubblewrap, which has all that"
		}
	}
	err := c.Host.CheckOwnDir(a.Copies.Dir)
	var fds []int
	if err == nil {
		fds, err = a.Copies.Take(p.Report.Copied, p.Report.Above)
	}
	if err != nil {
		return Failed("no copies can be kept of what git runs here, and Landlock cannot make it read-only: "+err.Error(),
			"--protect enforce does without copies, and lets nothing be created beside these files")
	}
	data, err := json.Marshal(a)
	p.Init.Held, p.Init.After = fds, []string{strconv.Itoa(fds[0]), string(data)}
	return err
}

// After puts back what a command changed, tells of the rest, and ends as it ended. The
// words are the descriptor of the record of package copies, what else is to be known, and
// the wait status of the command.
func After(args []string) int {
	var a after
	fd, err1 := strconv.Atoi(args[0])
	status, err2 := strconv.Atoi(args[2])
	if err1 != nil || err2 != nil || json.Unmarshal([]byte(args[1]), &a) != nil {
		return host.StatusFailed
	}
	res, err := a.Copies.Finish(fd)
	if err != nil {
		res.Failed = append(res.Failed, err)
	}
	tellCopies(res, a.Root, "the command")
	if len(res.Failed) > 0 {
		status = host.StatusFailed << 8
	}
	wire := tripwire.Store{Dir: a.Tripwire, UID: a.Copies.UID}
	if changes, err := wire.Pending(a.Root); err == nil && !a.Quiet {
		alarms, _ := ByGrade(changes)
		alarms = slices.DeleteFunc(alarms, func(c tripwire.Change) bool { return slices.Contains(a.Told, c.Path) })
		if len(alarms) > 0 {
			Say("notice", "new or changed by this run or beside it, and your tools may run it: "+
				fewPaths(alarms, a.Root)+" (sbx tripwire shows it)")
		}
	}
	if code := status >> 8 & 0xff; status&0xff == 0 && code != host.StatusTimeout && code != host.StatusFailed {
		a.Walls.Undone = slices.ContainsFunc(res.Back, func(path string) bool { return host.Base(path) == "config" })
		a.explain(code)
	}
	return pid1.Die(status)
}

// explain says why the command may have failed, and what git did in vain.
func (a *after) explain(status int) {
	if len(a.Words) == 0 || status == 0 && !a.Walls.Undone {
		return
	}
	say := engine.ParseHints(a.Hints)
	b, err := hint.OfRun(a.Manifest, a.Home, a.CWD, a.PATH, say)
	if err != nil {
		return
	}
	if line := hint.Landlock(b, say, status, a.Words, a.Walls); line != "" {
		Say("hint", line)
	}
}

// tellCopies says what was put back and what was moved away, also where it is to be
// quiet: it is what the command did that is undone.
func tellCopies(res copies.Result, root, who string) {
	names := func(verb string, paths []string) string {
		shown := make([]string, len(paths))
		for i, path := range paths {
			shown[i] = text.Plain(Below(path, root))
		}
		return verb + " " + text.Few(shown, 5, ", ")
	}
	var did []string
	if len(res.Back) > 0 {
		did = append(did, names("put back", res.Back))
	}
	if len(res.Moved) > 0 {
		did = append(did, names("moved away", res.Moved))
	}
	if len(did) > 0 {
		line := "changed while " + who + " ran, and git or your tools would obey it: " + strings.Join(did, "; ")
		if res.Aside != "" {
			line += " (what was there is in " + text.Plain(res.Aside) + ")"
		}
		Say("warning", line)
	}
	for _, err := range res.Failed {
		Say("error", "it could not be put back, look at it before you run anything there: "+err.Error())
		if hint := shut(err); hint != "" {
			Say("hint", hint)
		}
	}
}
