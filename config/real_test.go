package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/policy"
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
	for name, stack := range profiles.Builtin() {
		text, _ := profiles.Text(name)
		n, src, err := readTOML(name+".toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		d := decoder{src: src}
		p, err := d.profile(entry{name, 0, n}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range policy.ListKeys() {
			for i := range p.List(key).Items {
				p.List(key).Items[i].Source = ""
			}
		}
		p.Source, p.Where = stack[0].Source, stack[0].Where
		if diff := cmp.Diff(stack[0], p.Profile); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func BenchmarkLoadProject(b *testing.B) {
	for _, text := range []string{"[profiles.moderate]\nblocked_paths=['$CWD/y']", "[profiles.moderate]\nprotected_paths=['$CWD/x']", "default_profile='strict'"} {
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				if _, err := Load(profiles.Builtin(), []File{file(policy.Project, text)}, testVars); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
