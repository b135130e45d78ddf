// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/docs/schema"
	"github.com/sbx-sandbox/sbx/internal/golden"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/schematest"
	"github.com/sbx-sandbox/sbx/profiles"
	"github.com/sbx-sandbox/sbx/shims"
)

// object is a schema, or a part of one.
type object = map[string]any

// TestSchemaIsCurrent: the schema of config files has the keys that the loader knows,
// each with what docs/config.md says of it. go test -update writes it.
func TestSchemaIsCurrent(t *testing.T) {
	page, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(configSchema(t, string(page))); err != nil {
		t.Fatal(err)
	}
	golden.File(t, "../../docs/schema/config.json", b.String())
}

// meanings are the texts of the tables of keys below a heading of docs/config.md.
func meanings(t *testing.T, page, heading string) map[string]string {
	_, section, ok := strings.Cut(page, "\n## "+heading+"\n")
	if !ok {
		t.Fatal("docs/config.md has no " + heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	out, column := make(map[string]string), -1
	link := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|\n"), " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] == "key" {
			column = slices.Index(cells, "meaning")
		} else if name := strings.Trim(cells[0], "`"); name != cells[0] && column > 0 && column < len(cells) {
			out[name] = strings.ReplaceAll(link.ReplaceAllString(cells[column], "$1"), "`", "")
		}
	}
	return out
}

const (
	namePattern = `^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$` // of profiles
	pathPattern = `(/|~$|~/|\$)`
	envPattern  = `^[A-Za-z0-9_*]+$`
	noDotDot    = `(^|/)\.\.(/|$)`
)

func ref(name string) object { return object{"$ref": "#/$defs/" + name} }

// withText puts what a person reads of a key beside what is checked.
func withText(t *testing.T, texts map[string]string, key string, of object) object {
	if texts[key] == "" {
		t.Errorf("docs/config.md does not say what %s means", key)
	}
	of["description"] = texts[key]
	return of
}

func configSchema(t *testing.T, page string) object {
	top, inProfile := meanings(t, page, "Keys at the top"), meanings(t, page, "Keys of a profile")
	properties, defaults := object{}, Defaults(nil)
	for i := range topKeys {
		k := &topKeys[i]
		of := topSchema(k)
		if v := k.value(defaults); v != nil && v != "" {
			of["default"] = v
		}
		properties[k.name] = withText(t, top, k.name, of)
	}
	properties["execution"] = object{
		"description": "All keys in one table execution.sandbox, which then is the only one of the file.",
		"deprecated":  true, "type": "object", "required": []string{"sandbox"}, "additionalProperties": false,
		"properties": object{"sandbox": object{"$ref": "#", "not": object{"required": []string{"execution"}}}},
	}
	return object{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "sbx configuration",
		"description": "config.toml of the user or the administrator, .sbx.toml of a project. docs/config.md has the whole story.",
		"type":        "object", "properties": properties, "additionalProperties": false,
		"dependentSchemas": object{"execution": object{"maxProperties": 1}},
		"$defs": object{
			"name":    object{"type": "string", "pattern": namePattern},
			"program": object{"type": "string", "pattern": `^/`, "maxLength": maxPath},
			"profile": profileSchema(t, inProfile),
		},
	}
}

func topSchema(k *key) object {
	table := func(of object, names object) object {
		return object{"type": "object", "additionalProperties": of, "propertyNames": names}
	}
	switch k.kind {
	case aBool:
		if k.name == "audit" {
			return object{"const": false}
		}
		return object{"type": "boolean"}
	case aWord:
		return object{"enum": k.rank}
	case aProfile:
		return ref("name")
	case aFile:
		return ref("program")
	case aVersion:
		return object{"const": configVersion}
	case someLocks:
		return object{"type": "array", "items": object{"enum": lockable()}}
	case someProfiles:
		return table(ref("profile"), ref("name"))
	case someTools:
		return table(object{"type": "object", "required": []string{"profile"}, "additionalProperties": false,
			"properties": object{"profile": ref("name")}},
			object{"pattern": `^[A-Za-z0-9][A-Za-z0-9` + strings.ReplaceAll(shims.NameSigns, "-", "") + `-]{0,63}$`})
	case someShells:
		return table(ref("program"), object{"enum": shims.Dialects})
	}
	return object{"type": "array", "items": object{"type": "string", "pattern": `^(/|~$|~/|\$HOME|\$TMPDIR|\$XDG_)`,
		"not": object{"pattern": noDotDot}}}
}

