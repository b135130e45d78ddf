package main

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/session"
	"github.com/sbx-sandbox/sbx/internal/tripwire"
)

// records is where what was there before a run is remembered, and the root of
// the project it is remembered for: the outermost work tree, since a command can
// make a repository of any directory.
func records(v policy.Vars, h *host.Host) (store tripwire.Store, root string) {
	return recordStore(v, h), host.Outermost(h.FS, cmp.Or(v.Root, v.CWD), h.UID, h.Homes)
}

func recordStore(v policy.Vars, h *host.Host) (store tripwire.Store) {
	store.UID, store.Keeps = h.UID, h.Keeps
	if dir, ok, err := v.Expand("$XDG_STATE_HOME/sbx/tripwire"); ok && err == nil {
		store.Dir = dir
	}
	return store
}

// watch tells of what earlier runs left, and records what could appear in this
// one. Records that cannot be believed stop the run; that nothing can be
// recorded does not.
func (s *state) watch(p *engine.Plan) error {
	store, root := recordStore(s.vars, s.host), cmp.Or(s.around(), s.host.CWD)
	switch {
	case s.opts.Quiet:
	case isTerminal(2):
		store.Tells = tripwire.ToTerminal
	default:
		store.Tells = tripwire.ToLog
	}
	watched, err := withExposed(p)
	if err != nil {
		return tripwireError(err)
	}
	changes, err := store.Check(root, watched)
	for _, other := range s.elsewhere(root, watched[len(p.Report.Watch):]) {
		if err != nil {
			break
		}
		var more []tripwire.Change
		more, err = store.Check(other.root, other.watched)
		changes = append(changes, more...)
	}
	changes, noted := byGrade(changes)
	if len(noted) > 0 {
		s.tell("new or changed since an earlier run here, by a command or by you: " + fewPaths(noted, root) + " (sbx tripwire shows it; said once)")
	}
	if len(changes) > 0 {
		text := "new or changed since an earlier run here, and your tools may run it: " + fewPaths(changes, root) + " (sbx tripwire shows it)"
		if c := s.opts.shell; c == nil || !session.Told(cmp.Or(c.dir, store.Dir), root+": "+text) {
			s.tell(text)
		}
	}
	var cannot *tripwire.UnwritableError
	if errors.As(err, &cannot) && s.settings.Tripwire == "required" {
		return &host.Error{Status: host.StatusFailed, Text: "this project cannot be watched, and tripwire = \"required\" (" + s.settings.Where["tripwire"] + "): " + cannot.Err.Error(),
			Hint: "set HOME to a directory of yours, or XDG_STATE_HOME to one that exists"}
	}
	if errors.As(err, &cannot) && len(p.Report.Exposed) == 0 {
		s.notice("this project is unwatched; what the run leaves for your tools to run cannot be reported later: " + cannot.Err.Error())
		return nil
	}
	return tripwireError(err)
}

// byGrade takes the changes that are no alarm out of others.
func byGrade(all []tripwire.Change) (alarms, noted []tripwire.Change) {
	for _, c := range all {
		if c.Grade == tripwire.Alarm {
			alarms = append(alarms, c)
		} else {
			noted = append(noted, c)
		}
	}
	return alarms, noted
}

// tell is a line that a person or a client has to hear of, unless -q says
// otherwise.
func (s *state) tell(text string) {
	if !s.opts.Quiet {
		say("notice", text)
	}
}

// project is a work tree with what is watched in it.
type project struct {
	root    string
	watched []tripwire.Watch
}

// elsewhere sorts what is watched outside of the project by the projects it
// belongs to: whoever looks there is to hear of it, too.
func (s *state) elsewhere(root string, watched []tripwire.Watch) (out []project) {
	for _, w := range watched {
		if policy.Within(w.Path, root) {
			continue
		}
		dir := policy.Dir(w.Path)
		if i := strings.Index(w.Path+"/", "/.git/"); i > 0 {
			dir = w.Path[:i]
		}
		other := host.Outermost(s.host.FS, cmp.Or(host.WorkTree(s.host.FS, dir, s.host.UID, s.host.Homes), dir), s.host.UID, s.host.Homes)
		if i := slices.IndexFunc(out, func(p project) bool { return p.root == other }); i >= 0 {
			out[i].watched = append(out[i].watched, w)
		} else {
			out = append(out, project{other, []tripwire.Watch{w}})
		}
	}
	return out
}

// withExposed adds what exists and is not protected but watched, as it is now.
func withExposed(p *engine.Plan) ([]tripwire.Watch, error) {
	watched := slices.Clone(p.Report.Watch)
	for _, path := range p.Report.Exposed {
		state, err := tripwire.Look(tripwire.Kept, path)
		if err != nil {
			return nil, err
		}
		watched = append(watched, tripwire.Watch{Kind: tripwire.Kept, Path: path, State: state})
	}
	for _, path := range p.Report.Movable {
		state, err := tripwire.Look(tripwire.Place, path)
		if err != nil {
			return nil, err
		}
		watched = append(watched, tripwire.Watch{Kind: tripwire.Place, Path: path, State: state})
	}
	return watched, nil
}

// unkept is the error for something that a user asked to have kept, where it
// cannot be.
func unkept(h *host.Host, dir, what, hint string) error {
	if why := h.Keeps(dir); why != nil {
		return &host.Error{Status: host.StatusFailed, Text: what + ": " + why.Error(), Hint: hint}
	}
	return nil
}

// fewPaths lists the paths of changes on a line, five at most.
func fewPaths(changes []tripwire.Change, root string) string {
	const few = 5
	var out []string
	for i := range changes[:min(few, len(changes))] {
		c := &changes[i]
		text := policy.Plain(below(c.Path, root))
		if c.Unseen() {
			text += " " + tripwire.Plain(strings.TrimPrefix(c.Now, "other "))
		}
		out = append(out, text)
	}
	text := strings.Join(out, ", ")
	if n := len(changes) - few; n > 0 {
		text += " and " + strconv.Itoa(n) + " more"
	}
	return text
}

// below is a path relative to dir when it lies in it.
func below(path, dir string) string {
	if path != dir && policy.Within(path, dir) {
		return strings.TrimPrefix(path[len(dir):], "/")
	}
	return path
}

// tripwireError adds what to do about a record that cannot be believed.
func tripwireError(err error) error {
	var damaged *tripwire.DamagedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &damaged):
		return &host.Error{Status: host.StatusFailed, Text: damaged.Error(),
			Hint: "look at the project first, since this forgets what was recorded: " + shellLine([]string{"rm", "-r", damaged.Path})}
	case errors.Is(err, tripwire.ErrNewer):
		return &host.Error{Status: host.StatusFailed, Text: err.Error(), Hint: "use that sbx, or look at the project and then remove that file"}
	case errors.As(err, new(*tripwire.UnwritableError)):
		return &host.Error{Status: host.StatusFailed, Text: err.Error()}
	}
	return &host.Error{Status: host.StatusFailed, Text: "tripwire: " + err.Error()}
}
