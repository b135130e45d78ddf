// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/text"
)

const whyTeaches = `sbx why says whether something is open to a command in the sandbox, by which
rule, and what to type to change that:

  sbx why .env            a file or a directory
  sbx why npm             a program
  sbx why github.com      a host
  sbx why 5432            a port of this machine
  sbx why GITHUB_TOKEN    a variable

With the flags of a run it answers for that run: sbx why --net github.com
A word that is taken for something else than you mean: --path, --host, --var
All rules of a run: sbx explain
`

// print writes answers for people, one paragraph each. Typed are the flags that the
// question was asked with.
func (in *insight) print(answers []answerJSON, typed []string) error {
	var b strings.Builder
	flags := false
	for i := range answers {
		if i > 0 {
			b.WriteByte('\n')
		}
		answers[i].print(&b, in.cwd, typed)
		flags = flags || slices.ContainsFunc(answers[i].Remedies, func(r remedyJSON) bool { return len(r.Flags) > 0 })
	}
	switch {
	case flags && in.within:
		b.WriteString("\nthese lines only work where the sandbox is started\n")
	case flags:
		b.WriteString("\nas it stands, such a line starts a shell; to run a command, add -- and the command\n")
	}
	_, err := stdout.WriteString(b.String())
	return err
}

func (a *answerJSON) print(b *strings.Builder, cwd string, typed []string) {
	b.WriteString(colour("1", a.Kind+" "+text.Plain(a.Name)) + "\n")
	row := func(label, text string) {
		if text != "" {
			b.WriteString("  " + label + strings.Repeat(" ", max(1, 11-len(label))) + text + "\n")
		}
	}
	row("answer", a.verdict())
	if a.Inside != a.Name {
		row("inside", plain(a.Inside))
	}
	row("leads to", plain(a.LeadsTo))
	row("why", app.Harmless(a.Why))
	row("rule", app.Harmless(a.rule()))
	for _, l := range a.Remedies {
		line := l.Text
		if len(l.Flags) > 0 {
			words := slices.Clone(l.Flags)
			last := &words[len(words)-1]
			if rest, ok := strings.CutPrefix(*last, cwd+"/"); ok && !strings.ContainsAny(rest[:1], "-~") {
				*last = rest
			}
			if line = "sbx " + text.ShellLine(append(typed[:len(typed):len(typed)], words...)); l.Note != "" {
				line += " (" + l.Note + ")"
			}
		}
		label := "to allow"
		if slices.Contains([]string{"close", "hide", "drop"}, l.To) {
			label = "to forbid"
		}
		row(label, a.purpose(l.To)+": "+app.Harmless(line))
	}
	if a.NoRemedy != "" {
		row("to allow", "nothing: "+app.Harmless(a.NoRemedy))
	}
}

func plain(path string) string {
	if path == "" {
		return ""
	}
	return text.Plain(path)
}

// verdict is the answer proper, a sentence.
func (a *answerJSON) verdict() string {
	is := func(yes *bool) bool { return yes != nil && *yes }
	say := func(yes bool, text string) string {
		return colour(map[bool]string{true: "32", false: "31"}[yes], "a command "+text)
	}
	switch {
	case a.Execute != nil:
		return say(is(a.Execute), map[bool]string{true: "can run it", false: "cannot run it"}[is(a.Execute)])
	case a.Reached != nil:
		return say(is(a.Reached), map[bool]string{true: "can reach it", false: "cannot reach it"}[is(a.Reached)])
	case a.Read == nil:
		return say(is(a.Seen), map[bool]string{true: "gets it", false: "does not get it"}[is(a.Seen)])
	case a.Type == "socket":
		return say(is(a.Connect), map[bool]string{true: "can connect to it", false: "cannot connect to it"}[is(a.Connect)])
	}
	can := map[[2]bool]string{{true, true}: "can read and change it", {true, false}: "can read it, and not change it",
		{false, true}: "can change it, and not read it", {false, false}: "finds its name, and can neither read nor change it"}
	switch {
	case !is(a.Seen) && is(a.Write):
		return say(true, "does not find it, and can create it")
	case !is(a.Seen) && !is(a.Read):
		return say(false, "does not find it")
	}
	return say(is(a.Read), can[[2]bool{is(a.Read), is(a.Write)}])
}

// doing is what a rule does with a path.
func doing(access string) string {
	return map[string]string{"private": "puts an empty directory at %", "closed": "closes %", "write": "makes % writable",
		"read": "shows %, read-only", "protect": "protects %", "block": "hides %"}[access]
}

func (a *answerJSON) rule() string {
	r := a.Rule
	switch {
	case r == nil && a.Read != nil:
		return "none"
	case r == nil || r.Path == "" && r.Setting == "":
		return ""
	case r.Path != "":
		return source(r.Layer, r.Source) + " " + strings.Replace(doing(r.Access), "%", text.Plain(r.Path), 1)
	}
	return r.Source + ": " + r.Setting
}

// purpose says what a remedy is for.
func (a *answerJSON) purpose(to string) string {
	if a.Rule != nil && a.Rule.Access == "private" && a.Kind == "path" && (to == "read" || to == "write") {
		return map[string]string{"read": "reading", "write": "writing"}[to] + " the host's"
	}
	return map[string]string{"read": "reading it", "write": "writing it", "connect": "connecting to it", "hide": "seeing it", "reach": "reaching it",
		"close": "reaching it", "see": "passing it on", "drop": "passing it on", "execute": "running it"}[to]
}

// typed are the flags of the run that is asked about.
func (c *whyCmd) typed() []string {
	words := slices.Clone(os.Args[min(2, len(os.Args)):])
	for _, w := range slices.Backward(c.Words) {
		for i, have := range slices.Backward(words) {
			if have == w {
				words = slices.Delete(words, i, i+1)
				break
			}
		}
	}
	return slices.DeleteFunc(words, func(w string) bool {
		return slices.Contains([]string{"--", "--path", "--host", "--var", "-v", "-q", "--verbose", "--quiet"}, w) || strings.HasPrefix(w, "--color")
	})
}