func profileSchema(t *testing.T, texts map[string]string) object {
	names := object{"type": "array", "items": ref("name"), "uniqueItems": true}
	properties := object{
		"extends": withText(t, texts, "extends", object{"anyOf": []object{ref("name"), names}}),
		"env_set": withText(t, texts, "env_set", object{"type": "object", "propertyNames": object{
			"pattern": `^[A-Za-z_][A-Za-z0-9_]*$`}, "additionalProperties": object{"type": "string"}}),
	}
	for _, k := range policy.Keys() {
		properties[k.Name] = withText(t, texts, k.Name, scalarSchema(&k))
	}
	for _, key := range policy.ListKeys() {
		item := object{"type": "string", "maxLength": maxPath}
		switch {
		case key == "devices":
			item["pattern"] = `^(gpu|kvm|/dev/.+)$`
		case strings.HasPrefix(key, "env_"):
			item["pattern"] = envPattern
		case key == "blocked_paths" || key == "protected_paths":
			item["pattern"], item["not"] = `^!?`+pathPattern, object{"pattern": noDotDot}
		case key == "readonly_paths":
			item["pattern"], item["not"] = `^`+pathPattern, object{"pattern": noDotDot}
		default:
			item["pattern"], item["not"] = `^`+pathPattern, object{"pattern": noDotDot + `|[*?]`}
		}
		properties[key] = withText(t, texts, key, object{"type": "array", "items": item,
			"prefixItems": []object{{"anyOf": []object{{"const": "!"}, item}}}})
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false}
}

func scalarSchema(k *policy.Key) object {
	of := object{}
	switch k.Field(&policy.Profile{}).(type) {
	case *policy.Switch:
		of["type"] = "boolean"
	case *float64:
		of = object{"type": "number", "minimum": k.Low, "maximum": k.High}
	case *int:
		of = object{"type": "integer", "minimum": k.Low, "maximum": k.High}
	default:
		words := object{"enum": k.Words}
		switch k.Name {
		case "workspace":
			of = object{"type": "string", "pattern": `^/.`, "maxLength": maxPath}
		case "seccomp":
			of["anyOf"] = []object{words, {"type": "string", "pattern": `/|\.json$`, "maxLength": maxPath,
				"not": object{"pattern": noDotDot}}}
		case "new_session":
			of["anyOf"] = []object{words, {"type": "boolean", "deprecated": true}}
		default:
			of = words
		}
	}
	switch said := k.Unsaid(); {
	case said == "":
	case of["type"] == "boolean":
		of["default"] = said == "true"
	case of["type"] == "integer" || of["type"] == "number":
		of["default"] = json.Number(said)
	default:
		of["default"] = said
	}
	return of
}

// TestSchemaAndLoaderAgree: a value that the loader takes is good by the schema, and
// one that the schema takes is good for the loader.
func TestSchemaAndLoaderAgree(t *testing.T) {
	s := schematest.Read(t, []byte(schema.Config), true)
	good, bad := 0, 0
	for _, text := range configsOf(t) {
		f := File{Path: "config.toml", Layer: policy.System, Data: []byte(text)}
		doc := newDocument(f)
		root, err := doc.read()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		wrong := s.Check(root)
		err = doc.decode(root)
		if (err == nil) != (wrong == nil) {
			t.Errorf("%s\nloader: %v\nschema: %q", text, err, wrong)
		}
		if err == nil {
			good++
		} else {
			bad++
		}
	}
	if good < 200 || bad < 500 {
		t.Errorf("only %d good and %d bad files", good, bad)
	}
}

