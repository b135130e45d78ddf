// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// examples are lines to type for each command, each with what it does.
//
//go:embed help.txt
var examples string

const runHelp = "Run a command in a sandbox: the project is writable, the system readable, the home directory empty, " +
	"the network off, secrets hidden."

const runStatus = "Exit status: the command's own; 124 timed out, 125 sbx failed, 126 cannot be executed, 127 not found, " +
	"128+n died of signal n. The manual is sbx(1), which sbx man shows."

// helpCmd shows help.
type helpCmd struct {
	Command []string `arg:"" optional:"" help:"A command of sbx; none for sbx itself."`
}

func (c *helpCmd) Run() error {
	if len(c.Command) == 0 {
		_, err := parseFlags([]string{"--help"})
		return err
	}
	if word := c.Command[0]; !slices.Contains(commandNames, word) {
		hint := "sbx --help lists the commands"
		if near := nearCommand(word); near != "" {
			hint = sbxLine([]string{"help", near})
		}
		return app.Failed(strconv.Quote(word)+" is no command of sbx", hint)
	}
	return runCommand(append(c.Command, "--help"))
}

// exampleLines are the examples of a command, or of the one above it.
func exampleLines(n *kong.Node) []string {
	name := "run"
	if n.Type == kong.CommandNode {
		name, _, _ = strings.Cut(commandPath(n), " ")
	}
	_, rest, _ := strings.Cut(examples, "# "+name+"\n")
	lines, _, _ := strings.Cut(rest, "\n\n")
	all := strings.Split(strings.TrimSpace(lines), "\n")
	for i, l := range all {
		if line, what, ok := strings.Cut(l, "  "); ok {
			all[i] = line + "\t" + strings.TrimSpace(what)
		}
	}
	own := slices.DeleteFunc(slices.Clone(all), func(l string) bool {
		return n.Type == kong.CommandNode && !strings.HasPrefix(strings.Replace(l, "\t", " ", 1), "sbx "+commandPath(n)+" ")
	})
	if len(own) == 0 {
		return all
	}
	return own
}

// firstExample is a line to type for a command that lacks words.
func firstExample(n *kong.Node) string {
	line, _, _ := strings.Cut(exampleLines(n)[0], "\t")
	return line
}

// printHelp shows what is known of a run or a command.
func printHelp(_ kong.HelpOptions, ctx *kong.Context) error {
	n, about := ctx.Selected(), runHelp
	if n == nil {
		n = ctx.Model.Node
	} else if about = n.Help; n.Detail != "" {
		about += "\n\n" + n.Detail
	}
	h := &help{screen: screen()}
	if h.screen.Width == 0 {
		h.screen.Width = 80
	}
	h.text(about)
	h.section("Usage", []string{usageLine(n)})
	h.section("Examples", exampleLines(n))
	var rows []string
	for _, p := range n.Positional {
		rows = append(rows, strings.ToUpper(p.Name)+"\t"+p.Help)
	}
	h.section("Words", rows)
	commands := n.Children
	if n.Type == kong.ApplicationNode {
		commands = grammarOfCommands()
	}
	rows = nil
	for _, c := range commands {
		if !c.Hidden {
			rows = append(rows, strings.TrimPrefix(commandPath(c), commandPath(n)+" ")+"\t"+c.Help)
		}
	}
	h.section("Commands", rows)
	h.flags(n)
	if n.Type == kong.ApplicationNode {
		h.text("")
		h.text(runStatus)
	}
	return nil // finish has what could not be written
}

// grammarOfCommands are the commands of sbx.
func grammarOfCommands() []*kong.Node {
	parser, err := newParser(&commandCLI{})
	if err != nil {
		return nil
	}
	return parser.Model.Children
}

// help writes parts of a help text.
type help struct{ screen text.Screen }

func (h *help) text(lines string) {
	for line := range strings.SplitSeq(lines, "\n") {
		fmt.Fprintln(stdout, h.screen.Wrap(line, 0))
	}
}

// section writes rows under a title, each with its cells.
func (h *help) section(title string, rows []string) {
	if len(rows) == 0 {
		return
	}
	h.text("\n" + h.screen.Paint("1", title+":"))
	t := h.screen.Table(exact)
	for _, row := range rows {
		fmt.Fprintln(t, "  "+row)
	}
	_ = t.Flush()
}

// groups are the titles of flags, in the order of the help.
var groups = []string{"Files", "Network", "Environment", "Limits", "Sandbox", "Command", "Output", "Flags"}

// flags writes the flags of a command by their groups.
func (h *help) flags(n *kong.Node) {
	rows := make(map[string][]string)
	for _, f := range commandFlags(n) {
		if !f.Hidden {
			title, name := "Flags", "    --"+f.Name
			if f.Group != nil {
				title = f.Group.Title
			}
			if f.Short != 0 {
				name = "-" + string(f.Short) + ", --" + f.Name
			}
			if !f.IsBool() {
				name += " " + cmp.Or(f.PlaceHolder, strings.ToUpper(f.Name))
			}
			rows[title] = append(rows[title], name+"\t"+f.Help)
		}
	}
	for _, title := range groups {
		h.section(title, rows[title])
	}
}

// usageLine is how a command is typed.
func usageLine(n *kong.Node) string {
	if n.Type == kong.ApplicationNode {
		return "sbx [flags] [--] COMMAND [ARG…]"
	}
	line := "sbx " + commandPath(n)
	if len(n.Children) > 0 && n.DefaultCmd == nil {
		line += " COMMAND"
	} else if len(n.Children) > 0 {
		line += " [COMMAND]"
	}
	line += " [flags]"
	for _, p := range n.Positional {
		word := strings.ToUpper(p.Name)
		if many(p) {
			word += "…"
		}
		if !p.Required {
			word = "[" + word + "]"
		}
		line += " " + word
	}
	return line
}
