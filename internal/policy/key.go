// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"slices"
	"strconv"
)

// Key is a single-valued key of a profile: what files may say, what it means
// when none does, and which value gives more.
type Key struct {
	Name      string
	Words     []string           // that it may be, as messages list them; nil for switches and numbers
	Low, High float64            // of numbers
	Field     func(*Profile) any // where its value is: a *Switch, *string, *float64 or *int

	unsaid string   // the word that counts when no profile has one
	usual  string   // the number that a run gets when no profile has one, where the host can hold it
	rank   []string // values from tight to wide, where Words have another order
	policy func(*Policy) any
}

// The bounds of numbers are far above what is of use, and far below what a
// kernel or a float would choke on.
const maxMB = 16 << 20 // 16 TiB

// UsualProcs is how many processes and threads a command may have when no one says how
// many, where that can be held at no cost: enough for any build, too few to use up the machine.
const UsualProcs = 4096

var offOn = []string{"false", "true"}

var keys = [...]Key{
	{Name: "allow_network", rank: offOn,
		Field: func(p *Profile) any { return &p.AllowNetwork }, policy: func(p *Policy) any { return &p.Network }},
	{Name: "share_pid", rank: offOn,
		Field: func(p *Profile) any { return &p.SharePID }, policy: func(p *Policy) any { return &p.SharePID }},
	{Name: "read_only", rank: []string{"true", "false"},
		Field: func(p *Profile) any { return &p.ReadOnly }, policy: func(p *Policy) any { return &p.CWDReadOnly }},
	{Name: "workspace", // no words: an absolute path
		Field: func(p *Profile) any { return &p.Workspace }, policy: func(p *Policy) any { return &p.Workspace }},
	{Name: "new_session", Words: []string{"yes", "no", "auto"}, rank: []string{"yes", "auto", "no"}, unsaid: "auto",
		Field: func(p *Profile) any { return &p.NewSession }, policy: func(p *Policy) any { return &p.NewSession }},
	{Name: "seccomp", Words: []string{"default", "strict", "dev", "off"},
		rank:   []string{"strict", "default", "dev", "off"},
		unsaid: "default",
		Field:  func(p *Profile) any { return &p.Seccomp }, policy: func(p *Policy) any { return &p.Seccomp }},
	{Name: "git", Words: []string{"none", "commit", "full"}, unsaid: "none",
		Field: func(p *Profile) any { return &p.Git }, policy: func(p *Policy) any { return &p.Git }},
	{Name: "cache", Words: []string{"none", "private"}, rank: []string{}, unsaid: "none",
		Field: func(p *Profile) any { return &p.Cache }, policy: func(p *Policy) any { return &p.Cache }},
	{Name: "scope", Words: []string{"cwd", "project"}, unsaid: "project",
		Field: func(p *Profile) any { return &p.Scope }, policy: func(p *Policy) any { return &p.Scope }},
	{Name: "protect", Words: []string{"enforce", "auto"}, unsaid: "auto",
		Field: func(p *Profile) any { return &p.Protected }, policy: func(p *Policy) any { return &p.Protected }},
	{Name: "environment", Words: []string{"inherit", "list"}, rank: []string{"list", "inherit"}, unsaid: "list",
		Field: func(p *Profile) any { return &p.Environment }, policy: func(p *Policy) any { return &p.Environment }},
	{Name: "limits", Words: []string{"enforce", "best-effort"}, unsaid: "enforce",
		Field: func(p *Profile) any { return &p.Limits }, policy: func(p *Policy) any { return &p.Limits }},
	{Name: "min_tier", Words: []string{"full", "reduced"}, unsaid: "reduced",
		Field: func(p *Profile) any { return &p.MinTier }, policy: func(p *Policy) any { return &p.MinTier }},
	{Name: "on_unmasked", Words: []string{"end", "warn"}, unsaid: "end",
		Field: func(p *Profile) any { return &p.OnUnmasked }, policy: func(p *Policy) any { return &p.OnUnmasked }},
	{Name: "timeout_seconds", Low: 0.001, High: 365 * 24 * 3600,
		Field:  func(p *Profile) any { return &p.TimeoutSeconds },
		policy: func(p *Policy) any { return &p.TimeoutSeconds }},
	{Name: "memory_limit_mb", Low: 1, High: maxMB,
		Field:  func(p *Profile) any { return &p.MemoryLimitMB },
		policy: func(p *Policy) any { return &p.MemoryLimitMB }},
	{Name: "cpus", Low: 0.01, High: 4096,
		Field: func(p *Profile) any { return &p.CPUs }, policy: func(p *Policy) any { return &p.CPUs }},
	{Name: "procs", Low: 1, High: 4 << 20, usual: strconv.Itoa(UsualProcs),
		Field: func(p *Profile) any { return &p.Procs }, policy: func(p *Policy) any { return &p.Procs }},
	{Name: "file_size_limit_mb", Low: 1. / 1024, High: maxMB,
		Field: func(p *Profile) any { return &p.FileSizeMB }, policy: func(p *Policy) any { return &p.FileSizeMB }},
	{Name: "tmpfs_limit_mb", Low: 1, High: maxMB,
		Field: func(p *Profile) any { return &p.TmpfsLimitMB }, policy: func(p *Policy) any { return &p.TmpfsLimitMB }},
}

