// SPDX-License-Identifier: Apache-2.0

// Package schematest checks values against JSON Schemas (draft 2020-12) in tests. It
// knows the keywords that the schemas in docs/schema use, and refuses any other, so that
// none goes unchecked.
package schematest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Schema is a schema that was read.
type Schema struct {
	root   map[string]any
	closed bool
}

// Read reads a schema. With closed, an object may have no member that it does not
// name: a schema leaves room for members that are added, a test does not.
func Read(t testing.TB, text []byte, closed bool) *Schema {
	t.Helper()
	s := &Schema{closed: closed}
	if err := json.Unmarshal(text, &s.root); err != nil {
		t.Fatal(err)
	}
	return s
}

// Check returns what is wrong with a value: of JSON, or of TOML, which is checked as JSON
// would have it.
func (s *Schema) Check(value any) []string {
	var v any
	data, err := json.Marshal(value)
	if err = cmp.Or(err, json.Unmarshal(data, &v)); err != nil {
		return []string{err.Error()}
	}
	return s.check(s.root, v, "")
}

// notes say nothing of a value.
var notes = []string{"$schema", "$defs", "$comment", "title", "description", "default", "deprecated", "examples"}

func (s *Schema) check(schema map[string]any, v any, at string) (wrong []string) {
	bad := func(format string, args ...any) {
		wrong = append(wrong, cmp.Or(at, "/")+": "+fmt.Sprintf(format, args...))
	}
	sub := func(of, v any, at string) { wrong = append(wrong, s.check(of.(map[string]any), v, at)...) }
	object, _ := v.(map[string]any)
	list, _ := v.([]any)
	str, isString := v.(string)
	size := map[string]float64{"maxProperties": float64(len(object))}
	if isString {
		n := float64(utf8.RuneCountInString(str))
		size["minLength"], size["maxLength"] = n, n
	} else if n, ok := v.(float64); ok {
		size["minimum"], size["maximum"] = n, n
	}
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		switch arg := schema[keyword]; keyword {
		case "type":
			if !isType(v, arg) {
				bad("%v is not of type %v", v, arg)
			}
		case "const":
			if !reflect.DeepEqual(v, arg) {
				bad("%v is not %v", v, arg)
			}
		case "enum":
			if !slices.ContainsFunc(arg.([]any), func(one any) bool { return reflect.DeepEqual(v, one) }) {
				bad("%v is none of %v", v, arg)
			}
		case "pattern":
			if isString && !regexp.MustCompile(arg.(string)).MatchString(str) {
				bad("%q does not match %s", str, arg)
			}
		case "minLength", "minimum":
			if n, ok := size[keyword]; ok && n < arg.(float64) {
				bad("%v, and %s is %v", v, keyword, arg)
			}
		case "maxLength", "maximum", "maxProperties":
			if n, ok := size[keyword]; ok && n > arg.(float64) {
				bad("%v, and %s is %v", v, keyword, arg)
			}
		case "required":
			for _, name := range arg.([]any) {
				if _, ok := object[name.(string)]; object != nil && !ok {
					bad("%v is missing", name)
				}
			}
		case "propertyNames":
			for name := range object {
				sub(arg, name, at+"/"+name)
			}
		case "properties":
			for name, of := range arg.(map[string]any) {
				if v, ok := object[name]; ok {
					sub(of, v, at+"/"+name)
				}
			}
		case "additionalProperties", "items", "prefixItems": // below
		case "uniqueItems":
			for i, v := range list {
				if slices.ContainsFunc(list[:i], func(o any) bool { return reflect.DeepEqual(o, v) }) {
					bad("%v twice", v)
				}
			}
		case "dependentSchemas":
			for name, of := range arg.(map[string]any) {
				if _, ok := object[name]; ok {
					sub(of, v, at)
				}
			}
		case "anyOf":
			if !slices.ContainsFunc(arg.([]any), func(of any) bool { return s.check(of.(map[string]any), v, at) == nil }) {
				bad("%v is none of what it may be", v)
			}
		case "allOf":
			for _, of := range arg.([]any) {
				sub(of, v, at)
			}
		case "not":
			if s.check(arg.(map[string]any), v, at) == nil {
				bad("%v is what it may not be", v)
			}
		case "$ref":
			to := s.root
			for _, step := range strings.Split(strings.TrimPrefix(arg.(string), "#"), "/")[1:] {
				to = to[step].(map[string]any)
			}
			sub(to, v, at)
		default:
			if !slices.Contains(notes, keyword) {
				bad("the schema has %s, which this test does not know", keyword)
			}
		}
	}
	s.members(schema, object, at, &wrong)
	first, _ := schema["prefixItems"].([]any)
	for i, v := range list {
		if i < len(first) {
			sub(first[i], v, fmt.Sprint(at, "/", i))
		} else if items, ok := schema["items"]; ok {
			sub(items, v, fmt.Sprint(at, "/", i))
		}
	}
	return wrong
}

// members checks those that properties do not name.
func (s *Schema) members(schema, object map[string]any, at string, wrong *[]string) {
	named, _ := schema["properties"].(map[string]any)
	rest, ok := schema["additionalProperties"]
	if !ok && s.closed && named != nil {
		rest = false
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch of := rest.(type) {
		case bool:
			if named[name] == nil && !of {
				*wrong = append(*wrong, at+"/"+name+": not in the schema")
			}
		case map[string]any:
			if named[name] == nil {
				*wrong = append(*wrong, s.check(of, object[name], at+"/"+name)...)
			}
		}
	}
}

func isType(v, want any) bool {
	if many, ok := want.([]any); ok {
		return slices.ContainsFunc(many, func(one any) bool { return isType(v, one) })
	}
	switch v := v.(type) {
	case nil:
		return want == "null"
	case bool:
		return want == "boolean"
	case string:
		return want == "string"
	case float64:
		return want == "number" || want == "integer" && v == float64(int64(v))
	case []any:
		return want == "array"
	}
	return want == "object"
}
