// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/caches"
	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/golden"
	"github.com/sbx-sandbox/sbx/internal/verify"
)

// documents are what commands print with --json, by the name of the schema.
var documents = map[string]struct {
	command string
	value   any
}{
	"explain":       {"sbx explain --json", explanation{}},
	"why":           {"sbx why --json WORD…", answersJSON{}},
	"verify":        {"sbx verify --json", verify.Document{}},
	"doctor":        {"sbx doctor --json", diagnosis{}},
	"doctor-client": {"sbx doctor --json CLIENT", clientReport{}},
	"agent-list": {"sbx agent --list --json", struct {
		Agents []agentJSON `json:"agents"`
	}{}},
	"profiles-list": {"sbx profiles --json", struct {
		Profiles []profileJSON `json:"profiles"`
	}{}},
	"profiles-show": {"sbx profiles show --json NAME", profileShownJSON{}},
	"profiles-diff": {"sbx profiles diff --json A B", struct {
		Changes []changeJSON `json:"changes"`
	}{}},
	"config-show": {"sbx config --json", struct {
		Values []config.Said `json:"values"`
	}{}},
	"config-check": {"sbx config check --json FILE…", configCheckJSON{}},
	"status":       {"sbx status --json", standing{}},
	"tripwire":     {"sbx tripwire --json", trippedJSON{}},
	"cache": {"sbx cache --json", struct {
		Caches []caches.Cache `json:"caches"`
	}{}},
	"trust": {"sbx trust --json", struct {
		Files []trustJSON `json:"files"`
	}{}},
	"trust-list": {"sbx trust --list --json", struct {
		Files []trustedJSON `json:"files"`
	}{}},
	"shim-list": {"sbx shim list --json, add, remove", struct {
		Shims []shimJSON `json:"shims"`
	}{}},
	"shim-doctor": {"sbx shim doctor --json", shimReport{}},
	"version":     {"sbx version --json", versionJSON{}},
	"plan":        {"sbx -n --json -- COMMAND", planJSON{}},
}

// TestSchemasAreCurrent: docs/schema has the schema of each document, made of its Go
// type: types, which members are always there, what the comments say. go test -update
// writes them.
func TestSchemasAreCurrent(t *testing.T) {
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"config.json"}
	for name, d := range documents {
		s := ofType(t, reflect.TypeOf(d.value))
		s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", d.command
		s["properties"].(map[string]any)["version"] = map[string]any{"const": jsonVersion, "description": "Of the form of the document."}
		s["required"] = append([]string{"version"}, s["required"].([]string)...)
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(s); err != nil {
			t.Fatal(err)
		}
		golden.File(t, "../../docs/schema/"+name+".json", b.String())
		if !bytes.Contains(page, []byte("](schema/"+name+".json)")) {
			t.Errorf("docs/json.md does not name schema/%s.json", name)
		}
		want = append(want, name+".json")
	}
	have, err := filepath.Glob("../../docs/schema/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range have {
		if !slices.Contains(want, filepath.Base(file)) {
			t.Errorf("%s is of no document", file)
		}
	}
}

// ofType is the schema of what encoding/json makes of a type.
func ofType(t *testing.T, of reflect.Type) map[string]any {
	t.Helper()
	if of.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return map[string]any{"type": "string"}
	}
	switch of.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Interface:
		return map[string]any{}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": ofType(t, of.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": ofType(t, of.Elem())}
	case reflect.Struct:
		s := map[string]any{"type": "object", "properties": map[string]any{}, "required": []string{}}
		members(t, of, s)
		return s
	}
	t.Fatalf("no schema is known for %s", of)
	return nil
}

// members adds those of a struct to its schema.
func members(t *testing.T, of reflect.Type, s map[string]any) {
	t.Helper()
	comments := commentsOf(t, of)
	for f := range of.Fields() {
		tag, tagged := f.Tag.Lookup("json")
		name, option, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && !tagged:
			members(t, f.Type, s)
			continue
		case name == "-" || !f.IsExported():
			continue
		case name == "":
			t.Errorf("%s.%s has no name for JSON", of, f.Name)
		}
		kind, optional := f.Type, option == "omitempty"
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		m := ofType(t, kind)
		if words := f.Tag.Get("enum"); words != "" {
			m["enum"] = strings.Split(words, ",")
		}
		if kind != f.Type && !optional {
			m = map[string]any{"anyOf": []any{m, map[string]any{"type": "null"}}}
		}
		if text := comments[f.Name]; text != "" {
			m["description"] = text
		}
		s["properties"].(map[string]any)[name] = m
		if !optional {
			s["required"] = append(s["required"].([]string), name)
		}
	}
}

// commentsOf are the comments beside the fields of a struct of this module.
func commentsOf(t *testing.T, of reflect.Type) map[string]string {
	t.Helper()
	dir := "."
	if _, path, ok := strings.Cut(of.PkgPath(), "/sbx/"); ok && path != "cmd/sbx" {
		dir = filepath.Join("../..", path)
	}
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(dir, err)
	}
	out := make(map[string]string)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte("type "+of.Name()+" struct")) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != of.Name() {
				return true
			}
			for _, f := range spec.Type.(*ast.StructType).Fields.List {
				for _, id := range f.Names {
					out[id.Name] = strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
				}
			}
			return false
		})
	}
	return out
}
