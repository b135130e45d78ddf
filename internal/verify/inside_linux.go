// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// Here verifies the sandbox that this process runs in, by its manifest.
func Here(m *Manifest, homes []string) (*Report, error) {
	nonce, err := random()
	if err != nil {
		return nil, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dirs := append([]string{cwd}, homes...)
	tg := inside(m, os.Geteuid(), nonce, cwd, candidates(dirs...), homes,
		func(path string) string { return lookAt(path).Kind })
	tg.Own = ownFiles{Manifest: host.ManifestDir + "/policy.json", Dir: host.ManifestDir}
	if tg.Walls {
		tg.Own = ownFiles{Manifest: runManifest, Dir: runDir}
		tg.Devices = openDevices()
	}
	checks := tg.checks()
	answers := answerHere(number(checks))
	return &Report{Profiles: m.Profiles, Place: cwd, Inside: true, Results: tg.evaluate(checks, answers)}, nil
}

// listed answers what a manifest gives at a path.
type listed []ManifestEntry

func (l listed) at(path string) (e ManifestEntry) {
	for _, m := range l {
		if policy.Within(path, m.Path) && len(m.Path) >= len(e.Path) {
			e = m
		}
	}
	return e
}

// inside makes the target of the sandbox that this process is in, by what its
// manifest says: nothing is known of the host. kind is the type of a file.
func inside(m *Manifest, uid int, nonce, cwd string, dirs, homes []string, kind func(path string) string) *target {
	l := listed(m.Paths)
	s := &target{Inside: true, UID: uid, Nonce: nonce, CWD: cwd, Network: m.Network == "true",
		SharePID: m.SharePID == "true", Seccomp: policy.SeccompLevel(m.Seccomp), Filter: policy.SeccompFile(m.Seccomp),
		Feigned: policy.SeccompFile(m.Seccomp), Scoped: m.Scoped}
	if s.Seccomp == "" {
		s.Seccomp = "default"
	}
	if s.Walls = m.Engine == host.EngineLandlock; s.Walls {
		s.Gaps, s.Scratch, s.Mode = m.Gaps, runTmp, runDir
	}
	above := func(path string) ManifestEntry { return l.at(policy.Dir(path)) }
	for _, e := range m.Paths {
		if !strings.HasPrefix(e.Path, "/") || filepath.Clean(e.Path) != e.Path {
			continue
		}
		write := above(e.Path).Access == "write" && e.Path != "/"
		switch e.Access {
		case "block":
			s.Hidden = append(s.Hidden, secret{Path: e.Path, Private: above(e.Path).Access == "private",
				Shown: l.below(e.Path)})
			if write {
				s.Guarded = append(s.Guarded, guardedPath{Path: e.Path, Kind: kindOther})
			}
		case view.Closed:
			if kind(e.Path) == kindDir {
				s.Closed = append(s.Closed, e.Path)
			}
		case "private":
			if s.Scratch == "" || e.Path == "/tmp" {
				s.Scratch = e.Path
			}
		case "read", "protect":
			if write {
				s.Guarded = append(s.Guarded, guardedPath{Path: e.Path, Kind: kind(e.Path),
					Tops: []string{policy.Dir(e.Path)}})
			}
		}
		if write && e.Access != "write" {
			for dir := policy.Dir(e.Path); dir != "/" && l.at(dir).Access == "write"; dir = policy.Dir(dir) {
				s.Moves = append(s.Moves, dir)
			}
		}
	}
	slices.Sort(s.Moves)
	s.Moves = slices.Compact(s.Moves)
	for _, dir := range s.Moves {
		if s.Walls && m.Writable != nil && !m.Writable(dir) {
			s.Frozen = append(s.Frozen, dir)
		}
	}
	for _, dir := range dirs {
		p := place{Path: dir, Private: l.at(dir).Access == "private" && !s.Walls || s.ownPlace(dir)}
		if e := l.at(dir); e.Access == "write" && (m.Writable == nil || m.Writable(dir)) {
			p.Opened = e.Access + " " + text.Plain(e.Path)
		}
		s.Places = append(s.Places, p)
	}
	for _, k := range services(homes) {
		if k.Path[0] == 0 && s.sharesAbstract() {
			k.Opened = "the shared network"
		}
		if e := l.at(k.Path); e.Path == k.Path && e.Access != "block" && e.Access != "private" {
			k.Opened = e.Access + " " + text.Plain(e.Path)
		}
		s.Sockets = append(s.Sockets, k)
	}
	return s
}

// below are the names in a directory through which deeper rules show
// something.
func (l listed) below(dir string) []string {
	var out []string
	for _, e := range l {
		if e.Path != dir && policy.Within(e.Path, dir) && e.Access != "block" {
			name, _, _ := strings.Cut(strings.TrimPrefix(e.Path[len(dir):], "/"), "/")
			out = append(out, name)
		}
	}
	return out
}
