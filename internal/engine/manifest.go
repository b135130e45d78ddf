// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/hex"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// Manifest is the JSON text of /run/sbx/policy.json. It is written by hand:
// encoding/json would cost more than all the rest of the plan. Readers take a
// key that is not there for the usual: a rule of a built-in profile, whose path
// is that of its mount. New keys may come; those there keep their meaning.
func (r *Run) Manifest() []byte {
	p, pol := r.Plan, r.Policy
	b := append(make(jsonText, 0, 12<<10), `{"sbx":1`...)
	b.texts("profiles", pol.Profiles)
	b.member("engine", p.Engine)
	b.member("tier", p.Tier)
	scalars := slices.DeleteFunc(pol.Scalars(), func(s policy.Scalar) bool {
		return s.Key == "read_only" || s.Key == "workspace" // the rules and mounts say it
	})
	for _, s := range scalars {
		b.member(s.Key, s.Value)
	}
	if names := p.Scoped(); names != nil {
		b.texts("scoped", names)
	}
	b.open("sources", '{')
	for _, s := range scalars {
		if source := pol.Where[s.Key]; source != "" && s.Value != "" {
			b.member(s.Key, source)
		}
	}
	b.close('}')
	b.open("paths", '[')
	for _, m := range r.View.Rules() {
		b.rule(&m)
	}
	b.close(']')
	b.open("env", '[')
	for _, c := range p.Report.Env {
		if c.Source == policy.Inherited || c.Source == policy.Unlisted {
			continue // the rest of what passes, and of what does not
		}
		b.open("", '{')
		b.member("name", c.Name)
		b.member("action", c.Action)
		b.member("source", c.Source)
		b.close('}')
	}
	b.close(']')
	if p.Confined != nil {
		b.texts("gaps", p.Gaps)
		b.ruleset(&p.Confined.Ruleset, p.Session)
	}
	return append(b, "}\n"...)
}

// jsonText is JSON in the making. What follows another value gets a comma.
type jsonText []byte

func (b *jsonText) next() {
	if last := (*b)[len(*b)-1]; last != '{' && last != '[' && last != ':' {
		*b = append(*b, ',')
	}
}

func (b *jsonText) text(s string) {
	b.next()
	*b = appendJSON(*b, s)
}

func (b *jsonText) member(key, value string) {
	b.text(key)
	*b = append(*b, ':')
	b.text(value)
}

// open begins an object or a list, as a member if there is a key.
func (b *jsonText) open(key string, bracket byte) {
	if b.next(); key != "" {
		*b = append(appendJSON(*b, key), ':')
	}
	*b = append(*b, bracket)
}

func (b *jsonText) close(bracket byte) { *b = append(*b, bracket) }

func (b *jsonText) texts(key string, list []string) {
	b.open(key, '[')
	for _, s := range list {
		b.text(s)
	}
	b.close(']')
}

// path begins an object that is about a path.
func (b *jsonText) path(path string) {
	b.open("", '{')
	b.member("path", path)
	if !utf8.ValidString(path) {
		b.member("hex", hex.EncodeToString([]byte(path)))
	}
}

func (b *jsonText) rule(m *view.Rule) {
	b.path(m.Path)
	b.member("access", m.Word())
	b.member("source", m.Source)
	if m.Layer != policy.Builtin {
		b.member("layer", m.Layer.String())
	}
	if m.Written != m.Path {
		b.member("rule", m.Written)
	}
	if m.Pinned {
		*b = append(*b, `,"pin":true`...)
	}
	b.close('}')
}

// ruleset adds what the kernel lets through, in hexadecimal the rights of
// linux/landlock.h. The directory of the run and descriptors are left out: the
// rest is the same for each run.
func (b *jsonText) ruleset(set *landlock.Ruleset, session string) {
	hexadecimal := func(n landlock.FS) string { return "0x" + strconv.FormatUint(uint64(n), 16) }
	b.open("wall", '{')
	b.member("fs", hexadecimal(set.FS))
	b.open("rules", '[')
	for _, r := range set.Rules {
		if r.Path == "" || policy.Within(r.Path, session) {
			continue
		}
		b.path(r.Path)
		b.member("allow", hexadecimal(r.Allow))
		b.close('}')
	}
	*b = append(*b, "]}"...)
}

// appendJSON appends a JSON string. Bytes that are not UTF-8 become U+FFFD, as
// encoding/json has it.
func appendJSON(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		case r == utf8.RuneError && n == 1:
			b = append(b, `\ufffd`...)
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return append(b, '"')
}
