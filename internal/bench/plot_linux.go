// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// style has a background of its own: a page's theme is not always the reader's.
const style = `
.page { fill: #ffffff } text { fill: #1f2328; font: 13px sans-serif } .group { font-weight: bold }
.bar { fill: #4a7fb5 } .above { fill: #c8651b } .tick { stroke: #1f2328; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 } text { fill: #e6edf3 } .bar { fill: #6ea3d8 } .above { fill: #e08a45 } .tick { stroke: #e6edf3 }
}
`

// svg is the plot: a bar for each figure, each unit of a group with its own scale,
// and a tick where the ceiling is.
func (rep *report) svg() []byte {
	const (
		width, line        = 860, 22
		barAt, barMax      = 300, 380
		textDown, barDown  = 15, 4
		foot, head, margin = 10, 40, 12
	)
	var body bytes.Buffer
	text := func(x, y float64, class, s string) {
		var safe strings.Builder
		_ = xml.EscapeText(&safe, []byte(s))
		fmt.Fprintf(&body, "<text x=\"%.0f\" y=\"%.0f\" class=\"%s\">%s</text>\n", x, y, class, safe.String())
	}
	title := "What a start costs, times raw bwrap where no unit is named; the tick is the ceiling"
	if rep.Verdict == tooNoisy {
		title += " (the machine was " + tooNoisy + ")"
	}
	text(margin, 22, "group", title)
	y, group := float64(head), ""
	for _, r := range rep.Rows {
		if r.Group != group {
			group = r.Group
			y += line / 2
			text(margin, y+textDown, "group", group)
			y += line
		}
		perUnit := barMax / rep.longest(r)
		class := "bar"
		if r.Verdict == above {
			class = "above"
		}
		text(margin, y+textDown, "", r.Name)
		length := max(1, r.Figure*perUnit)
		fmt.Fprintf(&body, "<rect x=\"%d\" y=\"%.0f\" width=\"%.1f\" height=\"%d\" class=\"%s\"/>\n",
			barAt, y+barDown, length, line-2*barDown, class)
		end := length
		if r.Ceiling > 0 {
			x := barAt + r.Ceiling*perUnit
			fmt.Fprintf(&body, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\" class=\"tick\"/>\n", x, x, y+1, y+line-1)
			end = max(end, r.Ceiling*perUnit)
		}
		text(barAt+end+6, y+textDown, "", r.figure(r.Figure))
		y += line
	}
	var out bytes.Buffer
	height := y + foot
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" role=\"img\">\n",
		width, height, width, height)
	fmt.Fprintf(&out, "<title>What a start of sbx costs</title>\n<style>%s</style>\n<rect width=\"%d\" height=\"%.0f\" class=\"page\"/>\n",
		style, width, height)
	out.Write(body.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// longest is the largest figure or ceiling that is drawn with the scale of a row.
func (rep *report) longest(r *row) float64 {
	most := 0.001
	for _, o := range rep.Rows {
		if o.Group == r.Group && o.Unit == r.Unit {
			most = max(most, o.Figure, o.Ceiling)
		}
	}
	return most
}
