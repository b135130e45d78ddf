// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/session"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/tripwire"
)

// Records is where what was there before a run is remembered, and the root of
// the project it is remembered for: the outermost work tree, since a command can
// make a repository of any directory.
func (c *Caller) Records() (store tripwire.Store, root string) {
	root = host.Outermost(c.Host.FS, cmp.Or(c.Vars.Root, c.Vars.CWD), c.Host.UID, c.Host.Homes)
	return c.records(), root
}

func (c *Caller) records() tripwire.Store {
	return tripwire.Store{UID: c.Host.UID, Keeps: c.Host.CheckOwnDir, Dir: c.dir("$XDG_STATE_HOME/sbx/tripwire")}
}

// Watch tells of what earlier runs left, and records what could appear in this
// one. Records that cannot be believed stop the run; that nothing can be
// recorded does not.
func (c *Context) Watch(p *engine.Plan) error {
	store := c.records()
	root := cmp.Or(c.Boundary, c.Host.CWD)
	switch {
	case c.Inv.Flags.Quiet:
	case IsTerminal(2):
		store.Tells = tripwire.ToTerminal
	default:
		store.Tells = tripwire.ToLog
	}
	watched, err := withExposed(p)
	if err != nil {
		return TripwireError(err)
	}
	if err = c.wider(store, root); err != nil {
		return TripwireError(err)
	}
	var changes []tripwire.Change
	here := []project{{root, watched}}
	for _, in := range append(here, c.elsewhere(root, watched[len(p.Report.Watch):])...) {
		var more []tripwire.Change
		more, err = store.Check(in.root, in.watched)
		if changes = append(changes, more...); err != nil {
			break
		}
	}
	c.tellChanges(changes, root, cmp.Or(c.Inv.dir, store.Dir))
	var cannot *tripwire.UnwritableError
	if errors.As(err, &cannot) && c.Settings.Tripwire == "required" {
		return Failed("this project cannot be watched, and tripwire = \"required\" ("+c.Settings.Where["tripwire"]+"): "+cannot.Err.Error(),
			"set HOME to a directory of yours, or XDG_STATE_HOME to one that exists")
	}
	if errors.As(err, &cannot) && len(p.Report.Exposed) == 0 {
		if home, err := c.Host.FS.Lstat(c.Vars.Home); err == nil && c.Host.UID == 0 && home.UID != 0 {
			c.notice("root has the home directory of another user here (HOME=" + text.Plain(c.Vars.Home) + "), whose files it cannot " +
				"write in a sandbox, and this project is not watched: run sbx as that user, without sudo")
			return nil
		}
		c.notice("this project is not watched; what the run leaves for your tools to run cannot be reported later: " +
			cannot.Err.Error())
		return nil
	}
	if err != nil {
		return TripwireError(err)
	}
	return c.keepCopies(p, root, changes)
}

// wider tells, once, of a project that was a smaller one in an earlier run: a command
// can leave the file that makes it so. What was recorded for that one is kept.
func (c *Context) wider(store tripwire.Store, root string) error {
	now := c.Policy.Project
	if c.Inv.Flags.Quiet || now == c.Host.CWD || !policy.Within(c.Host.CWD, now) || c.Policy.Access(now) != policy.Write {
		return nil
	}
	var below []string
	for dir := c.Host.CWD; dir != root && policy.Within(dir, root); dir = policy.Dir(dir) {
		below = append(below, dir)
	}
	was, err := store.Adopt(root, below)
	if len(was) > 0 && was[0] != now && policy.Within(was[0], now) {
		Say("notice", "the project is "+text.Plain(now)+" now ("+c.Host.MadeBy(now, c.Host.CWD)+" there), and all of it can be written: in an earlier "+
			"run it was "+text.Plain(was[0])+" (--scope cwd keeps to the working directory; said once)")
	}
	if errors.As(err, new(*tripwire.UnwritableError)) {
		return nil // said when the changes are recorded
	}
	return err
}

