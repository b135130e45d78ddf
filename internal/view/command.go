// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/lookpath"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// LookCommand finds the file that executing name will run, as the sandbox will
// see it, so that "not found" and "cannot be executed" have their own exit
// status: bwrap says 1 for both. The error, if any, is an [*Error].
func (v *View) LookCommand(name, path string) (string, error) {
	switch {
	case name == "":
		return "", notFound("the command is an empty word", "")
	case strings.IndexByte(name, 0) >= 0:
		return "", failed("the command holds a NUL byte", "")
	case strings.IndexByte(name, '/') >= 0:
		full := name
		if full[0] != '/' {
			full = host.Join(v.Host.StartDir(), full)
		} else if v.Inside(filepath.Clean(full)) != filepath.Clean(full) {
			return "", notFound(text.Plain(name)+": the working directory is at "+text.Plain(v.remap)+" inside",
				"name it as "+text.Plain(v.Inside(filepath.Clean(full))))
		}
		return full, v.runnable(name, full)
	}
	full, err := lookpath.Find(path, name, func(file string) error {
		if v.Host.ByName && file[0] != '/' {
			return lookpath.ErrNone // what lies in the project is no tool
		}
		full := v.started(file)
		to, ok := v.Visible(full)
		if !ok || to.Info.Kind == host.Dir || v.Host.IsShim(v.Res, full, name, to) {
			return lookpath.ErrNone
		}
		return v.runnable(name, full)
	})
	switch err {
	case nil:
		return v.started(full), nil
	case lookpath.ErrNone:
		return "", notFound(text.Plain(name)+": command not found", v.hiddenHint(name))
	}
	return "", err
}

// started is the absolute path of a file in a search path, as the command has it
// where it starts.
func (v *View) started(file string) string {
	if file[0] != '/' {
		file = host.Join(v.Host.StartDir(), file)
	}
	return filepath.Clean(file)
}

func notFound(text, hint string) error {
	return &host.Error{Status: host.StatusNotFound, Text: text, Hint: hint}
}

func notExecutable(text, hint string) error {
	return &host.Error{Status: host.StatusNoExec, Text: text, Hint: hint}
}

// hiddenHint says where a command is that the host has and the sandbox has not.
func (v *View) hiddenHint(name string) string {
	path, _ := host.LookupEnv(v.Host.Environ, "PATH")
	full, err := v.Host.Tool(name, path)
	if err != nil {
		return ""
	}
	full = filepath.Clean(full)
	to, _ := v.Res.Resolve(full)
	is := " is"
	if _, seen := v.Visible(policy.Dir(full)); seen && to.Path != full {
		is = " leads to " + text.Plain(to.Path) + ", which is"
	}
	return text.Plain(full) + is + " not visible in the sandbox; -r " +
		text.ShellWord(policy.Dir(to.Path))
}

// runnable reports why the file at an absolute path cannot be executed inside.
func (v *View) runnable(name, full string) error {
	shown := text.Plain(name)
	to, ok := v.Visible(full)
	switch {
	case !ok && to.Info.Kind != host.Absent:
		if Shows(v.Access(to.Path)) { // a link on the way is what is missing
			for _, l := range to.Links {
				if !v.carries(l) {
					return notFound(shown+": not visible in the sandbox",
						"a link in "+text.Plain(policy.Dir(l.Path))+" leads to it; -r "+text.ShellWord(policy.Dir(l.Path)))
				}
			}
		}
		return notFound(shown+": not visible in the sandbox", "no rule shows "+text.Plain(to.Path)+"; -r "+text.ShellWord(to.Path))
	case !ok:
		return notFound(shown+": no such file or directory", "")
	case to.Info.Kind == host.Dir:
		return notExecutable(shown+": is a directory", "")
	case to.Info.Kind != host.File || to.Info.Mode&0o111 == 0 || !v.Host.FS.Access(to.Path, 'x'):
		hint := ""
		if to.Info.Kind == host.File && to.Info.Mode&0o111 == 0 && v.Access(to.Path) == policy.Write {
			hint = "it is not executable: chmod +x " + text.ShellWord(to.Path)
		}
		return notExecutable(shown+": permission denied", hint)
	}
	return v.interpreter(shown, to.Path)
}

// interpreter looks at the first line of a script: the program it names must
// be there inside, too, or the kernel reports the script itself as missing.
func (v *View) interpreter(shown, path string) error {
	head, err := v.Host.FS.Head(path, 256)
	if err != nil {
		return nil // executable but not readable: the kernel can run it
	}
	if !bytes.HasPrefix(head, []byte("#!")) {
		return nil
	}
	line, _, _ := bytes.Cut(head[2:], []byte("\n"))
	word := string(bytes.TrimLeft(line, " \t"))
	if i := strings.IndexAny(word, " \t\x00"); i >= 0 {
		word = word[:i]
	}
	if word == "" {
		return nil
	}
	full := word
	if full[0] != '/' {
		full = host.Join(v.Host.StartDir(), full)
	}
	if to, ok := v.Visible(full); !ok || to.Info.Kind != host.File {
		why, hint := " does not exist", "its first line, #!, names a program to run it with"
		if strings.HasSuffix(word, "\r") {
			return notExecutable(shown+": its lines end with CR LF, as on Windows", `sed -i 's/\r$//' `+text.ShellWord(path))
		} else if info, err := v.Host.FS.Lstat(full); err != nil || info.Kind != host.Absent {
			why, hint = " is not visible in the sandbox", "no rule shows "+text.Plain(full)+"; -r "+text.ShellWord(full)
		}
		return notExecutable(shown+": its interpreter "+text.Plain(word)+why, hint)
	}
	return nil
}
