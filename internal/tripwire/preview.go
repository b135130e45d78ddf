// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/text"
)

// Bounds of a preview.
const (
	maxLines = 200
	maxShown = 16 << 10 // bytes
	maxLine  = 400      // bytes of one line
	maxSmall = 4 << 10  // bytes of a file that is shown as part of a directory
)

// Preview shows what is there, and what is different where the content before
// was kept: "+ " before what is new, "- " before what is gone. The lines can be
// printed as they are: what a terminal would obey is escaped. They are at most
// 200 and 16 KiB, and say so when there is more.
func (c *Change) Preview() []string {
	p := &page{}
	if len(c.Added) > 0 {
		for _, line := range c.Added {
			p.add("+ " + Plain(line))
		}
		return p.lines
	}
	for _, line := range c.Notes {
		p.add("+ " + line)
	}
	if c.Was != "" && c.Before == nil {
		p.add("- was " + Describe(c.Was))
	}
	kind, rest, _ := strings.Cut(c.Now, " ")
	switch kind {
	case "link":
		p.add("+ -> " + Plain(rest))
		if c.Was == c.Now {
			p.add("+ its target has changed")
		}
	case "file":
		p.file(c)
	case "dir":
		p.dir(c.Path)
	default:
		p.add("+ " + Describe(c.Now))
	}
	return p.lines
}

// Describe says in a few words what a State of a Name is.
func Describe(state string) string {
	kind, text, _ := strings.Cut(state, " ")
	switch kind {
	case "":
		return "nothing"
	case "link":
		return "a link to " + strconv.Quote(text)
	case "file":
		if strings.HasSuffix(text, " executable") {
			return "an executable file"
		}
		return "a file"
	case "dir":
		return "a directory"
	}
	return strings.Trim(Plain(text), "()")
}

// Plain escapes what a terminal would obey, or would show as something else:
// control and format characters, and what is not UTF-8. Tabs stay.
func Plain(s string) string {
	quoted := strconv.Quote(s)
	return unquoted.Replace(quoted[1 : len(quoted)-1])
}

