package agents

import (
	"encoding/json"
	"strings"
)

func readJSON(w *World, file string, to any) bool {
	text, ok := w.Read(file)
	return ok && json.Unmarshal([]byte(plainJSON(text)), to) == nil
}

// jsonText returns a text at the top of a file of JSON with comments. A file
// that cannot be read as such, and names the key, counts as one that sets it to
// nothing that is known: better refuse than miss it.
func jsonText(w *World, file, key string) (value string, ok bool) {
	text, found := w.Read(file)
	if !found {
		return "", false
	}
	doc := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(plainJSON(text)), &doc); err != nil {
		return "", strings.Contains(text, key)
	}
	raw, ok := doc[key]
	if !ok || json.Unmarshal(raw, &value) != nil {
		return "", ok && string(raw) != "null"
	}
	return value, value != ""
}

// plainJSON takes comments and the commas before a closing bracket out.
func plainJSON(text string) string {
	text = strip(text, func(rest string) (skip int, with string) {
		switch {
		case strings.HasPrefix(rest, "//"):
			if n := strings.IndexByte(rest, '\n'); n >= 0 {
				return n, ""
			}
			return len(rest), ""
		case strings.HasPrefix(rest, "/*"):
			if n := strings.Index(rest[2:], "*/"); n >= 0 {
				return n + 4, " "
			}
			return len(rest), ""
		}
		return 0, ""
	})
	return strip(text, func(rest string) (int, string) {
		if rest[0] == ',' && closes(rest[1:]) {
			return 1, ""
		}
		return 0, ""
	})
}

// strip replaces what cut finds outside of strings.
func strip(text string, cut func(rest string) (skip int, with string)) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] == '"' {
			j := i + 1
			for j < len(text) && text[j] != '"' {
				if text[j] == '\\' {
					j++
				}
				j++
			}
			end := min(j+1, len(text))
			b.WriteString(text[i:end])
			i = end
			continue
		}
		n, with := cut(text[i:])
		b.WriteString(with)
		if n == 0 {
			b.WriteByte(text[i])
			n = 1
		}
		i += n
	}
	return b.String()
}

// closes reports whether nothing but a closing bracket comes next.
func closes(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n")
	return rest != "" && (rest[0] == '}' || rest[0] == ']')
}

// envFile returns a variable that a .env file sets, as dotenv readers see it.
func envFile(w *World, file, name string) (value string, ok bool) {
	text, found := w.Read(file)
	if !found {
		return "", false
	}
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "export "))
		if n, v, is := strings.Cut(line, "="); is && strings.TrimSpace(n) == name {
			value, ok = strings.Trim(strings.TrimSpace(v), `"'`), true
		}
	}
	return value, ok
}