// tellChanges says what is new; a client hears of it once.
func (c *Context) tellChanges(changes []tripwire.Change, root, told string) {
	tell := func(line string) {
		if !c.Inv.Flags.Quiet {
			Say("notice", line)
		}
	}
	alarms, noted := ByGrade(changes)
	if len(noted) > 0 {
		tell("new or changed since an earlier run here, by a command or by you: " + fewPaths(noted, root) +
			" (sbx tripwire shows it; said once)")
	}
	if len(alarms) == 0 {
		return
	}
	line := "new or changed since an earlier run here, and your tools may run it: " + fewPaths(alarms, root) +
		" (sbx tripwire shows it)"
	if !c.Inv.Client || !session.Told(told, root+": "+line) {
		tell(line)
	}
}

// ByGrade takes the changes that are no alarm out of others.
func ByGrade(all []tripwire.Change) (alarms, noted []tripwire.Change) {
	for _, c := range all {
		if c.Grade == tripwire.Alarm {
			alarms = append(alarms, c)
		} else {
			noted = append(noted, c)
		}
	}
	return alarms, noted
}

// project is a work tree with what is watched in it.
type project struct {
	root    string
	watched []tripwire.Watch
}

// elsewhere sorts what is watched outside of the project by the projects it
// belongs to: whoever looks there is to hear of it, too.
func (c *Context) elsewhere(root string, watched []tripwire.Watch) (out []project) {
	h := c.Host
	for _, w := range watched {
		if policy.Within(w.Path, root) {
			continue
		}
		dir := policy.Dir(w.Path)
		if i := strings.Index(w.Path+"/", "/.git/"); i > 0 {
			dir = w.Path[:i]
		}
		other := host.Outermost(h.FS, cmp.Or(host.WorkTree(h.FS, dir, h.UID, h.Homes), dir), h.UID, h.Homes)
		if i := slices.IndexFunc(out, func(p project) bool { return p.root == other }); i >= 0 {
			out[i].watched = append(out[i].watched, w)
		} else {
			out = append(out, project{other, []tripwire.Watch{w}})
		}
	}
	return out
}

// withExposed adds what exists and is not protected but watched, as it is now. What is
// put back after the run needs no watch.
func withExposed(p *engine.Plan) ([]tripwire.Watch, error) {
	watched := slices.Clone(p.Report.Watch)
	for _, more := range []struct {
		kind  tripwire.Kind
		paths []string
	}{{tripwire.Kept, p.Report.Exposed}, {tripwire.Place, p.Report.Movable}} {
		for _, path := range more.paths {
			kind := more.kind
			if slices.Contains(p.Report.Copied, path) {
				continue
			}
			state, err := tripwire.Look(kind, path)
			if err != nil && kind == tripwire.Kept {
				kind = tripwire.Name // a part of what is in it
				state, err = tripwire.Look(kind, path)
			}
			if err != nil {
				return nil, err
			}
			watched = append(watched, tripwire.Watch{Kind: kind, Path: path, State: state})
		}
	}
	return watched, nil
}

// fewPaths lists the paths of changes on a line, five at most.
func fewPaths(changes []tripwire.Change, root string) string {
	var out []string
	for i := range changes {
		c := &changes[i]
		name := text.Plain(Below(c.Path, root))
		if c.Unseen() {
			name += " " + tripwire.Plain(strings.TrimPrefix(c.Now, "other "))
		}
		out = append(out, name)
	}
	return text.Few(out, 5, ", ")
}

// Below is a path relative to dir when it lies in it.
func Below(path, dir string) string {
	if path != dir && policy.Within(path, dir) {
		return strings.TrimPrefix(path[len(dir):], "/")
	}
	return path
}

// TripwireError adds what to do about a record that cannot be believed.
func TripwireError(err error) error {
	var damaged *tripwire.DamagedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &damaged):
		return Failed(damaged.Error(), "look at the project first, since this forgets what was recorded: rm -r "+text.ShellWord(damaged.Path))
	case errors.Is(err, tripwire.ErrNewer):
		return Failed(err.Error(), "use that sbx, or look at the project and then remove that file")
	case errors.As(err, new(*tripwire.UnwritableError)):
		return Failed(err.Error(), "")
	}
	return Failed("tripwire: "+err.Error(), "")
}
