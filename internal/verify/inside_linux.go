// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// Here verifies the sandbox that this process runs in.
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
		tg.Devices = without(openDevices(), tg.Given)
	}
	checks := tg.checks()
	answers := answerHere(number(checks))
	return &Report{Profiles: m.Profiles, Place: cwd, Inside: true, Results: tg.evaluate(checks, answers)}, nil
}

// inside makes the target of the sandbox that this process is in, by its rules:
// nothing is known of the host. kind is the type of a file.
func inside(m *Manifest, uid int, nonce, cwd string, dirs, homes []string, kind func(path string) string) *target {
	s := &target{Inside: true, UID: uid, Nonce: nonce, CWD: cwd, Network: m.Network, SharePID: m.SharePID,
		Seccomp: policy.SeccompLevel(m.Seccomp), Filter: policy.SeccompFile(m.Seccomp),
		Feigned: policy.SeccompFile(m.Seccomp), Scoped: m.Scoped}
	if s.Seccomp == "" {
		s.Seccomp = "default"
	}
	if s.Walls = m.Landlock; s.Walls {
		s.Gaps, s.Scratch, s.Mode = m.Gaps, runTmp, runDir
	}
	var l mounts
	for _, r := range m.Rules {
		if r.Access == policy.Write && policy.Within(r.Path, "/dev") {
			s.Given = append(s.Given, r.Path)
		}
		if strings.HasPrefix(r.Path, "/") && filepath.Clean(r.Path) == r.Path {
			l = append(l, engine.Mounted{Rule: view.Rule{Path: r.Path, Access: r.Access, Closed: r.Closed}})
		}
	}
	for i := range l {
		if m.Restored && l[i].Access == policy.Protect {
			s.Guarded = append(s.Guarded, guardedPath{Path: l[i].Path, Kind: kind(l[i].Path), Opened: restored})
			continue
		}
		s.rule(l, &l[i], kind)
	}
	writable := func(dir string) bool { return m.Writable == nil || m.Writable(dir) }
	s.freeze(writable)
	for _, dir := range dirs {
		a := l.at(dir)
		p := place{Path: dir, Private: a.Access == policy.Private && !s.Walls || s.ownPlace(dir)}
		if a.Access == policy.Write && writable(dir) {
			p.Opened = a.said()
		}
		s.Places = append(s.Places, p)
	}
	for _, k := range services(homes) {
		if k.Path[0] == 0 && s.sharesAbstract() {
			k.Opened = "the shared network"
		}
		if a := l.at(k.Path); a.Path == k.Path && a.Access != policy.Block && a.Access != policy.Private {
			k.Opened = a.said()
		}
		s.Sockets = append(s.Sockets, k)
	}
	return s
}

// restored says what becomes of a protected path that can be changed.
const restored = `protect = "auto": it is put back or told of after the run`

// said is an access in the words of the manifest.
func (a access) said() string { return a.Access.String() + " " + text.Plain(a.Path) }

// rule notes what there is to prove of one rule.
func (s *target) rule(l mounts, m *engine.Mounted, kind func(path string) string) {
	dir := policy.Dir(m.Path)
	above := l.at(dir)
	write := above.Access == policy.Write && m.Path != "/"
	switch m.Access {
	case policy.Block:
		shown, _ := l.shownIn(m.Path)
		private := above.Access == policy.Private && !above.Closed
		s.Hidden = append(s.Hidden, secret{Path: m.Path, Private: private, Shown: shown})
		if write {
			s.Guarded = append(s.Guarded, guardedPath{Path: m.Path, Kind: kindOther})
		}
	case policy.Private:
		switch {
		case m.Closed && kind(m.Path) == kindDir:
			s.Closed = append(s.Closed, m.Path)
		case !m.Closed && (s.Scratch == "" || m.Path == "/tmp"):
			s.Scratch = m.Path
		}
	case policy.Read, policy.Protect:
		if write {
			s.Guarded = append(s.Guarded, guardedPath{Path: m.Path, Kind: kind(m.Path), Tops: []string{dir}})
		}
	}
	if write && m.Access != policy.Write {
		for _, dir := range l.writableTree(m.Path) {
			if dir != "/" {
				s.Moves = append(s.Moves, dir)
			}
		}
	}
}
