// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/text"
)

// reads reads a JSON file of the working directory.
func (h *hinter) reads(name string, into any) bool {
	return json.Unmarshal(h.content(h.CWD+"/"+name, 8<<20), into) == nil
}

// dependencies are those that a package, or a lock file for it, names.
type dependencies struct {
	Dependencies, DevDependencies, OptionalDependencies, PeerDependencies map[string]string
}

// unlocked reports whether npm ci fails by its lock file, with the network or
// without: there is none, or it is for another package.json.
func (h *hinter) unlocked(words []string) bool {
	if len(words) < 2 || words[0] != "npm" || !slices.Contains(words[1:], "ci") {
		return false
	}
	var project dependencies
	var lock struct{ Packages map[string]dependencies }
	switch {
	case !h.reads("package.json", &project):
		return false
	case !h.exists(h.CWD+"/package-lock.json") && !h.exists(h.CWD+"/npm-shrinkwrap.json"):
		return true
	}
	return h.reads("package-lock.json", &lock) && lock.Packages != nil && !reflect.DeepEqual(lock.Packages[""], project)
}

// unscripted reports whether npm is told to run a script that the project has not.
func (h *hinter) unscripted(name string) bool {
	var project struct{ Scripts map[string]string }
	return name != "" && h.reads("package.json", &project) && project.Scripts[name] == "" &&
		(name != "start" || !h.exists(h.CWD+"/server.js"))
}

// packed is about npm's cache: without the network that may be the host's, and npm adds
// to it what it packs or installs from a file. Its status is the number of the error.
func (h *hinter) packed(status int, programs []string) string {
	const readOnly = 256 - 30 // EROFS
	value, _ := h.Setting("allow_network")
	a := h.Ask(h.Home + "/.npm/_cacache")
	if status != readOnly || value == "true" || !slices.Contains(programs, "npm") || a.Rule == nil || !a.Seen || a.Write {
		return ""
	}
	return "npm adds what it packs to its cache, and while the network is off that is the host's, which " +
		"cannot be written" + h.change("--net", "allow_network", "true", "; to give the project its own: ")
}

// husky is about the hooks that a project's prepare script sets up when its packages
// are installed. It may end with 0 when that fails.
func (h *hinter) husky(status int, words []string) string {
	var project struct{ Scripts struct{ Prepare string } }
	if words == nil || h.say.Husky == "0" || !h.reads("package.json", &project) || !strings.Contains(project.Scripts.Prepare, "husky") {
		return ""
	}
	r := h.repository(h.CWD)
	if r == nil {
		return ""
	}
	a := h.Ask(r.config())
	if dir := h.Ask(h.CWD + "/.husky"); status != 0 && dir.Rule != nil && !dir.Write {
		a = dir
	} else if strings.HasPrefix(r.get("core", "", "hookspath"), ".husky") {
		return ""
	}
	if a.Write || a.Rule == nil {
		return ""
	}
	line := "HUSKY=0 " + text.ShellLine(words)
	if !h.say.Config && h.say.Tool == "" {
		line = h.say.Redo("--env HUSKY=0", words)
	}
	return "husky cannot set up hooks: " + h.state(&a) + " (npm run prepare outside sets them up); to go on without: " + line
}

// crates is about where cargo install has put programs: where sbx had it put what it
// fetches.
func (h *hinter) crates(words []string) string {
	if words == nil || slices.ContainsFunc(words, func(w string) bool { return w == "" || strings.HasPrefix(w, "--root") }) ||
		!h.exists(h.Home+"/.cache/cargo/bin") || h.say.Config || h.say.Tool != "" || h.locked("readonly_paths") {
		return ""
	}
	line := slices.Concat(words[:2], []string{"--root", h.Home + "/.cargo"}, words[2:])
	return "cargo installs for this project alone, in its private ~/.cache; to install for you: " + h.say.Redo("-w ~/.cargo", line)
}
