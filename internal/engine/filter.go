// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Filter is a seccomp filter from a file, for people.
type Filter struct {
	Path    string   `json:"path"`
	Rules   int      `json:"rules"`
	Feigns  bool     `json:"-"`       // it answers some call as if it had been made
	Hinders []string `json:"hinders"` // calls that it refuses and without which not even /bin/true starts
	Notes   []string `json:"-"`       // what is to be known of it, one line each
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
func (r *Run) CommandFilter() ([]byte, error) {
	path, named := r.Policy.Seccomp, r.Request.Filter
	if !policy.SeccompFile(path) {
		return nil, nil
	}
	if named == nil {
		return nil, Fail("seccomp: "+text.Plain(path)+" was not read", "")
	}
	if !r.Request.Agreed {
		if err := r.View.GuardFilter(path); err != nil {
			return nil, err
		}
	}
	file := *named
	// There a thread of sbx itself becomes the command, and others are left.
	file.WholeProcess = r.Confined != nil || r.Policy.SharePID
	code, err := file.Filter(r.Host.Arch)
	if err != nil {
		return nil, Fail(err.Error(), "")
	}
	hinders, err := named.Hinders(r.Host.Arch)
	if err != nil {
		return nil, Fail(err.Error(), "")
	}
	f := &Filter{Path: path, Rules: named.Rules(), Feigns: named.Feigns(), Hinders: append([]string{}, hinders...)}
	for _, n := range named.Notes() {
		f.Notes = append(f.Notes, text.Plain(path)+": "+n)
	}
	if len(f.Hinders) > 0 {
		f.Notes = append(f.Notes, text.Plain(path)+" refuses "+text.And(f.Hinders)+": without that not even /bin/true starts")
	}
	r.Report.Filter = f
	r.Report.Notes = append(slices.Clip(r.Report.Notes), f.Notes...)
	return code, nil
}
