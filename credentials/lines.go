package credentials

import (
	"bytes"
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

// Lines leaves out of a settings file of a package manager the lines that hold
// credentials, with those that go on with one, and returns the names in them. The
// copy is the file itself when there is nothing to leave out; else it has no
// comments.
func Lines(data []byte) (copied []byte, names []string, err error) {
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return nil, nil, errText
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	var out []byte
	cut, all := -1, true // the indent of what is left out, -1 for nothing
	until := ""          // the quotes that end it
	for _, raw := range lines {
		line := string(raw)
		bare := strings.TrimLeft(line, " \t")
		indent := len(line) - len(bare)
		bare = strings.TrimRight(bare, "\r\n")
		switch {
		case until != "":
			if strings.Contains(bare, until) {
				until = ""
			}
			continue
		case cut >= 0 && (bare == "" || indent > cut):
			continue
		}
		cut = -1
		comment := strings.HasPrefix(bare, "#") || strings.HasPrefix(bare, ";")
		name, found := credential(bare)
		if !found {
			if !comment {
				out = append(out, raw...)
			}
			continue
		}
		all = false
		if comment {
			continue
		}
		if cut = indent; !slices.Contains(names, name) {
			names = append(names, name)
		}
		for _, quotes := range []string{`"""`, "'''"} {
			if strings.Count(bare, quotes)%2 == 1 {
				until = quotes
			}
		}
	}
	if all {
		return data, nil, nil
	}
	return out, names, nil
}

// credential finds one in a line, and returns its name.
func credential(line string) (name string, found bool) {
	if inURL(line) || token(line) {
		name, found = "a URL or token", true
	}
	for rest := line; ; {
		start := strings.IndexFunc(rest, func(r rune) bool { return r < utf8.RuneSelf && (word(byte(r)) || r == '-') })
		if start < 0 {
			break
		}
		rest = rest[start:]
		n := 0
		for n < len(rest) && (word(rest[n]) || rest[n] == '-') {
			n++
		}
		w := rest[:n]
		rest = rest[n:]
		if secretName(w) && assigned(rest) {
			return w, true
		}
		if len(w) >= 32 && random(w) && !found {
			name, found = "a random text", true
		}
	}
	return name, found
}

// assigned reports whether what follows a name gives it a value that is neither a
// reference nor a switch. A value may begin on the next line.
func assigned(rest string) bool {
	trimmed := strings.TrimLeft(rest, "\"'] \t")
	sep := len(trimmed) < len(rest) // a space will do, as in .yarnrc
	if strings.HasPrefix(trimmed, "=") || strings.HasPrefix(trimmed, ":") {
		trimmed, sep = strings.TrimLeft(trimmed[1:], " \t"), true
		if trimmed == "" {
			return true
		}
	}
	if strings.HasPrefix(trimmed, `"""`) || strings.HasPrefix(trimmed, "'''") {
		return sep
	}
	if end := strings.IndexAny(trimmed, ",}#"); end >= 0 && !strings.HasPrefix(trimmed, "$") {
		trimmed = trimmed[:end]
	}
	value := strings.Trim(trimmed, "\"' \t")
	return sep && value != "" && !reference(value) && !boolean(value)
}

// random reports whether a long word has what chosen words have not.
func random(w string) bool {
	digits := strings.IndexAny(w, "0123456789") >= 0
	return digits && strings.Count(w, "-")+strings.Count(w, "_") <= len(w)/8
}
