package wrap

import (
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/policy"
)

// use is a file that the words of a command name.
type use struct {
	path  string // absolute, by its name inside
	write bool   // it is to be made, changed or removed
	fresh bool   // it need not be touched when it is there
	name  bool   // a word without a slash: a file only where a rule says so
}

// usage is what can be told of a command by its words alone. A word that may as
// well be something else is left out: a hint that is wrong is worse than none.
type usage struct {
	vars func(string) (string, bool)
	cwd  string // "" after a cd that leads who knows where
	sub  int    // parentheses around the cd that cwd comes from
	uses []use

	asked []string // paths that it looks for itself, and does without

	programs []string // by names to be looked up in PATH
	gains    string   // the program that is there to gain privileges
	debugger string   // the program that looks into others
	outward  bool     // something in it is about other machines
	curious  bool     // a program in it goes there by itself, whatever it is told to do
}

// usageOf reads the words of a command that is run in cwd.
func usageOf(words []string, cwd string, vars func(string) (string, bool)) *usage {
	u := &usage{vars: vars, cwd: cwd}
	n := min(len(words), maxWords)
	u.command(simple{words: words[:n:n]}, true, 0)
	return u
}

// script reads the commands of a string for a shell.
func (u *usage) script(text string, nested int) {
	if nested > maxEvals {
		return
	}
	stays := !strings.Contains(text, "cd") && !strings.Contains(text, "pushd") && !strings.Contains(text, "popd")
	commands := split(text, func(name string) (string, bool) {
		if name == "PWD" {
			return u.cwd, u.cwd != "" && stays
		}
		return u.vars(name)
	})
	for i, c := range commands {
		if c.sub < u.sub {
			u.cwd, u.sub = "", c.sub
		}
		u.command(c, i == len(commands)-1, nested)
	}
}

// command reads one command; last is whether its status is that of the whole.
func (u *usage) command(c simple, last bool, nested int) {
	if c.quiet && !last {
		return // nobody minds should it fail
	}
	for _, path := range c.reads {
		u.add(path, false)
	}
	for _, path := range c.writes {
		u.add(path, true)
	}
	words := program(c.words)
	if len(words) == 0 || words[0] == "" {
		return
	}
	name, args := base(words[0]), words[1:]
	if strings.Contains(words[0], "/") {
		u.add(words[0], false)
	} else {
		u.programs = append(u.programs, name)
	}
	switch {
	case isShell(name):
		if text, ok := script(args); ok {
			u.script(text, nested+1)
			return
		}
	case name == "eval":
		if !slices.Contains(args, "") {
			u.script(strings.Join(args, " "), nested+1)
		}
		return
	case name == "cd" || name == "pushd":
		u.change(args, c.sub)
		return
	case slices.Contains(mute, name):
		return
	case name == "[" || name == "[[" || name == "test":
		if last {
			break
		}
		for _, a := range args {
			if path, ok := u.path(a); ok {
				u.asked = append(u.asked, path)
			}
		}
		return
	case slices.Contains(gaining, name):
		u.gains = name
	case slices.Contains(debuggers, name):
		u.debugger = name
	}
	u.outward = u.outward || outward(name, args)
	u.curious = u.curious || slices.Contains(curious, name)
	u.operands(name, args)
}

