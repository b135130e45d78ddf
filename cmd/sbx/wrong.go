// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// contradiction is the error for flags that exclude each other, the one thing about a
// line that only kong knows.
func contradiction(err error) error {
	if flags, ok := strings.CutSuffix(err.Error(), " can't be used together"); ok {
		one, other, _ := strings.Cut(flags, " and ")
		return contradict(one, other)
	}
	return app.Failed("these words are not understood", "sbx --help lists the flags and the commands")
}

func contradict(one, other string) error {
	return app.Failed(one+" and "+other+" contradict each other", "leave out one of them")
}

func emptyValue(flag string) error { return app.Failed("--"+flag+": an empty value", "") }

func child(n *kong.Node, name string) *kong.Node {
	i := slices.IndexFunc(n.Children, func(c *kong.Node) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return n.Children[i]
}

// wrongCommand looks for what is wrong with the words of a command of sbx:
// given has those of a client, too, which are not read.
func wrongCommand(n *kong.Node, words, given []string) error {
	var extra, after []string
	line, open := []string{words[0]}, 0 // the words that are right
	for i := 1; i < len(words); {
		w := words[i]
		if w == "--" {
			open = len(n.Positional)
			break
		}
		took, bad := flagsOf(commandFlags(n)).at(words[i:])
		if bad != nil {
			return wrongCommandFlag(n, bad, line, given[i:])
		}
		sub := child(n, w)
		switch {
		case took > 0 && (w == "--help" || w == "-h"):
			return nil
		case took > 0:
		case open == 0 && sub != nil:
			n = sub
		case open < len(n.Positional):
			if known := oneOf(n.Positional[open]); len(known) > 0 && !slices.Contains(known, w) {
				return app.Failed(text.Plain(w)+" is not one of "+strings.Join(known, ", "),
					meantLine(line, w, known, words[i+1:]))
			}
			if n.Positional[open].Active = true; !many(n.Positional[open]) {
				open++
			}
		case open == 0 && n.DefaultCmd != nil && len(n.DefaultCmd.Positional) > 0:
			n = n.DefaultCmd
			continue
		default:
			if extra = append(extra, w); len(extra) == 1 {
				after = words[i+1:]
			}
			i++
			continue
		}
		line = append(line, words[i:i+max(took, 1)]...)
		i += max(took, 1)
	}
	return wrongWords(n, line, extra, after, open)
}

// many reports whether a word of the grammar stands for any number of them.
func many(v *kong.Value) bool { return v.Target.Kind() == reflect.Slice }

// oneOf are the words that a value is one of, nil when it is free.
func oneOf(v *kong.Value) []string {
	return slices.DeleteFunc(v.EnumSlice(), func(w string) bool { return w == "" })
}

// commandFlags are the flags that may stand behind the name of a command.
func commandFlags(n *kong.Node) (set []*kong.Flag) {
	for _, level := range n.AllFlags(false) {
		set = append(set, level...)
	}
	if n.DefaultCmd != nil {
		set = append(set, n.DefaultCmd.Flags...)
	}
	return set
}

// wrongWords is the error for words that a command does not take, or lacks.
func wrongWords(n *kong.Node, line, extra, after []string, open int) error {
	name := "sbx " + commandPath(n)
	switch {
	case len(extra) == 0 && open < len(n.Positional) && n.Positional[open].Required &&
		!n.Positional[open].Active:
		what := strings.ToUpper(n.Positional[open].Name)
		return app.Failed(name+": "+what+" is missing", firstExample(n))
	case len(extra) == 0 && len(n.Children) > 0 && n.DefaultCmd == nil:
		return app.Failed(name+": a command is missing", firstExample(n))
	case len(extra) == 0:
		return nil
	case extra[0] == "help":
		return app.Failed(name+" has no command help", "sbx help "+commandPath(n))
	case len(n.Children) == 0:
		return app.Failed(name+": unexpected word "+strconv.Quote(extra[0]), sbxLine(line))
	}
	var names []string
	for _, c := range n.Children {
		names = append(names, c.Name)
	}
	hint := meantLine(line[:1+strings.Count(commandPath(n), " ")], extra[0], names, after)
	if hint == "" {
		hint = name + " has the commands " + text.And(names)
	}
	return app.Failed(strconv.Quote(extra[0])+" is no command of "+name, hint)
}

// meantLine is a line with the word that was probably meant, "" when none is near.
func meantLine(line []string, word string, known, after []string) string {
	near := text.Within(word, known, min(2, len(word)/2))
	if near == "" {
		return ""
	}
	return sbxLine(line, []string{near}, after)
}

// wrongCommandFlag is the error for a flag that a command does not take.
func wrongCommandFlag(n *kong.Node, bad *wrong, line, rest []string) error {
	rest = rest[bad.take:]
	if bad.fix != nil {
		set := flagsOf(commandFlags(n))
		if fixed, _, _ := set.repair(slices.Concat(bad.fix, rest), true); fixed != nil {
			return bad.error(sbxLine(line, fixed))
		}
	}
	name := "sbx " + commandPath(n)
	flag, ofRun := strings.CutPrefix(bad.text, "unknown flag ")
	if ofRun {
		took, wrong := runFlags().at([]string{flag, "x"})
		if ofRun = wrong == nil && took > 0; ofRun {
			if took == 2 && len(rest) > 0 {
				rest = rest[1:]
			}
			return app.Failed(name+" does not take "+flag+", a flag of runs", sbxLine(line, rest))
		}
	}
	if bad.hint == "" {
		bad.hint = "sbx help " + commandPath(n)
	}
	return bad.error("")
}

// commandPath is the name of a command with those above it.
func commandPath(n *kong.Node) string {
	if n.Parent == nil || n.Parent.Type == kong.ApplicationNode {
		return n.Name
	}
	return commandPath(n.Parent) + " " + n.Name
}
