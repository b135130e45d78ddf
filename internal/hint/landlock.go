// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"cmp"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/profiles"
)

const (
	temporary = "ed mktemp"
	terminals = "script tmux screen zellij expect unbuffer dtach asciinema"
	runtimes  = "python python3 pytest tox nox node npm npx pnpm yarn bun deno go cargo mvn gradle java ruby bundle rake rspec " +
		"php composer dotnet make just"
)

// Walls is what is known of a run that Landlock alone held.
type Walls struct {
	Remedy string // how to get what Landlock lacks
	Reveal string // flags that show what closes directories of the project, "" for none
	Undone bool   // git's configuration was changed and put back
}

// OfRun is the sandbox of a run that has ended, by the manifest in a file.
func OfRun(file, home, cwd, search string, say engine.Hints) (*Sandbox, error) {
	h := &host.Host{Facts: host.Facts{FS: host.OS{}}, Caller: host.Caller{UID: os.Geteuid(), CWD: cwd},
		Places: host.Places{Config: say.ConfigDir}}
	if len(home) > 1 && home[0] == '/' {
		h.Homes = []string{home}
	}
	m, err := engine.ManifestOf(file)
	if err != nil {
		return nil, err
	}
	sight, err := m.Sight(h, file)
	if err != nil {
		return nil, err
	}
	sight.Kept = true
	roomy := func(string) bool { return false }
	return &Sandbox{Checker: sight, CWD: cwd, Home: home, PATH: search, Secret: SecretIn(home), Setting: m.Setting, Full: roomy}, nil
}

// SecretIn tells the paths that built-in profiles hide as secrets: the manifest
// leaves out those below a private directory.
func SecretIn(home string) func(path string) bool {
	var dirs []string
	for _, it := range profiles.Builtin()["secrets"][0].Block.Items {
		dir := strings.NewReplacer("$HOME", home, "$XDG_CONFIG_HOME", home+"/.config", "$XDG_DATA_HOME",
			home+"/.local/share").Replace(it.Text)
		if !strings.ContainsAny(dir, "$*?[") {
			dirs = append(dirs, dir)
		}
	}
	return func(path string) bool { return policy.WithinAny(path, dirs...) }
}

// Landlock explains the end of a command for which Landlock alone had the walls: what is
// closed, and what Landlock cannot give, where the command is one that may need it.
// Nothing was counted, so the words have to do.
func Landlock(b *Sandbox, say engine.Hints, status int, words []string, w Walls) (line string) {
	defer func() { _ = recover() }()
	if len(words) == 0 || interactive(words) {
		return ""
	}
	r := &reader{home: b.Home, cwd: b.CWD, live: true, last: true}
	r.command(words[:min(len(words), maxWords)])
	h := &hinter{b, say, words}
	if w.Undone {
		line = h.undone(r.gits)
	}
	if status != 0 && line == "" && !h.unscripted(r.starts) {
		line = cmp.Or(h.notFound(status, r.programs), h.trapped(status), h.privileges(r.gains), h.tracing(r.debugger),
			h.git(status, r.gits), h.files(r.uses), h.beyond(r), h.offline(r), h.frozen(r, w.Reveal), h.lacks(r, w.Remedy))
	}
	return strings.ReplaceAll(text.Escape(line), "\n", `\n`)
}

// undone is about git's configuration, which was written and is as before.
func (h *hinter) undone(calls []gitCall) string {
	for i := range calls {
		r := h.repository(calls[i].dir)
		for _, status := range []int{0, 128, 4, 1} { // as git ends where it cannot write it
			if r == nil {
				break
			}
			if line := h.unconfigured(&calls[i], r, status); line != "" {
				return line
			}
		}
	}
	return ""
}

// closed is about what lies outside and exists, but cannot be opened.
func (h *hinter) closed(a *access.Verdict, write, file bool) string {
	if a.Write || !write && (a.Read || a.Kind == host.Absent) || !hostly(a.To) && !policy.Within(a.To, h.Home) || h.shared(a.To) ||
		a.Rule != nil && a.Rule.Access == policy.Write {
		return ""
	}
	at, how := *a, "read"
	for write && at.Kind == host.Absent && at.To != "/" {
		at = h.Ask(path.Dir(at.To))
	}
	if write {
		how = "write"
	}
	wide := policy.Within(h.Home, at.To) || policy.Within(h.CWD, at.To) || write && path.Dir(at.To) == "/"
	if wide || at.To != a.To && (h.Host.Grantable(at.To) != nil || h.Secret(at.To)) { // more than anyone means
		at.To = a.To
		switch {
		case !write: // it exists
		case file && h.Ask(path.Dir(a.To)).Kind == host.Absent:
			at.To, how = path.Dir(a.To), "mkdir -p"
		case file || path.Ext(a.To) != "":
			how = "touch"
		default:
			how = "mkdir -p"
		}
	}
	if at.Rule != nil && at.Rule.Access == policy.Block {
		return ""
	}
	closed := " is closed in the sandbox"
	if h.Secret(at.To) {
		closed = " holds secrets and" + closed
	}
	return h.shown(at.To) + closed + h.remedy(how, at.To, policy.Unseen, nil, allow)
}

