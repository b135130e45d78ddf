// SPDX-License-Identifier: Apache-2.0

package profiles

import "strings"

// merge adds to the text of a profile what another text adds: elements to its
// lists, and single values, which replace its own. The result is the text of a profile again, for people
// to copy. It knows no more of TOML than what the files of this package are
// written in: a list starts at the beginning of a line and ends with the first
// line that ends with "]".
func merge(common, added string) string {
	for {
		comment, statement, rest := next(added)
		if statement == "" {
			return common
		}
		added = rest
		key, value, _ := strings.Cut(statement, " = ")
		at := strings.Index("\n"+common, "\n"+key+" = ")
		switch {
		case at < 0:
			common += "\n# On macOS.\n" + comment + statement
		case !strings.HasPrefix(value, "[\n"):
			_, tail, _ := strings.Cut(common[at:], "\n")
			common = common[:at] + "# On macOS.\n" + comment + statement + tail
		default:
			end := at + strings.Index(common[at:], "]\n")
			head := strings.TrimSuffix(strings.TrimRight(common[:end], "\n"), ",")
			common = head + ",\n  # On macOS.\n" + indent(comment) + strings.TrimSuffix(value[2:], "]\n") + common[end:]
		}
	}
}

// next is the first statement of a text with the comment above it, and the rest.
func next(text string) (comment, statement, rest string) {
	text = strings.TrimLeft(text, "\n")
	for strings.HasPrefix(text, "#") {
		line, after, _ := strings.Cut(text, "\n")
		comment, text = comment+line+"\n", after
	}
	end := strings.Index(text, "\n")
	if line := text[:end+1]; strings.HasSuffix(line, " = [\n") {
		end = strings.Index(text, "\n]\n") + 2
	}
	return comment, text[:end+1], text[end+1:]
}

// indent moves a comment into a list.
func indent(comment string) string {
	var b strings.Builder
	for line := range strings.Lines(comment) {
		b.WriteString("  " + line)
	}
	return b.String()
}
