// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"
)

// Add puts more rules in their places. Those that are there are sorted.
func (pol *Policy) Add(rules ...Rule) {
	if len(rules) == 0 {
		return
	}
	more, all := slices.Clone(rules), make([]Rule, len(pol.Rules)+len(rules))
	sortRules(more)
	mergeRules(all, pol.Rules, more)
	pol.Rules = all
}

// sortRules sorts rules that come in a few sorted runs, as those of built-in
// profiles do (see [PathRef]): it finds the runs and merges neighbours, and what
// stands between two rules of the other run moves in one piece.
func sortRules(rules []Rule) {
	var ends []int // of the runs
	for i := range rules {
		if i+1 == len(rules) || compareRules(&rules[i], &rules[i+1]) > 0 {
			ends = append(ends, i+1)
		}
	}
	from, to := rules, make([]Rule, len(rules))
	for len(ends) > 1 {
		start, merged := 0, ends[:0]
		for i := 0; i < len(ends); i += 2 {
			middle, end := ends[i], ends[min(i+1, len(ends)-1)]
			mergeRules(to[start:end], from[start:middle], from[middle:end])
			start, merged = end, append(merged, end)
		}
		from, to, ends = to, from, merged
	}
	if len(rules) > 0 && &from[0] != &rules[0] {
		copy(rules, from)
	}
}

// mergeRules merges two sorted runs; a goes first where they are equal.
func mergeRules(to, a, b []Rule) {
	for limit := 1; len(b) > 0; limit = 1 - limit {
		n := 0
		if len(a) > 0 {
			n = before(a, &b[0], limit)
		}
		to = to[copy(to, a[:n]):]
		a, b = b, a[n:]
	}
	copy(to, a)
}

// before counts the rules at the start of a sorted run that compare with r as
// less than limit.
func before(run []Rule, r *Rule, limit int) int {
	low, high := 0, 1 // all below low count, high doubles: most pieces are short or whole
	for high < len(run) && compareRules(&run[high-1], r) < limit {
		low, high = high, 2*high
	}
	high = min(high, len(run))
	for low < high {
		if middle := (low + high) / 2; compareRules(&run[middle], r) < limit {
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