// writers are commands that write to the home directory without naming it.
var writers = []struct{ words, dir string }{
	{"go install", "go/bin"}, {"go env -w", ".config/go"}, {"pip install --user", ".local"}, {"cargo install", ".cargo/bin"},
}

// beyond is about paths in words that nothing else knows: DESTDIR=/x, --find-links /x.
func (h *hinter) beyond(r *reader) string {
	for _, w := range writers {
		if !slices.ContainsFunc(strings.Fields(w.words), func(word string) bool { return !slices.Contains(r.said, word) }) {
			a := h.Ask(path.Join(h.Home, w.dir))
			if line := h.closed(&a, true, false); line != "" {
				return line
			}
		}
	}
	for _, word := range r.said {
		if i := strings.LastIndexByte(word, '='); i >= 0 {
			word = word[i+1:]
		}
		to, ok := r.path(word)
		if !ok || !strings.Contains(word, "/") || strings.Contains(word, "://") || word[0] == '-' || strings.Contains(word, " ") ||
			r.runs(reading+" "+matching) && slices.ContainsFunc(r.uses, func(u use) bool { return u.path == to }) {
			continue
		}
		a := h.Ask(to)
		line := h.closed(&a, a.Kind == host.Absent, false)
		if line != "" && a.Kind == host.Dir {
			line = strings.Replace(line, allow, "; to allow (-w instead of -r to write there): ", 1)
		}
		if line != "" {
			return line
		}
	}
	return ""
}

// offline is about other machines, and servers on this one.
func (h *hinter) offline(r *reader) string {
	const both = "the network is off, and with Landlock so is the loopback"
	if value, _ := h.Setting("allow_network"); value == "true" {
		return ""
	}
	on := func(to string) string { return h.change("--net", "allow_network", "true", to) }
	switch {
	case r.outward || r.near:
		return both + on("; to allow both: ")
	case r.packs:
		return "npm adds what it packs to its cache, and while the network is off that is the host's, which cannot be written" +
			on("; to give the project its own: ")
	}
	return ""
}

// frozen is about directories in which nothing new can be made.
func (h *hinter) frozen(r *reader, reveal string) string {
	makes := func(u use) bool { return u.write && policy.Within(u.path, h.CWD) }
	if reveal == "" || !r.runs(runtimes+" git") && !slices.ContainsFunc(r.uses, makes) {
		return ""
	}
	return "without bubblewrap a directory that holds something hidden is closed for new files, and this project holds some; " +
		"to show what is hidden, so that files can be made: " + h.line("", reveal)
}

// lacks is about what Landlock cannot give.
func (h *hinter) lacks(r *reader, remedy string) string {
	lack, before := "no new pseudo terminals", ""
	switch {
	case r.runs(terminals):
		lack += " and no Unix sockets"
	case slices.ContainsFunc(r.uses, func(u use) bool { return h.shared(u.path) }) || r.runs(temporary):
		lack = "no /tmp, /var/tmp or /dev/shm but the directory $TMPDIR"
	case !r.runs(runtimes):
		return ""
	default:
		lack += ", Unix sockets, shared memory or semaphores by name, System V IPC, and no /tmp but $TMPDIR"
		if value, _ := h.Setting("allow_network"); value != "true" {
			before = "the loopback is off with the network" + h.change("--net", "allow_network", "true", "; to allow both: ") + "; "
		}
	}
	return before + "with Landlock there are " + lack + ": " + remedy
}

// runs reports whether a program of a list is run, by its name or its path.
func (r *reader) runs(list string) bool {
	return slices.ContainsFunc(r.programs, func(name string) bool { return is(list, name) }) ||
		slices.ContainsFunc(r.uses, func(u use) bool { return is(list, path.Base(u.path)) && strings.Contains(u.path, "/bin/") })
}

// shared reports whether a path is in a directory that all users share.
func (h *hinter) shared(at string) bool {
	return policy.WithinAny(at, "/tmp", "/var/tmp", "/dev/shm") && !policy.WithinAny(at, h.Home, h.CWD)
}
