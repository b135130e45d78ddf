// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"sort"
	"strings"
)

// Add puts more rules in their places. Those that are there are sorted.
func (pol *Policy) Add(rules ...Rule) {
	if len(rules) == 0 {
		return
	}
	pol.Rules = slices.Clip(pol.Rules) // another policy may have the same ones
	pol.insert(rules...)
}

// insert is Add where no other policy has the same rules. It moves each that is there
// once, from the end on.
func (pol *Policy) insert(rules ...Rule) {
	sortRules(rules)
	end := len(pol.Rules)
	pol.Rules = append(pol.Rules, rules...)
	for i := len(rules) - 1; i >= 0; i-- {
		at := sort.Search(end, func(k int) bool { return compareRules(&pol.Rules[k], &rules[i]) > 0 })
		copy(pol.Rules[at+i+1:end+i+1], pol.Rules[at:end])
		pol.Rules[at+i], end = rules[i], at
	}
}

// runs are rules that come in a few sorted runs, as those of built-in profiles do
// (see [PathRef]).
type runs []Rule

// sortRules finds the runs, merges neighbours by the places of their rules, and then
// moves each rule once: they are large.
func sortRules(rules []Rule) {
	var ends []int // of the runs
	for i := range rules {
		if i+1 == len(rules) || compareRules(&rules[i], &rules[i+1]) > 0 {
			ends = append(ends, i+1)
		}
	}
	if len(ends) < 2 {
		return
	}
	from, to := make([]uint32, len(rules)), make([]uint32, len(rules))
	for i := range from {
		from[i] = uint32(i)
	}
	for len(ends) > 1 {
		start, merged := 0, ends[:0]
		for i := 0; i < len(ends); i += 2 {
			middle, end := ends[i], ends[min(i+1, len(ends)-1)]
			runs(rules).merge(to[start:end], from[start:middle], from[middle:end])
			start, merged = end, append(merged, end)
		}
		from, to, ends = to, from, merged
	}
	runs(rules).arrange(from)
}

// arrange moves to each place the rule that order names for it.
func (r runs) arrange(order []uint32) {
	for start := range order {
		first := r[start]
		for at := start; order[at] != uint32(at); {
			next := int(order[at])
			order[at] = uint32(at) // done
			if next == start {
				r[at] = first
			} else {
				r[at], at = r[next], next
			}
		}
	}
}

// merge merges two sorted runs; a goes first where they are equal. What stands between
// two rules of the other run moves in one piece.
func (r runs) merge(to, a, b []uint32) {
	for limit := 1; len(b) > 0; limit = 1 - limit {
		n := 0
		if len(a) > 0 {
			n = r.before(a, b[0], limit)
		}
		to = to[copy(to, a[:n]):]
		a, b = b, a[n:]
	}
	copy(to, a)
}

// before counts the rules at the start of a sorted run that compare with another as
// less than limit.
func (r runs) before(run []uint32, other uint32, limit int) int {
	low, high := 0, 1 // all below low count, high doubles: most pieces are short or whole
	for high < len(run) && compareRules(&r[run[high-1]], &r[other]) < limit {
		low, high = high, 2*high
	}
	high = min(high, len(run))
	for low < high {
		if middle := (low + high) / 2; compareRules(&r[run[middle]], &r[other]) < limit {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

func compareRules(a, b *Rule) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	switch {
	case a.Access != b.Access:
		return int(b.Access) - int(a.Access)
	case a.Layer != b.Layer && a.Access == Block:
		return int(a.Layer) - int(b.Layer) // what sbx hides is not a person's to open, who hides it once more
	case a.Layer != b.Layer:
		return int(b.Layer) - int(a.Layer)
	case a.Pattern != b.Pattern:
		return order(a.Pattern)
	case a.Except != b.Except:
		return order(a.Except)
	case a.OfCWD != b.OfCWD:
		return order(a.OfCWD)
	case a.Offline != b.Offline:
		return order(a.Offline)
	case a.Lent != b.Lent:
		return int(a.Lent) - int(b.Lent)
	}
	return strings.Compare(a.Source, b.Source)
}

func order(after bool) int {
	if after {
		return 1
	}
	return -1
}
