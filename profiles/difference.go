// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"slices"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// difference is what a profile has on macOS only.
type difference struct {
	name   string
	added  []addition
	sorted []policy.PathRef // of the profile with all that is added
}

// addition is what comes after the first elements of a list.
type addition struct {
	to    whichList
	after int
	items []policy.Item
}

type whichList uint8

const (
	private whichList = iota
	write
	read
	lent
	protect
	block
	envPass
	envDrop
)

// apply returns the profile with what is added. Additions to a list are in its
// order.
func (d *difference) apply(p *policy.Profile) *policy.Profile {
	q := *p
	lists := [...]*[]policy.Item{
		private: &q.Private.Items, write: &q.Write.Items, read: &q.Read.Items, lent: &q.Lent,
		protect: &q.Protect.Items, block: &q.Block.Items, envPass: &q.EnvPass.Items, envDrop: &q.EnvDrop.Items,
	}
	for to, list := range lists {
		var out []policy.Item
		from := 0
		for _, a := range d.added {
			if a.to == whichList(to) {
				out, from = slices.Concat(out, (*list)[from:a.after], a.items), a.after
			}
		}
		if out != nil {
			*list = append(out, (*list)[from:]...)
		}
	}
	q.Sorted = d.sorted
	return &q
}
