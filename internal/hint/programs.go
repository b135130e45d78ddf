// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"path"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/shims"
)

// borrowed is a program that is fetched where the project in a directory has
// none of that name.
type borrowed struct{ dir, name string }

// Programs by what they do with their words.
const (
	shells = "sh bash zsh dash ksh fish ash mksh busybox"
	// mute do nothing to what they name.
	mute = "echo printf : true false exit return set unset export local declare typeset readonly alias " +
		"unalias kill trap shift read sleep which type basename dirname logger seq expr let"

	making   = "touch mkdir truncate tee"
	copying  = "cp install ln mv rsync"
	changing = "chmod chown chgrp rm rmdir unlink shred" // what has to exist
	// matching take a pattern or a program first.
	matching = "grep egrep fgrep rg ag ack sed awk gawk perl jq yq"
	// reading have options that take no files, and read all that they name.
	reading = "cat ls head tail less more wc stat file diff cmp sort du source . rm cp mv ln mkdir touch chmod " +
		"chown tee sh bash dash zsh sed"
	// compilers take directories in one word with -I and -L.
	compilers = "cc gcc g++ c++ clang clang++ musl-gcc"
	// filing are the subcommands of git that read files by their names.
	filing = "add stage apply am mv rm clone hash-object"
	// inputs are options whose word is read.
	inputs = "--config --config-file --file --env-file --input --key --cert --cacert --directory --requirement " +
		"--prefix --manifest-path --project --sysroot --import --require --find-links"

	// prefixes are variables of make under whose values it installs.
	prefixes = "prefix PREFIX exec_prefix bindir BINDIR DESTDIR INSTALL_ROOT INSTALLDIR"

	// interpreting run a program that is a word of theirs.
	interpreting = "python python3 node ruby perl php"
	gaining      = "sudo su doas pkexec"
	debuggers    = "strace ltrace gdb lldb rr dlv"
	outgoing     = "curl wget ssh scp sftp rsync pip pip3 uv uvx pipx pdm conda mamba rustup helm poetry docker " +
		"podman kubectl gh glab aws gcloud az apt apt-get apk dnf yum brew dig nslookup host getent ping " +
		"telnet nc ftp"
	// curious look for newer versions of theirs, or count their users.
	curious = "npm npx pnpm pnpx yarn bun bunx next nuxt ng nx gatsby astro expo turbo dotnet flutter claude " +
		"codex gemini opencode"
	// fetchers go out with a subcommand of fetches, those of Node with more.
	fetchers = "git npm pnpm yarn bun cargo go gem bundle composer mix deno"
	fetches  = "install i ci add update upgrade get download fetch clone pull push ls-remote mod publish login " +
		"ping audit require create-project outdated"
	ofNode = "view info show v create search find s se dlx whoami dist-tag owner access token unpublish " +
		"deprecate adduser logout up in isntall clean-install install-test it"
	ofNodes  = "npm pnpm yarn bun"
	running  = "run run-script exec test start build"
	wrappers = "env command exec nohup nice ionice time timeout stdbuf setsid builtin xargs"
)

// places are more options by which a program writes.
func places(program string) string {
	return map[string]string{"pip": pips, "pip3": pips, "unzip": "-d", "ssh-keygen": "-f", "cmake": "--prefix -B",
		"cargo": "--root --target-dir", "npm": "--prefix", "wget": "-P --directory-prefix"}[program]
}

const pips = "-t --target --prefix --root -d --dest -w --wheel-dir --log"

// is reports whether a word is on one of the lists.
func is(list, word string) bool {
	return word != "" && !strings.Contains(word, " ") && strings.Contains(" "+list+" ", " "+word+" ")
}

