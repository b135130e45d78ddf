package wrap

import (
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// use is a file that the words of a command name.
type use struct {
	path  string // absolute, by its name inside
	write bool   // it is to be made, changed or removed
	fresh bool   // it need not be touched when it is there
	name  bool   // a word without a slash: a file only where a rule says so
	there bool   // it has to be there to be changed
	moves bool   // another file is put in its place, or none
	dir   bool   // the word ends in a slash: nothing but a directory will do
	idle  bool   // its failure is not that of the whole; what it makes is there later
}

// usage is what can be told of a command by its words alone. A word that may as
// well be something else is left out: a hint that is wrong is worse than none.
type usage struct {
	vars    func(string) (string, bool)
	idle    bool   // see use.idle
	errexit bool   // the shell was started with -e
	shell   string // that reads the script, "" for none

	cwd  string // "" after a cd that leads who knows where
	sub  int    // parentheses around the cd that cwd comes from
	uses []use

	asked []string // paths that it looks for itself, and does without

	programs []string // by names to be looked up in PATH
	gains    string   // the program that is there to gain privileges
	debugger string   // the program that looks into others
	borrowed []borrowed
	outward  bool // something in it is about other machines
	curious  bool // a program in it goes there by itself, whatever it is told to do
}

// borrowed is a program that is fetched where the project in a directory has
// none of that name.
type borrowed struct{ dir, name string }

// usageOf reads the words of a command that is run in cwd.
func usageOf(words []string, cwd string, vars func(string) (string, bool)) *usage {
	u := &usage{vars: vars, cwd: cwd}
	n := min(len(words), maxWords)
	u.command(simple{words: words[:n:n]}, true, true, 0)
	return u
}

// script reads the commands of a string for a shell.
func (u *usage) script(text string, errexit, live bool, nested int) {
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
	decides := deciding(commands, errexit)
	u.errexit = errexit
	for i, c := range commands {
		if c.sub < u.sub {
			u.cwd, u.sub = "", c.sub
		}
		u.command(c, i == len(commands)-1, live && decides[i], nested)
	}
}

// command reads one command; last is whether it is the last of all, live
// whether its failure can be that of the whole.
func (u *usage) command(c simple, last, live bool, nested int) {
	if c.quiet && !last {
		return // nobody minds should it fail
	}
	u.idle = !live
	for _, path := range c.reads {
		u.add(path, false)
	}
	for _, path := range c.writes {
		u.add(path, true)
	}
	if asks(c.words) {
		return
	}
	words := program(c.words)
	if len(words) == 0 || words[0] == "" {
		return
	}
	name, args := host.Base(words[0]), words[1:]
	if strings.Contains(words[0], "/") {
		u.add(words[0], false)
	} else if live {
		u.programs = append(u.programs, name)
	}
	switch {
	case isShell(name):
		if text, ok := script(args); ok {
			outer, errexit := u.shell, u.errexit
			u.shell = name
			u.script(text, strings.HasPrefix(args[0], "-") && !strings.HasPrefix(args[0], "--") && strings.Contains(args[0], "e"), live, nested+1)
			u.shell, u.errexit = outer, errexit
			return
		}
	case name == "source" && (u.shell == "sh" || u.shell == "dash" || u.shell == "ash"):
		return // many of them have none
	case name == "eval":
		if !slices.Contains(args, "") {
			u.script(strings.Join(args, " "), u.errexit, live, nested+1)
		}
		return
	case name == "cd" || name == "pushd":
		u.idle = u.idle && c.sub > 0 // what follows runs somewhere else
		u.change(args, c.sub)
		return
	case slices.Contains(mute, name):
		return
	case name == "[" || name == "[[" || name == "test":
		for i, a := range args {
			path, ok := u.path(a)
			if !ok || !(i > 0 && aboutFiles(args[i-1]) || i+1 < len(args) && compares(args[i+1])) {
				continue
			}
			if last {
				u.use(use{path: path, name: strings.IndexByte(a, '/') < 0})
			} else {
				u.asked = append(u.asked, path)
			}
		}
		return
	case !live:
	case slices.Contains(gaining, name):
		u.gains = name
	case slices.Contains(debuggers, name) && slices.ContainsFunc(args, func(a string) bool { return a != "" && a[0] != '-' || strings.HasPrefix(a, "-p") }):
		u.debugger = name
	}
	u.borrow(name, args)
	u.outward = u.outward || outward(name, args)
	u.curious = u.curious || slices.Contains(curious, name)
	u.operands(name, args)
}

// asks reports whether a command only asks where a program is.
func asks(words []string) bool {
	return len(words) > 1 && host.Base(words[0]) == "command" && (words[1] == "-v" || words[1] == "-V")
}

// aboutFiles reports whether the word behind an operator of test is a file.
func aboutFiles(op string) bool {
	return len(op) == 2 && op[0] == '-' && strings.IndexByte("bcdefghkprsuwxGLNOS", op[1]) >= 0 || compares(op)
}

func compares(op string) bool { return op == "-nt" || op == "-ot" || op == "-ef" }

// borrow looks for a program that npx or its like would fetch.
func (u *usage) borrow(name string, args []string) {
	switch {
	case name == "npx" || name == "bunx" || name == "pnpx":
	case (name == "npm" || name == "bun") && len(args) > 1 && (args[0] == "exec" || args[0] == "x"):
		args = args[1:]
	default:
		return
	}
	for i, a := range args {
		switch {
		case a == "-p" || strings.HasPrefix(a, "--package"):
			u.outward = true
			return
		case a == "-c" || a == "--call":
			return
		case a != "" && a[0] != '-':
			if i < 4 {
				u.borrowed = append(u.borrowed, borrowed{u.cwd, a})
			}
			return
		}
	}
}

// Programs by what they do with their words.
var (
	// mute do nothing to what they name.
	mute     = []string{"echo", "printf", ":", "true", "false", "exit", "return", "set", "unset", "export", "local", "declare", "typeset", "readonly", "alias", "unalias", "kill", "trap", "shift", "read", "sleep", "which", "type", "basename", "dirname", "logger", "for", "case", "function", "seq", "expr", "let"}
	making   = []string{"touch", "mkdir", "truncate", "tee"}
	copying  = []string{"cp", "install", "ln", "mv"}
	changing = []string{"chmod", "chown", "chgrp", "rm", "rmdir", "unlink", "shred"} // what has to be there
	// matching take a pattern or a program first.
	matching = []string{"grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "perl", "jq", "yq"}

	// reading have options that take no files, and read all that they name.
	reading = []string{"cat", "ls", "head", "tail", "less", "more", "wc", "stat", "file", "diff", "cmp", "sort", "du", "source", ".", "rm", "cp", "mv", "ln", "mkdir", "touch", "chmod", "chown", "tee", "sh", "bash", "dash", "zsh", "sed"}
	// compilers take directories in one word with -I and -L.
	compilers = []string{"cc", "gcc", "g++", "c++", "clang", "clang++", "musl-gcc"}
	// filing are the subcommands of git that read files by their names.
	filing = []string{"add", "stage", "apply", "am", "mv", "rm", "clone", "hash-object"}
	// inputs are options whose word is read.
	inputs = []string{"--config", "--config-file", "--file", "--env-file", "--input", "--key", "--cert", "--cacert", "--directory", "--requirement", "--prefix", "--manifest-path", "--project", "--sysroot", "--import", "--require"}

	gaining   = []string{"sudo", "su", "doas", "pkexec"}
	debuggers = []string{"strace", "ltrace", "gdb", "lldb", "rr", "dlv"}
	outgoing  = []string{"curl", "wget", "ssh", "scp", "sftp", "rsync", "pip", "pip3", "uv", "uvx", "pipx", "pdm", "conda", "mamba", "rustup", "helm", "poetry", "docker", "podman", "kubectl", "gh", "glab", "aws", "gcloud", "az", "apt", "apt-get", "apk", "dnf", "yum", "brew", "dig", "nslookup", "host", "getent", "ping", "telnet", "nc", "ftp"}
	// curious look for newer versions of theirs, or count their users.
	curious = []string{"npm", "npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "next", "nuxt", "ng", "nx", "gatsby", "astro", "expo", "turbo", "dotnet", "flutter", "claude", "codex", "gemini", "opencode"}
	fetches = []string{"install", "i", "ci", "add", "update", "upgrade", "get", "download", "fetch", "clone", "pull", "push", "ls-remote", "mod", "publish", "login", "ping", "audit", "require", "create-project", "outdated"}
	// ofNode ask the registry, with npm and its like.
	ofNode   = []string{"view", "info", "show", "v", "create", "search", "find", "s", "se", "dlx", "whoami", "dist-tag", "owner", "access", "token", "unpublish", "deprecate", "adduser", "logout", "up", "in", "isntall", "clean-install", "install-test", "it"}
	ofNodes  = []string{"npm", "pnpm", "yarn", "bun"}
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
		case slices.Contains(wrappers, host.Base(w)):
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
	case word == "" || len(word) >= host.MaxPath/4 || strings.ContainsAny(word, "\n\x00"):
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
		u.use(use{path: path, write: write, dir: strings.HasSuffix(word, "/")})
	}
}

func (u *usage) use(f use) {
	if !slices.Contains(u.asked, f.path) {
		f.idle = f.idle || u.idle
		u.uses = append(u.uses, f)
	}
}

// operands reads what stands behind the name of a program.
func (u *usage) operands(name string, args []string) {
	var files []string
	if name == "git" {
		args = u.git(args)
	}
	reads := slices.Contains(reading, name)
	output, other, over := false, false, false // what the next word is
	for _, a := range args {
		switch {
		case a == "":
			output, other = false, false
		case over || a[0] != '-' || a == "-":
			switch {
			case output:
				u.add(a, true)
			case !other:
				files = append(files, a)
			}
			output, other = false, false
		case a == "--":
			output, other, over = false, false, true
		default:
			option, value, set := strings.Cut(a, "=")
			output = !set && isOutput(option)
			other = !set && !output && !reads && elsewise(option)
			switch {
			case set && leavesOut(option):
			case set && strings.HasPrefix(value, "/"):
				u.add(value, isOutput(option))
			case set && slices.Contains(inputs, option):
				u.all([]string{value}, false)
			case len(a) > 2 && (a[:2] == "-I" || a[:2] == "-L") && slices.Contains(compilers, name):
				if a[2] == '/' {
					u.add(a[2:], false)
				}
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
		if name == "rm" && has('f') {
			u.all(files, true) // it is content with nothing
			break
		}
		u.changed(files, name[0] != 'c' && name != "shred")
	case slices.Contains(copying, name):
		n := max(len(files)-1, 0)
		if name != "mv" && (name != "ln" || !has('s')) {
			u.all(files[:n], false)
		}
		if name == "mv" {
			u.changed(files[:n], true)
		}
		if len(files) > 1 && !has('t') {
			u.all(files[n:], true)
		}
	case name == "sed" && has('i'):
		u.changed(files, true)
	case name == "dd":
		for _, f := range files {
			if key, path, _ := strings.Cut(f, "="); key == "of" || key == "if" {
				u.add(path, key == "of")
			}
		}
	default:
		from := len(u.uses)
		u.all(files, false)
		for i := from; i < len(u.uses) && reads; i++ {
			u.uses[i].name = false // all of them are files
		}
	}
}

// changed notes files that have to be there to be changed; moves is whether
// others come in their places, or none.
func (u *usage) changed(files []string, moves bool) {
	from := len(u.uses)
	u.all(files, true)
	for i := from; i < len(u.uses); i++ {
		u.uses[i].there, u.uses[i].moves = true, moves
	}
}

// git is what of the words of git are files, with the directory of -C.
func (u *usage) git(args []string) []string {
	for len(args) > 1 && (args[0] == "-C" || args[0] == "-c") {
		if args[0] == "-C" {
			u.add(args[1], false)
		}
		args = args[2:]
	}
	if len(args) == 0 || !slices.Contains(filing, args[0]) {
		return nil
	}
	return args[1:]
}

// leavesOut reports whether an option is about what is not to be looked at.
func leavesOut(option string) bool {
	for _, word := range []string{"ignore", "exclude", "skip", "except", "omit", "without", "deselect", "no-"} {
		if strings.Contains(option, word) {
			return true
		}
	}
	return false
}

// elsewise reports whether the word behind an option may be no file that is read.
func elsewise(option string) bool {
	if strings.HasPrefix(option, "--") {
		return !slices.Contains(inputs, option)
	}
	return leavesOut(option) || len(option) == 2 && strings.IndexByte("xXEgmkntR", option[1]) >= 0
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
			u.use(use{path: path, write: write, name: !write && strings.IndexByte(w, '/') < 0, dir: strings.HasSuffix(w, "/")})
		}
	}
}

// outward reports whether a command is about other machines.
func outward(name string, args []string) bool {
	if slices.Contains(fetchers, name) {
		for i, a := range args[:min(len(args), 6)] {
			if slices.Contains(running, a) {
				break // a script of the project's, whatever it is called
			}
			if slices.Contains(fetches, a) || slices.Contains(ofNodes, name) && (slices.Contains(ofNode, a) || a == "init" && args[len(args)-1] != a && !strings.HasPrefix(args[len(args)-1], "-")) || name == "go" && strings.Contains(a, "@") {
				return true
			}
			if i == 0 && slices.Contains(ofNodes, name) && !strings.HasPrefix(a, "-") {
				break // what comes behind is no subcommand
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