// values are what is tried at each key, as TOML.
var values = []string{
	`true`, `false`, `0`, `1`, `2`, `-1`, `15`, `60`, `1.5`, `0.0001`, `1e300`, `9223372036854775807`, `""`, `"x"`, `"true"`, `"1"`, `"!"`,
	`"/x"`, `"x/y"`, `"~/x"`, `"$HOME/x"`, `"$CWD"`, `"/a/../b"`, `"x.json"`, `"A_B"`, `"A*"`, `"a b"`, `"` + strings.Repeat("n", 65) + `"`,
	`[]`, `[""]`, `["x"]`, `["x", "y"]`, `["x", "x"]`, `["!"]`, `["!", "/x"]`, `["/x", "!"]`, `["/x"]`, `["!/x*"]`, `["~"]`, `["~u/x"]`, `["$HOME"]`, `["a/b"]`, `["/a/../b"]`,
	`["A_B", "C*"]`, `["A-B"]`, `["gpu", "/dev/fuse"]`, `["sda"]`, `["~/src/*"]`, `["$HOME/src"]`, `[1]`, `[["x"]]`, `["git"]`, `["enabled", "env_set"]`,
	`{}`, `{ x = 1 }`, `{ x = "y" }`, `{ A = "b", C = "d" }`, `{ "A-B" = "c" }`, `{ bash = "/bin/bash" }`, `{ bash = "bash" }`, `{ x = { profile = "y" } }`,
	`{ x = { } }`, `{ "a b" = { profile = "y" } }`, `{ x = { profile = "y", z = 1 } }`, `{ x = { git = "full" } }`, `{ X = { extends = "y" } }`,
	`{ sandbox = { enabled = true } }`, `{ sandbox = { execution = { sandbox = {} } } }`,
}

// beyond is what only the loader knows: other tables, what a path leads to. The
// schema takes these.
func beyond(key, value string) bool {
	return key == "workspace" && value == `"/a/../b"` || key == "readonly_paths" && value == `["~/src/*"]`
}

func configsOf(t *testing.T) (texts []string) {
	words := slices.Clone(values)
	for _, k := range topKeys {
		for _, w := range k.rank {
			words = append(words, strconv.Quote(w))
		}
	}
	for _, k := range policy.Keys() {
		for _, w := range k.Words {
			words = append(words, strconv.Quote(w))
		}
		if k.High > 0 {
			words = append(words, fmt.Sprint(k.Low), fmt.Sprintf("%.0f", k.High), fmt.Sprintf("%.0f", k.High+1))
		}
	}
	slices.Sort(words)
	words = slices.Compact(words)
	texts = append(texts, "", "[profiles.x]", "execution.sandbox.enabled = true", "execution.sandbox.enabled = true\nenabled = true")
	for _, w := range words {
		for _, key := range append(topNames(), "execution", "nosuch") {
			texts = append(texts, key+" = "+w)
		}
		for _, key := range append(profileNames(), "nosuch", "enabled") {
			if !beyond(key, w) {
				texts = append(texts, "[profiles.x]\n"+key+" = "+w)
			}
		}
	}
	for other := range maps.Keys(synonyms()) { // what others call a key is a mistake, which names the right one
		if topKey(other) == nil {
			texts = append(texts, other+" = true")
		}
		if !slices.Contains(profileNames(), other) {
			texts = append(texts, "[profiles.x]\n"+other+" = true")
		}
	}
	return texts
}

// TestSchemaTakesSamples: every config file of the sources and of the docs is good by the schema.
func TestSchemaTakesSamples(t *testing.T) {
	s := schematest.Read(t, []byte(schema.Config), true)
	check := func(name, text string) {
		root, err := newDocument(File{Path: name, Data: []byte(text)}).read()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if wrong := s.Check(root); wrong != nil {
			t.Errorf("%s: %q", name, wrong)
		}
	}
	for _, name := range profiles.Builtin().Names() {
		if text, _ := profiles.Text(name); !profiles.Builtin().Module(name) { // those have keys of their own
			check(name+".toml", "[profiles."+name+"]\n"+text)
		}
	}
	samples := 0
	for _, page := range []string{"config", "profiles", "seccomp", "sbx-sh", "shims", "security", "agents"} {
		text, err := os.ReadFile("../../docs/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"toml", "hcl"} {
			for _, block := range strings.Split(string(text), "\n```"+kind+"\n")[1:] {
				block, _, _ = strings.Cut(block, "\n```")
				check(page+"."+kind, block)
				samples++
			}
		}
	}
	for _, pattern := range []string{"../../cmd/sbx/config.toml", "../../cmd/sbx/project.toml", "testdata/full.*"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			check(file, string(text))
		}
	}
	if samples < 6 {
		t.Errorf("only %d samples in the docs", samples)
	}
}