// unquoted takes back what quotes need, and what a terminal shows as it is.
var unquoted = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\t`, "\t")

// page collects lines up to its bounds.
type page struct {
	lines []string
	bytes int
	full  bool
}

func (p *page) add(line string) {
	if p.full {
		return
	}
	if len(p.lines) >= maxLines-1 || p.bytes >= maxShown {
		p.lines, p.full = append(p.lines, "… and more"), true
		return
	}
	if line = Plain(line); len(line) > maxLine {
		end := maxLine
		for !utf8.RuneStart(line[end]) {
			end--
		}
		line = line[:end] + " … " + strconv.Itoa(len(line)-end) + " more bytes in this line"
	}
	p.lines = append(p.lines, line)
	p.bytes += len(line)
}

// file shows a file, or what of it is different. What is shown has to be what
// the change is about: a command that still runs could have two of them.
func (p *page) file(c *Change) {
	data, err := readFile(c.Path, maxFile)
	switch {
	case err != nil:
		p.add("+ it cannot be read: " + err.Error())
	case len(data) > maxFile:
		p.add("+ a file of more than 1 MiB")
	case !strings.HasPrefix(c.Now, "file "+sum(data)):
		p.add("+ it has changed since it was looked at")
	case slices.Contains(data, 0):
		p.add("+ binary, " + strconv.Itoa(len(data)) + " bytes")
	case c.Before != nil && string(c.Before) == string(data):
		p.add("+ the same content, now " + Describe(c.Now))
	case c.Before == nil:
		p.text("+ ", data)
	default:
		for _, line := range text.Diff(c.Before, data) {
			if line[0] == '@' {
				line = " …" + line[1:]
			}
			p.add(line[:1] + " " + line[1:])
		}
	}
	if len(p.lines) == 0 {
		p.add("+ an empty file")
	}
}

// text shows the lines of a text.
func (p *page) text(before string, data []byte) {
	for line := range strings.Lines(string(data)) {
		p.add(before + strings.TrimSuffix(line, "\n"))
	}
}

// dir lists a directory. Of one that git would use it says first what makes git
// run programs or look elsewhere.
func (p *page) dir(path string) {
	if base(path) == ".git" || bare(path) {
		p.git(path)
		p.list(path, "", 1, false)
		return
	}
	p.list(path, "", maxDepth, true)
}

// list shows names with kinds and sizes, and small texts.
func (p *page) list(dir, prefix string, depth int, texts bool) {
	names, err := listDir(dir)
	if err != nil {
		p.add("+ " + prefix + " cannot be read: " + err.Error())
		return
	}
	for _, name := range sorted(names) {
		if p.full {
			return
		}
		path := join(dir, name)
		st, err := lstat(path)
		switch kind := uint32(st.Mode) & unix.S_IFMT; {
		case err != nil:
			p.add("+ " + prefix + name + ": " + err.Error())
		case kind == unix.S_IFDIR:
			p.add("+ " + prefix + name + "/")
			if depth > 1 {
				p.list(path, prefix+name+"/", depth-1, texts)
			}
		case kind == unix.S_IFLNK:
			text, _ := os.Readlink(path)
			p.add("+ " + prefix + name + " -> " + text)
		case kind == unix.S_IFREG:
			executable := ""
			if st.Mode&0o111 != 0 {
				executable = "executable, "
			}
			p.add("+ " + prefix + name + ", " + executable + number(st.Size) + " bytes")
			if texts && st.Size <= maxSmall {
				p.small(path)
			}
		default:
			p.add("+ " + prefix + name + ", " + kindName(kind))
		}
	}
}

// small shows a text as part of something else.
func (p *page) small(path string) {
	data, err := readFile(path, maxSmall)
	switch {
	case err != nil:
		p.add("+     cannot be read: " + err.Error())
	case slices.Contains(data, 0):
		p.add("+     binary")
	default:
		p.text("+     ", data[:min(len(data), maxSmall)])
		if len(data) > maxSmall {
			p.add("+     … and more")
		}
	}
}

// gitElsewhere are the files that make git take settings or objects from
// elsewhere (gitrepository-layout(5)).
var gitElsewhere = []string{
	"config.worktree", "commondir", "gitdir", "info/attributes", "info/grafts", "objects/info/alternates",
}

// git shows what in a git directory makes git run programs.
func (p *page) git(path string) {
	config, err := readFile(path+"/config", maxShown)
	if absent(err) != nil {
		p.add("+ config cannot be read: " + err.Error())
	}
	p.config(string(config))
	show := func(name string) {
		p.add("+ " + name + ":")
		p.small(path + "/" + name)
	}
	for _, name := range gitElsewhere {
		if state, err := Look(Name, path+"/"+name); err != nil || state != "" {
			show(name)
		}
	}
	hooks, err := listDir(path + "/hooks")
	if err != nil {
		p.add("+ hooks: " + err.Error())
	}
	for _, name := range hooks { // those that git would run
		state, err := Look(Name, path+"/hooks/"+name)
		runs := strings.HasSuffix(state, " executable") && !strings.HasSuffix(name, ".sample")
		if err != nil || runs || strings.HasPrefix(state, "link ") {
			show("hooks/" + name)
		}
	}
}

// usual are the lines of a config file that git itself writes by init and
// clone. It leaves nothing out that does anything: each has to be a whole line.
var usual = []string{
	"repositoryformatversion = 0", "filemode = true", "filemode = false", "bare = false", "bare = true",
	"logallrefupdates = true", "ignorecase = true", "precomposeunicode = true",
	"fetch = +refs/heads/*:refs/remotes/origin/*", "remote = origin", "merge = refs/heads/main",
	"merge = refs/heads/master",
}

// config shows the lines of a config file that are not usual, under their
// sections. It reads no git syntax, so that no trick of it hides a line.
func (p *page) config(data string) {
	head := "+ config, what is not usual in it:"
	section, shown := "", ""
	for line := range strings.Lines(data) {
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") && strings.Count(text, "]") == 1 {
			section = text
			continue
		}
		if text == "" || slices.Contains(usual, text) {
			continue
		}
		if head != "" {
			p.add(head)
			head = ""
		}
		if section != shown {
			p.add("+     " + section)
			shown = section
		}
		p.add("+     " + strings.TrimSuffix(line, "\n"))
	}
}
