// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/tripwire"
)

// tripwireCmd is about what earlier runs left that the host may run.
type tripwireCmd struct {
	List   tripwireListCmd   `cmd:"" default:"withargs" help:"Show it, and on a terminal ask what to do: exit 0 when there is nothing, 1 when there is something, 125 on errors."`
	Accept tripwireAcceptCmd `cmd:"" help:"Accept it as yours: it is no longer reported."`
	Remove tripwireRemoveCmd `cmd:"" help:"Delete it."`
}

type tripwireListCmd struct {
	JSON  bool `name:"json" help:"Print JSON."`
	Quiet bool `short:"q" help:"Print nothing; the exit status tells."`
	Deep  bool `help:"Also search the whole tree for repositories whose settings or hooks run programs, whoever put them there."`
}

type tripwireAcceptCmd struct {
	All   bool     `help:"Accept everything."`
	Paths []string `arg:"" optional:"" name:"path" help:"What to accept."`
}

type tripwireRemoveCmd struct {
	Entries int      `placeholder:"N" help:"Number of entries in the directories to delete, as sbx tripwire shows it: required to delete a directory."`
	Paths   []string `arg:"" name:"path" help:"What to delete."`
}

// tripped is what the commands work on.
type tripped struct {
	store     tripwire.Store
	root, cwd string
	changes   []tripwire.Change
	deep      []tripwire.Change // found by a search
	passed    []string          // directories that it left out
	searched  bool              // all of the tree was
}

func findTripped() (*tripped, error) {
	if _, ok := engine.Inside(); ok {
		return nil, app.Failed("this runs inside a sandbox, where the record is hidden: run sbx tripwire outside of it",
			"")
	}
	c, err := app.Here("")
	if err != nil {
		return nil, err
	}
	if c.Host.CWD == "" {
		return nil, app.Gone()
	}
	t := &tripped{cwd: c.Host.CWD}
	t.store, t.root = c.Records()
	if t.store.Dir == "" {
		return nil, app.Failed("tripwire: there is no home directory, so nothing is recorded", "")
	}
	t.changes, err = t.store.Pending(t.root)
	return t, app.TripwireError(err)
}

func (c *tripwireListCmd) Run() error {
	t, err := findTripped()
	if err != nil {
		return err
	}
	if c.Deep {
		t.search()
	}
	none := len(t.changes) == 0
	if why := t.store.Keeps(policy.Dir(t.store.Dir)); why != nil && none { // that there is nothing says nothing
		return app.Failed("this project is not watched: "+why.Error(),
			"set HOME to a directory of yours, or XDG_STATE_HOME to one that exists")
	}
	open := t.open()
	switch {
	case c.Quiet:
	case c.JSON:
		err = printJSON(t.report())
	case none && c.Deep:
	case none:
		fmt.Fprintln(stdout, "nothing new or changed in "+text.Plain(t.root))
	case app.IsTerminal(0) && onTerminal():
		open = t.ask(os.Stdin)
	default:
		t.print()
	}
	if c.Deep && !c.Quiet && !c.JSON {
		t.printDeep()
	}
	if err == nil && open+len(t.deep) > 0 {
		return exitError(1)
	}
	return err
}

// open counts what still waits for a person.
func (t *tripped) open() (n int) {
	for _, c := range t.changes {
		if c.Open() {
			n++
		}
	}
	return n
}

// ask shows one change after the other and does what a person says. It returns
// how many are left.
func (t *tripped) ask(in io.Reader) (left int) {
	lines := bufio.NewReader(in)
	left = t.open()
	for _, c := range t.changes {
		t.printOne(&c)
		var done bool
		var err error
		switch replyTo(lines, "[a]ccept, [r]emove, [s]kip, [q]uit? ", "a", "r", "s", "q") {
		case "a":
			err = t.accept(&c)
			done = err == nil
		case "r":
			done, err = t.remove(&c, lines)
		case "s":
		default:
			return left
		}
		if err != nil {
			app.Say("error", err.Error())
		}
		if done && c.Open() {
			left--
		}
	}
	return left
}

// remove deletes after the answer; a directory only after another one, since
// that is more than one can see.
func (t *tripped) remove(c *tripwire.Change, lines *bufio.Reader) (gone bool, err error) {
	if strings.HasPrefix(c.Now, "dir ") {
		n, err := c.Entries()
		if err != nil || replyTo(lines, "remove the directory "+t.shown(c)+" with "+strconv.Itoa(n)+
			" entries? [yes/no] ", "yes", "no", "q") != "yes" {
			return false, err
		}
	}
	err = c.Remove()
	return err == nil, err
}

