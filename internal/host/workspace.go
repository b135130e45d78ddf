// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Bounds of what the files of a workspace are searched for. They are written by
// commands, too.
const (
	maxWorkspaceFile = 1 << 20 // bytes
	maxMembers       = 200
	maxTOML          = 64 << 10 // of Cargo.toml: time to read it grows with the square of its keys
	maxMemberNames   = 4096     // looked up, or in directories where a pattern is matched
	maxMemberDepth   = 8
)

// workspaceFiles make a workspace of the directory they are in, when they list
// members: directories with the manifest. Each function returns the patterns of
// those, with "/", and with "!" in front what is none.
var workspaceFiles = [...]struct {
	name, manifest string
	members        func(data []byte) (patterns []string)
}{
	{"go.work", "go.mod", goWork}, {"Cargo.toml", "Cargo.toml", cargoWorkspace},
	{"package.json", "package.json", npmWorkspaces}, {"pnpm-workspace.yaml", "package.json", pnpmWorkspace},
}

// patterns are those of the members that a file lists, cleaned.
func (h *Host) patterns(file string, members func(data []byte) []string) (out []string) {
	info, err := h.FS.Lstat(file)
	if err != nil || info.Kind != File || info.UID != h.UID || info.Size > maxWorkspaceFile {
		return nil
	}
	data, err := h.FS.Head(file, maxWorkspaceFile)
	if err != nil {
		return nil
	}
	for _, p := range members(data) {
		p, not := strings.CutPrefix(p, "!")
		p = path.Clean(strings.TrimSuffix(p, "/"))
		switch {
		case p == "." || p[0] == '/' || strings.HasPrefix(p, ".."):
		case not:
			out = append(out, "!"+p)
		default:
			out = append(out, p)
		}
	}
	return out
}

// workspaceFile is the name of the file in dir that lists the member that holds cwd:
// from anywhere else the tools do not find the workspace either.
func (h *Host) workspaceFile(dir, cwd string) string {
	for _, f := range workspaceFiles {
		patterns := h.patterns(Join(dir, f.name), f.members)
		if len(patterns) > 0 && cwd == dir {
			return f.name
		}
		for at := cwd; len(patterns) > 0 && at != dir; at = policy.Dir(at) {
			if info, err := h.FS.Lstat(Join(at, f.manifest)); err == nil && info.Kind == File {
				if listed(patterns, at[len(dir)+1:]) {
					return f.name
				}
				break
			}
		}
	}
	return ""
}

// listed reports whether patterns name a path below the workspace. What one of them
// takes out stays out.
func listed(patterns []string, below string) (in bool) {
	elements := strings.Split(below, "/")
	odd := slices.ContainsFunc(elements, func(e string) bool { return e[0] == '.' || e == "node_modules" })
	for _, p := range patterns {
		p, not := strings.CutPrefix(p, "!")
		if (not || !odd || p == below) && matchElements(strings.Split(p, "/"), elements) {
			if in = !not; not {
				return false
			}
		}
	}
	return in
}

