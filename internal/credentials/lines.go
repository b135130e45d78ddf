// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Settings reports whether [Lines] knows how to read a file of that name.
func Settings(name string) bool {
	switch name {
	case ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".bunfig.toml", "bunfig.toml":
		return true
	}
	return false
}

// maxLine is how long, in bytes, a line or value is that is searched.
const maxLine = 16 << 10

// Lines leaves out of a settings file of a package manager, of that name, the
// lines that hold credentials, with those that go on with one, and returns the
// names in them. The copy is the file itself when there is nothing to leave out;
// else it has no comments. A file that holds some and is written so that a line
// does not say where one ends is an error.
func Lines(file string, data []byte) (copied []byte, names []string, err error) {
	switch {
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data), file == ".pypirc" && !plainPython(string(data)):
		return nil, nil, errText
	case file == ".pypirc":
		return data, nil, nil
	}
	return plainLines(data, strings.HasSuffix(file, ".yml"), strings.HasSuffix(file, ".toml"))
}

func plainLines(data []byte, yaml, toml bool) (out []byte, names []string, err error) {
	ref, quotes := braced, yaml || toml
	if toml {
		ref = dollar
	}
	all := true
	leave := func(name string) {
		if all = false; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	cut, last := -1, "" // the indent of the setting that may go on, -1 for none, and the name in it
	until := ""         // the quotes that end it
	depth := 0          // of the braces that are open
	for raw := range bytes.SplitAfterSeq(data, []byte("\n")) {
		line := string(raw)
		bare := strings.TrimLeft(line, " \t")
		indent := len(line) - len(bare)
		bare = strings.TrimRight(bare, "\r\n")
		if len(bare) > maxLine || strings.Contains(bare, "\r") || yaml && strings.HasSuffix(bare, `\`) {
			return nil, nil, errText // a line that may be two, or a name that may go on
		}
		if until != "" {
			if strings.Contains(bare, until) {
				until = ""
			}
			continue
		}
		name, found := credential(bare, ref, quotes)
		open := depth > 0 || strings.HasPrefix(bare, "?")
		depth += strings.Count(bare, "{") - strings.Count(bare, "}")
		if yaml && (open || depth != 0) && (found || named(bare)) {
			return nil, nil, errText
		}
		switch {
		case bare == "" && cut >= 0: // what goes on may stand behind it
		case strings.HasPrefix(bare, "#") || strings.HasPrefix(bare, ";"):
			all = all && !found
		case cut >= 0 && indent > cut:
			leave(last)
		case found:
			cut, last = indent, name
			leave(name)
			for _, three := range []string{`"""`, "'''"} {
				if strings.Count(bare, three)%2 == 1 {
					until = three
				}
			}
		default:
			if cut = -1; yaml && name != "" {
				cut, last = indent, name // a switch or a reference, that could go on as a text
			}
			out = append(out, raw...)
		}
	}
	if all {
		return data, nil, nil
	}
	return out, names, nil
}

// plainPython reports whether a .pypirc says where to upload, and not how to log
// in: it has sections, index-servers with what goes on below, repository and
// username, each with a value of the usual letters, and no other line.
func plainPython(text string) bool {
	plain := regexp.MustCompile(`^(?:\[[\w. -]*\]|username[ \t]*[=:][ \t]*[\w. -]*|` +
		`repository[ \t]*[=:][ \t]*https?://[\w. :/-]*|(index-servers)[ \t]*[=:][ \t]*[\w. -]*)$`)
	server := regexp.MustCompile(`^[\w. -]*$`)
	servers := false
	for line := range strings.SplitSeq(text, "\n") {
		bare := strings.Trim(line, " \t\r")
		switch indented := bare != "" && line[0] != bare[0]; {
		case bare == "":
		case indented && !(servers && server.MatchString(bare)), len(bare) > 200:
			return false
		case !indented:
			found := plain.FindStringSubmatch(bare)
			if found == nil {
				return false
			}
			servers = found[1] != ""
		}
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return !letter(r) })
	return !slices.ContainsFunc(words, func(w string) bool { return token(w) || len(w) >= 32 })
}

// credential finds one in a line, and returns its name. Without one it is the name
// of a setting that could hold one, and is a switch or a reference. quotes are
// those of YAML and TOML: what stands in them is a whole value.
func credential(line string, ref refer, quotes bool) (name string, found bool) {
	if inURL(line, ref) || token(line) {
		name, found = "a URL or token", true
	}
	if escaped(line) {
		name, found = "an escaped letter", true
	}
	for rest := strings.TrimRight(line, " \t"); ; {
		start := strings.IndexFunc(rest, letter)
		if start < 0 {
			break
		}
		rest = rest[start:]
		n := 0
		for n < len(rest) && letter(rune(rest[n])) {
			n++
		}
		w := rest[:n]
		rest = rest[n:]
		switch {
		case secretName(w):
			if assigned(rest, ref, quotes) {
				return w, true
			}
			if !found {
				name = w
			}
		case strings.HasSuffix(strings.ToLower(w), "proxy") && inURL("http://"+strings.TrimLeft(rest, "\"' \t=:"), ref):
			return w, true
		case len(w) >= 32 && random(w) && !found:
			name, found = "a random text", true
		}
	}
	return name, found
}

// letter is one of a name.
func letter(r rune) bool { return r < utf8.RuneSelf && (word(byte(r)) || r == '-') }

// named reports whether a word of a line is the name of a credential.
func named(line string) bool {
	for w := range strings.FieldsFuncSeq(line, func(r rune) bool { return !letter(r) }) {
		if secretName(w) {
			return true
		}
	}
	return false
}

// escaped reports whether a letter is written by its number, as it can be in a name
// between quotes.
func escaped(line string) bool {
	for {
		_, rest, ok := strings.Cut(line, `\`)
		if !ok || rest == "" {
			return false
		}
		n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[rest[0]]
		if n > 0 && len(rest) > n && strings.Trim(rest[1:1+n], "0123456789abcdefABCDEF") == "" {
			return true
		}
		line = rest
	}
}

// assigned reports whether what follows a name gives it a value that is, as a
// whole, neither a reference nor a switch. A value may begin on the next line.
func assigned(rest string, ref refer, quotes bool) bool {
	value := strings.TrimLeft(rest, "\"'[] \t")
	sep := len(value) < len(rest) // a space will do, as in .yarnrc
	if strings.HasPrefix(value, "=") || strings.HasPrefix(value, ":") {
		if value, sep = strings.TrimLeft(value[1:], " \t"), true; value == "" {
			return true
		}
	}
	if !sep || value == "" {
		return false
	}
	if q := value[0]; q == '"' || q == '\'' {
		inner, behind, ok := strings.Cut(value[1:], string(q))
		behind = strings.TrimLeft(behind, " \t")
		ends := behind == "" || quotes && (behind[0] == ',' || behind[0] == '}')
		if ok && ends && !strings.HasPrefix(value, `"""`) && !strings.HasPrefix(value, "'''") {
			value = inner
		}
	}
	return !ref(value) && !boolean(value)
}

// random reports whether a long word has what chosen words have not.
func random(w string) bool {
	digits := strings.ContainsAny(w, "0123456789")
	return digits && strings.Count(w, "-")+strings.Count(w, "_") <= len(w)/8
}
