// SPDX-License-Identifier: Apache-2.0

package text

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiff(t *testing.T) {
	tests := []struct {
		name, old, new string
		want           []string
	}{
		{"same", "a\nb\n", "a\nb\n", nil},
		{"empty", "", "", nil},
		{"all new", "", "a\n", []string{"+a"}},
		{"all gone", "a\n", "", []string{"-a"}},
		{"changed", "a\nb\nc\n", "a\nB\nc\n", []string{" a", "-b", "+B", " c"}},
		{"added and removed", "a\nb\nc\nd\n", "b\nx\nc\nd\ne\n", []string{"-a", " b", "+x", " c", " d", "+e"}},
		{"far apart", "1\n2\n3\n4\n5\n6\n7\n8\n9\na\nb\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\na\nb\n",
			[]string{"@ 1 unchanged", " 2", " 3", " 4", "-5", "+X", " 6", " 7", " 8"}},
		{"line feed at the end", "a\nb", "a\nb\n", []string{" a", "-b  (no line feed at the end)", "+b"}},
		{"only a line feed", "", "\n", []string{"+"}},
		{"harmless", "\x1b[2J\n\ta é\n", "\xff\r\n\u202e\"\n",
			[]string{`-"\x1b[2J"`, "-\ta é", `+"\xff\r"`, `+"\u202e\""`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Diff([]byte(tt.old), []byte(tt.new))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDiffIsWhole: what is left of the result without "+" is old, without
// "-" new.
func TestDiffIsWhole(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		content := func() string {
			var b strings.Builder
			for range r.IntN(30) {
				b.WriteString(string(rune('a'+r.IntN(3+int(seed)%20))) + "\n")
			}
			return b.String()
		}
		old, now := content(), content()
		lines := Diff([]byte(old), []byte(now))
		rest := strings.SplitAfter(old, "\n") // of old, what the result has not come to yet
		var before, after strings.Builder
		take := func(n int) {
			for _, l := range rest[:n] {
				before.WriteString(l)
				after.WriteString(l)
			}
			rest = rest[n:]
		}
		for _, l := range lines {
			if n, left := strings.CutPrefix(l, "@ "); left {
				skipped, _ := strconv.Atoi(strings.TrimSuffix(n, " unchanged"))
				take(skipped)
				continue
			}
			if l[0] != '+' {
				before.WriteString(l[1:] + "\n")
				rest = rest[1:]
			}
			if l[0] != '-' {
				after.WriteString(l[1:] + "\n")
			}
		}
		take(len(rest))
		if before.String() != old || after.String() != now {
			t.Fatalf("%q to %q: %q", old, now, lines)
		}
	}
}

// TestDiffIsBounded: the largest files there can be, with nothing in
// common.
func TestDiffIsBounded(t *testing.T) {
	old, now := strings.Repeat("a\n", 500_000), strings.Repeat("b\n", 500_000)
	if got := Diff([]byte(old), []byte(now)); len(got) != 1_000_000 || got[0] != "-a" || got[len(got)-1] != "+b" {
		t.Error(len(got))
	}
}