// matchElements matches the elements of a path; "**" is any number of them.
func matchElements(pattern, elements []string) bool {
	i, j, star, from := 0, 0, -1, 0
	for j < len(elements) {
		ok := false
		if i < len(pattern) {
			ok, _ = path.Match(pattern[i], elements[j])
		}
		switch {
		case i < len(pattern) && pattern[i] == "**":
			star, from, i = i, j, i+1
		case ok:
			i, j = i+1, j+1
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == "**" {
		i++
	}
	return i == len(pattern)
}

// members are the directories in root that its workspace files list, and for a
// working directory below it the repositories directly in root.
func (h *Host) members(root string) []policy.Member {
	m := memberSearch{h: h, left: maxMemberNames}
	if root != h.CWD {
		m.repositories(root)
	}
	for _, f := range workspaceFiles {
		for _, p := range h.patterns(Join(root, f.name), f.members) {
			if p[0] != '!' {
				m.find(root, strings.Split(p, "/"), 0)
			}
		}
	}
	slices.Sort(m.found)
	out := make([]policy.Member, len(m.found))
	for i, dir := range m.found {
		out[i].Dir = dir
		if entries, err := h.FS.ReadDir(dir); err == nil {
			out[i].Names = make([]string, len(entries))
			for j, e := range entries {
				out[i].Names[j] = strings.ToLower(e.Name)
			}
			slices.Sort(out[i].Names)
		}
	}
	return out
}

// repositories adds the directories in dir that have a .git.
func (m *memberSearch) repositories(dir string) {
	entries, _ := m.h.FS.ReadDir(dir)
	for _, e := range entries {
		if m.left--; e.Kind != Dir || m.left < 0 || len(m.found) == maxMembers {
			continue
		}
		if git, err := m.h.FS.Lstat(Join(Join(dir, e.Name), ".git")); err == nil && git.Kind != Absent {
			m.found = append(m.found, Join(dir, e.Name))
		}
	}
}

type memberSearch struct {
	h     *Host
	found []string
	left  int
}

// find adds the directories below dir that the elements of a pattern name. "**" is
// any number of directories, of which those with a package.json count.
func (m *memberSearch) find(dir string, rest []string, depth int) {
	m.left--
	switch {
	case depth > maxMemberDepth || len(m.found) == maxMembers || m.left < 0:
	case len(rest) == 0:
		if !slices.Contains(m.found, dir) {
			m.found = append(m.found, dir)
		}
	case rest[0] == "**":
		if info, err := m.h.FS.Lstat(Join(dir, "package.json")); len(rest) > 1 || err == nil && info.Kind == File {
			m.find(dir, rest[1:], depth)
		}
		m.matching(dir, "*", rest, depth)
	case strings.ContainsAny(rest[0], `*?[\`):
		m.matching(dir, rest[0], rest[1:], depth)
	default:
		sub := Join(dir, rest[0])
		if info, err := m.h.FS.Lstat(sub); err == nil && info.Kind == Dir {
			m.find(sub, rest[1:], depth+1)
		}
	}
}

func (m *memberSearch) matching(dir, pattern string, rest []string, depth int) {
	entries, err := m.h.FS.ReadDir(dir)
	if m.left -= len(entries); err != nil || m.left < 0 {
		return
	}
	entries = slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	for _, e := range entries {
		if e.Kind != Dir || e.Name[0] == '.' || e.Name == "node_modules" {
			continue
		}
		if ok, err := path.Match(pattern, e.Name); ok && err == nil {
			m.find(Join(dir, e.Name), rest, depth+1)
		}
	}
}

func goWork(data []byte) (members []string) {
	in := false
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case in && words[0] == ")":
			in = false
		case len(words) > 1 && words[0] == "use" && words[1] == "(":
			in = true
		case in:
			members = append(members, strings.Trim(words[0], "\"`"))
		case len(words) > 1 && words[0] == "use":
			members = append(members, strings.Trim(words[1], "\"`"))
		}
	}
	return members
}

// cargoWorkspace counts the path dependencies of the root, too, as cargo does.
func cargoWorkspace(data []byte) (members []string) {
	if len(data) > maxTOML || !bytes.Contains(data, []byte("workspace")) {
		return nil // nor is the rest read
	}
	type dependencies map[string]any
	var file struct {
		Workspace *struct {
			Members, Exclude []string
			Dependencies     dependencies
		}
		Dependencies dependencies
		Dev          dependencies `toml:"dev-dependencies"`
		Build        dependencies `toml:"build-dependencies"`
	}
	if toml.Unmarshal(data, &file) != nil || file.Workspace == nil {
		return nil
	}
	members = file.Workspace.Members
	for _, deps := range []dependencies{file.Workspace.Dependencies, file.Dependencies, file.Dev, file.Build} {
		for _, name := range slices.Sorted(maps.Keys(deps)) {
			dep, _ := deps[name].(map[string]any)
			if at, ok := dep["path"].(string); ok {
				members = append(members, at)
			}
		}
	}
	for _, dir := range file.Workspace.Exclude {
		members = append(members, "!"+dir, "!"+dir+"/**")
	}
	return members
}

func npmWorkspaces(data []byte) (members []string) {
	if !bytes.Contains(data, []byte(`"workspaces"`)) {
		return nil
	}
	var file struct{ Workspaces json.RawMessage }
	var of struct{ Packages []string }
	if json.Unmarshal(data, &file) != nil || file.Workspaces == nil {
		return nil
	}
	if json.Unmarshal(file.Workspaces, &of.Packages) == nil || json.Unmarshal(file.Workspaces, &of) == nil {
		return of.Packages
	}
	return nil
}

// pnpmWorkspace reads the list called packages, as pnpm's documentation writes it.
func pnpmWorkspace(data []byte) (members []string) {
	in := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, " \r\n")
		item, isItem := strings.CutPrefix(strings.TrimLeft(line, " "), "- ")
		switch {
		case line == "" || strings.HasPrefix(strings.TrimLeft(line, " "), "#"):
		case in && isItem:
			item, _, _ = strings.Cut(item, " #")
			members = append(members, strings.Trim(item, ` "'`))
		case line[0] != ' ':
			in = strings.HasPrefix(line, "packages:")
			if list, found := strings.CutPrefix(line, "packages:"); found {
				for _, item := range strings.Split(strings.Trim(list, " []"), ",") {
					if item = strings.Trim(item, ` "'`); item != "" {
						members = append(members, item)
					}
				}
			}
		}
	}
	return members
}
