// SPDX-License-Identifier: Apache-2.0

package man

import "strings"

// formatter lays out what the pages use of the man macros. Plain text has no
// fonts.
type formatter struct {
	out    strings.Builder
	width  int
	indent int
	words  []string // of the paragraph so far
	tag    string   // stands left of the paragraph
	tagged bool     // the next line is a tag
	verse  bool     // lines stay as they are
	begun  bool     // a heading was the last: no empty line follows it
}

// Text is a page as plain text, for where no program is to format it.
func Text(page string, width int) string {
	f := &formatter{width: width}
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, ".") {
			macro, rest, _ := strings.Cut(line, " ")
			f.macro(macro, arguments(rest))
		} else {
			f.text(line)
		}
	}
	f.flush()
	return f.out.String()
}

// arguments are the words of a macro; quotes keep blanks in one.
func arguments(s string) (args []string) {
	for s = strings.TrimLeft(s, " "); s != ""; s = strings.TrimLeft(s, " ") {
		end := " "
		if s[0] == '"' {
			s, end = s[1:], `"`
		}
		var arg string
		arg, s, _ = strings.Cut(s, end)
		args = append(args, arg)
	}
	return args
}

func (f *formatter) macro(name string, args []string) {
	switch name {
	case ".B", ".I":
		f.text(strings.Join(args, " "))
	case ".BR", ".BI", ".IB", ".IR", ".RB", ".RI":
		f.text(strings.Join(args, ""))
	case ".TH":
		f.out.WriteString(args[0] + "(" + args[1] + ")  " + args[4] + "\n")
	case ".SH", ".SS":
		f.paragraph(7)
		f.out.WriteString(strings.Repeat("   ", strings.Count(name, "SS")) + strings.Join(args, " ") + "\n")
		f.begun = true
	case ".TP", ".IP":
		f.paragraph(14)
		f.tagged = name == ".TP"
		f.tag = plain(strings.Join(args[:min(1, len(args))], ""))
	case ".PP":
		f.paragraph(7)
	case ".br", ".nf", ".fi":
		f.flush()
		f.verse = name == ".nf"
	}
}

// text adds a line of text, or makes it the tag of the paragraph.
func (f *formatter) text(line string) {
	switch line = plain(line); {
	case f.tagged:
		f.tag, f.tagged = line, false
	case f.verse:
		f.out.WriteString(strings.Repeat(" ", f.indent) + line + "\n")
		f.begun = false
	default:
		f.words = append(f.words, strings.Fields(line)...)
	}
}

// paragraph ends one paragraph and begins another.
func (f *formatter) paragraph(indent int) {
	f.flush()
	if !f.begun {
		f.out.WriteString("\n")
	}
	f.indent, f.begun = indent, false
}

// flush writes the lines of the paragraph so far.
func (f *formatter) flush() {
	line := strings.Repeat(" ", max(0, f.indent-7)) + f.tag
	if pad := f.indent - len(line); f.tag == "" || pad > 0 {
		line += strings.Repeat(" ", pad)
	} else {
		f.out.WriteString(line + "\n")
		line = strings.Repeat(" ", f.indent)
	}
	blank := ""
	for _, w := range f.words {
		if blank != "" && len(line)+1+len(w) > f.width {
			f.out.WriteString(line + "\n")
			line, blank = strings.Repeat(" ", f.indent), ""
		}
		line, blank = line+blank+w, " "
	}
	if len(f.words) > 0 {
		f.out.WriteString(line + "\n")
		f.begun = false
	}
	f.words, f.tag = nil, ""
}

// plain takes escapes out of a text.
func plain(s string) string {
	return strings.NewReplacer(`\fB`, "", `\fI`, "", `\fP`, "", `\fR`, "", `\-`, "-", `\&`, "", `\e`, `\`,
		`\(dq`, `"`, `\(aq`, "'", `\(ti`, "~", `\(bu`, "*").Replace(s)
}
