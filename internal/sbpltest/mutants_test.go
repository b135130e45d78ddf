// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"slices"
	"strings"
	"testing"
)

func TestMutants(t *testing.T) {
	text := head + `(when (defined? 'file-clone) (deny file-clone))
(allow file-read* file-ioctl (subpath "/a") (require-all (subpath "/b") (require-not (literal "/b/c"))))
(allow process-fork)`
	var got []string
	for _, m := range Mutants(text) {
		got = append(got, m.Desc)
		if len(m.Text) >= len(text) {
			t.Errorf("%s: nothing is gone", m.Desc)
		}
		if _, err := (Options{lax: true}).Load(m.Text, nil); err != nil {
			t.Errorf("%s: %v\n%s", m.Desc, err, m.Text)
		}
	}
	rule := `(allow file-read* file-ioctl (subpath "/a") (require-all (subpath "/b") (require-not (literal "/b/c"))))`
	want := []string{
		`line 2: without (deny default)`,
		`line 3: without (deny file-clone)`,
		`line 4: without ` + rule,
		`line 4: without (subpath "/a") in ` + rule,
		`line 4: without (require-all (subpath "/b") (require-not (literal "/b/c"))) in ` + rule,
		`line 4: without (subpath "/b") in ` + rule,
		`line 4: without (require-not (literal "/b/c")) in ` + rule,
		`line 5: without (allow process-fork)`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
	ops := OpMutants(text)
	if len(ops) != 2 || !strings.HasPrefix(ops[0].Desc, "line 4: without file-read* in") || !strings.HasPrefix(ops[1].Desc, "line 4: without file-ioctl in") {
		t.Errorf("%q", ops)
	}
	if m := Mutants("("); m != nil {
		t.Errorf("%q", m)
	}
}

// TestKillExample: the table of the example notices whatever goes missing.
func TestKillExample(t *testing.T) {
	text, cases := example(t)
	mutants := append(Mutants(text), OpMutants(text)...)
	killed, survivors, err := Kill(text, exampleParams, cases, mutants)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range survivors {
		t.Errorf("survives: %s", m.Desc)
	}
	byCase := 0
	for _, m := range killed {
		if strings.HasPrefix(m.By, "line ") {
			byCase++
		}
	}
	t.Logf("%d mutants, %d noticed by cases, %d by lints", len(mutants), byCase, len(killed)-byCase)
	if len(killed) < 50 {
		t.Errorf("%d mutants", len(killed))
	}
}

// TestKillSurvivors: a table that does not ask does not notice. A parameter that
// only the deleted part used is no reason to call a mutant killed.
func TestKillSurvivors(t *testing.T) {
	text := head + `(allow file-read* (subpath (param "A")) (subpath (param "B")))`
	params := map[string]string{"A": "/a", "B": "/b"}
	cases := []Case{{Act: Do("read", "/a/x"), Want: true, Line: 1}}
	killed, survivors, err := Kill(text, params, cases, Mutants(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(survivors) != 1 || !strings.Contains(survivors[0].Desc, `without (subpath (param "B"))`) {
		t.Errorf("survivors %q", survivors)
	}
	if len(killed) != 3 {
		t.Errorf("killed %q", killed)
	}
	if _, _, err := Kill(text, params, []Case{{Act: Do("read", "/c"), Want: true}}, nil); err == nil {
		t.Error("a profile that does not pass its own table")
	}
	if _, _, err := Kill(text, nil, nil, nil); err == nil {
		t.Error("a profile that does not load")
	}
}

// TestKillWithFindings: what the lints say of the profile itself kills nothing,
// even where a mutant changes the words of it.
func TestKillWithFindings(t *testing.T) {
	text := head + `(allow file-read* (subpath "/tmp/a") (subpath "/usr"))`
	cases := []Case{{Act: Do("read", "/c"), Want: false}}
	killed, _, err := Kill(text, nil, cases, Mutants(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(killed) != 1 || !strings.Contains(killed[0].Desc, "(deny default)") {
		t.Errorf("killed %q", killed)
	}
}
