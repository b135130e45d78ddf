// SPDX-License-Identifier: Apache-2.0

package man

import "strings"

// formatter lays out the macros that the pages use. Plain text has no fonts.
type formatter struct {
	out           strings.Builder
	width, indent int
	words         []string // of the paragraph so far
	tag, verse    bool     // the next line is a tag; lines stay as they are
}

// Text is a page as plain text, for where no program is to format it.
func Text(page string, width int) string {
	f := &formatter{width: width}
	for line := range strings.Lines(page) {
		f.line(strings.TrimSuffix(line, "\n"))
	}
	f.flush()
	return strings.TrimLeft(f.out.String(), "\n")
}

func (f *formatter) line(text string) {
	macro := ""
	if strings.HasPrefix(text, ".") {
		macro, text, _ = strings.Cut(text, " ")
		parts := strings.Split(text, `"`)
		for i := 0; i < len(parts) && len(macro) == 3 && strings.Trim(macro, ".BIR") == ""; i += 2 {
			parts[i] = strings.ReplaceAll(parts[i], " ", "") // fonts alternate from word to word
		}
		text = strings.Join(parts, "")
	}
	text = strings.NewReplacer(`\fB`, "", `\fI`, "", `\fP`, "", `\fR`, "", `\-`, "-", `\&`, "", `\(dq`, `"`,
		`\(aq`, "'", `\(ti`, "~", `\(bu`, "*").Replace(text)
	switch macro {
	case ".TH", ".SH", ".SS":
		f.flush()
		f.indent = 7
		f.out.WriteString("\n" + strings.Repeat("   ", strings.Count(macro, "SS")) + text + "\n")
	case ".TP", ".IP", ".PP":
		f.flush()
		f.out.WriteString("\n")
		f.indent, f.tag, f.words = 14, macro == ".TP", strings.Fields(text)
		if macro == ".PP" {
			f.indent = 7
		}
	case ".br", ".nf", ".fi":
		f.flush()
		f.verse = macro == ".nf"
	case `.\"`:
	default:
		if !f.tag && !f.verse {
			f.words = append(f.words, strings.Fields(text)...)
			return
		}
		f.out.WriteString("       " + text + "\n")
		f.tag = false
	}
}

// flush writes the lines of the paragraph so far.
func (f *formatter) flush() {
	for len(f.words) > 0 {
		line := strings.Repeat(" ", f.indent) + f.words[0]
		for f.words = f.words[1:]; len(f.words) > 0 && len(line)+len(f.words[0]) < f.width; f.words = f.words[1:] {
			line += " " + f.words[0]
		}
		f.out.WriteString(line + "\n")
	}
}
