// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// hclReader reads an HCL 2 file, which holds attributes, blocks and literal values
// only: nothing in it is evaluated.
type hclReader struct{ *source }

func (r *hclReader) read(root table) error {
	start := hcl.Pos{Line: 1, Column: 1}
	tokens, diags := hclsyntax.LexConfig(r.data, "", start)
	if err := r.bounded(tokens); err != nil {
		return err
	}
	if diags.HasErrors() {
		return r.syntax(diags, nil)
	}
	if err := r.literal(tokens); err != nil {
		return err
	}
	file, diags := hclsyntax.ParseConfig(r.data, "", start)
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		return r.errorf(0, "cannot be read as HCL")
	}
	if diags.HasErrors() {
		return r.syntax(diags, body)
	}
	return r.body(root, body, 1)
}

// bounded refuses what would overflow the parser's stack, and strings that are
// more than text.
func (r *hclReader) bounded(tokens hclsyntax.Tokens) error {
	depth, words := 0, 0
	for _, t := range tokens {
		at := t.Range.Start.Byte
		words++
		switch t.Type {
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenCQuote:
			words-- // of the word that began with a quote
		case hclsyntax.TokenOBrack, hclsyntax.TokenOBrace, hclsyntax.TokenOParen:
			if depth++; depth > maxDepth {
				return r.tooDeep(at, depth)
			}
		case hclsyntax.TokenCBrack, hclsyntax.TokenCBrace, hclsyntax.TokenCParen:
			depth = max(depth-1, 0)
		case hclsyntax.TokenOHeredoc:
			return r.errorf(at, `heredocs are not read: write a string in quotes, with \n`)
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			c := t.Bytes[0]
			return r.errorf(at, "templates are not read: only plain values are allowed here (%c%c{ is a plain %c{)",
				c, c, c)
		}
		if words > maxTokens {
			return r.errorf(at, "more than %d words and signs", maxTokens)
		}
	}
	return nil
}

// literalTokens are what a file of literal values is made of.
var literalTokens = []hclsyntax.TokenType{
	hclsyntax.TokenIdent, hclsyntax.TokenEqual, hclsyntax.TokenNewline, hclsyntax.TokenComment, hclsyntax.TokenEOF,
	hclsyntax.TokenOQuote, hclsyntax.TokenQuotedLit, hclsyntax.TokenCQuote,
	hclsyntax.TokenNumberLit, hclsyntax.TokenMinus,
	hclsyntax.TokenOBrack, hclsyntax.TokenCBrack, hclsyntax.TokenOBrace, hclsyntax.TokenCBrace,
	hclsyntax.TokenComma, hclsyntax.TokenColon,
}

// literal refuses expressions before the parser sees them: it is recursive,
// and a row of signs would overflow its stack.
func (r *hclReader) literal(tokens hclsyntax.Tokens) error {
	for i, t := range tokens {
		at := t.Range.Start.Byte
		switch {
		case !slices.Contains(literalTokens, t.Type):
			return r.errorf(at, "%s: only plain values are allowed here: text in quotes, numbers, true, false, "+
				"lists and objects", short(string(t.Bytes)))
		case t.Type == hclsyntax.TokenMinus && (i+1 == len(tokens) || tokens[i+1].Type != hclsyntax.TokenNumberLit):
			return r.errorf(at, `"-" is allowed before a number only`)
		case t.Type == hclsyntax.TokenNumberLit && len(t.Bytes) > 32:
			return r.errorf(at, "%s: not a number that can be used here", short(string(t.Bytes)))
		}
	}
	return nil
}

// body puts attributes and blocks into t in the order of the file.
func (r *hclReader) body(t table, b *hclsyntax.Body, depth int) error {
	if err := r.tooDeep(b.SrcRange.Start.Byte, depth); err != nil {
		return err
	}
	parts := make(map[int]func() error, len(b.Attributes)+len(b.Blocks)) // by offset
	for _, a := range b.Attributes {
		at := a.NameRange.Start.Byte
		parts[at] = func() error { return r.attribute(t, word{a.Name, at}, a.Expr, depth) }
	}
	for _, k := range b.Blocks {
		parts[k.TypeRange.Start.Byte] = func() error { return r.block(t, k, depth) }
	}
	for _, at := range slices.Sorted(maps.Keys(parts)) {
		if err := parts[at](); err != nil {
			return err
		}
	}
	return nil
}

func (r *hclReader) attribute(t table, name word, value hclsyntax.Expression, depth int) error {
	words := []word{name}
	path, err := r.path(t, words, depth)
	if err != nil {
		return err
	}
	v, err := r.value(value, depth, path)
	if err != nil {
		return err
	}
	return r.set(t, words, v)
}

// block reads a block and its labels as the table a.b.c of TOML.
func (r *hclReader) block(t table, k *hclsyntax.Block, depth int) error {
	words := []word{{k.Type, k.TypeRange.Start.Byte}}
	for _, at := range k.LabelRanges {
		text, err := r.name(at)
		if err != nil {
			return err
		}
		words = append(words, word{text, at.Start.Byte})
	}
	depth += len(words)
	if _, err := r.path(t, words, depth); err != nil {
		return err
	}
	inner, err := r.open(t, words)
	if err != nil {
		return err
	}
	return r.body(inner, k.Body, depth)
}

