// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// Manifest is /run/sbx/policy.json, by which a program knows the sandbox that
// it runs in, or with Landlock and on macOS the file that SBX_MANIFEST names. One
// that an older sbx wrote lacks sources, hidden paths and variables.
type Manifest struct {
	Profiles    []string          `json:"profiles"`
	Engine      string            `json:"engine"`
	Tier        string            `json:"tier"`
	Network     string            `json:"allow_network"`
	SharePID    string            `json:"share_pid"`
	NewSession  string            `json:"new_session"`
	Seccomp     string            `json:"seccomp"`
	Git         string            `json:"git"`
	MemoryLimit string            `json:"memory_limit_mb"`
	TmpfsLimit  string            `json:"tmpfs_limit_mb"`
	Procs       string            `json:"procs"`
	FileSize    string            `json:"file_size_limit_mb"`
	Protect     string            `json:"protect"`
	Environment string            `json:"environment"`
	Gaps        []string          `json:"gaps"`    // with Landlock
	Scoped      []string          `json:"scoped"`  // what Landlock keeps the command from
	Sources     map[string]string `json:"sources"` // key of a setting to where its value comes from
	Paths       []manifestPath    `json:"paths"`   // parents before children
	Env         []view.EnvChange  `json:"env"`     // but for what is inherited, and what is on no list
	Wall        *manifestWall     `json:"wall"`    // with Landlock
}

// manifestWall is what Landlock lets through, in hexadecimal the rights of
// linux/landlock.h.
type manifestWall struct {
	FS    string `json:"fs"` // all that is looked at
	Rules []struct {
		Path  string `json:"path"`
		Hex   string `json:"hex"`
		Allow string `json:"allow"`
	} `json:"rules"`
}

// manifestPath is a place inside with the rule in force there.
type manifestPath struct {
	Path   string `json:"path"`
	Hex    string `json:"hex"`    // the bytes of a path that is not UTF-8
	Access string `json:"access"` // private, closed (private, with Landlock and sandbox-exec), write, read, protect, block
	Source string `json:"source"`
	Layer  string `json:"layer"` // "" is built-in
	Rule   string `json:"rule"`  // as it was written; "" is the path
	Pin    bool   `json:"pin"`   // no rule of its own: held in place for what is below it
}

// maxManifest bounds, in bytes, a manifest that is read.
const maxManifest = 4 << 20

// Inside returns what is known of the sandbox that this process runs
// in, and false outside of any.
func Inside() (*Manifest, bool) {
	walls := Manifest{Engine: host.Inside(), Tier: host.TierFull}
	switch walls.Engine {
	case "":
		return nil, false
	case host.EngineBwrap:
		data, err := os.ReadFile(host.ManifestDir + "/policy.json")
		if err != nil {
			return nil, false
		}
		return readManifest(data)
	case host.EngineLandlock:
		walls.Tier = host.TierReduced
	}
	return within(walls, os.Getenv("SBX_MANIFEST")), true
}

// within is what the file of a sandbox says of it. The kernel says that there are
// walls, and whose; what the file says besides is for people: a command can name
// another.
func within(walls Manifest, file string) *Manifest {
	if m, err := ManifestOf(file); err == nil && m.Engine == walls.Engine {
		return m
	}
	return &walls
}

// ManifestOf reads the manifest in a file.
func ManifestOf(file string) (*Manifest, error) {
	data, err := host.OS{}.Head(file, maxManifest)
	if m, ok := readManifest(data); ok && err == nil {
		return m, nil
	}
	return nil, Fail("no manifest: "+file, "")
}

func readManifest(data []byte) (*Manifest, bool) {
	var m Manifest
	if json.Unmarshal(data, &m) != nil {
		return nil, false
	}
	for i := range m.Paths {
		p := &m.Paths[i]
		if raw, err := hex.DecodeString(p.Hex); err == nil && p.Hex != "" {
			p.Path = string(raw)
		}
	}
	return &m, true
}

// Rules are the paths as a plan has them, less those with an access that this
// sbx does not know.
func (m *Manifest) Rules() []view.Rule {
	out := make([]view.Rule, 0, len(m.Paths))
	for _, p := range m.Paths {
		mark := view.Rule{Path: p.Path, Written: p.Rule, Source: p.Source, Pinned: p.Pin}
		if mark.Written == "" {
			mark.Written = p.Path
		}
		for a := policy.Private; a <= policy.Block; a++ {
			if a.String() == p.Access {
				mark.Access = a
			}
		}
		if p.Access == view.Closed {
			mark.Access, mark.Closed = policy.Private, true
		}
		for l := policy.Builtin; l <= policy.Flag; l++ {
			if l.String() == p.Layer {
				mark.Layer = l
			}
		}
		if mark.Access != policy.Unseen {
			out = append(out, mark)
		}
	}
	return out
}

// Sight is what can be said of files from the manifest that path names. With
// Landlock nothing inside shows what is open, so it takes the rules for it.
func (m *Manifest) Sight(h *host.Host, path string) (*access.Checker, error) {
	if m.Engine == host.EngineSeatbelt {
		return &access.Checker{FS: h.FS, Rules: m.Rules(), Host: h, Seatbelt: true, Network: m.Network == "true"}, nil
	}
	s := &access.Checker{FS: host.ProcFS{FS: h.FS}, Rules: m.Rules(), Host: h}
	if m.Engine != host.EngineLandlock {
		return s, nil
	}
	if s.Ruleset = m.Wall.ruleset(); s.Ruleset == nil {
		return nil, Fail("this runs in a sandbox of tier reduced, of which nothing more is known: SBX_MANIFEST names no manifest with its rules", "")
	}
	s.Enter(filepath.Dir(path))
	return s, nil
}

// ruleset is nil for a ruleset that does not exist or cannot be read.
func (w *manifestWall) ruleset() *landlock.Ruleset {
	if w == nil {
		return nil
	}
	fs, err := strconv.ParseUint(w.FS, 0, 64)
	if err != nil {
		return nil
	}
	out := &landlock.Ruleset{FS: landlock.FS(fs)}
	for _, r := range w.Rules {
		allow, err := strconv.ParseUint(r.Allow, 0, 64)
		if err != nil {
			return nil
		}
		if raw, err := hex.DecodeString(r.Hex); err == nil && r.Hex != "" {
			r.Path = string(raw)
		}
		out.Rules = append(out.Rules, landlock.Rule{Path: r.Path, Allow: landlock.FS(allow)})
	}
	return out
}

// ManifestFile is where the manifest of the sandbox is that this process runs
// in.
func ManifestFile() string {
	if host.Inside() == host.EngineBwrap {
		return host.ManifestDir + "/policy.json"
	}
	return os.Getenv("SBX_MANIFEST")
}

// Setting is a setting of the sandbox and where it comes from.
func (m *Manifest) Setting(key string) (value, source string) {
	values := map[string]string{"allow_network": m.Network, "seccomp": m.Seccomp,
		"memory_limit_mb": m.MemoryLimit, "tmpfs_limit_mb": m.TmpfsLimit,
		"procs": m.Procs, "file_size_limit_mb": m.FileSize}
	return values[key], m.Sources[key]
}