// Programs by what they do with their words.
var (
	// mute do nothing to what they name.
	mute     = []string{"echo", "printf", ":", "true", "false", "exit", "return", "set", "unset", "export", "local", "declare", "typeset", "readonly", "alias", "unalias", "kill", "trap", "shift", "read", "sleep", "which", "type", "basename", "dirname", "logger", "for", "case", "function", "seq", "expr", "let"}
	making   = []string{"touch", "mkdir", "rm", "truncate", "tee"}
	copying  = []string{"cp", "install", "ln", "mv"}
	changing = []string{"chmod", "chown", "chgrp", "rmdir", "unlink", "shred"} // what has to be there
	// matching take a pattern or a program first.
	matching = []string{"grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "perl", "jq", "yq"}

	gaining   = []string{"sudo", "su", "doas", "pkexec"}
	debuggers = []string{"strace", "ltrace", "gdb", "lldb", "rr", "dlv"}
	outgoing  = []string{"curl", "wget", "ssh", "scp", "sftp", "rsync", "pip", "pip3", "uv", "pipx", "poetry", "docker", "podman", "kubectl", "gh", "glab", "aws", "gcloud", "az", "apt", "apt-get", "apk", "dnf", "yum", "brew", "dig", "nslookup", "host", "getent", "ping", "telnet", "nc", "ftp"}
	// curious look for newer versions of theirs, or count their users.
	curious  = []string{"npm", "npx", "pnpm", "yarn", "bun", "next", "nuxt", "ng", "nx", "gatsby", "astro", "expo", "turbo", "dotnet", "flutter", "claude", "codex", "gemini", "opencode"}
	fetches  = []string{"install", "i", "ci", "add", "update", "upgrade", "get", "download", "fetch", "clone", "pull", "push", "ls-remote", "mod", "publish", "login", "ping", "audit"}
	running  = []string{"run", "run-script", "exec", "test", "start", "build"}
	fetchers = []string{"git", "npm", "pnpm", "yarn", "bun", "cargo", "go", "gem", "bundle", "composer", "mix", "deno"}
	wrappers = []string{"env", "command", "exec", "nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid", "builtin", "xargs", "if", "then", "else", "elif", "while", "until", "do", "!", "{"}
)

// program leaves out what stands before the program: assignments, keywords, and
// other programs that start it.
func program(words []string) []string {
	started := false
	for len(words) > 0 {
		w := words[0]
		switch name, _, set := strings.Cut(w, "="); {
		case set && policy.ValidName(name):
		case slices.Contains(wrappers, base(w)):
			started = true
		case started && (strings.HasPrefix(w, "-") || w != "" && w[0] <= '9' && strings.Trim(w, "0123456789.smhd") == ""): // options, and how long
		default:
			return words
		}
		words = words[1:]
	}
	return nil
}

func (u *usage) change(args []string, sub int) {
	dir := ""
	for _, a := range args {
		if a == "" || a == "-" {
			dir = ""
			break
		}
		if a[0] != '-' {
			dir = a
		}
	}
	if dir == "" {
		u.cwd = ""
		return
	}
	u.add(dir, false)
	u.cwd, _ = u.path(dir)
	u.sub = sub
}

// path is where a word leads that names a file.
func (u *usage) path(word string) (string, bool) {
	switch {
	case word == "" || len(word) >= maxPath/4 || strings.ContainsAny(word, "\n\x00"):
		return "", false
	case word[0] == '/':
		return policy.Clean(word), true
	case u.cwd == "":
		return "", false
	}
	return policy.Clean(u.cwd + "/" + word), true
}

func (u *usage) add(word string, write bool) {
	if path, ok := u.path(word); ok {
		u.use(use{path: path, write: write})
	}
}

func (u *usage) use(f use) {
	if !slices.Contains(u.asked, f.path) {
		u.uses = append(u.uses, f)
	}
}

// operands reads what stands behind the name of a program.
func (u *usage) operands(name string, args []string) {
	var files []string
	output, over := false, false
	for _, a := range args {
		switch {
		case a == "":
			output = false
		case over || a[0] != '-' || a == "-":
			if output {
				u.add(a, true)
				output = false
				continue
			}
			files = append(files, a)
		case a == "--":
			over = true
		default:
			option, value, set := strings.Cut(a, "=")
			output = !set && isOutput(option)
			if set && strings.HasPrefix(value, "/") {
				u.add(value, isOutput(option))
			}
		}
	}
	has := func(letter byte) bool {
		return slices.ContainsFunc(args, func(a string) bool {
			return len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.IndexByte(a, letter) > 0
		})
	}
	if slices.Contains(matching, name) && len(files) > 0 && !has('e') && !has('f') {
		files = files[1:]
	}
	switch {
	case slices.Contains(making, name):
		from := len(u.uses)
		u.all(files, true)
		for i := from; i < len(u.uses); i++ {
			u.uses[i].fresh = name == "mkdir"
		}
	case slices.Contains(changing, name):
		if name[0] == 'c' {
			files = files[min(1, len(files)):] // the mode, the owner
		}
		u.all(files, false)
		u.all(files, true)
	case slices.Contains(copying, name):
		n := max(len(files)-1, 0)
		if name != "ln" || !has('s') {
			u.all(files[:n], false)
		}
		if name == "mv" {
			u.all(files[:n], true)
		}
		if len(files) > 1 && !has('t') {
			u.all(files[n:], true)
		}
	case name == "sed" && has('i'):
		u.all(files, false)
		u.all(files, true)
	case name == "dd":
		for _, f := range files {
			if key, path, _ := strings.Cut(f, "="); key == "of" || key == "if" {
				u.add(path, key == "of")
			}
		}
	default:
		u.all(files, false)
	}
}

func isOutput(option string) bool {
	return option == "-o" || option == "-O" || strings.HasPrefix(option, "--out")
}

// all notes operands. What is only read has to look like a path.
func (u *usage) all(words []string, write bool) {
	for _, w := range words {
		if strings.Contains(w, "://") {
			continue
		}
		if i := strings.IndexByte(w, ':'); i >= 0 && strings.IndexByte(w, '/') > i {
			continue // of another machine, or a list
		}
		path, ok := u.path(w)
		if ok {
			u.use(use{path: path, write: write, name: !write && strings.IndexByte(w, '/') < 0})
		}
	}
}

// outward reports whether a command is about other machines.
func outward(name string, args []string) bool {
	if slices.Contains(fetchers, name) {
		for _, a := range args[:min(len(args), 6)] {
			if slices.Contains(running, a) {
				break // a script of the project's, whatever it is called
			}
			if slices.Contains(fetches, a) {
				return true
			}
		}
	}
	beyond := slices.Contains(outgoing, name)
	for _, a := range args {
		if _, rest, ok := strings.Cut(a, "://"); ok {
			for _, local := range []string{"localhost", "127.", "[::1]", "/"} {
				if strings.HasPrefix(rest, local) {
					return false
				}
			}
			beyond = true
		}
	}
	return beyond
}
