// SPDX-License-Identifier: Apache-2.0

// Package gencompletions writes the completion scripts of sbx from the grammars
// that kong reads the command line with. The scripts are checked in
// (completions/); a test of cmd/sbx compares them with what Script returns, and
// writes them anew with -update.
package gencompletions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sbx-sandbox/sbx/internal/agents"
	"github.com/sbx-sandbox/sbx/man"
)

// Grammar is what sbx understands.
type Grammar struct {
	Run      *kong.Application   // the flags of a run
	Commands *kong.Application   // the commands
	Words    map[string][]string // the values of flags that take one of a few words
}

// Script is the completion script of bash, zsh or fish.
func (g *Grammar) Script(shell string) string {
	flags, commands := g.flags(g.Run.Flags), g.commandWords()
	switch shell {
	case "bash":
		return bashCompletion(flags, commands)
	case "zsh":
		return zshCompletion(flags, commands)
	}
	return fishCompletion(flags, commands)
}

// flagWord is a flag as completion scripts see it.
type flagWord struct {
	long, short, help string
	takes             string // "", path, profile, words, other
	words             []string
	file              bool // a path as well as one of the words
}

func (g *Grammar) flagWord(f *kong.Flag) flagWord {
	w := flagWord{long: f.Name, help: strings.TrimSuffix(f.Help, "."), words: g.Words[f.Name]}
	if f.Short != 0 {
		w.short = string(f.Short)
	}
	switch {
	case f.IsBool():
	case f.Name == "profile":
		w.takes = "profile"
	case len(w.words) > 0:
		w.takes, w.file = "words", strings.HasSuffix(f.PlaceHolder, "|FILE")
	case f.PlaceHolder == "PATH" || f.PlaceHolder == "FILE":
		w.takes = "path"
	default:
		w.takes = "other"
	}
	return w
}

// names are the flag as it is written, long and short.
func (f flagWord) names() []string {
	if f.short == "" {
		return []string{"--" + f.long}
	}
	return []string{"--" + f.long, "-" + f.short}
}

func flagNames(flags []flagWord) string {
	var out []string
	for _, f := range flags {
		out = append(out, f.names()...)
	}
	return strings.Join(out, " ")
}

// flags are those of kong's that are not hidden.
func (g *Grammar) flags(all []*kong.Flag) (out []flagWord) {
	for _, f := range all {
		if !f.Hidden {
			out = append(out, g.flagWord(f))
		}
	}
	return out
}

// commandWord is a command of sbx as completion scripts see it.
type commandWord struct {
	name  string
	words []string   // what may come first: commands of its own, or a fixed set
	named bool       // names of profiles may follow
	files bool       // paths may follow
	tools bool       // names of programs may follow
	run   bool       // it takes the flags of a run
	flags []flagWord // its own and those of its commands, the flags of a run included
}

func (g *Grammar) commandWords() (out []commandWord) {
	for _, n := range g.Commands.Children {
		c := commandWord{name: n.Name, flags: []flagWord{{long: "help", short: "h",
			help: "Show help"}}}
		g.add(&c, n)
		c.run = contains(c.flags, flagWord{long: "read-only"})
		out = append(out, c)
	}
	return out
}

// add adds to a command what one of its own commands takes.
func (g *Grammar) add(c *commandWord, n *kong.Node) {
	for _, f := range g.flags(n.Flags) {
		if !contains(c.flags, f) {
			c.flags = append(c.flags, f)
		}
	}
	for _, p := range n.Positional {
		switch {
		case p.Name == "shell":
			c.words = append(c.words, slices.DeleteFunc(p.EnumSlice(), func(w string) bool { return w == "" })...)
		case p.Name == "command":
			for _, other := range g.Commands.Children {
				c.words = append(c.words, other.Name)
			}
		case p.Name == "tool":
			c.tools = true
		case p.Name == "client":
			c.words = append(c.words, agents.Names()...)
		case p.Name == "page":
			for _, page := range man.Names() {
				c.words = append(c.words, strings.TrimPrefix(page[:len(page)-len(".1")], "sbx-"))
			}
		case p.Name == "file" || strings.HasPrefix(p.Name, "path"):
			c.files = true
		default:
			c.named = true
		}
	}
	for _, sub := range n.Children {
		c.words = append(c.words, sub.Name)
		g.add(c, sub)
	}
}

// own are the flags to offer, less those of a run where it takes them all.
func (c *commandWord) own(run []flagWord) []flagWord {
	if !c.run {
		return c.flags
	}
	return slices.DeleteFunc(slices.Clone(c.flags), func(f flagWord) bool { return contains(run, f) })
}

