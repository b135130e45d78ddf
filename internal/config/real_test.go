// SPDX-License-Identifier: Apache-2.0

package config

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/profiles"
)

// TestProjectMayChooseStrict: with the built-in profiles as shipped, a project
// may ask for the tighter ones and not for the wider.
func TestProjectMayChooseStrict(t *testing.T) {
	tests := []struct{ project, want string }{
		{"default_profile='strict'", "strict"},
		{"default_profile='permissive'", "moderate"},
		{"default_profile='mine'\n[profiles.mine]\nextends='moderate'\nblocked_paths=['$CWD/y']", "mine"},
		{"default_profile='mine'\n[profiles.mine]\nextends='permissive'\nallow_network=false", "moderate"},
	}
	for _, tt := range tests {
		s, err := Load(profiles.Builtin(), []File{file(policy.Project, tt.project)}, testVars)
		if err != nil {
			t.Fatal(err)
		}
		if s.DefaultProfile != tt.want {
			t.Errorf("%s: got %s, want %s; %q", tt.project, s.DefaultProfile, tt.want, s.Notices)
		}
	}
}

// TestBuiltinTexts: the text of a built-in profile, which people copy, is one
// for this reader too, and says what the generated value says.
func TestBuiltinTexts(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		t.Run(goos, func(t *testing.T) { builtinTexts(t, goos) })
	}
}

func builtinTexts(t *testing.T, goos string) {
	for name, stack := range profiles.For(goos) {
		text, _ := profiles.TextFor(goos, name)
		want, lent := *stack[0], []policy.Item(nil)
		want.Sorted = nil // it is made of what is compared
		if want.Module {
			text, lent = asProfile(t, name, text)
			want.Module = false
		}
		for _, items := range []*[]policy.Item{&want.Private.Items, &want.Write.Items, &want.Read.Items,
			&want.Protect.Items, &want.Block.Items, &want.EnvPass.Items, &want.EnvDrop.Items, &want.Lent} {
			*items = without(*items, func(it policy.Item) bool { // less what comes from modules
				return it.Offline || it.Source != "" && it.Source != name+" on macOS"
			})
			for i := range *items {
				(*items)[i].Source = ""
			}
		}
		p, err := profileOf(t, name, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range policy.ListKeys() {
			for i := range p.List(key).Items {
				p.List(key).Items[i].Source = ""
			}
		}
		p.Source, p.Where, p.Lent = stack[0].Source, stack[0].Where, lent
		if diff := cmp.Diff(&want, p.Profile); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// profileOf reads a file that is one profile.
func profileOf(t *testing.T, name, text string) (*profileDoc, error) {
	t.Helper()
	doc := newDocument(File{Path: name + ".toml", Data: []byte(text)})
	n, err := doc.read()
	if err != nil {
		t.Fatal(err)
	}
	return doc.profile(entry{key: name, value: n})
}

// without is a copy of items less those, nil when none is left.
func without(items []policy.Item, those func(policy.Item) bool) []policy.Item {
	if out := slices.DeleteFunc(slices.Clone(items), those); len(out) > 0 {
		return out
	}
	return nil
}

// asProfile is the text of a module less what no file can say, and checks that
// none can; the paths among that are returned.
func asProfile(t *testing.T, name, text string) (string, []policy.Item) {
	t.Helper()
	var lent []policy.Item
	text = regexp.MustCompile(`"\$[^"]*",?`).ReplaceAllStringFunc(text, func(s string) string {
		path := strings.Trim(s, `",`)
		if !policy.Lends(path) {
			return s
		}
		lent = append(lent, policy.Item{Text: path})
		return ""
	})
	for key, pattern := range map[string]string{"module": `(?m)^module = true\n`,
		"offline_paths": `(?m)^offline_paths = \[.*\]\n`} {
		only := regexp.MustCompile(pattern).FindString(text)
		if only == "" && key == "offline_paths" {
			continue
		}
		if _, err := profileOf(t, name, only); err == nil || !strings.Contains(err.Error(), "unknown key \""+key) {
			t.Errorf("%s: %s in a file: %v", name, key, err)
		}
		text = strings.Replace(text, only, "", 1)
	}
	return text, lent
}

func BenchmarkLoadProject(b *testing.B) {
	for _, text := range []string{"[profiles.moderate]\nblocked_paths=['$CWD/y']",
		"[profiles.moderate]\nprotected_paths=['$CWD/x']", "default_profile='strict'"} {
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				if _, err := Load(profiles.Builtin(), []File{file(policy.Project, text)}, testVars); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
