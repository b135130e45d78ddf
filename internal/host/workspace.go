// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"encoding/json"
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
	maxMemberNames   = 4096 // in directories, where a pattern is matched
	maxMemberDepth   = 8
)

// workspaceFiles make a workspace of the directory they are in. Each function
// returns the patterns of the members, with "/", and whether there is a workspace.
var workspaceFiles = [...]struct {
	name    string
	members func(data []byte) (patterns []string, ok bool)
}{
	{"go.work", goWork}, {"Cargo.toml", cargoWorkspace}, {"package.json", npmWorkspaces},
	{"pnpm-workspace.yaml", pnpmWorkspace},
}

// workspaceFiles returns the patterns of all members that files in a directory list,
// and whether there is such a file.
func (h *Host) workspaceFiles(dir string) (patterns []string, found bool) {
	for _, f := range workspaceFiles {
		at := Join(dir, f.name)
		info, err := h.FS.Lstat(at)
		if err != nil || info.Kind != File || info.UID != h.UID || info.Size > maxWorkspaceFile {
			continue
		}
		data, err := h.FS.Head(at, maxWorkspaceFile)
		if err != nil {
			continue
		}
		if members, ok := f.members(data); ok {
			patterns, found = append(patterns, members...), true
		}
	}
	return patterns, found
}

// members are the directories in root that its workspace files list.
func (h *Host) members(root string) []policy.Member {
	patterns, _ := h.workspaceFiles(root)
	m := memberSearch{h: h, left: maxMemberNames}
	for _, p := range patterns {
		p = path.Clean(strings.TrimSuffix(p, "/"))
		if p != "." && !strings.HasPrefix(p, "!") && !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "..") {
			m.find(root, strings.Split(p, "/"), 0)
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

type memberSearch struct {
	h     *Host
	found []string
	left  int
}

// find adds the directories below dir that the elements of a pattern name. "**" is
// any number of directories, of which those with a package.json count.
func (m *memberSearch) find(dir string, rest []string, depth int) {
	switch {
	case depth > maxMemberDepth || len(m.found) == maxMembers:
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

func goWork(data []byte) (members []string, ok bool) {
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
	return members, true
}

func cargoWorkspace(data []byte) (members []string, ok bool) {
	if !bytes.Contains(data, []byte("workspace")) {
		return nil, false // nor is the rest read
	}
	var file struct {
		Workspace *struct{ Members []string }
	}
	if toml.Unmarshal(data, &file) != nil || file.Workspace == nil {
		return nil, false
	}
	return file.Workspace.Members, true
}

func npmWorkspaces(data []byte) (members []string, ok bool) {
	if !bytes.Contains(data, []byte(`"workspaces"`)) {
		return nil, false
	}
	var file struct{ Workspaces json.RawMessage }
	var of struct{ Packages []string }
	if json.Unmarshal(data, &file) != nil || file.Workspaces == nil {
		return nil, false
	}
	if json.Unmarshal(file.Workspaces, &of.Packages) == nil || json.Unmarshal(file.Workspaces, &of) == nil {
		return of.Packages, true
	}
	return nil, false
}

// pnpmWorkspace reads the list called packages, as pnpm's documentation writes it.
func pnpmWorkspace(data []byte) (members []string, ok bool) {
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
	return members, true
}
