package verify

import (
	"fmt"
	"io"
	"strings"
)

// JUnit writes the report as test results: a suite for each section, a hole as
// a failure, what could not be checked as an error, the rest that is not proved
// as skipped. It is written by hand: encoding/xml would cost every start of sbx.
func (r *Report) JUnit(w io.Writer) error {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	fmt.Fprintf(&b, "<testsuites name=\"sbx verify\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\">\n",
		len(r.Results), r.Count(Hole), r.Count(Unchecked), r.Count(Allowed)+r.Count(Gap)+r.Count(NotApplicable))
	for _, s := range r.sections() {
		fmt.Fprintf(&b, "  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\">\n", attr(s.name),
			len(s.results), count(s.results, Hole), count(s.results, Unchecked), count(s.results, Allowed)+count(s.results, Gap)+count(s.results, NotApplicable))
		for i := range s.results {
			s.results[i].testcase(&b)
		}
		b.WriteString("  </testsuite>\n")
	}
	b.WriteString("</testsuites>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (res *Result) testcase(b *strings.Builder) {
	fmt.Fprintf(b, "    <testcase classname=\"sbx.%s\" name=\"%s\"", attr(strings.ReplaceAll(res.Section, " ", "-")), attr(res.title()))
	tag := ""
	switch res.Verdict {
	case Proved:
		b.WriteString("/>\n")
		return
	case Hole:
		tag = "failure"
	case Unchecked:
		tag = "error"
	default:
		tag = "skipped"
	}
	kind := ""
	if tag != "skipped" {
		kind = fmt.Sprintf(" type=\"%s\"", res.Verdict)
	}
	fmt.Fprintf(b, "><%s message=\"%s\"%s/></testcase>\n", tag, attr(res.Detail), kind)
}

// attr escapes a text for an attribute. What XML 1.0 has no way to say is gone
// by then: names are quoted, and the rest is one line.
func attr(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(line(s))
}
