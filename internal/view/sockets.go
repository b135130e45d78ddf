// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// SourceSocket is the source of the rules that hide sockets of the host.
const SourceSocket = "sockets of the host"

// HideSockets hides the sockets of the host that lie where the rules show a
// directory: whom a profile lets read /opt/app it does not let talk to the
// service there, and a read-only mount keeps no process from connecting. A socket that
// a rule names is meant to be reached, and so is one that a variable names which a
// person lets through. So are those in the project and in trees
// that a person made writable, where the command's own are, too.
func (v *View) HideSockets(pol *policy.Policy) error {
	eachPointer(pol, v.Host, func(_, path string, let bool) {
		if let {
			v.passed = append(v.passed, path)
			if to, err := v.Res.Resolve(path); err == nil {
				v.passed = append(v.passed, to.Path)
			}
		}
	})
	masks := v.socketsShown()
	if len(masks) == 0 {
		return nil
	}
	slices.SortFunc(masks, ComparePaths)
	if masks = v.groupSockets(slices.Compact(masks)); len(masks) > maxMatches {
		return failed(strconv.Itoa(len(masks))+" sockets lie in directories that the profile shows, too many to "+
			"hide one by one", "hide the directories with --block or blocked_paths")
	}
	for _, path := range masks {
		info, err := v.Host.FS.Lstat(path)
		if err != nil || !isEndpoint(info.Kind) && info.Kind != host.Dir {
			continue
		}
		v.Entries = append(v.Entries, blocked(path, info, SourceSocket))
	}
	v.Sort()
	v.pinParents()
	return nil
}

// socketsShown are the canonical paths at which sockets of the host could be
// reached, by each name that a mount gives them.
func (v *View) socketsShown() []string {
	var out []string
	add := func(path string, there bool) {
		if Shows(v.Access(path)) && !v.Intended(path) {
			if info, err := v.Host.FS.Lstat(path); there || err == nil && isEndpoint(info.Kind) {
				out = append(out, path)
			}
		}
	}
	reached := make(map[string]bool) // directories from which a socket is shown, by whatever name
	for _, path := range v.Host.Sockets {
		dir := policy.Dir(path)
		shown, ok := reached[dir]
		if !ok {
			shown = slices.ContainsFunc(v.aliases(dir), func(name string) bool { return Shows(v.Access(name)) })
			reached[dir] = shown
		}
		if !shown && !Shows(v.Access(path)) {
			continue // most lie in /run
		}
		to, err := v.Res.Resolve(path)
		if err != nil || !isEndpoint(to.Info.Kind) {
			continue
		}
		for _, name := range v.aliases(to.Path) {
			add(name, name == to.Path)
		}
	}
	for _, home := range v.Host.Homes {
		to, err := v.Res.Resolve(home)
		if err != nil || to.Info.Kind != host.Dir || !Shows(v.Access(to.Path)) {
			continue
		}
		entries, err := v.Res.Entries(to.Path)
		for i := 0; err == nil && i < len(entries); i++ {
			if isEndpoint(entries[i].Kind) {
				add(host.Join(to.Path, entries[i].Name), true)
			}
		}
	}
	return out
}

// isEndpoint reports whether a kind of file leads to a process that waits at it. A
// read-only mount does not keep a command from writing to a named pipe either.
func isEndpoint(k host.Kind) bool { return k == host.Socket || k == host.Fifo }

// Intended reports whether a socket is one that the run is about.
func (v *View) Intended(path string) bool {
	if slices.Contains(v.passed, path) {
		return true
	}
	for _, dir := range []string{v.Root, v.Host.CWD} {
		if dir != "" && policy.Within(path, dir) {
			return true
		}
	}
	for m := v.nearest(path); m != nil; m = v.parent(m) {
		if m.Path == path || m.Rule.Layer != policy.Builtin && m.Access == policy.Write {
			return true // at the path itself: named, and settled by that
		}
	}
	return false
}

// groupSockets puts directories in place of sockets where there are very many,
// those with most of them first, and goes up as far as that hides nothing else
// that a rule names.
func (v *View) groupSockets(masks []string) []string {
	for len(masks) > fewMasks {
		in := make(map[string]int)
		var most string
		for _, path := range masks {
			for dir := policy.Dir(path); v.canHideDir(dir); dir = policy.Dir(dir) {
				if in[dir]++; in[dir] > 1 && (most == "" || in[dir] > in[most] || in[dir] == in[most] &&
					(len(dir) > len(most) || len(dir) == len(most) && dir < most)) {
					most = dir
				}
			}
		}
		if most == "" {
			return masks
		}
		masks = slices.DeleteFunc(masks, func(path string) bool { return policy.Within(path, most) })
		masks = append(masks, most)
		slices.SortFunc(masks, ComparePaths)
	}
	return masks
}

// canHideDir reports whether a directory can be hidden as a whole: no rule is about
// it or what is in it.
func (v *View) canHideDir(dir string) bool {
	return hideable(v.Host, dir) &&
		!slices.ContainsFunc(v.Entries, func(m Entry) bool { return policy.Within(m.Path, dir) })
}

// hideable reports whether a directory is nobody's home and none of the system's own.
func hideable(h *host.Host, dir string) bool {
	return !slices.Contains(host.SocketTops[:], dir) && !slices.Contains(host.SharedDirs, dir) &&
		!slices.Contains(host.SystemTrees, dir) && !policy.Within(dir, "/usr/lib") && maskable(h, dir)
}