func (r *hclReader) value(expr hclsyntax.Expression, depth int, path string) (any, error) {
	at := expr.Range().Start.Byte
	if err := r.tooDeep(at, depth); err != nil {
		return nil, err
	}
	r.at[path+delim] = at
	switch x := expr.(type) {
	case *hclsyntax.TemplateExpr:
		return r.quotedText(x)
	case *hclsyntax.LiteralValueExpr:
		switch {
		case x.Val.IsNull():
			return nil, r.errorf(at, "null: leave the key out instead")
		case x.Val.Type() == cty.Bool:
			return x.Val.True(), nil
		}
		return r.number(x.Range())
	case *hclsyntax.UnaryOpExpr:
		return r.number(x.Range())
	case *hclsyntax.TupleConsExpr:
		return r.list(at, depth, path, len(x.Exprs), func(i int, path string) (any, error) {
			return r.value(x.Exprs[i], depth+1, path)
		})
	case *hclsyntax.ObjectConsExpr:
		out := table{path, make(map[string]any)}
		for _, item := range x.Items {
			key, err := r.name(item.KeyExpr.Range())
			if err != nil {
				return nil, err
			}
			name := word{key, item.KeyExpr.Range().Start.Byte}
			if err := r.attribute(out, name, item.ValueExpr, depth+1); err != nil {
				return nil, err
			}
		}
		r.close(out)
		return out.keys, nil
	}
	return nil, r.errorf(at, "%s: only plain values are allowed here; text is written in quotes",
		short(r.text(expr.Range())))
}

func (r *hclReader) text(at hcl.Range) string {
	return string(r.data[at.Start.Byte:at.End.Byte])
}

// number reads the digits of the file itself: in a cty number 1.0 and 1 are
// the same, which the TOML reader tells apart.
func (r *hclReader) number(rng hcl.Range) (any, error) {
	at := rng.Start.Byte
	text := strings.ReplaceAll(strings.ReplaceAll(r.text(rng), " ", ""), "\t", "")
	if digits := strings.TrimPrefix(text, "-"); len(digits) > 1 && digits[0] == '0' && '0' <= digits[1] &&
		digits[1] <= '9' {
		return nil, r.errorf(at, "%s: a number does not start with 0", short(text))
	}
	if strings.ContainsAny(text, ".eE") {
		return r.fraction(text, at)
	}
	return r.integer(text, text, at)
}

// name reads a label or a key of an object: a bare word or a quoted string.
func (r *hclReader) name(rng hcl.Range) (string, error) {
	text := r.text(rng)
	if strings.HasPrefix(text, `"`) {
		return r.unquote(text, rng.Start.Byte)
	}
	if !hclsyntax.ValidIdentifier(text) {
		return "", r.errorf(rng.Start.Byte, "%s: a key is a word or a string in quotes", short(text))
	}
	return text, nil
}

// quotedText reads a string literal from the file itself: cty brings text to
// Unicode's composed form, and a rule for the composed name would miss the
// file whose name is decomposed. The parser's value is compared, so that a
// disagreement about where a string ends cannot go unseen.
func (r *hclReader) quotedText(x *hclsyntax.TemplateExpr) (any, error) {
	at := x.Range().Start.Byte
	text, err := r.unquote(r.text(x.Range()), at)
	if err != nil {
		return nil, err
	}
	var parsed strings.Builder
	for _, p := range x.Parts {
		lit, ok := p.(*hclsyntax.LiteralValueExpr)
		if !ok || lit.Val.Type() != cty.String {
			return nil, r.errorf(at, "templates are not read: only plain values are allowed here")
		}
		parsed.WriteString(lit.Val.AsString())
	}
	if cty.NormalizeString(parsed.String()) != cty.NormalizeString(text) {
		return nil, r.errorf(at, "%s: cannot be read as a string", short(text))
	}
	return text, nil
}

// plainDollar undoes the escapes by which a string of HCL is no template.
var plainDollar = strings.NewReplacer("$${", "${", "%%{", "%{")

// unquote reads a quoted string of HCL without templates (HCL native syntax,
// "Template Expressions", quoted literals). The parser has seen it: of Go's
// escapes only those of HCL are left.
func (r *hclReader) unquote(quoted string, at int) (string, error) {
	if strings.Contains(quoted, "{") {
		quoted = plainDollar.Replace(quoted)
	}
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return "", r.errorf(at, "%s: not a string in quotes", short(quoted))
	}
	return text, nil
}

// syntax turns the parser's first complaint into an error with its place.
func (r *hclReader) syntax(diags hcl.Diagnostics, body *hclsyntax.Body) error {
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		at := 0
		if d.Subject != nil {
			at = d.Subject.Start.Byte
		}
		if d.Summary == "Attribute redefined" && body != nil {
			name := r.text(*d.Subject)
			if first, ok := firstSet(body, name, at); ok {
				return r.errorf(at, "key %s is set twice, first on line %d", short(name), r.line(first))
			}
		}
		text, _, _ := strings.Cut(cmp.Or(d.Detail, d.Summary), ". ")
		return r.errorf(at, "%s", strings.ToLower(text[:1])+strings.TrimSuffix(text[1:], "."))
	}
	return r.errorf(0, "cannot be read as HCL")
}

// firstSet returns where an attribute that stands again at an offset was set
// first in the same body.
func firstSet(b *hclsyntax.Body, name string, again int) (at int, ok bool) {
	for _, k := range b.Blocks {
		if k.Body.SrcRange.Start.Byte <= again && again < k.Body.SrcRange.End.Byte {
			return firstSet(k.Body, name, again)
		}
	}
	if a := b.Attributes[name]; a != nil {
		return a.NameRange.Start.Byte, true
	}
	return 0, false
}
