// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/profiles"
)

// untrustedWith is the text of a project file with new profiles.
func untrustedWith(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[profiles.p%d]\nextends = 'moderate'\nblocked_paths = ['$CWD/x%d']\n", i, i)
	}
	return b.String()
}

// BenchmarkUntrusted loads a project file that is not trusted: each of its
// profiles is held against what the user would get without it.
func BenchmarkUntrusted(b *testing.B) {
	for _, n := range []int{0, 1, 8} {
		f := File{Path: "/home/u/p/.sbx.toml", Layer: policy.Project, Data: []byte(untrustedWith(n))}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				if _, err := Load(profiles.Builtin(), []File{f}, testVars); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestUntrustedProfilesAreBounded: what a project file costs each start has an
// end, however its profiles are spread over files (issue 15).
func TestUntrustedProfilesAreBounded(t *testing.T) {
	top := file(policy.Project, untrustedWith(untrustedProfiles))
	more := file(policy.Project, "[profiles.more]\nextends = 'moderate'\n")
	if _, err := Load(testBuiltin(), []File{top}, testVars); err != nil {
		t.Error(err)
	}
	_, err := Load(testBuiltin(), []File{top, more}, testVars)
	if err == nil || !strings.Contains(err.Error(), "more than 16 profiles in the files of this project") {
		t.Error(err)
	}
	more.Trusted = true
	if _, err := Load(testBuiltin(), []File{top, more}, testVars); err != nil {
		t.Error("a trusted file counts: ", err)
	}
}
