// SPDX-License-Identifier: Apache-2.0

package shims

import "strings"

// Answer is what a shell says a name stands for.
type Answer struct {
	Kind string // file, alias, function, builtin, none
	Path string // of a file: where; behind an alias or a function: the file it hides, if any
}

// Question returns the code that lets a shell say what names stand for, each
// between two marks, so that what start-up files print is told apart. The shell
// is the name of a program; ok is false for one that is not known. Names have
// passed [CheckName].
func Question(shell string, names []string, mark string) (code string, ok bool) {
	each := "for __n in " + strings.Join(names, " ") + "; "
	begin := `printf '%s' "` + mark + ` $__n `
	switch strings.TrimPrefix(shell, "sbx-") {
	case "bash":
		return each + "do " + begin + `$(type -t "$__n") $(type -P "$__n")` + mark + `"; done`, true
	case "zsh":
		return each + "do " + begin + `${$(whence -w "$__n")##*: } $(whence -p "$__n")` + mark + `"; done`, true
	case "fish":
		return each + begin + `"(type -t $__n 2>/dev/null; or echo none)" "(command -s $__n; or echo)"` +
			mark + `"; end`, true
	}
	if ShellOf(shell) != "sh" {
		return "", false
	}
	return each + `do __a=$(command -v "$__n"); case $__a in alias*) __a="alias " ;; /*) __a="file $__a" ;; ` +
		`"") __a="none " ;; *) __a="function " ;; esac; ` + begin + `${__a}` + mark + `"; done`, true
}

// Answers reads what a shell said.
func Answers(out, mark string) map[string]Answer {
	found := make(map[string]Answer)
	for {
		_, rest, ok := strings.Cut(out, mark+" ")
		if !ok {
			return found
		}
		var text string
		if text, out, ok = strings.Cut(rest, mark); !ok {
			return found
		}
		name, text, _ := strings.Cut(text, " ")
		kind, path, _ := strings.Cut(text, " ")
		switch kind {
		case "command", "hashed":
			kind = "file"
		case "keyword", "reserved":
			kind = "builtin"
		case "":
			kind = "none"
		}
		found[name] = Answer{kind, strings.TrimSuffix(path, "\n")}
	}
}
