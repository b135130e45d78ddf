package engine

import (
	"slices"
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
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
		return text.Plain(f.Path) + " (1 rule)"
	}
	return text.Plain(f.Path) + " (" + strconv.Itoa(f.Rules) + " rules)"
}

// CommandFilter returns the program of the file that the policy's seccomp names,
// nil when it names none, and reports about it.
func (p *Plan) CommandFilter(req Request, h *host.Host) ([]byte, error) {
	path := p.Report.Policy.Seccomp
	if !policy.SeccompFile(path) {
		return nil, nil
	}
	if req.Filter == nil {
		return nil, Fail("seccomp: "+text.Plain(path)+" was not read", "")
	}
	if err := p.Report.View.GuardFilter(path); err != nil {
		return nil, err
	}
	file := *req.Filter
	// There a thread of sbx itself becomes the command, and others are left.
	file.WholeProcess = p.Confined != nil || p.Report.Policy.SharePID
	code, err := file.Filter(h.Arch)
	if err != nil {
		return nil, Fail(err.Error(), "")
	}
	f := &Filter{Path: path, Rules: req.Filter.Rules(), Feigns: req.Filter.Feigns()}
	if f.Hinders, err = req.Filter.Hinders(h.Arch); err != nil {
		return nil, Fail(err.Error(), "")
	}
	for _, n := range req.Filter.Notes() {
		f.Notes = append(f.Notes, text.Plain(path)+": "+n)
	}
	if len(f.Hinders) > 0 {
		f.Notes = append(f.Notes, text.Plain(path)+" refuses "+text.And(f.Hinders)+": without that not even /bin/true starts")
	}
	p.Report.Filter = f
	p.Report.Notes = append(slices.Clip(p.Report.Notes), f.Notes...)
	return code, nil
}