func contains(flags []flagWord, f flagWord) bool {
	return slices.ContainsFunc(flags, func(o flagWord) bool { return o.long == f.long })
}

// names are the commands, as one word after the other.
func names(commands []commandWord) string {
	out := make([]string, len(commands))
	for i, c := range commands {
		out[i] = c.name
	}
	return strings.Join(out, " ")
}

// valued are the flags of the commands that take a value and are no flags of a
// run.
func valued(run []flagWord, commands []commandWord) []flagWord {
	var out []flagWord
	for _, c := range commands {
		for _, f := range c.flags {
			if f.takes != "" && !contains(run, f) && !contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

func bashCompletion(flags []flagWord, commands []commandWord) string {
	var b, values, cases strings.Builder
	for _, f := range append(flags, valued(flags, commands)...) {
		names := strings.Join(f.names(), "|")
		switch f.takes {
		case "path":
			fmt.Fprintf(&values, "        %s) _sbx_files; return ;;\n", names)
		case "profile":
			fmt.Fprintf(&values, "        %s) mapfile -t COMPREPLY < <(compgen -W \"$(_sbx_profiles)\" -- \"$cur\"); return ;;\n", names)
		case "words":
			or := ""
			if f.file {
				or = " ((${#COMPREPLY[@]})) || _sbx_files;"
			}
			fmt.Fprintf(&values, "        %s) mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\");%s return ;;\n",
				names, strings.Join(f.words, " "), or)
		case "other":
			fmt.Fprintf(&values, "        %s) return ;;\n", names)
		}
	}
	for _, c := range commands {
		list := flagNames(c.own(flags))
		if c.run {
			list = strings.TrimSpace("$run " + list)
		}
		if c.named {
			list += " $(_sbx_profiles)"
		}
		fmt.Fprintf(&cases, "            %s) list=\"%s\"", c.name, list)
		if len(c.words) > 0 {
			fmt.Fprintf(&cases, " first='%s'", strings.Join(c.words, " "))
		}
		if c.files {
			cases.WriteString(" files=1")
		}
		if c.tools {
			cases.WriteString(" tools=1")
		}
		cases.WriteString(" ;;\n")
	}
	fmt.Fprintf(&b, `# bash completion for sbx; source it, or put it into bash-completion's directory.
_sbx_profiles() { command sbx profiles list 2>/dev/null | cut -c3- | cut -d' ' -f1; }
_sbx_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur"); }
_sbx() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i found
    COMPREPLY=()
    # "--flag=value" comes as three words.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD-2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            if declare -F _comp_command_offset >/dev/null; then
                _comp_command_offset $((i + 1))
            elif declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            elif ((i + 1 == COMP_CWORD)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            fi
            return
        fi
    done
    case $prev in
%s    esac
    local run='%s' list first='' files='' tools=''
    if ((COMP_CWORD == 1)); then
        list="%s $run --"
    else
        case ${COMP_WORDS[1]} in
%s            *) list="$run --" ;;
        esac
    fi
    # Words that come first, then paths, and flags when one is begun.
    if ((COMP_CWORD != 2)); then first=; fi
    if [[ $files && $cur != -* ]]; then
        _sbx_files
        list=
    fi
    if [[ $tools && $cur != -* ]] && ((COMP_CWORD > 2)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    fi
    mapfile -t found < <(compgen -W "$first $list" -- "$cur")
    COMPREPLY+=("${found[@]}")
}
complete -F _sbx sbx
`, values.String(), flagNames(flags), names(commands), cases.String())
	return b.String()
}

func zshCompletion(flags []flagWord, commands []commandWord) string {
	var b strings.Builder
	b.WriteString("#compdef sbx\n# zsh completion for sbx; put it into a directory of $fpath as _sbx.\n" +
		"_sbx_profiles() { compadd -- ${(f)\"$(command sbx profiles list 2>/dev/null | cut -c3- | cut -d' ' -f1)\"} }\n_sbx() {\n" +
		"  local -a flags=(\n")
	for _, f := range flags {
		b.WriteString(zshFlag(f))
	}
	b.WriteString(`  )
  local i=${words[(i)--]}
  if (( i < CURRENT )); then
    shift $i words; (( CURRENT -= i )); _normal; return
  fi
  if (( CURRENT == 2 )) && [[ ${words[2]} != -* ]]; then
    compadd ` + names(commands) + `; return
  fi
  if (( CURRENT > 2 )); then
    case ${words[2]} in
`)
	for _, c := range commands {
		sign := "="
		if c.run {
			sign = "+="
		}
		fmt.Fprintf(&b, "    %s) flags%s(\n", c.name, sign)
		for _, f := range c.own(flags) {
			b.WriteString(zshFlag(f))
		}
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "    '1:word:(%s)'\n", strings.Join(c.words, " "))
		}
		switch {
		case c.files:
			b.WriteString("    '*:path:_files'\n")
		case c.tools:
			b.WriteString("    '*:tool:_path_commands'\n")
		case c.named:
			b.WriteString("    '*:profile:_sbx_profiles'\n")
		}
		b.WriteString("    ) ;;\n")
	}
	b.WriteString(`    *) _arguments -s $flags; return ;;
    esac
    shift words; (( CURRENT-- ))
  fi
  _arguments -s $flags
}
if [ "$funcstack[1]" = _sbx ]; then _sbx "$@"; else compdef _sbx sbx; fi
`)
	return b.String()
}

// zshFlag is a flag as _arguments wants it, a line for each name.
func zshFlag(f flagWord) string {
	action := map[string]string{"": "", "path": ":path:_files", "profile": ":profile:_sbx_profiles",
		"words": ":value:(" + strings.Join(f.words, " ") + ")", "other": ":value: "}[f.takes]
	if f.file {
		action = ":value:{compadd " + strings.Join(f.words, " ") + "; _files}"
	}
	help := strings.NewReplacer("'", "'\\''", "[", "\\[", "]", "\\]", ":", "\\:").Replace(f.help)
	eq := ""
	if f.takes != "" {
		eq = "="
	}
	text := fmt.Sprintf("    '*--%s%s[%s]%s'\n", f.long, eq, help, action)
	if f.short != "" {
		text += fmt.Sprintf("    '*-%s[%s]%s'\n", f.short, help, action)
	}
	return text
}

func fishCompletion(flags []flagWord, commands []commandWord) string {
	var b, others strings.Builder
	b.WriteString("# fish completion for sbx; put it into ~/.config/fish/completions/sbx.fish.\n" +
		"function __sbx_profiles; command sbx profiles list 2>/dev/null | string sub -s 3 | string replace -r ' .*' ''; end\n" +
		"function __sbx_before; not contains -- -- (commandline -opc); end\n" +
		"function __sbx_after; contains -- -- (commandline -opc); end\n" +
		"function __sbx_in; set -l words (commandline -opc); __sbx_before; and test (count $words) -gt 1; and contains -- $words[2] $argv; end\n" +
		"function __sbx_first; test (count (commandline -opc)) -eq 2; end\n")
	for _, c := range commands {
		if !c.run {
			others.WriteString(" " + c.name)
		}
	}
	fmt.Fprintf(&b, "function __sbx_run; __sbx_before; and not __sbx_in%s; end\n", others.String())
	b.WriteString("complete -c sbx -n __sbx_before -f\n" +
		"function __sbx_command\n  set -l words (commandline -opc) (commandline -ct)\n  set -l i (contains -i -- -- $words); or return\n  set -e words[1..$i]\n  complete -C \"$words\"\nend\n" +
		"complete -c sbx -n __sbx_after -xa '(__sbx_command)'\n")
	fmt.Fprintf(&b, "complete -c sbx -n '__fish_use_subcommand' -a '%s'\n", names(commands))
	for _, c := range commands {
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "complete -c sbx -n '__sbx_in %s; and __sbx_first' -a '%s'\n", c.name,
				strings.Join(c.words, " "))
		}
		if c.named {
			fmt.Fprintf(&b, "complete -c sbx -n '__sbx_in %s' -a '(__sbx_profiles)'\n", c.name)
		}
		if c.files {
			fmt.Fprintf(&b, "complete -c sbx -n '__sbx_in %s' -F\n", c.name)
		}
		if c.tools {
			fmt.Fprintf(&b, "complete -c sbx -n '__sbx_in %s; and not __sbx_first' -a '(complete -C (commandline -ct))'\n", c.name)
		}
		for _, f := range c.own(flags) {
			b.WriteString(fishFlag("'__sbx_in "+c.name+"'", f))
		}
	}
	for _, f := range flags {
		b.WriteString(fishFlag("__sbx_run", f))
	}
	return b.String()
}

func fishFlag(when string, f flagWord) string {
	text := "complete -c sbx -n " + when + " -l " + f.long
	if f.short != "" {
		text += " -s " + f.short
	}
	switch f.takes {
	case "path":
		text += " -rF"
	case "profile":
		text += " -xa '(__sbx_profiles)'"
	case "words":
		only := "x"
		if f.file {
			only = "rF"
		}
		text += " -" + only + "a '" + strings.Join(f.words, " ") + "'"
	case "other":
		text += " -x"
	}
	return text + " -d '" + strings.ReplaceAll(f.help, "'", `\'`) + "'\n"
}
