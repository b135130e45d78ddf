// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// kind is what may stand at a key.
type kind uint8

const (
	aBool    kind = iota // true or false
	aWord                // one of a few words
	aProfile             // the name of a profile
	aFile                // an absolute path
	aVersion             // of the form of the file
	someLocks
	someProfiles
	someTools
	someShells
	someRoots
)

// key is one key at the top of a file: what may stand there, who may say it,
// and where its value goes. Each key is declared once, here; those of profiles
// are [policy.Keys] and [policy.ListKeys].
type key struct {
	name    string
	kind    kind
	rank    []string            // values from tight to wide; of aWord all there are
	project bool                // any project file may tighten it
	lock    bool                // the administrator may lock it
	field   func(*Settings) any // where its value goes; nil for what is no setting
}

// topKeys are in the order in which messages list them.
var topKeys = [...]key{
	{name: "config_version", kind: aVersion},
	{name: "enabled", kind: aBool, rank: []string{"true", "false"}, project: true, lock: true,
		field: func(s *Settings) any { return &s.Enabled }},
	{name: "default_profile", kind: aProfile, lock: true,
		field: func(s *Settings) any { return &s.DefaultProfile }},
	{name: "fallback_on_unavailable", kind: aWord, rank: []string{"block", "warn", "allow"}, project: true, lock: true,
		field: func(s *Settings) any { return &s.Fallback }},
	{name: "engine", kind: aWord, rank: []string{"bwrap", "sandbox-exec", "auto", "landlock"}, lock: true,
		field: func(s *Settings) any { return &s.Engine }},
	{name: "min_tier", kind: aWord, rank: []string{"full", "reduced"}, project: true,
		field: func(s *Settings) any { return &s.MinTier }},
	{name: "tripwire", kind: aWord, rank: []string{"required", "auto"}, project: true, lock: true,
		field: func(s *Settings) any { return &s.Tripwire }},
	{name: "shell", kind: aFile, lock: true,
		field: func(s *Settings) any { return &s.Shell }},
	{name: "audit", kind: aBool},
	{name: "quiet", kind: aBool,
		field: func(s *Settings) any { return &s.Quiet }},
	{name: "hints", kind: aBool,
		field: func(s *Settings) any { return &s.Hints }},
	{name: "direct", kind: aBool, rank: []string{"false", "true"}, lock: true,
		field: func(s *Settings) any { return &s.Direct }},
	{name: "shells", kind: someShells,
		field: func(s *Settings) any { return &s.Shells }},
	{name: "roots", kind: someRoots,
		field: func(s *Settings) any { return &s.Roots }},
	{name: "login_fallback", kind: aBool,
		field: func(s *Settings) any { return &s.LoginFallback }},
	{name: "locked", kind: someLocks},
	{name: "profiles", kind: someProfiles},
	{name: "tools", kind: someTools,
		field: func(s *Settings) any { return &s.Tools }},
}

// topKey returns the key of a name, nil when there is none.
func topKey(name string) *key {
	if i := slices.IndexFunc(topKeys[:], func(k key) bool { return k.name == name }); i >= 0 {
		return &topKeys[i]
	}
	return nil
}

// value is what settings say, nil when that is no single value.
func (k *key) value(s *Settings) any {
	if k.field == nil {
		return nil
	}
	switch f := k.field(s).(type) {
	case *bool:
		return *f
	case *string:
		return *f
	}
	return nil
}

// wider reports whether value b gives more than value a.
func (k *key) wider(a, b any) bool {
	return slices.Index(k.rank, fmt.Sprint(b)) > slices.Index(k.rank, fmt.Sprint(a))
}

// topNames are the keys at the top of a file.
func topNames() []string {
	names := make([]string, len(topKeys))
	for i, k := range topKeys {
		names[i] = k.name
	}
	return names
}

// profileNames are the keys of a profile.
func profileNames() []string {
	names := []string{"extends"}
	for _, k := range policy.Keys() {
		names = append(names, k.Name)
	}
	return append(append(names, "env_set"), policy.ListKeys()...)
}

// lockable are the keys that can be locked.
func lockable() []string {
	var names []string
	for _, k := range topKeys {
		if k.lock {
			names = append(names, k.name)
		}
	}
	return append(names, profileNames()[1:]...)
}
