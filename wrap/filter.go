package wrap

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Filter is a seccomp filter from a file, for people.
type Filter struct {
	Path    string
	Rules   int
	Feigns  bool     // it answers some call as if it had been made
	Hinders []string // calls that it refuses and without which not even /bin/true starts
	Notes   []string // what is to be known of it, one line each
}

// String names the file and says how large it is.
func (f *Filter) String() string {
	if f.Rules == 1 {
		return policy.Plain(f.Path) + " (1 rule)"
	}
	return policy.Plain(f.Path) + " (" + strconv.Itoa(f.Rules) + " rules)"
}

// commandFilter returns the program of the file that the policy's seccomp names,
// nil when it names none, and reports about it.
func (p *Plan) commandFilter(req Request, h *Host) ([]byte, error) {
	path := p.Report.Policy.Seccomp
	if !policy.SeccompFile(path) {
		return nil, nil
	}
	if req.Filter == nil {
		return nil, &Error{StatusFailed, "seccomp: " + policy.Plain(path) + " was not read", ""}
	}
	if err := p.Report.view.guardFilter(path); err != nil {
		return nil, err
	}
	file := *req.Filter
	// There a thread of sbx itself becomes the command, and others are left.
	file.WholeProcess = p.Confined != nil || p.Report.Policy.SharePID
	code, err := file.Filter(h.Arch)
	if err != nil {
		return nil, &Error{StatusFailed, err.Error(), ""}
	}
	f := &Filter{Path: path, Rules: req.Filter.Rules(), Feigns: req.Filter.Feigns()}
	if f.Hinders, err = req.Filter.Hinders(h.Arch); err != nil {
		return nil, &Error{StatusFailed, err.Error(), ""}
	}
	for _, n := range req.Filter.Notes() {
		f.Notes = append(f.Notes, policy.Plain(path)+": "+n)
	}
	if len(f.Hinders) > 0 {
		f.Notes = append(f.Notes, policy.Plain(path)+" refuses "+listed(f.Hinders)+": without that not even /bin/true starts")
	}
	p.Report.Filter = f
	p.Report.Notes = append(slices.Clip(p.Report.Notes), f.Notes...)
	return code, nil
}

// listed is "a, b and c".
func listed(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// giveFilter hands the program to whoever loads it: the stage, as the last thing
// before the command, or bwrap, whose own process in the sandbox it holds, too.
func (p *Plan) giveFilter(a *bwrapargs.Args, code []byte, h *Host) error {
	switch {
	case code == nil:
	case p.Stage != nil:
		p.Stage.Filter = code
	case h.Bwrap.Version.Less(bwrapargs.HasTwoFilters):
		return &Error{StatusFailed, "bwrap " + h.Bwrap.Version.String() + " takes no second system call filter, and without the stage nobody else loads the one from " + policy.Plain(p.Report.Policy.Seccomp),
			"leave out --direct, or install bubblewrap 0.6 or newer"}
	default:
		a.Filter = code
	}
	return nil
}

// guardFilter refuses a file that the command could write, by whatever name, or
// replace by a link on the way to it: it would choose the filter of the next run.
func (v *view) guardFilter(path string) error {
	to, err := v.res.resolve(path)
	if err != nil {
		return &Error{StatusFailed, "seccomp: " + err.Error(), ""}
	}
	at := []string{to.Path}
	for _, l := range to.Links {
		at = append(at, l.Path)
	}
	for _, name := range at {
		if v.writes(name) {
			return &Error{StatusFailed, "seccomp: " + policy.Plain(path) + " could be written by the command, which would choose its own filter (" + policy.Plain(name) + " is writable in the sandbox)",
				"move the file to ~/.config/sbx, or protect it: protected_paths = [" + policy.Quote(path) + "]"}
		}
	}
	return nil
}

// writes reports whether the command can write what lies at a canonical path of
// the host, by any of its names.
func (v *view) writes(path string) bool {
	for _, name := range v.names(path) {
		if m := v.decides(name); v.access(name) == policy.Write && (m == nil || m.src == "") {
			return true
		}
		for i := range v.mounts {
			if m := &v.mounts[i]; m.src != "" && m.eff == policy.Write && !m.idle && policy.Within(name, m.src) {
				return true
			}
		}
	}
	return false
}
