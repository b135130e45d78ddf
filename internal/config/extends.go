// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Bounds of one profile with all it extends. Flattening visits a parent once
// for every way that leads to it: without a bound, 32 profiles that each
// extend two of the next would be visited four thousand million times.
const (
	maxChain  = 32
	maxVisits = 256
	maxSum    = 50_000 // items
)

// checkExtends checks the parents of all profiles of a file: that they exist,
// that they do not lead back, and that they add up to something bearable.
func (l *loader) checkExtends(doc *document) error {
	for _, p := range doc.profiles {
		name, visits, items := strconv.Quote(p.Name), 0, 0
		err := l.Profiles.Walk(p.Name, func(up *policy.Profile, depth int) error {
			visits++
			items += itemsOf(up)
			switch {
			case depth > maxChain:
				return doc.errorf(p.at, "profile %s: extends is nested more than %d deep", name, maxChain)
			case visits > maxVisits:
				return doc.errorf(p.at, "profile %s: extends adds up more than %d profiles", name, maxVisits)
			case items > maxSum:
				return doc.errorf(p.at, "profile %s: its lists add up to more than %d elements", name, maxSum)
			}
			return nil
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

func itemsOf(p *policy.Profile) int {
	n := len(p.EnvSet)
	for _, key := range policy.ListKeys() {
		n += len(p.List(key).Items)
	}
	return n
}
