// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/hex"
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
	b := make([]byte, 0, 12<<10)
	b = append(b, `{"sbx":1,"profiles":[`...)
	for i, name := range pol.Profiles {
		b = comma(b, i)
		b = appendJSON(b, name)
	}
	b = append(b, `],"engine":`...)
	b = appendJSON(b, p.Engine)
	b = append(b, `,"tier":`...)
	b = appendJSON(b, p.Tier)
	scalars := pol.Scalars()
	for _, s := range scalars {
		b = append(b, ',')
		b = appendJSON(b, s.Key)
		b = append(b, ':')
		b = appendJSON(b, s.Value)
	}
	if names := p.Scoped(); names != nil {
		b = append(b, `,"scoped":[`...)
		for i, name := range names {
			b = comma(b, i)
			b = appendJSON(b, name)
		}
		b = append(b, ']')
	}
	b = append(b, `,"sources":{`...)
	n := 0
	for _, s := range scalars {
		if source := pol.Where[s.Key]; source != "" && s.Value != "" {
			b = comma(b, n)
			n++
			b = appendJSON(b, s.Key)
			b = append(b, ':')
			b = appendJSON(b, source)
		}
	}
	b = append(b, `},"paths":[`...)
	n = 0
	for m := range r.View.Rules() {
		b = comma(b, n)
		n++
		b = appendRule(b, m)
	}
	b = append(b, `],"env":[`...)
	n = 0
	for _, c := range p.Report.Env {
		if c.Source == policy.Inherited || c.Source == policy.Unlisted {
			continue // the rest of what passes, and of what does not
		}
		b = comma(b, n)
		n++
		b = appendMember(b, '{', "name", c.Name)
		b = appendMember(b, ',', "action", c.Action())
		b = appendMember(b, ',', "source", c.Source)
		b = append(b, '}')
	}
	b = append(b, ']')
	if p.Confined != nil {
		b = append(b, `,"gaps":[`...)
		for i, gap := range p.Gaps {
			b = comma(b, i)
			b = appendJSON(b, gap)
		}
		b = append(b, ']')
		b = p.Confined.appendRuleset(b, p.Session)
	}
	return append(b, "}\n"...)
}

// appendRuleset adds what the kernel lets through, in hexadecimal the rights of
// linux/landlock.h. The directory of the run and descriptors are left out: the
// rest is the same for each run.
func (c *Confined) appendRuleset(b []byte, session string) []byte {
	hexadecimal := func(n landlock.FS) string { return "0x" + strconv.FormatUint(uint64(n), 16) }
	b = append(b, `,"wall":`...)
	b = appendMember(b, '{', "fs", hexadecimal(c.Ruleset.FS))
	b = append(b, `,"rules":[`...)
	n := 0
	for i := range c.Ruleset.Rules {
		r := &c.Ruleset.Rules[i]
		if r.Path == "" || policy.Within(r.Path, session) {
			continue
		}
		b = comma(b, n)
		n++
		b = appendPath(b, r.Path)
		b = appendMember(b, ',', "allow", hexadecimal(r.Allow))
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// appendPath begins an object that is about a path.
func appendPath(b []byte, path string) []byte {
	b = appendMember(b, '{', "path", path)
	if !utf8.ValidString(path) {
		b = appendMember(b, ',', "hex", hex.EncodeToString([]byte(path)))
	}
	return b
}

func appendRule(b []byte, m view.Rule) []byte {
	b = appendPath(b, m.Path)
	b = appendMember(b, ',', "access", m.Word())
	b = appendMember(b, ',', "source", m.Source)
	if m.Layer != policy.Builtin {
		b = appendMember(b, ',', "layer", m.Layer.String())
	}
	if m.Written != m.Path {
		b = appendMember(b, ',', "rule", m.Written)
	}
	if m.Pinned {
		b = append(b, `,"pin":true`...)
	}
	return append(b, '}')
}

func appendMember(b []byte, before byte, key, value string) []byte {
	b = append(b, before, '"')
	b = append(b, key...)
	b = append(b, '"', ':')
	return appendJSON(b, value)
}

func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
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
