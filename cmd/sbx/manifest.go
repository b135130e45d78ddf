package main

import (
	"encoding/hex"
	"encoding/json"
	"os"

	"github.com/sbx-sandbox/sbx/policy"
	"github.com/sbx-sandbox/sbx/wrap"
)

// manifest is /run/sbx/policy.json, by which a program knows the sandbox that
// it runs in, or with Landlock the file that SBX_MANIFEST names. One that an older sbx wrote lacks sources, hidden paths and
// variables.
type manifest struct {
	Profiles    []string          `json:"profiles"`
	Engine      string            `json:"engine"`
	Tier        string            `json:"tier"`
	Network     string            `json:"allow_network"`
	SharePID    string            `json:"share_pid"`
	Environment string            `json:"environment"`
	Scoped      []string          `json:"scoped"`  // what Landlock keeps the command from
	Sources     map[string]string `json:"sources"` // key of a setting to where its value comes from
	Paths       []manifestPath    `json:"paths"`   // parents before children
	Env         []envJSON         `json:"env"`     // but for what is inherited, and what is on no list
}

// manifestPath is a place inside with the rule in force there.
type manifestPath struct {
	Path   string `json:"path"`
	Hex    string `json:"hex"`    // the bytes of a path that is not UTF-8
	Access string `json:"access"` // private, write, read, protect, block
	Source string `json:"source"`
	Layer  string `json:"layer"` // "" is built-in
	Rule   string `json:"rule"`  // as it was written; "" is the path
	Pin    bool   `json:"pin"`   // no rule of its own: held in place for what is below it
}

// insideSandbox returns what is known of the sandbox that this process runs
// in, and false outside of any.
func insideSandbox() (*manifest, bool) {
	if wrap.Inside() {
		data, err := os.ReadFile(wrap.ManifestDir + "/policy.json")
		if err != nil {
			return nil, false
		}
		return readManifest(data)
	}
	if !wrap.InLandlock() {
		return nil, false
	}
	// The kernel says that there are walls. What the file says of them is for
	// people: a command can name another.
	data, err := os.ReadFile(os.Getenv("SBX_MANIFEST"))
	if m, ok := readManifest(data); err == nil && ok {
		return m, true
	}
	return &manifest{Tier: wrap.TierReduced}, true
}

func readManifest(data []byte) (*manifest, bool) {
	var m manifest
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

// marks are the paths as a plan has them, less those with an access that this
// sbx does not know.
func (m *manifest) marks() []wrap.Mark {
	out := make([]wrap.Mark, 0, len(m.Paths))
	for _, p := range m.Paths {
		mark := wrap.Mark{Path: p.Path, Rule: p.Rule, Source: p.Source, Pin: p.Pin}
		if mark.Rule == "" {
			mark.Rule = p.Path
		}
		for a := policy.Private; a <= policy.Block; a++ {
			if a.String() == p.Access {
				mark.Access = a
			}
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
