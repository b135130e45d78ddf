package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// readHCL returns the tree of an HCL 2 file, which holds attributes, blocks
// and literal values only: nothing in it is evaluated. Every error begins
// with file:line:col.
func readHCL(name string, data []byte) (*node, *source, error) {
	src := newSource(name, data)
	if err := scan(src, skipHCL); err != nil {
		return nil, src, err
	}
	r := &hclReader{builder: builder{src: src}}
	root, err := guard(src, r.read)
	return root, src, err
}

type hclReader struct {
	builder
}

func (r *hclReader) read() (*node, error) {
	start := hcl.Pos{Line: 1, Column: 1}
	tokens, diags := hclsyntax.LexConfig(r.src.data, "", start)
	if diags.HasErrors() {
		return nil, r.syntax(diags, nil)
	}
	if err := r.literal(tokens); err != nil {
		return nil, err
	}
	file, diags := hclsyntax.ParseConfig(r.src.data, "", start)
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		return nil, r.src.errorf(0, "cannot be read as HCL")
	}
	if diags.HasErrors() {
		return nil, r.syntax(diags, body)
	}
	root := &node{kind: isTable, made: opened}
	return root, r.body(root, body, 1)
}

// literalTokens are what a file of literal values is made of.
var literalTokens = []hclsyntax.TokenType{
	hclsyntax.TokenIdent, hclsyntax.TokenEqual, hclsyntax.TokenNewline, hclsyntax.TokenComment, hclsyntax.TokenEOF,
	hclsyntax.TokenOQuote, hclsyntax.TokenQuotedLit, hclsyntax.TokenCQuote, hclsyntax.TokenNumberLit, hclsyntax.TokenMinus,
	hclsyntax.TokenOBrack, hclsyntax.TokenCBrack, hclsyntax.TokenOBrace, hclsyntax.TokenCBrace, hclsyntax.TokenComma, hclsyntax.TokenColon,
}

// literal refuses expressions before the parser sees them: it is recursive,
// and a row of signs or brackets would overflow its stack.
func (r *hclReader) literal(tokens hclsyntax.Tokens) error {
	depth := 0
	for i, t := range tokens {
		at := t.Range.Start.Byte
		switch {
		case !slices.Contains(literalTokens, t.Type):
			return r.src.errorf(at, "%s: only plain values stand here: text in quotes, numbers, true, false, lists and objects", short(string(t.Bytes)))
		case t.Type == hclsyntax.TokenMinus && (i+1 == len(tokens) || tokens[i+1].Type != hclsyntax.TokenNumberLit):
			return r.src.errorf(at, `"-" stands before a number only`)
		case t.Type == hclsyntax.TokenNumberLit && len(t.Bytes) > 32:
			return r.src.errorf(at, "%s: not a number that can be used here", short(string(t.Bytes)))
		case t.Type == hclsyntax.TokenOBrack || t.Type == hclsyntax.TokenOBrace:
			if depth++; depth > maxDepth {
				return r.tooDeep(at, depth)
			}
		case t.Type == hclsyntax.TokenCBrack || t.Type == hclsyntax.TokenCBrace:
			depth = max(depth-1, 0)
		}
	}
	return nil
}

// body puts attributes and blocks into t in the order of the file.
func (r *hclReader) body(t *node, b *hclsyntax.Body, depth int) error {
	if err := r.tooDeep(b.SrcRange.Start.Byte, depth); err != nil {
		return err
	}
	type part struct {
		at   int
		read func() error
	}
	parts := make([]part, 0, len(b.Attributes)+len(b.Blocks))
	for _, a := range b.Attributes {
		parts = append(parts, part{a.NameRange.Start.Byte, func() error { return r.attribute(t, a, depth) }})
	}
	for _, k := range b.Blocks {
		parts = append(parts, part{k.TypeRange.Start.Byte, func() error { return r.block(t, k, depth) }})
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.at, b.at) })
	for _, p := range parts {
		if err := p.read(); err != nil {
			return err
		}
	}
	return nil
}

func (r *hclReader) attribute(t *node, a *hclsyntax.Attribute, depth int) error {
	v, err := r.value(a.Expr, depth)
	if err != nil {
		return err
	}
	return r.set(t, []word{{a.Name, a.NameRange.Start.Byte}}, v)
}

// block reads a block and its labels as the table a.b.c of TOML.
func (r *hclReader) block(t *node, k *hclsyntax.Block, depth int) error {
	path := []word{{k.Type, k.TypeRange.Start.Byte}}
	for _, at := range k.LabelRanges {
		text, err := r.name(at)
		if err != nil {
			return err
		}
		path = append(path, word{text, at.Start.Byte})
	}
	if err := r.tooDeep(path[0].at, depth+len(path)); err != nil {
		return err
	}
	inner, err := r.open(t, path)
	if err != nil {
		return err
	}
	return r.body(inner, k.Body, depth+len(path))
}

func (r *hclReader) value(expr hclsyntax.Expression, depth int) (*node, error) {
	at := expr.Range().Start.Byte
	if err := r.tooDeep(at, depth); err != nil {
		return nil, err
	}
	switch x := expr.(type) {
	case *hclsyntax.TemplateExpr:
		text, err := r.quotedText(x)
		return &node{kind: isText, at: at, text: text}, err
	case *hclsyntax.LiteralValueExpr:
		return r.scalar(x, at)
	case *hclsyntax.UnaryOpExpr:
		return r.number(x.Range())
	case *hclsyntax.TupleConsExpr:
		return r.tuple(x, at, depth)
	case *hclsyntax.ObjectConsExpr:
		return r.object(x, at, depth)
	}
	return nil, r.src.errorf(at, "%s: only plain values stand here; text is written in quotes", short(r.text(expr.Range())))
}

