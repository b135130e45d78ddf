package risk

import (
	"slices"
	"strings"
)

var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "rbash", "fish"}

// interpreters run what comes on stdin when they are given no script.
var interpreters = []string{"python", "python2", "python3", "perl", "node", "ruby", "php", "deno", "bun", "osascript"}

// shell reads the text that words give to a shell or an interpreter, and
// reports whether there is nothing more to say of them.
func (r *reader) shell(words []string) bool {
	name, args := words[0], words[1:]
	if slices.Contains(interpreters, name) {
		r.runInterpreter(name, args)
		return false
	}
	switch {
	case slices.Contains(shells, name):
		r.runShell(name, args)
	case name == "su":
		r.su(args)
	case name == "eval":
		r.runText(name, strings.Join(args, " "), r.params)
	case name == "trap" && len(args) > 1:
		r.runText(name, args[0], r.params)
	case (name == "source" || name == ".") && len(args) > 0:
		if strings.Contains(args[0], fetched) || args[0] == "/dev/stdin" {
			r.runText(name, args[0]+r.stdin, nil)
		}
	default:
		return false
	}
	return true
}

// runText reads text run by the command called name.
func (r *reader) runText(name, text string, params []string) {
	if strings.Contains(text, fetched) {
		r.add("fetch-run", "runs what it downloads with "+show(name))
	}
	r.text(text, params)
}

func (r *reader) runShell(name string, args []string) {
	o := shellOptions(args)
	switch {
	case o.command && len(o.rest) > 0:
		r.runText(name, o.rest[0], o.rest[1:])
	case o.command:
	case len(o.rest) == 0 || o.stdin || o.rest[0] == "-" || o.rest[0] == "/dev/stdin":
		r.runText(name, r.stdin, nil)
	case strings.Contains(o.rest[0], fetched):
		r.runText(name, fetched, nil)
	}
}

// shellArgs is a shell's command line: sh(1), bash(1).
type shellArgs struct {
	command bool     // -c
	stdin   bool     // -s
	rest    []string // after the options
}

// shellOptions reads options as shells do: in clusters (-euxc), with + too,
// and going on after -c, whose text is the first word that is no option.
func shellOptions(args []string) shellArgs {
	var o shellArgs
	for len(args) > 0 {
		a := args[0]
		if len(a) < 2 || a[0] != '-' && a[0] != '+' {
			break
		}
		args = args[1:]
		if a == "--" {
			break
		}
		if strings.HasPrefix(a, "--") {
			if (a == "--rcfile" || a == "--init-file") && len(args) > 0 {
				args = args[1:]
			}
			continue
		}
		o.command = o.command || a[0] == '-' && strings.Contains(a, "c")
		o.stdin = o.stdin || a[0] == '-' && strings.Contains(a, "s")
		if strings.ContainsAny(a, "oO") && len(args) > 0 {
			args = args[1:]
		}
	}
	o.rest = args
	return o
}

// runInterpreter only knows whether the script comes from the network:
// python -m json.tool reads data.
func (r *reader) runInterpreter(name string, args []string) {
	script := r.stdin
	if len(args) > 0 && args[0] != "-" && args[0] != "/dev/stdin" {
		script = ""
		if !strings.HasPrefix(args[0], "-") || slices.Contains([]string{"-c", "-e"}, args[0]) {
			script = strings.Join(args[:min(2, len(args))], " ")
		}
	}
	if strings.Contains(script, fetched) {
		r.add("fetch-run", "runs what it downloads with "+show(name))
	}
}

// su has its options behind the user as well: su - postgres -c TEXT.
func (r *reader) su(args []string) {
	for i, a := range args {
		if (a == "-c" || a == "--command" || strings.HasPrefix(a, "-") && strings.HasSuffix(a, "c")) && i+1 < len(args) {
			r.runText("su", args[i+1], nil)
			return
		}
	}
	if strings.Contains(r.stdin, fetched) {
		r.runText("su", r.stdin, nil)
	}
}

// wrapper is a command that runs the one in its own arguments.
type wrapper struct {
	name     string
	values   string   // letters of options that take a value
	long     []string // long options that take it as the next word
	operands int      // words of its own before the command
	assigns  bool     // takes NAME=VALUE before the command
	query    string   // letters with which it runs nothing
}

var wrappers = []wrapper{
	{name: "sudo", values: "ugpCchrtTDRU", long: []string{"--user", "--group", "--prompt", "--chdir", "--host"}, assigns: true, query: "lvKV"},
	{name: "doas", values: "uC"},
	{name: "pkexec", long: []string{"--user"}},
	{name: "env", values: "uCS", long: []string{"--unset", "--chdir"}, assigns: true},
	{name: "nice", values: "n", long: []string{"--adjustment"}},
	{name: "ionice", values: "cnpPu"},
	{name: "nohup"},
	{name: "setsid"},
	{name: "stdbuf", values: "ioe"},
	{name: "timeout", values: "ks", long: []string{"--kill-after", "--signal"}, operands: 1},
	{name: "time", values: "of"},
	{name: "xargs", values: "adEILnPs", long: []string{"--max-args", "--max-procs", "--delimiter", "--arg-file"}},
	{name: "flock", values: "wE", operands: 1},
	{name: "command", query: "vV"},
	{name: "builtin"},
	{name: "exec", values: "a"},
	{name: "busybox"},
	{name: "toybox"},
	{name: "chronic"},
	{name: "caffeinate", values: "tw"},
	{name: "unbuffer"},
	{name: "systemd-run", values: "pEMHut"},
}

// unwrap returns the command inside a wrapper's words. ok is false if there is
// none. find's is the one behind -exec.
func unwrap(words []string) (inner []string, ok bool) {
	if len(words) == 0 {
		return nil, false
	}
	if words[0] == "find" {
		i := slices.IndexFunc(words, isExec) + 1
		if i == 0 {
			return nil, false
		}
		return words[i:], i < len(words)
	}
	i := slices.IndexFunc(wrappers, func(w wrapper) bool { return w.name == words[0] })
	if i < 0 {
		return nil, false
	}
	return wrappers[i].strip(words[1:])
}

func isExec(word string) bool {
	return word == "-exec" || word == "-execdir" || word == "-ok" || word == "-okdir"
}

func (w *wrapper) strip(args []string) (inner []string, ok bool) {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		if w.query != "" && a[1] != '-' && strings.ContainsAny(a, w.query) {
			return nil, false
		}
		if w.takesNext(a) && len(args) > 0 {
			args = args[1:]
		}
	}
	for w.assigns && len(args) > 0 && strings.Contains(args[0], "=") {
		args = args[1:]
	}
	args = args[min(w.operands, len(args)):]
	return args, len(args) > 0
}

// takesNext reports whether option a has its value in the next word: it does
// when the letter that wants one ends the cluster.
func (w *wrapper) takesNext(a string) bool {
	if strings.HasPrefix(a, "--") {
		return slices.Contains(w.long, a)
	}
	i := strings.IndexAny(a[1:], w.values)
	return w.values != "" && i == len(a)-2
}
