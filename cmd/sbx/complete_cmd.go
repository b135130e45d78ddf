// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sbx-sandbox/sbx/internal/agents"
	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/man"
	"github.com/sbx-sandbox/sbx/profiles"
)

// completeWord is the first word of a shell's question: sbx __complete WORD...,
// the words after sbx as they stand, the last one as far as it is typed. The first
// line of the answer says what else may stand there, each other line is a word and
// after a tab what it means.
//
//	:           nothing else
//	:files      paths
//	:command 2  a program and its words, which begin at the third word
const completeWord = "__complete"

// runComplete answers a shell's question. It says nothing of what fails: the
// person is in the middle of a line.
func runComplete(to io.Writer, words []string) {
	if len(words) == 0 {
		return
	}
	last := len(words) - 1
	c := &completion{words: words[:last], cur: words[last]}
	if err := c.complete(); err == nil {
		_, _ = io.WriteString(to, ":"+c.also+"\n"+c.offers.String())
	}
}

// completion is a question, and what there is to answer.
type completion struct {
	words []string // before the cursor
	cur   string   // the word at it

	offers strings.Builder
	also   string // what else may stand there, as the first line says it
}

// offer adds words that may come next.
func (c *completion) offer(help string, words ...string) {
	if help, _, _ = strings.Cut(help, "\n"); !text.Printable(help) {
		help = ""
	}
	for _, w := range words {
		if text.Printable(w) {
			c.offers.WriteString(w + "\t" + strings.TrimSuffix(help, ".") + "\n")
		}
	}
}

// command says that a program and its words begin at a word.
func (c *completion) command(at int) { c.also = "command " + strconv.Itoa(at) }

func (c *completion) complete() error {
	commands, err := newParser(&commandCLI{})
	if err != nil {
		return err
	}
	if len(c.words) > 0 && slices.Contains(commandNames, c.words[0]) {
		c.walk(commands.Model.Node, false)
		return nil
	}
	run, err := newParser(&runCLI{})
	if err != nil {
		return err
	}
	c.walk(run.Model.Node, true)
	if len(c.words) == 0 && !strings.HasPrefix(c.cur, "-") {
		if c.cur == "" { // one begins with the commands of sbx, not with all programs
			c.also = ""
		}
		c.children(commands.Model.Node)
	}
	return nil
}

// walk follows the words from a node of the grammar to the cursor. A word that is
// neither a flag nor a command of sbx is in a run the command.
func (c *completion) walk(n *kong.Node, run bool) {
	at := 0 // words since the node that are no flags
	for i := 0; i < len(c.words); i++ {
		w := c.words[i]
		switch f, set := c.flag(n, w); {
		case w == "--" && run:
			c.command(i + 1)
			return
		case w == "--":
			c.also = "files"
			return
		case f != nil:
			if i+1 < len(c.words) && c.words[i+1] == "=" { // cut by bash
				i += 2
			} else if !f.bool && !set {
				i++
			}
			if i == len(c.words) {
				c.value(f, "")
				return
			}
		case len(w) > 1 && w[0] == '-':
		case run:
			c.command(i)
			return
		case at == 0 && child(n, w) != nil:
			n = child(n, w)
		case n.Name == "agent":
			c.command(i)
			return
		default:
			at++
		}
	}
	if name, _, ok := strings.Cut(c.cur, "="); ok && strings.HasPrefix(name, "--") {
		if f, _ := c.flag(n, name); f != nil {
			c.value(f, name+"=")
		}
		return
	}
	switch {
	case strings.HasPrefix(c.cur, "-"):
		for _, f := range flagsOf(commandFlags(n)) {
			if f.hidden {
				continue
			}
			c.offer(f.help, "--"+f.name)
			if f.short != 0 {
				c.offer(f.help, "-"+string(f.short))
			}
		}
	case run:
		c.command(len(c.words))
	case at == 0 && len(n.Children) > 0:
		c.children(n)
	default:
		c.positional(n, at)
	}
}

func (c *completion) children(n *kong.Node) {
	for _, k := range n.Children {
		if !k.Hidden {
			c.offer(k.Help, k.Name)
		}
	}
}

// flag is the one that a word names, of several letters the last, and whether its
// value is part of the word.
func (c *completion) flag(n *kong.Node, word string) (f *flag, set bool) {
	flags := flagsOf(commandFlags(n))
	if long, ok := strings.CutPrefix(word, "--"); ok {
		long, _, set = strings.Cut(long, "=")
		return flags.long(long), set
	}
	if len(word) < 2 || word[0] != '-' {
		return nil, false
	}
	for _, r := range word[1:] {
		if f = flags.find(func(f *flag) bool { return f.short == r }); f == nil {
			return nil, false
		}
		if !f.bool {
			break
		}
	}
	return f, !strings.HasSuffix(word, string(f.short))
}

// value completes the value of a flag, behind what of its word stands before it.
func (c *completion) value(f *flag, before string) {
	cur := strings.TrimPrefix(c.cur, before)
	switch {
	case f.bool:
	case f.name == "profile":
		if i := strings.LastIndexByte(cur, ','); i >= 0 {
			before += cur[:i+1]
		}
		c.profiles(before)
	case f.name == "env":
		c.variables(before)
	case len(words(f.name)) > 0:
		for _, w := range words(f.name) {
			c.offer("", before+w)
		}
		if strings.HasSuffix(f.placeholder, "|FILE") {
			c.also = "files"
		}
	case f.name == "device":
		c.offer("", before+"gpu", before+"kvm")
		c.also = "files"
	case f.placeholder == "PATH" || f.placeholder == "FILE":
		c.also = "files"
	}
}

// positional completes the word of a command that is no flag: what it means is
// told by the name that help shows for it.
func (c *completion) positional(n *kong.Node, at int) {
	if len(n.Positional) == 0 || at >= len(n.Positional) && !n.Positional[len(n.Positional)-1].IsCumulative() {
		return
	}
	switch p := n.Positional[min(at, len(n.Positional)-1)]; p.Name {
	case "shell":
		c.offer("", slices.DeleteFunc(p.EnumSlice(), func(w string) bool { return w == "" })...)
	case "client":
		c.offer("", agents.Names()...)
	case "page":
		for _, page := range man.Names() {
			name, _, _ := strings.Cut(page, ".")
			c.offer("", strings.TrimPrefix(name, "sbx-"))
		}
	case "tool":
		c.command(len(c.words))
	case "command":
		c.offer("", commandNames...)
	case "path":
		if t, err := findTripped(); err == nil {
			for i := range t.changes {
				path := app.Below(t.changes[i].Path, t.cwd)
				if path[0] == '-' {
					path = "./" + path
				}
				c.offer("", path)
			}
		}
	case "project":
		if _, list, err := findCaches(); err == nil {
			for i := range list {
				c.offer(ofProject(&list[i]), list[i].Name)
			}
		}
	case "a", "b", "name":
		c.profiles("")
	default:
		c.also = "files"
		if strings.HasPrefix(p.Name, "path|") && c.cur != "" && !strings.ContainsAny(c.cur, "./~") {
			c.variables("")
		}
	}
}

func (c *completion) profiles(before string) {
	s, err := load()
	if err != nil {
		return
	}
	for _, name := range s.Settings.Profiles.Names() {
		c.offer(profiles.Summary(name), before+name)
	}
}

func (c *completion) variables(before string) {
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); name != "" {
			c.offer("", before+name)
		}
	}
}