func (r *hclReader) text(at hcl.Range) string {
	return string(r.src.data[at.Start.Byte:at.End.Byte])
}

func (r *hclReader) scalar(x *hclsyntax.LiteralValueExpr, at int) (*node, error) {
	switch {
	case x.Val.IsNull():
		return nil, r.src.errorf(at, "null: leave the key out instead")
	case x.Val.Type() == cty.Bool:
		return &node{kind: isBool, at: at, yes: x.Val.True()}, nil
	}
	return r.number(x.Range())
}

// number reads the digits of the file itself: in a cty number 1.0 and 1 are
// the same, which the TOML reader tells apart.
func (r *hclReader) number(rng hcl.Range) (*node, error) {
	at := rng.Start.Byte
	text := strings.ReplaceAll(strings.ReplaceAll(r.text(rng), " ", ""), "\t", "")
	if digits := strings.TrimPrefix(text, "-"); len(digits) > 1 && digits[0] == '0' && '0' <= digits[1] && digits[1] <= '9' {
		return nil, r.src.errorf(at, "%s: a number does not start with 0", short(text))
	}
	if strings.ContainsAny(text, ".eE") {
		return r.real(text, at)
	}
	whole, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, r.src.errorf(at, "%s: not a number that fits 64 bits", short(text))
	}
	return &node{kind: isWhole, at: at, whole: whole}, nil
}

func (r *hclReader) tuple(x *hclsyntax.TupleConsExpr, at, depth int) (*node, error) {
	out := &node{kind: isList, at: at}
	for _, e := range x.Exprs {
		if err := r.count(at); err != nil {
			return nil, err
		}
		v, err := r.value(e, depth+1)
		if err != nil {
			return nil, err
		}
		out.list = append(out.list, v)
	}
	return out, nil
}

func (r *hclReader) object(x *hclsyntax.ObjectConsExpr, at, depth int) (*node, error) {
	out := &node{kind: isTable, at: at, made: closed}
	for _, item := range x.Items {
		key, err := r.name(item.KeyExpr.Range())
		if err != nil {
			return nil, err
		}
		v, err := r.value(item.ValueExpr, depth+1)
		if err != nil {
			return nil, err
		}
		if err := r.set(out, []word{{key, item.KeyExpr.Range().Start.Byte}}, v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// name reads a label or a key of an object: a bare word or a quoted string.
func (r *hclReader) name(rng hcl.Range) (string, error) {
	text := r.text(rng)
	if strings.HasPrefix(text, `"`) {
		return r.unquote(text, rng.Start.Byte)
	}
	if !hclsyntax.ValidIdentifier(text) {
		return "", r.src.errorf(rng.Start.Byte, "%s: a key is a word or a string in quotes", short(text))
	}
	return text, nil
}

// quotedText reads a string literal from the file itself: cty brings text to
// Unicode's composed form, and a rule for the composed name would miss the
// file whose name is decomposed. The parser's value is compared, so that a
// disagreement about where a string ends cannot go unseen.
func (r *hclReader) quotedText(x *hclsyntax.TemplateExpr) (string, error) {
	at := x.Range().Start.Byte
	text, err := r.unquote(r.text(x.Range()), at)
	if err != nil {
		return "", err
	}
	var parsed strings.Builder
	for _, p := range x.Parts {
		lit, ok := p.(*hclsyntax.LiteralValueExpr)
		if !ok || lit.Val.Type() != cty.String {
			return "", r.src.errorf(at, "templates are not read: only plain values stand here")
		}
		parsed.WriteString(lit.Val.AsString())
	}
	if cty.NormalizeString(parsed.String()) != cty.NormalizeString(text) {
		return "", r.src.errorf(at, "%s: cannot be read as a string", short(text))
	}
	return text, nil
}

// unquote reads a quoted string of HCL without templates (HCL native syntax,
// "Template Expressions", quoted literals).
func (r *hclReader) unquote(quoted string, at int) (string, error) {
	if len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
		return "", r.src.errorf(at, "%s: not a string in quotes", short(quoted))
	}
	var b strings.Builder
	for s := quoted[1 : len(quoted)-1]; s != ""; {
		switch {
		case strings.HasPrefix(s, "$${") || strings.HasPrefix(s, "%%{"):
			b.WriteString(s[1:3])
			s = s[3:]
		case s[0] == '\\':
			c, rest, ok := unescape(s[1:])
			if !ok {
				return "", r.src.errorf(at, "%s: unknown escape after \\", short(quoted))
			}
			b.WriteRune(c)
			s = rest
		default:
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	return b.String(), nil
}

// unescape reads what follows a backslash.
func unescape(s string) (r rune, rest string, ok bool) {
	if s == "" {
		return 0, "", false
	}
	digits := 0
	switch s[0] {
	case 'n':
		return '\n', s[1:], true
	case 'r':
		return '\r', s[1:], true
	case 't':
		return '\t', s[1:], true
	case '"', '\\':
		return rune(s[0]), s[1:], true
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	}
	if digits == 0 || len(s) <= digits {
		return 0, "", false
	}
	code, err := strconv.ParseUint(s[1:1+digits], 16, 32)
	if err != nil || code > unicode.MaxRune || !utf8.ValidRune(rune(code)) {
		return 0, "", false
	}
	return rune(code), s[1+digits:], true
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
				return r.twice(word{name, at}, &entry{at: first})
			}
		}
		text, _, _ := strings.Cut(cmp.Or(d.Detail, d.Summary), ". ")
		return r.src.errorf(at, "%s", lowerFirst(strings.TrimSuffix(text, ".")))
	}
	return r.src.errorf(0, "cannot be read as HCL")
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

func lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[n:]
}
