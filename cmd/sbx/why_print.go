// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// printAnswers writes answers for people, one paragraph each.
func printAnswers(answers []answerJSON, within bool) error {
	var b strings.Builder
	remedies := 0
	for i := range answers {
		if i > 0 {
			b.WriteByte('\n')
		}
		answers[i].print(&b)
		remedies += len(answers[i].Remedies)
	}
	if within && remedies > 0 {
		b.WriteString("\nthe flags above only work where the sandbox is started\n")
	}
	_, err := stdout.WriteString(b.String())
	return err
}

func (a *answerJSON) print(b *strings.Builder) {
	b.WriteString(colour("1", a.Kind+" "+text.Plain(a.Name)) + "\n")
	row := func(label, text string) {
		if text != "" {
			b.WriteString("  " + label + strings.Repeat(" ", max(1, 7-len(label))) + text + "\n")
		}
	}
	if a.Kind == "path" && a.Inside != a.Name {
		row("inside", text.Plain(a.Inside))
	}
	if a.LeadsTo != "" {
		row("leads", "to "+text.Plain(a.LeadsTo))
	}
	row("may", a.verdict())
	row("rule", app.Harmless(a.rule()))
	row("why", app.Harmless(a.Why))
	for _, l := range a.Remedies {
		label := "allow"
		if l.To == "close" {
			label = "deny"
		}
		row(label, a.purpose(l.To)+": "+app.Harmless(l.Text))
	}
	if a.NoRemedy != "" {
		row("allow", "none: "+app.Harmless(a.NoRemedy))
	}
}

// verdict is the answers proper: "seen yes, read no, write no".
func (a *answerJSON) verdict() string {
	var parts []string
	for _, v := range []struct {
		name string
		yes  *bool
	}{{"be seen", a.Seen}, {"be read", a.Read}, {"be written", a.Write}, {"be connected to", a.Connect},
		{"be reached", a.Reached}} {
		if v.yes == nil || v.name == "be connected to" && a.Type != "socket" {
			continue
		}
		text := colour("31", "no")
		if *v.yes {
			text = colour("32", "yes")
		}
		parts = append(parts, v.name+" "+text)
	}
	return strings.Join(parts, ", ")
}

func (a *answerJSON) rule() string {
	r := a.Rule
	if r == nil {
		return "none"
	}
	parts := []string{r.Access}
	if r.Path != "" {
		parts = append(parts, text.Plain(r.Path))
	}
	if r.Setting != "" {
		parts = append(parts, r.Setting)
	}
	if r.Source != "" {
		parts = append(parts, "("+source(r.Layer, r.Source)+")")
	}
	return strings.Join(parts, " ")
}

// purpose says what a remedy is for.
func (a *answerJSON) purpose(to string) string {
	if a.Rule != nil && a.Rule.Access == "private" && (to == "read" || to == "write") {
		return "to " + to + " the host's"
	}
	if to == "connect" {
		return "to connect to it"
	}
	if to == "close" {
		return "to close it off"
	}
	return "to " + to + " it"
}