// replyTo asks until the answer is one of those there are. The end of the input
// is none of them.
func replyTo(lines *bufio.Reader, question string, answers ...string) string {
	long := map[string]string{"a": "accept", "r": "remove", "s": "skip", "q": "quit", "yes": "y", "no": "n"}
	for {
		fmt.Fprint(stdout, question)
		line, err := lines.ReadString('\n')
		line = strings.ToLower(strings.TrimSpace(line))
		for _, a := range answers {
			if line == a || line == long[a] {
				return a
			}
		}
		if err != nil {
			fmt.Fprintln(stdout)
			return ""
		}
	}
}

// search finds the repositories in the tree that are not plain, in directories
// with so many entries at most. There is no record of them: below the first level
// nothing is watched.
func (t *tripped) search() {
	const most = 2_000_000
	var found []string
	found, t.passed, t.searched = tripwire.Search(t.root, most)
	for _, path := range found {
		if slices.ContainsFunc(t.changes, func(c tripwire.Change) bool { return policy.Within(path, c.Path) }) {
			continue
		}
		now, err := tripwire.Look(tripwire.Name, path)
		if err != nil {
			now = "other (" + err.Error() + ")"
		}
		t.deep = append(t.deep, tripwire.Change{Path: path, Now: now})
	}
}

func (t *tripped) printDeep() {
	if len(t.deep) == 0 {
		fmt.Fprintln(stdout, "no repository in "+text.Plain(t.root)+" has settings or hooks that run programs, but for its own")
	} else {
		fmt.Fprintln(stdout, "repositories with settings or hooks that run programs, or that point elsewhere; they may well be yours:")
	}
	for _, c := range t.deep {
		fmt.Fprintln(stdout)
		t.printOne(&c)
	}
	for _, path := range t.passed {
		app.Say("notice", text.Plain(path)+" is on a FUSE or network file system and is not searched")
	}
	if !t.searched && len(t.passed) == 0 {
		app.Say("warning", "not all of the tree could be searched")
	}
}

func (c *tripwireAcceptCmd) Run() error {
	if c.All == (len(c.Paths) > 0) {
		return app.Failed("sbx tripwire accept takes either paths or --all", "sbx tripwire lists what it found")
	}
	t, err := findTripped()
	if err != nil {
		return err
	}
	chosen := t.changes
	if !c.All {
		if chosen, err = t.choose(c.Paths); err != nil {
			return err
		}
	}
	for _, c := range chosen {
		if err := t.accept(&c); err != nil {
			return err
		}
		fmt.Fprintln(stdout, "accepted "+t.shown(&c))
	}
	return nil
}

func (t *tripped) accept(c *tripwire.Change) error {
	if err := c.Same(); err != nil {
		return app.TripwireError(err)
	}
	if c.Grade == tripwire.Alarm {
		path, err := c.Shared()
		if err != nil {
			app.Say("warning", text.Plain(c.Path)+" could not be searched for hard links: "+err.Error())
		}
		if path != "" {
			return app.Failed(text.Plain(path)+" has another name (a hard link), by which a command could still change it",
				"give it a file of its own, then accept it: "+text.ShellLine([]string{"cp", "-p", path, path +
					".new"})+" && "+text.ShellLine([]string{"mv", path + ".new", path}))
		}
	}
	return app.TripwireError(t.store.Accept(t.root, c.Path))
}

// Run deletes what was named. All is checked before anything is deleted.
func (c *tripwireRemoveCmd) Run() error {
	t, err := findTripped()
	if err != nil {
		return err
	}
	chosen, err := t.choose(c.Paths)
	if err != nil {
		return err
	}
	total := 0
	for _, c := range chosen {
		n, err := c.Entries()
		if err != nil {
			return app.TripwireError(err)
		}
		total += n
	}
	if total != c.Entries {
		return app.Failed("what is to be removed holds "+strconv.Itoa(total)+" entries, and --entries says "+strconv.Itoa(c.Entries),
			t.removeLine(total, chosen...))
	}
	for _, c := range chosen {
		if err := c.Remove(); err != nil {
			return app.TripwireError(err)
		}
		fmt.Fprintln(stdout, "removed "+t.shown(&c))
	}
	return nil
}

// choose finds the changes that words name: as paths, or as they are shown in
// notices, relative to the root of the project.
func (t *tripped) choose(words []string) (out []tripwire.Change, err error) {
	for _, w := range words {
		c := t.find(w)
		if c == nil {
			return nil, app.Failed(text.Plain(w)+": nothing new or changed is known about it",
				"sbx tripwire lists what it found")
		}
		if !slices.ContainsFunc(out, func(o tripwire.Change) bool { return o.Path == c.Path }) {
			out = append(out, *c)
		}
	}
	return out, nil
}