// command reads the words of a simple command.
func (r *reader) command(words []string) {
	if len(words) > 1 && path.Base(words[0]) == "command" && (words[1] == "-v" || words[1] == "-V") {
		return // it only asks where a program is
	}
	if len(r.said) < 4*maxWords {
		r.said = append(r.said, words...)
	}
	words = program(words)
	if len(words) == 0 || words[0] == "" {
		return
	}
	name, args := path.Base(words[0]), words[1:]
	if strings.Contains(words[0], "/") {
		r.add(words[0], false)
	}
	if r.builtin(name, args) {
		return
	}
	if r.live && name == words[0] {
		r.programs = append(r.programs, name)
	}
	switch {
	case !r.live:
	case is(gaining, name):
		r.gains = name
	case is(debuggers, name) && slices.ContainsFunc(args, debugged):
		r.debugger = name
	}
	r.borrow(name, args)
	r.outward = r.outward || outward(name, args)
	r.near = r.near || is(outgoing, name) && slices.ContainsFunc(args, loopback)
	r.curious = r.curious || is(curious, name)
	if is(ofNodes, name) && (len(args) == 0 || is("install i ci add prepare", args[len(args)-1]) || is("install i ci add", args[0])) {
		r.installs = words
	}
	if name == "npm" && (len(args) == 1 && is("start test", args[0]) || len(args) == 2 && is("run run-script", args[0])) {
		r.starts = args[len(args)-1]
	}
	r.packs = r.packs || name == "npm" && slices.Contains(args, "pack")
	if name == "cargo" && len(args) > 0 && args[0] == "install" {
		r.crates = words
	}
	r.operands(name, args)
}

// debugged reports whether a word of a debugger is what to look into.
func debugged(a string) bool { return a != "" && a[0] != '-' || strings.HasPrefix(a, "-p") }

// builtin reads what a shell does by itself, and scripts for another one.
func (r *reader) builtin(name string, args []string) (done bool) {
	switch {
	case is(shells, name):
		text, ok := script(args)
		if !ok {
			return false
		}
		outer := r.shell
		r.shell = name
		r.script(text, has(args[:1], 'e'))
		r.shell = outer
	case name == "source" && is("sh dash ash", r.shell): // many of them have none
	case name == "eval":
		if !slices.Contains(args, "") {
			r.script(strings.Join(args, " "), r.errexit)
		}
	case name == "cd" || name == "pushd":
		r.change(args)
	case name == "[" || name == "test":
		for i, a := range args {
			if i > 0 && aboutFiles(args[i-1]) || i+1 < len(args) && compares(args[i+1]) {
				r.tested(a)
			}
		}
	default:
		return is(mute, name)
	}
	return true
}

// program leaves out what stands before the program: assignments, and other
// programs that start it.
func program(words []string) []string {
	started := false
	for len(words) > 0 {
		w := words[0]
		switch name, _, set := strings.Cut(w, "="); {
		case set && policy.ValidName(name):
		case is(wrappers, path.Base(w)):
			started = true
		case started && strings.HasPrefix(w, "-"): // options
		case started && w != "" && w[0] <= '9' && strings.Trim(w, "0123456789.smhd") == "": // how long
		default:
			return words
		}
		words = words[1:]
	}
	return nil
}

// script is the string that a shell gets with -c, by the words after its name.
func script(words []string) (text string, ok bool) {
	call := shims.Classify(words)
	return call.Text, call.Mode == shims.Command && call.Text != ""
}

// has reports whether a word is one of short options with the letter in it.
func has(args []string, letter byte) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.IndexByte(a, letter) > 0
	})
}

// aboutFiles reports whether the word behind an operator of test is a file.
func aboutFiles(op string) bool {
	return len(op) == 2 && op[0] == '-' && strings.IndexByte("bcdefghkprsuwxGLNOS", op[1]) >= 0 || compares(op)
}

func compares(op string) bool { return op == "-nt" || op == "-ot" || op == "-ef" }

func (r *reader) change(args []string) {
	dir := ""
	for _, a := range args {
		if a == "" || a == "-" { // who knows
			dir = ""
			break
		}
		if a[0] != '-' {
			dir = a
		}
	}
	r.add(dir, false)
	r.cwd, _ = r.path(dir)
}