// Keys returns the single-valued keys in a fixed order.
func Keys() []Key { return keys[:] }

// KeyOf returns the key of a name, nil when there is none.
func KeyOf(name string) *Key {
	if i := slices.IndexFunc(keys[:], func(k Key) bool { return k.Name == name }); i >= 0 {
		return &keys[i]
	}
	return nil
}

// Bounds reports whether a number is one that the key can have.
func (k *Key) Bounds(n float64) bool { return k.Low <= n && n <= k.High }

// Unordered reports whether no value of a key gives more than another: what is
// locked there is fixed. So are variables: the lack of one (a proxy) may give more, too.
func Unordered(key string) bool {
	k := KeyOf(key)
	return key == "env_set" || key == "workspace" || k != nil && k.rank != nil && len(k.rank) == 0
}

// Wider reports whether value b of a single key gives more than value a.
// Numbers are limits: a larger one gives more, and "" (no limit) the most.
func Wider(key, a, b string) bool {
	if key == "workspace" || key == "seccomp" && (SeccompFile(a) || SeccompFile(b)) {
		return a != b // what is in a file is not known here, and no place is better than another
	}
	k := KeyOf(key)
	if k != nil && k.High == 0 {
		rank := k.rank
		if rank == nil {
			rank = k.Words
		}
		return slices.Index(rank, b) > slices.Index(rank, a)
	}
	if a == "" && b != "" && k != nil {
		a = k.usual
	}
	x, _ := strconv.ParseFloat(a, 64)
	y, _ := strconv.ParseFloat(b, 64)
	return a != "" && (b == "" || y > x)
}

// Tighter reports whether value b of a single key gives less than value a, and
// nothing more.
func Tighter(key, a, b string) bool { return Wider(key, b, a) && !Wider(key, a, b) }

// Scalar is one single-valued setting.
type Scalar struct{ Key, Value string }

// Scalars returns the single-valued settings that p makes, in a fixed order.
func (p *Profile) Scalars() []Scalar {
	var out []Scalar
	for i := range keys {
		if v := valueText(keys[i].Field(p)); v != "" {
			out = append(out, Scalar{keys[i].Name, v})
		}
	}
	return out
}

// Scalars returns the single values of the policy in a fixed order.
func (pol *Policy) Scalars() []Scalar {
	out := make([]Scalar, len(keys))
	for i := range keys {
		out[i] = Scalar{keys[i].Name, valueText(keys[i].policy(pol))}
	}
	return out
}

// Unsaid returns what counts when no profile says the key.
func (k *Key) Unsaid() string {
	var pol Policy
	pol.setScalars(&Profile{})
	return valueText(k.policy(&pol))
}

// setScalars gives every single value of the policy the profile's.
func (pol *Policy) setScalars(p *Profile) {
	for i := range keys {
		to := keys[i].policy(pol)
		assign(to, keys[i].Field(p))
		if word, ok := to.(*string); ok {
			*word = cmp.Or(*word, keys[i].unsaid)
		}
	}
	pol.TmpfsLimitMB = cmp.Or(pol.TmpfsLimitMB, defaultTmpfsMB)
}

// assign copies a value from a field of a profile to one of a profile or policy.
func assign(to, from any) {
	switch from := from.(type) {
	case *Switch:
		if yes, ok := to.(*bool); ok {
			*yes = *from == Yes
		} else {
			*to.(*Switch) = *from
		}
	case *string:
		*to.(*string) = *from
	case *float64:
		*to.(*float64) = *from
	case *int:
		*to.(*int) = *from
	}
}

// valueText shows a value as files have it; one that is unsaid is "".
func valueText(field any) string {
	switch f := field.(type) {
	case *Switch:
		if *f == Unsaid {
			return ""
		}
		return strconv.FormatBool(*f == Yes)
	case *bool:
		return strconv.FormatBool(*f)
	case *string:
		return *f
	case *float64:
		return number(*f)
	case *int:
		return number(float64(*f))
	}
	return ""
}

// number prints without an exponent; 0 is the empty string, unsaid.
func number(f float64) string {
	if f == 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
