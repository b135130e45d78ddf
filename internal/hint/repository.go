// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// repository is what git's own files say, as far as a hint needs it.
type repository struct {
	h                *hinter
	top, dir, common string
	settings         []gitdir.Setting
}

// maxGitFile bounds, in bytes, a file of git's that is read.
const maxGitFile = 1 << 20

// content reads a file that the command may have left: none but a regular one.
func (h *hinter) content(path string, most int) []byte {
	info, err := h.FS.Lstat(path)
	if err != nil || info.Kind != host.File {
		return nil
	}
	data, _ := h.FS.Content(path, info, most)
	return data
}

// repository finds the one that a directory is in.
func (h *hinter) repository(dir string) *repository {
	r := &repository{h: h}
	for r.top = dir; ; r.top = path.Dir(r.top) {
		r.dir = path.Join(r.top, ".git")
		if kind := h.Ask(r.dir).Kind; kind == host.File {
			to, ok := gitdir.Pointer(h.content(r.dir, 4096))
			if !path.IsAbs(to) {
				to = path.Join(r.top, to)
			}
			if r.dir = path.Clean(to); !ok {
				return nil
			}
			break
		} else if kind == host.Dir {
			break
		}
		if r.top == "/" || r.top == "." {
			return nil
		}
	}
	if r.common = r.dir; path.Base(path.Dir(r.dir)) == "worktrees" {
		r.common = path.Dir(path.Dir(r.dir))
	}
	for _, file := range []string{h.Home + "/.config/git/config", h.Home + "/.gitconfig", r.config()} {
		_ = gitdir.Each(h.content(file, maxGitFile), func(s gitdir.Setting) { r.settings = append(r.settings, s) })
	}
	return r
}

func (r *repository) config() string { return r.common + "/config" }

// get is the last value of a setting.
func (r *repository) get(section, sub, key string) (value string) {
	for _, s := range r.settings {
		if s.Section == section && s.Sub == sub && s.Key == key {
			value = s.Value
		}
	}
	return value
}

// branch is the current one, "" for none.
func (r *repository) branch() string {
	name, _ := strings.CutPrefix(strings.TrimSpace(string(r.h.content(r.dir+"/HEAD", 4096))), "ref: refs/heads/")
	return name
}

// made reports whether a branch was written by itself, as git does with new ones.
func (r *repository) made(name string) bool {
	return name != "" && !strings.Contains(name, "..") && r.h.exists(r.common+"/refs/heads/"+name)
}

// renamed is what a branch was called before, by its log.
func (r *repository) renamed(name string) string {
	log := strings.TrimSpace(string(r.h.content(r.common+"/logs/refs/heads/"+name, maxGitFile)))
	_, old, _ := strings.Cut(log[strings.LastIndexByte(log, '\n')+1:], "Branch: renamed refs/heads/")
	old, _, _ = strings.Cut(old, " to refs/heads/")
	return old
}

// configured reports whether the configuration has a section of a branch.
func (r *repository) configured(name string) bool {
	return slices.ContainsFunc(r.settings, func(s gitdir.Setting) bool { return s.Section == "branch" && s.Sub == name })
}

// tracked is a start of a new branch that git makes its upstream by itself.
func (r *repository) tracked(start string) string {
	remote, _, ok := strings.Cut(start, "/")
	if !ok || r.get("remote", remote, "url") == "" || r.get("branch", "", "autosetupmerge") == "false" {
		return ""
	}
	return start
}

// upstream looks whether a branch has the upstream that it was to get.
func (r *repository) upstream(name, up string) (left string, redo []string) {
	remote, branch, ok := strings.Cut(up, "/")
	if !ok || r.get("remote", remote, "url") == "" {
		remote, branch = ".", up
	}
	if up == "" || !r.made(name) || r.get("branch", name, "remote") == remote && r.get("branch", name, "merge") == "refs/heads/"+branch {
		return "", nil
	}
	return ", and the branch " + text.Plain(name) + " does not track " + text.Plain(up), []string{"branch", "-u", up, name}
}

// submodules is what .gitmodules says.
func (r *repository) submodules() (found []gitdir.Setting) {
	_ = gitdir.Each(r.h.content(r.top+"/.gitmodules", maxGitFile), func(s gitdir.Setting) { found = append(found, s) })
	return found
}

// registered reports whether the configuration has one of the submodules at some paths,
// or has not, which counts of all where there are none.
func (r *repository) registered(dir string, paths []string, yes bool) bool {
	modules := r.submodules()
	return slices.ContainsFunc(modules, func(s gitdir.Setting) bool {
		at := r.h.Ask(path.Join(r.top, s.Value)).Path
		named := len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool { return path.Join(dir, p) == at })
		return s.Section == "submodule" && s.Key == "path" && named && yes == (r.get("submodule", s.Sub, "url") != "")
	})
}

// remotes are those of a command that are directories of this machine.
func (r *repository) remotes(c *gitCall) (found []access.Verdict) {
	words := c.args.Operands("-o --push-option --depth --upload-pack --receive-pack -b --branch --name --reference")
	var urls []string
	switch first := strings.Join(words[:min(1, len(words))], ""); {
	case c.sub == "submodule" && first == "add":
		urls = words[1:min(2, len(words))]
	case c.sub == "submodule" && !is("deinit sync set-url set-branch", first):
		for _, s := range append(r.settings, r.submodules()...) {
			if s.Section == "submodule" && s.Key == "url" && !slices.Contains(urls, s.Value) {
				urls = append(urls, s.Value)
			}
		}
	case is("push fetch pull ls-remote", c.sub):
		name := cmp.Or(first, r.get("branch", r.branch(), "remote"), "origin")
		urls = append(urls, cmp.Or(r.get("remote", name, "url"), name))
		if own := r.get("remote", name, "pushurl"); c.sub == "push" && own != "" {
			urls[0] = own
		}
	}
	for _, url := range urls {
		url = strings.TrimPrefix(url, "file://")
		slash := strings.IndexByte(url, '/')
		if colon := strings.IndexByte(url, ':'); slash < 0 || colon >= 0 && colon < slash {
			continue // of another machine
		}
		if !path.IsAbs(url) {
			url = path.Join(r.top, url)
		}
		a := r.h.Ask(path.Clean(url))
		if c.sub == "submodule" && (r.h.Secret(a.To) || policy.Within(r.h.Home, a.To)) {
			continue // who writes .gitmodules opens nothing of the kind
		}
		found = append(found, a)
	}
	return found
}

// maxIndex bounds, in bytes, an index that is read.
const maxIndex = 32 << 20
