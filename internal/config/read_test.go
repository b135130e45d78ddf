// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// readAs reads text in the format that name ends in.
func readAs(name, text string) (map[string]any, error) {
	return newDocument(File{Path: name, Data: []byte(text)}).read()
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestReadErrors(t *testing.T) {
	tests := []struct{ name, file, text, want string }{
		{"nul", "c.toml", "a = 1\nb\x00", "c.toml:2:2: control character 0x00: not a text file"},
		{"nul hcl", "c.hcl", "a = 1\nb\x00", "c.hcl:2:2: control character 0x00: not a text file"},
		{"utf8", "c.toml", "a = \"\xff\"", "c.toml:1:6: byte 0xff: not a text file (UTF-8)"},
		{"utf8 hcl", "c.hcl", "a = \"\xff\"", "c.hcl:1:6: byte 0xff: not a text file (UTF-8)"},
		{"elf", "c.hcl", "\x7fELF\x02", "c.hcl:1:1: control character 0x7f: not a text file"},
		{"bom", "c.toml", "\uFEFFa = 1", "c.toml:1:1: starts with a byte order mark: save it as plain UTF-8"},
		{"escape in name", "\x1b[2J.toml", "a", `"\x1b[2J.toml":1:1: expected '=' after key`},
		{"syntax", "c.toml", "a = 1\nb = = 2", "c.toml:2:5: unexpected character U+003D '=' at start of value"},
		{"syntax hcl", "c.hcl", "a = 1\nb = = 2",
			"c.hcl:2:5: expected the start of an expression, but found an invalid expression token"},
		{"end", "c.toml", "a = [", "c.toml:1:5: array is incomplete"},
		{"twice", "c.toml", "a = 1\n\n\"a\" = 2", `c.toml:3:1: key "a" is set twice, first on line 1`},
		{"twice hcl", "c.hcl", "a = 1\n\na = 2", `c.hcl:3:1: key "a" is set twice, first on line 1`},
		{"twice in block", "c.hcl", "a = 1\np \"x\" {\n  a = 1\n  a = 2\n}",
			`c.hcl:4:3: key "a" is set twice, first on line 3`},
		{"twice in object", "c.hcl", "p = {\n  a = 1\n  \"a\" = 2\n}",
			`c.hcl:3:3: key "a" is set twice, first on line 2`},
		{"table twice", "c.toml", "[p.x]\na = 1\n[p.x]\nb = 1",
			`c.toml:3:4: table "p.x" is defined twice, first on line 1`},
		{"block twice", "c.hcl", "p \"x\" {\n}\np \"x\" {\n}",
			`c.hcl:3:3: table "p.x" is defined twice, first on line 1`},
		{"block and attribute", "c.hcl", "p = {}\np \"x\" {\n}", `c.hcl:2:1: key "p" is set twice, first on line 1`},
		{"inline is closed", "c.toml", "p = {a = 1}\n[p.x]", `c.toml:2:2: key "p" is set twice, first on line 1`},
		{"dotted into table", "c.toml", "[p.x]\n[p]\nx.y = 1", `c.toml:3:1: key "x" is set twice, first on line 1`},
		{"dotted into inline", "c.toml", "p = {}\np.x = 1", `c.toml:2:1: key "p" is set twice, first on line 1`},
		{"inline dotted is closed", "c.toml", "p = {a.b = 1}\np.a.c = 1",
			`c.toml:2:1: key "p" is set twice, first on line 1`},
		{"list of tables", "c.toml", "[[profiles]]", "c.toml:1:3: no key takes a list of tables: write [profiles]"},
		{"date", "c.toml", "a = 2020-01-01", "c.toml:1:5: no key takes a date or a time: write a string in quotes"},
		{"nan", "c.toml", "a = nan", `c.toml:1:5: "nan": not a number that can be used here`},
		{"inf", "c.toml", "a = -inf", `c.toml:1:5: "-inf": not a number that can be used here`},
		{"big", "c.toml", "a = 9223372036854775808",
			`c.toml:1:5: "9223372036854775808": not a number that fits 64 bits`},
		{"big hcl", "c.hcl", "a = 9223372036854775808",
			`c.hcl:1:5: "9223372036854775808": not a number that fits 64 bits`},
		{"huge hcl", "c.hcl", "a = 1e999999999", `c.hcl:1:5: "1e999999999": not a number that can be used here`},
		{"long hcl", "c.hcl", "a = " + strings.Repeat("9", 33), `c.hcl:1:5: "` + strings.Repeat("9", 33) +
			`": not a number that can be used here`},
		{"octal hcl", "c.hcl", "a = 0755", `c.hcl:1:5: "0755": a number does not start with 0`},
		{"null", "c.hcl", "a = null", "c.hcl:1:5: null: leave the key out instead"},
		{"variable", "c.hcl", "a = foo", `c.hcl:1:5: "foo": only plain values are allowed here; text is written in quotes`},
		{"traversal", "c.hcl", "a = foo.bar",
			`c.hcl:1:8: ".": only plain values are allowed here: text in quotes, numbers, true, false, lists and objects`},
		{"function", "c.hcl", `a = file("/etc/shadow")`,
			`c.hcl:1:9: "(": only plain values are allowed here: text in quotes, numbers, true, false, lists and objects`},
		{"sum", "c.hcl", "a = 1 + 1", `c.hcl:1:7: "+": only plain values are allowed here: text in quotes, numbers, true, false, lists and objects`},
		{"minus", "c.hcl", "a = --1", `c.hcl:1:5: "-" is allowed before a number only`},
		{"for", "c.hcl", "a = [for x in [1]: x]",
			`c.hcl:1:5: "[for x in [1]: x]": only plain values are allowed here; text is written in quotes`},
		{"template", "c.hcl", `a = "x${HOME}"`,
			"c.hcl:1:7: templates are not read: only plain values are allowed here ($${ is a plain ${)"},
		{"directive", "c.hcl", `a = "%{ if true }x%{ endif }"`,
			"c.hcl:1:6: templates are not read: only plain values are allowed here (%%{ is a plain %{)"},
		{"template in label", "c.hcl", `p "${x}" {}`,
			"c.hcl:1:4: templates are not read: only plain values are allowed here ($${ is a plain ${)"},
		{"heredoc", "c.hcl", "a = <<E\nx\nE\n", `c.hcl:1:5: heredocs are not read: write a string in quotes, with \n`},
		{"surrogate", "c.hcl", `a = "\ud800"`, "c.hcl:1:6: cannot encode character U+d800 in UTF-8"},
		{"open string", "c.hcl", "a = \"x\n\"", "c.hcl:1:7: quoted strings may not be split over multiple lines"},
		{"escaped text in message", "c.toml", `"\u001b[2J" = 1` + "\n" + `"\u001b[2J" = 2`,
			`c.toml:2:1: key "\x1b[2J" is set twice, first on line 1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readAs(tt.file, tt.text)
			if got := message(err); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestNestingAndSizeAreBounded(t *testing.T) {
	const many = 100_000
	rep := strings.Repeat
	list := "a = [" + rep("1,", maxItems+1) + "]"
	tests := []struct{ name, file, text, want string }{
		{"lists", "c.toml", "a = " + rep("[", many), "c.toml:1:21: nested more than 16 levels deep"},
		{"lists hcl", "c.hcl", "a = " + rep("[", many), "c.hcl:1:21: nested more than 16 levels deep"},
		{"tables", "c.toml", "a = " + rep("{a=", many), "c.toml:1:53: nested more than 16 levels deep"},
		{"objects", "c.hcl", "a = " + rep("{a=", many), "c.hcl:1:53: nested more than 16 levels deep"},
		{"blocks", "c.hcl", rep("a {\n", many), "c.hcl:17:3: nested more than 16 levels deep"},
		{"labels", "c.hcl", "a " + rep(`"b" `, many) + "{}", "c.hcl:1:1: nested more than 16 levels deep"},
		{"parentheses", "c.hcl", "a = " + rep("(", many), "c.hcl:1:21: nested more than 16 levels deep"},
		{"minus", "c.hcl", "a = " + rep("-", many) + "1", `c.hcl:1:5: "-" is allowed before a number only`},
		{"not", "c.hcl", "a = " + rep("!", many) + "true",
			`c.hcl:1:5: "!": only plain values are allowed here: text in quotes, numbers, true, false, lists and objects`},
		{"hidden in a string", "c.hcl", `a = "\"" b = ` + rep("[", many),
			"c.hcl:1:30: nested more than 16 levels deep"},
		{"hidden in a comment", "c.toml", "# \"\na = " + rep("[", many),
			"c.toml:2:21: nested more than 16 levels deep"},
		{"dotted", "c.toml", rep("a.", many/2) + "a = 1", "c.toml:1:1: nested more than 16 levels deep"},
		{"header", "c.toml", "[" + rep("a.", many/2) + "a]", "c.toml:1:2: nested more than 16 levels deep"},
		{"words", "c.hcl", rep("a ", 400_000), "c.hcl:1:400001: more than 200000 words and signs"},
		{"lines", "c.hcl", rep("\n", maxSize), "c.hcl:200001:1: more than 200000 words and signs"},
		{"size", "c.toml", rep("#", maxSize+1), "c.toml:1:1: larger than 1048576 bytes"},
		{"items", "c.toml", list, "c.toml:1:1: the lists of this file have more than 10000 elements"},
		{"items hcl", "c.hcl", list, "c.hcl:1:5: the lists of this file have more than 10000 elements"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			_, err := readAs(tt.file, tt.text)
			if got := message(err); got != tt.want {
				t.Errorf("got  %.300s\nwant %s", got, tt.want)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestReadValues(t *testing.T) {
	tests := []struct {
		name, file, text string
		want             map[string]any
	}{
		{"toml numbers", "c.toml", "a = 0x1F\nb = -1_000\nc = 1.5\nd = 1e3\ne = +7",
			map[string]any{"a": int64(31), "b": int64(-1000), "c": 1.5, "d": 1000.0, "e": int64(7)}},
		{"hcl numbers", "c.hcl", "a = 31\nb = -1000\nc = 1.50\nd = 1e3\ne = - 1",
			map[string]any{"a": int64(31), "b": int64(-1000), "c": 1.5, "d": 1000.0, "e": int64(-1)}},
		{"dotted and quoted", "c.toml", "p.\"a.b\".c = 1\np.d = 'x\\'",
			map[string]any{"p": map[string]any{"a.b": map[string]any{"c": int64(1)}, "d": `x\`}}},
		{"multi-line", "c.toml", "a = \"\"\"\nx\ny\\\n  z\"\"\"", map[string]any{"a": "x\nyz"}},
		{"dollar is plain", "c.hcl", `a = "$CWD $$x $${y} %%{z} 100% $"`,
			map[string]any{"a": "$CWD $$x ${y} %{z} 100% $"}},
		{"escapes", "c.hcl", `a = "\n\r\t\"\\\u00e9\U0001F600"`, map[string]any{"a": "\n\r\t\"\\é😀"}},
		{"blocks", "c.hcl", "p \"a\" {\n x = 1\n}\np \"b\" {}\nq {\n r {\n  s = []\n }\n}", map[string]any{
			"p": map[string]any{"a": map[string]any{"x": int64(1)}, "b": map[string]any{}},
			"q": map[string]any{"r": map[string]any{"s": []any{}}},
		}},
		{"object keys", "c.hcl", "a = { b = 1, \"c d\" : 2\n true = 3 }",
			map[string]any{"a": map[string]any{"b": int64(1), "c d": int64(2), "true": int64(3)}}},
		{"crlf", "c.hcl", "a = 1\r\nb = 2\r\n", map[string]any{"a": int64(1), "b": int64(2)}},
		{"crlf toml", "c.toml", "a = 1\r\nb = 2\r\n", map[string]any{"a": int64(1), "b": int64(2)}},
		{"empty", "c.hcl", "", map[string]any{}},
		// A rule for the composed name would miss the file of the decomposed.
		{"decomposed stays decomposed", "c.hcl", "a = \"e\u0301\"", map[string]any{"a": "e\u0301"}},
		{"escaped decomposed", "c.hcl", `a = "e\u0301"`, map[string]any{"a": "e\u0301"}},
		{"decomposed toml", "c.toml", "a = \"e\u0301\"", map[string]any{"a": "e\u0301"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, err := readAs(tt.file, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, n); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPairs reads files that say the same in both formats.
func TestPairs(t *testing.T) {
	names, err := filepath.Glob("testdata/*.hcl")
	if err != nil || len(names) == 0 {
		t.Fatal("no pairs", err)
	}
	for _, name := range names {
		var trees []any
		for _, f := range []string{name, strings.TrimSuffix(name, "hcl") + "toml"} {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			n, err := readAs(f, string(data))
			if err != nil {
				t.Fatal(err)
			}
			trees = append(trees, n)
		}
		if diff := cmp.Diff(trees[0], trees[1]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestRandomTreesAgree writes random trees in both formats and reads them
// back.
func TestRandomTreesAgree(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		want := randomTable(r, 3)
		var asTOML, asHCL strings.Builder
		writeTOML(&asTOML, want, "")
		writeHCL(&asHCL, want, r)
		for _, f := range []struct{ name, text string }{{"r.toml", asTOML.String()}, {"r.hcl", asHCL.String()}} {
			n, err := readAs(f.name, f.text)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, f.text)
			}
			if diff := cmp.Diff(want, n); diff != "" {
				t.Fatalf("seed %d, %s: %s\n%s", seed, f.name, diff, f.text)
			}
		}
	}
}

func randomTable(r *rand.Rand, depth int) map[string]any {
	table := make(map[string]any)
	for range r.IntN(5) {
		key := "k" + strconv.Itoa(r.IntN(20))
		if depth > 0 && r.IntN(3) == 0 {
			table[key] = randomTable(r, depth-1)
		} else {
			table[key] = randomValue(r, depth)
		}
	}
	return table
}

func randomValue(r *rand.Rand, depth int) any {
	switch r.IntN(5) {
	case 0:
		return r.IntN(2) == 0
	case 1:
		return int64(r.Uint64())
	case 2:
		return r.NormFloat64() * 1e6
	case 3:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomValue(r, max(depth-1, 0))
		}
		return list
	}
	letters := []rune("ab$~/{}%\"\\\n\t é\u0301😀#=,[]'*!\r.")
	text := make([]rune, r.IntN(12))
	for i := range text {
		text[i] = letters[r.IntN(len(letters))]
	}
	return string(text)
}

// writeTOML writes single values first, since what follows a [header] belongs
// to it.
func writeTOML(b *strings.Builder, table map[string]any, path string) {
	for k, v := range table {
		if _, ok := v.(map[string]any); !ok {
			fmt.Fprintf(b, "%s = %s\n", k, literal(v, false))
		}
	}
	for k, v := range table {
		if sub, ok := v.(map[string]any); ok {
			fmt.Fprintf(b, "[%s%s]\n", path, k)
			writeTOML(b, sub, path+k+".")
		}
	}
}

// writeHCL writes tables as blocks, as objects, or as labels, by chance.
func writeHCL(b *strings.Builder, table map[string]any, r *rand.Rand) {
	for k, v := range table {
		sub, ok := v.(map[string]any)
		switch {
		case !ok:
			fmt.Fprintf(b, "%s = %s\n", k, literal(v, true))
		case r.IntN(2) == 0:
			fmt.Fprintf(b, "%s = {\n", k)
			writeHCLObject(b, sub)
			b.WriteString("}\n")
		default:
			fmt.Fprintf(b, "%s {\n", k)
			writeHCL(b, sub, r)
			b.WriteString("}\n")
		}
	}
}

func writeHCLObject(b *strings.Builder, table map[string]any) {
	for k, v := range table {
		if sub, ok := v.(map[string]any); ok {
			fmt.Fprintf(b, "%s = {\n", k)
			writeHCLObject(b, sub)
			b.WriteString("}\n")
			continue
		}
		fmt.Fprintf(b, "%q = %s\n", k, literal(v, true))
	}
}

func literal(v any, hcl bool) string {
	switch v := v.(type) {
	case string:
		s := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(v)
		if hcl {
			s = strings.NewReplacer("${", "$${", "%{", "%%{").Replace(s)
		}
		return `"` + s + `"`
	case float64:
		return strconv.FormatFloat(v, 'e', -1, 64)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = literal(v[i], hcl)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

var placed = regexp.MustCompile(`^c\.(toml|hcl):[1-9][0-9]*:[1-9][0-9]*: [^\x00-\x1f\x7f]+$`)

// seeds are the texts of the tables above, and the pairs.
func seeds(f *testing.F, ext string) {
	names, err := filepath.Glob("testdata/*." + ext)
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, s := range []string{
		"a = 1\nb.c = [1, {d = 2}]\n", "[a]\n[a.b]\n[[c]]", "a = \"\\u00e9\"", "p \"x\" {\n a = -1\n}", "a = \"$${x}\"",
		"a = <<E\nE\n",
		"a = '''\n'''", "profiles = { a = { extends = \"b\" } }", "\x00", "\xff", "a = [[[[[[[[[[[[[[[[[[", "a = 1_0",
		"a = \"$$${x\"", "a = 1979-05-27",
	} {
		f.Add([]byte(s))
	}
}

func checkRead(t *testing.T, name string, data []byte) map[string]any {
	doc := newDocument(File{Path: name, Layer: policy.System, Data: data})
	root, err := doc.read()
	if err == nil {
		err = doc.decode(root)
	}
	if err != nil && !placed.MatchString(err.Error()) {
		t.Errorf("error without a place, or not one plain line: %q", err)
	}
	n, err := readAs(name, string(data))
	if err != nil {
		return nil
	}
	return n
}

func FuzzTOML(f *testing.F) {
	seeds(f, "toml")
	f.Fuzz(func(t *testing.T, data []byte) {
		n := checkRead(t, "c.toml", data)
		if n == nil {
			return
		}
		// What this reader takes, go-toml takes, and reads it the same.
		var want map[string]any
		if err := toml.Unmarshal(data, &want); err != nil {
			t.Fatalf("go-toml refuses: %v", err)
		}
		if want == nil {
			want = map[string]any{}
		}
		if diff := cmp.Diff(want, n); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzHCL(f *testing.F) {
	seeds(f, "hcl")
	f.Fuzz(func(t *testing.T, data []byte) { checkRead(t, "c.hcl", data) })
}
