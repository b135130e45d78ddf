// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"cmp"
	"iter"
	"runtime"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

//go:generate go run ../tools/genruns

// Grade says how much a name matters that tools obey by themselves.
type Grade uint8

const (
	Alarm        Grade = iota // a tool runs what is in it without being asked
	note                      // a tool obeys it when it is started
	instructions              // a coding agent obeys the text in it
)

var gradeNames = [...]string{"alarm", "note", "instructions"}

func (g Grade) String() string { return gradeNames[g] }

// listedName is a name of the list, relative to the top of a project. The tables of
// them are sorted by key, the name in lower case.
type listedName struct {
	key, name string
	grade     Grade
}

// maxPerPattern bounds how many names of a directory a pattern finds.
const maxPerPattern = 64

// listedAs finds a path relative to the top of a project that tools obey by
// themselves and that no profile protects, nil for any other. fold is for file
// systems that find a name in any case.
func listedAs(rel string, fold bool) *listedName {
	return cmp.Or(lookUp(told[:], rel, fold), matching(rel, fold))
}

func lookUp(table []listedName, name string, fold bool) *listedName {
	for l := range keyed(table, lower(name)) {
		if fold || l.name == name {
			return l
		}
	}
	return nil
}

// keyed are the names of a table with a key.
func keyed(table []listedName, key string) iter.Seq[*listedName] {
	return func(yield func(*listedName) bool) {
		i := sort.Search(len(table), func(i int) bool { return table[i].key >= key })
		for ; i < len(table) && table[i].key == key && yield(&table[i]); i++ {
		}
	}
}

// matching looks a name up in the patterns, by what follows its last dot.
func matching(rel string, fold bool) *listedName {
	dot := strings.LastIndexByte(rel, '.')
	if dot < 0 {
		return nil
	}
	for p := range keyed(toldPatterns[:], lower(rel[dot+1:])) {
		pattern, name := p.name, rel
		if fold {
			pattern, name = lower(pattern), lower(name)
		}
		if strings.Count(pattern, "/") == strings.Count(name, "/") && policy.Match(pattern, name) {
			return p
		}
	}
	return nil
}

// lower folds case as file systems do: the long s is an s.
func lower(name string) string {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= 0x80 || 'A' <= c && c <= 'Z' {
			return strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, name)
		}
	}
	return name
}

// Pick returns which names of a directory are on the list, and those in the
// directories below that hold some, sorted. inside lists such a directory; of a
// link in its place it says true, and the link counts itself.
func Pick(names []string, inside func(rel string) (names []string, link bool)) []string {
	var out []string
	left, fold := maxPerPattern, runtime.GOOS == "darwin"
	var pick func(prefix string, names []string)
	pick = func(prefix string, names []string) {
		for _, n := range names {
			rel := prefix + n
			if lookUp(told[:], rel, fold) != nil {
				out = append(out, rel)
			} else if left > 0 && matching(rel, fold) != nil {
				out = append(out, rel)
				left--
			}
			if lookUp(toldParents[:], rel, fold) == nil {
				continue
			}
			below, link := inside(rel)
			if link {
				out = append(out, rel)
			}
			pick(rel+"/", below)
		}
	}
	pick("", names)
	return slices.Compact(sorted(out))
}

// gradeOf is the grade of what Pick returned.
func gradeOf(rel string) Grade {
	fold := runtime.GOOS == "darwin"
	if l := cmp.Or(listedAs(rel, fold), lookUp(toldParents[:], rel, fold)); l != nil {
		return l.grade
	}
	return Alarm
}
