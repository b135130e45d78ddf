// SPDX-License-Identifier: Apache-2.0

package config

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/man"
)

// TestManNamesEveryKey: each key heads a paragraph of sbx-config(5), in the part for
// the top of a file or that for profiles, and no other word does.
func TestManNamesEveryKey(t *testing.T) {
	_, top, _ := strings.Cut(man.Page("sbx-config.5"), ".SS Keys at the top\n")
	top, profile, _ := strings.Cut(top, ".SS Keys of a profile\n")
	profile, _, _ = strings.Cut(profile, ".SS ")
	for part, want := range map[string][]string{top: topNames(), profile: profileNames()} {
		var got []string
		for _, m := range regexp.MustCompile(`(?m)^\.TP\n\.BR? (.*)`).FindAllStringSubmatch(part, -1) {
			got = append(got, strings.Fields(strings.NewReplacer(`" "`, "", `"`, "", ",", " ").Replace(m[1]))...)
		}
		slices.Sort(got)
		if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
			t.Errorf("sbx-config(5) has the keys\n%q, want\n%q", got, want)
		}
	}
}