// find tries the absolute paths that a word may stand for, best first. The
// directory may be named by way of a link, as the working directory often is.
func (t *tripped) find(word string) *tripwire.Change {
	for _, dir := range []string{t.cwd, t.root} {
		path := filepath.Clean(word)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, word)
		}
		linked := path
		if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			linked = filepath.Join(real, filepath.Base(path))
		}
		for _, path := range []string{path, linked} {
			i := slices.IndexFunc(t.changes, func(c tripwire.Change) bool { return c.Path == path })
			if i >= 0 && word != "" {
				return &t.changes[i]
			}
		}
	}
	return nil
}

// shown is a path as a person in the working directory would write it.
func (t *tripped) shown(c *tripwire.Change) string { return text.Plain(app.Below(c.Path, t.cwd)) }

// line is a command line with paths as words for a shell.
func (t *tripped) line(command []string, changes ...tripwire.Change) string {
	for _, c := range changes {
		path := app.Below(c.Path, t.cwd)
		if path[0] == '-' {
			path = "./" + path
		}
		command = append(command, path)
	}
	return text.ShellLine(command)
}

func (t *tripped) removeLine(entries int, changes ...tripwire.Change) string {
	line := []string{"sbx", "tripwire", "remove"}
	if entries > 0 {
		line = append(line, "--entries", strconv.Itoa(entries))
	}
	return t.line(line, changes...)
}

// print lists everything, and the lines to type.
func (t *tripped) print() {
	for _, c := range t.changes {
		t.printOne(&c)
		fmt.Fprintln(stdout)
	}
	fmt.Fprintln(stdout, "to accept them:")
	fmt.Fprintln(stdout, "  "+t.line([]string{"sbx", "tripwire", "accept"}, t.changes...))
	title := "to delete one:\n"
	for _, c := range t.changes {
		line := ""
		switch n, err := c.Entries(); {
		case len(c.Added) > 0 && c.Was == "settings": // remove refuses it
			line = t.line([]string{"git", "config", "-f"}, c) + " --edit"
		case err == nil && !c.Unseen() && c.Now != "":
			line = t.removeLine(n, c)
		}
		if line != "" {
			fmt.Fprintln(stdout, title+"  "+line)
			title = ""
		}
	}
}

// printOne shows one change. Nothing of it reaches the terminal as it is.
func (t *tripped) printOne(c *tripwire.Change) {
	since := ""
	if !c.Since.IsZero() {
		since = ", " + happened(c) + " since " + c.Since.Format("2006-01-02 15:04")
	}
	if c.Grade != tripwire.Alarm {
		since += " (" + c.Grade.String() + ")"
	}
	fmt.Fprintln(stdout, colour("1", t.shown(c))+": "+tripwire.Describe(c.Now)+since)
	for _, line := range c.Preview() {
		out := "  " + line
		if sgr := map[string]string{"+ ": "32", "- ": "31"}[line[:min(2, len(line))]]; sgr != "" {
			out = colour(sgr, out)
		}
		fmt.Fprintln(stdout, out)
	}
}

func happened(c *tripwire.Change) string {
	switch {
	case c.Now == "":
		return "gone"
	case c.Was == "":
		return "new"
	}
	return "changed"
}

type trippedJSON struct {
	Root    string        `json:"root"`
	Pending []pendingJSON `json:"pending"`
	Deep    []pendingJSON `json:"deep,omitempty"`    // with --deep
	Part    bool          `json:"partial,omitempty"` // with --deep: not all could be searched
}

type pendingJSON struct {
	Path    string   `json:"path"`
	Quoted  string   `json:"path_quoted,omitempty"` // in Go's notation, when the path is not UTF-8
	What    string   `json:"what,omitempty" enum:"new,changed,gone"`
	Grade   string   `json:"grade" enum:"alarm,note,instructions"`
	Told    bool     `json:"told,omitempty"` // said once on a terminal: it does not count for the exit status
	Was     string   `json:"was"`
	Now     string   `json:"now"`
	Since   string   `json:"since,omitempty"`
	Preview []string `json:"preview"`
}

func (t *tripped) report() trippedJSON {
	return trippedJSON{Root: t.root, Pending: pendingOf(t.changes), Deep: pendingOf(t.deep),
		Part: t.deep != nil && !t.searched}
}

func pendingOf(changes []tripwire.Change) []pendingJSON {
	out := []pendingJSON{}
	for _, c := range changes {
		j := pendingJSON{Path: c.Path, Grade: c.Grade.String(), Told: !c.Open(), Was: c.Was, Now: c.Now,
			Preview: c.Preview()}
		if !c.Since.IsZero() {
			j.What, j.Since = happened(&c), c.Since.UTC().Format("2006-01-02T15:04:05Z")
		}
		if !utf8.ValidString(c.Path) {
			j.Quoted = strconv.Quote(c.Path)
		}
		out = append(out, j)
	}
	return out
}