// borrow looks for a program that npx or its like would fetch.
func (r *reader) borrow(name string, args []string) {
	switch {
	case name == "npx" || name == "bunx" || name == "pnpx":
	case (name == "npm" || name == "bun") && len(args) > 1 && (args[0] == "exec" || args[0] == "x"):
		args = args[1:]
	default:
		return
	}
	for _, a := range args {
		switch {
		case a == "-p" || strings.HasPrefix(a, "--package"):
			r.outward = true
			return
		case a == "-c" || a == "--call":
			return
		case a != "" && a[0] != '-':
			r.borrowed = append(r.borrowed, borrowed{r.cwd, a})
			return
		}
	}
}

// operands reads what stands behind the name of a program.
func (r *reader) operands(name string, args []string) {
	switch {
	case name == "git":
		args = r.git(args)
	case name == "tar" && len(args) > 0 && !strings.HasPrefix(args[0], "-"):
		args = append([]string{"-" + args[0]}, args[1:]...)
	}
	if is(interpreting, name) {
		r.literals(args)
	}
	files := r.options(name, args)
	if is(matching, name) && len(files) > 0 && !has(args, 'e') && !has(args, 'f') {
		files = files[1:]
	}
	switch last := max(len(files)-1, 0); {
	case name == "zip":
		r.all(files[:min(1, len(files))], use{write: true})
	case is(making, name):
		r.all(files, use{write: true, fresh: name == "mkdir"})
	case name == "rm" && has(args, 'f'):
		r.all(files, use{write: true, moves: true}) // it is content with nothing
	case is(changing, name):
		if name[0] == 'c' {
			files = files[min(1, len(files)):] // the mode, the owner
		}
		r.all(files, use{write: true, changed: true, moves: name[0] != 'c' && name != "shred"})
	case is(copying, name):
		switch {
		case name == "mv":
			r.all(files[:last], use{write: true, changed: true, moves: true})
		case name != "ln" || !has(args, 's'):
			r.all(files[:last], use{})
		}
		if len(files) > 1 && !has(args, 't') {
			r.all(files[last:], use{write: true})
		}
	case name == "sed" && has(args, 'i'):
		r.all(files, use{write: true, changed: true, moves: true, edited: true})
	case name == "dd":
		for _, f := range files {
			if key, path, _ := strings.Cut(f, "="); key == "of" || key == "if" {
				r.add(path, key == "of")
			}
		}
	default:
		r.all(files, use{bare: !is(reading, name)})
	}
}

// literals reads the paths that stand in quotes in a program of one line.
func (r *reader) literals(args []string) {
	for i, a := range args[:max(len(args)-1, 0)] {
		if !is("-c -e -p", a) {
			continue
		}
		quoted := strings.FieldsFunc(args[i+1], func(c rune) bool { return c == '"' || c == '\'' })
		for _, word := range quoted {
			if rest, ok := strings.CutPrefix(word, "~/"); ok && r.home != "" {
				word = r.home + "/" + rest
			}
			if strings.HasPrefix(word, "/") && !strings.ContainsAny(word, " ,;()") {
				r.add(word, false)
			}
		}
		return
	}
}

// options reads the words of options as far as they are files, and returns what
// else there is.
func (r *reader) options(name string, args []string) (files []string) {
	output, other, over := false, false, false // what the next word is
	for i, a := range args {
		switch {
		case a == "" || over || a[0] != '-' || a == "-":
			if variable, value, set := strings.Cut(a, "="); set && is(prefixes, variable) {
				r.use(value, use{write: true, tree: true})
			} else if output {
				r.use(a, use{write: true, tree: true, changed: name == "tar" && args[max(i-1, 0)] == "-C"})
			} else if !other && a != "" {
				files = append(files, a)
			}
			output, other = false, false
		case a == "--":
			output, other, over = false, false, true
		default:
			option, value, set := strings.Cut(a, "=")
			written := isOutput(name, option, args)
			output = !set && written
			other = !set && !output && !is(reading, name) && elsewise(option)
			switch {
			case set && leavesOut(option):
			case set && strings.HasPrefix(value, "/"):
				r.add(value, written)
			case set && is(inputs, option):
				r.all([]string{value}, use{bare: true})
			case len(a) > 2 && (a[:2] == "-I" || a[:2] == "-L") && is(compilers, name) && a[2] == '/':
				r.add(a[2:], false)
			}
		}
	}
	return files
}

