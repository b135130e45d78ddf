package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLineDiff(t *testing.T) {
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
		{"far apart", "1\n2\n3\n4\n5\n6\n7\n8\n9\na\nb\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\na\nb\n", []string{"@ 1 unchanged", " 2", " 3", " 4", "-5", "+X", " 6", " 7", " 8"}},
		{"line feed at the end", "a\nb", "a\nb\n", []string{" a", "-b  (no line feed at the end)", "+b"}},
		{"only a line feed", "", "\n", []string{"+"}},
		{"harmless", "\x1b[2J\n\ta é\n", "\xff\r\n\u202e\"\n", []string{`-"\x1b[2J"`, "-\ta é", `+"\xff\r"`, `+"\u202e\""`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lineDiff([]byte(tt.old), []byte(tt.new))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLineDiffIsWhole: with what is left out put back, the result without "+" is
// old, and without "-" new.
func TestLineDiffIsWhole(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		text := func() (lines []string) {
			for range r.IntN(20) {
				lines = append(lines, string(rune('a'+r.IntN(3)))+"\n")
			}
			return lines
		}
		old, now := text(), text()
		rest, before, after := old, "", ""
		both := func(n int) {
			common := strings.Join(rest[:n], "")
			rest, before, after = rest[n:], before+common, after+common
		}
		for _, l := range lineDiff([]byte(strings.Join(old, "")), []byte(strings.Join(now, ""))) {
			var n int
			switch _, err := fmt.Sscanf(l, "@ %d unchanged", &n); {
			case err == nil:
				both(n)
			case l[0] == '+':
				after += l[1:] + "\n"
			case l[0] == '-':
				rest, before = rest[1:], before+l[1:]+"\n"
			case l[1:]+"\n" != rest[0]:
				t.Fatalf("%q stands where %q is", l, rest[0])
			default:
				both(1)
			}
		}
		both(len(rest))
		if before != strings.Join(old, "") || after != strings.Join(now, "") {
			t.Fatalf("%q to %q: %q, %q", old, now, before, after)
		}
	}
}

// TestLineDiffIsBounded: the largest files there can be, with nothing in
// common.
func TestLineDiffIsBounded(t *testing.T) {
	old, now := strings.Repeat("a\n", 500_000), strings.Repeat("b\n", 500_000)
	if got := lineDiff([]byte(old), []byte(now)); len(got) != 1_000_000 || got[0] != "-a" || got[len(got)-1] != "+b" {
		t.Error(len(got))
	}
}
