// SPDX-License-Identifier: Apache-2.0

package shims

import (
	"fmt"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/text"
)

// Shells are those that [Activate] and [Alias] write for; "sh" is any POSIX shell.
var Shells = []string{"bash", "zsh", "fish", "sh"}

// ShellOf returns the one of [Shells] that a program is, by its name, or "".
func ShellOf(path string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(path[strings.LastIndexByte(path, '/')+1:], "-"), "sbx-")
	switch name {
	case "bash", "zsh", "fish", "sh":
		return name
	case "dash", "ash", "ksh", "mksh", "ksh93", "posh", "yash":
		return "sh"
	}
	return ""
}

// Quote writes any bytes but NUL as one word of a shell. It is the same in all
// POSIX shells; a fish has escapes between single quotes.
func Quote(shell, word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return word
	}
	if shell == "fish" {
		return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(word) + "'"
	}
	return text.SingleQuoted(word)
}

// Activate returns the code that puts a directory first in PATH, once however
// often it is run, followed by the text of a completion script. It works with
// set -eu, and holds no comments: zsh at a prompt takes # for a word.
func Activate(shell, dir, completion string) (string, error) {
	if strings.IndexByte(dir, ':') >= 0 {
		return "", fmt.Errorf("%s holds a colon, which PATH cannot: let XDG_DATA_HOME name another place",
			text.Plain(dir))
	}
	completion = uncomment(completion)
	q := Quote(shell, dir)
	switch shell {
	case "fish":
		return `begin
    set -l rest
    set -l entry
    for entry in $PATH
        test "$entry" = ` + q + `; or set -a rest $entry
    end
    set -gx PATH ` + q + ` $rest
end
` + completion, nil
	case "zsh":
		completion = "if (( $+functions[compdef] )); then\n" + completion + "fi\n"
	case "bash":
	default:
		completion = ""
	}
	// PATH with a colon at both ends, so that each directory stands between two.
	return `__sbx_path=:${PATH:-/usr/local/bin:/usr/bin:/bin}:
while :; do
    case $__sbx_path in
    *:` + q + `:*) __sbx_path=${__sbx_path%%:` + q + `:*}:${__sbx_path#*:` + q + `:} ;;
    *) break ;;
    esac
done
__sbx_path=${__sbx_path#:}
export PATH=` + q + `"${__sbx_path:+:${__sbx_path%:}}"
unset __sbx_path
` + completion, nil
}

// uncomment drops the lines that are nothing but a comment.
func uncomment(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// Alias returns the line that lets a name mean a command line, whose words are
// quoted for the shell.
func Alias(shell, name string, words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(shell, w)
	}
	between := "="
	if shell == "fish" {
		between = " "
	}
	return "alias " + name + between + Quote(shell, strings.Join(quoted, " ")) + "\n"
}