// git is what of the words of git are files, with the directory of -C.
func (r *reader) git(args []string) []string {
	dir := r.cwd
	for len(args) > 1 && (args[0] == "-C" || args[0] == "-c") {
		if args[0] == "-C" {
			r.add(args[1], false)
			dir, _ = (&reader{cwd: dir}).path(args[1])
		}
		args = args[2:]
	}
	if len(args) == 0 {
		return nil
	}
	if len(r.gits) < maxGits {
		r.gits = append(r.gits, gitCall{dir: dir, sub: args[0], args: args[1:], idle: !r.live})
	}
	switch sub := args[0]; {
	case is(filing, sub), sub == "diff" && slices.Contains(args, "--no-index"):
		return args[1:]
	case is("commit tag", sub):
		file, _ := gitdir.Args(args[1:]).Option("-F --file")
		r.add(file, false)
	case is("archive format-patch diff log show", sub):
		r.options("git", args[1:])
	case sub == "bundle" && len(args) > 2 && args[1] == "create":
		r.add(args[2], true)
	}
	return nil
}

const maxGits = 8

// leavesOut reports whether an option is about what is not to be looked at.
func leavesOut(option string) bool {
	const words = "ignore exclude skip except omit without deselect no-"
	return slices.ContainsFunc(strings.Fields(words), func(word string) bool { return strings.Contains(option, word) })
}

// elsewise reports whether the word behind an option may be no file that is read.
func elsewise(option string) bool {
	if strings.HasPrefix(option, "--") {
		return !is(inputs, option)
	}
	return leavesOut(option) || len(option) == 2 && strings.IndexByte("xXEgmkntR", option[1]) >= 0
}

// isOutput reports whether the value of an option is written.
func isOutput(name, option string, args []string) bool {
	if name == "tar" {
		file, dir := strings.HasPrefix(option, "--file") || option[1] != '-' && strings.HasSuffix(option, "f"), is("-C --directory", option)
		if is("--create --append --update", args[0]) || has(args[:1], 'c') || has(args[:1], 'r') || has(args[:1], 'u') {
			return file
		}
		return dir
	}
	return is("-o -O -out", option) || strings.HasPrefix(option, "--out") || is(places(name), option)
}

// all notes operands that are files of this machine.
func (r *reader) all(words []string, u use) {
	for _, w := range words {
		if i := strings.IndexByte(w, ':'); i >= 0 && strings.IndexByte(w, '/') > i {
			continue // of another machine, a URL, or a list
		}
		r.use(w, u)
	}
}

// outward reports whether a command is about other machines.
func outward(name string, args []string) bool {
	if is(fetchers, name) && subcommand(name, args) {
		return true
	}
	beyond := is(outgoing, name)
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

// subcommand reports whether the words of a package manager make it go out.
func subcommand(name string, args []string) bool {
	node, end := is(ofNodes, name), ""
	if len(args) > 0 {
		end = args[len(args)-1]
	}
	for i, a := range args[:min(len(args), 6)] {
		switch {
		case is(running, a): // a script of the project's, whatever it is called
			return false
		case is(fetches, a), node && is(ofNode, a), name == "go" && strings.Contains(a, "@"):
			return true
		case node && a == "init" && end != a && !strings.HasPrefix(end, "-"): // of a template
			return true
		case i == 0 && node && !strings.HasPrefix(a, "-"): // what comes behind is no subcommand
			return false
		}
	}
	return false
}
