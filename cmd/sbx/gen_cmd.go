package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sbx-sandbox/sbx/man"
)

// completionCmd prints what a shell needs to complete sbx's words.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (c *completionCmd) Run() error {
	text, err := completion(c.Shell)
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(text)
	return err
}

// manCmd prints the manual page, for man -l -.
type manCmd struct{}

func (c *manCmd) Run() error {
	_, err := os.Stdout.WriteString(man.Page)
	return err
}

// completion writes the script of a shell from the grammar of the flags.
func completion(shell string) (string, error) {
	flags, err := runFlags()
	if err != nil {
		return "", err
	}
	switch shell {
	case "bash":
		return bashCompletion(flags), nil
	case "zsh":
		return zshCompletion(flags), nil
	}
	return fishCompletion(flags), nil
}

// flagWord is a flag as completion scripts see it.
type flagWord struct {
	long, short, help string
	takes             string // "", path, profile, words, other
	words             []string
}

func runFlags() ([]flagWord, error) {
	parser, err := kong.New(&runCLI{}, kong.Name("sbx"))
	if err != nil {
		return nil, err
	}
	var out []flagWord
	for _, f := range parser.Model.Flags {
		if f.Hidden {
			continue
		}
		w := flagWord{long: f.Name, help: strings.TrimSuffix(f.Help, "."), words: words[f.Name]}
		if f.Short != 0 {
			w.short = string(f.Short)
		}
		switch {
		case f.IsBool():
		case f.Name == "profile":
			w.takes = "profile"
		case len(w.words) > 0:
			w.takes = "words"
		case f.PlaceHolder == "PATH" || f.PlaceHolder == "FILE":
			w.takes = "path"
		default:
			w.takes = "other"
		}
		out = append(out, w)
	}
	return out, nil
}

func bashCompletion(flags []flagWord) string {
	var b, cases strings.Builder
	var all []string
	for _, f := range flags {
		names := "--" + f.long
		all = append(all, names)
		if f.short != "" {
			all = append(all, "-"+f.short)
			names += "|-" + f.short
		}
		switch f.takes {
		case "path":
			fmt.Fprintf(&cases, "        %s) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;\n", names)
		case "profile":
			fmt.Fprintf(&cases, "        %s) mapfile -t COMPREPLY < <(compgen -W \"$(_sbx_profiles)\" -- \"$cur\"); return ;;\n", names)
		case "words":
			fmt.Fprintf(&cases, "        %s) mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\"); return ;;\n", names, strings.Join(f.words, " "))
		case "other":
			fmt.Fprintf(&cases, "        %s) return ;;\n", names)
		}
	}
	fmt.Fprintf(&b, `# bash completion for sbx; source it, or put it into bash-completion's directory.
_sbx_profiles() { command sbx profiles list 2>/dev/null | cut -c3- | cut -d' ' -f1; }
_sbx() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i
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
    case ${COMP_WORDS[1]} in
        profiles) mapfile -t COMPREPLY < <(compgen -W "list show diff $(_sbx_profiles)" -- "$cur"); return ;;
        completion) mapfile -t COMPREPLY < <(compgen -W 'bash zsh fish' -- "$cur"); return ;;
    esac
    local list='%s --'
    if ((COMP_CWORD == 1)); then list="%s $list"; fi
    mapfile -t COMPREPLY < <(compgen -W "$list" -- "$cur")
}
complete -F _sbx sbx
`, cases.String(), strings.Join(all, " "), strings.Join(commandNames, " "))
	return b.String()
}

func zshCompletion(flags []flagWord) string {
	var b strings.Builder
	b.WriteString("#compdef sbx\n# zsh completion for sbx; put it into a directory of $fpath as _sbx.\n" +
		"_sbx_profiles() { compadd -- ${(f)\"$(command sbx profiles list 2>/dev/null | cut -c3- | cut -d' ' -f1)\"} }\n_sbx() {\n" +
		"  local -a flags=(\n")
	for _, f := range flags {
		action := map[string]string{"": "", "path": ":path:_files", "profile": ":profile:_sbx_profiles", "words": ":value:(" + strings.Join(f.words, " ") + ")", "other": ":value: "}[f.takes]
		help := strings.NewReplacer("'", "'\\''", "[", "\\[", "]", "\\]", ":", "\\:").Replace(f.help)
		eq := ""
		if f.takes != "" {
			eq = "="
		}
		fmt.Fprintf(&b, "    '*--%s%s[%s]%s'\n", f.long, eq, help, action)
		if f.short != "" {
			fmt.Fprintf(&b, "    '*-%s[%s]%s'\n", f.short, help, action)
		}
	}
	fmt.Fprintf(&b, `  )
  local i=${words[(i)--]}
  if (( i < CURRENT )); then
    shift $i words; (( CURRENT -= i )); _normal; return
  fi
  case ${words[2]} in
    profiles) (( CURRENT == 3 )) && compadd list show diff || _sbx_profiles; return ;;
    completion) compadd bash zsh fish; return ;;
  esac
  if (( CURRENT == 2 )) && [[ ${words[2]} != -* ]]; then
    compadd %s; return
  fi
  _arguments -s $flags
}
if [ "$funcstack[1]" = _sbx ]; then _sbx "$@"; else compdef _sbx sbx; fi
`, strings.Join(commandNames, " "))
	return b.String()
}

func fishCompletion(flags []flagWord) string {
	var b strings.Builder
	b.WriteString("# fish completion for sbx; put it into ~/.config/fish/completions/sbx.fish.\n" +
		"function __sbx_profiles; command sbx profiles list 2>/dev/null | string sub -s 3 | string replace -r ' .*' ''; end\n" +
		"function __sbx_before; not contains -- -- (commandline -opc); end\n" +
		"function __sbx_after; contains -- -- (commandline -opc); end\n" +
		"complete -c sbx -n __sbx_before -f\n" +
		"function __sbx_command\n  set -l words (commandline -opc) (commandline -ct)\n  set -l i (contains -i -- -- $words); or return\n  set -e words[1..$i]\n  complete -C \"$words\"\nend\n" +
		"complete -c sbx -n __sbx_after -xa '(__sbx_command)'\n")
	fmt.Fprintf(&b, "complete -c sbx -n '__fish_use_subcommand' -a '%s'\n", strings.Join(commandNames, " "))
	b.WriteString("complete -c sbx -n '__fish_seen_subcommand_from profiles' -a 'list show diff (__sbx_profiles)'\n" +
		"complete -c sbx -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'\n")
	for _, f := range flags {
		fmt.Fprintf(&b, "complete -c sbx -n __sbx_before -l %s", f.long)
		if f.short != "" {
			fmt.Fprintf(&b, " -s %s", f.short)
		}
		switch f.takes {
		case "path":
			b.WriteString(" -rF")
		case "profile":
			b.WriteString(" -xa '(__sbx_profiles)'")
		case "words":
			fmt.Fprintf(&b, " -xa '%s'", strings.Join(f.words, " "))
		case "other":
			b.WriteString(" -x")
		}
		fmt.Fprintf(&b, " -d '%s'\n", strings.ReplaceAll(f.help, "'", `\'`))
	}
	return b.String()
}
