// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// versionCmd prints the version, and what a run would find here.
type versionCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

type versionJSON struct {
	SBX      string       `json:"sbx"`
	Commit   string       `json:"commit,omitempty"`
	Go       string       `json:"go"`
	System   string       `json:"system"`          // as in GOOS/GOARCH
	Bwrap    *programJSON `json:"bwrap,omitempty"` // the one that a run would take
	Landlock int          `json:"landlock"`        // version of the interface, 0 for none
}

type programJSON struct {
	Path    string `json:"path"`
	Version string `json:"version,omitempty"` // "" when it does not say
}

func (c *versionCmd) Run() error {
	v := &versionJSON{SBX: version, Commit: commit, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok && v.Commit == "" { // built without the Makefile
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value[:min(12, len(s.Value))]
			}
		}
	}
	if h, err := host.Detect(); err == nil {
		v.Landlock = h.Landlock
		if path, version := host.BwrapVersion(h); path != "" {
			v.Bwrap = &programJSON{path, version}
		}
	}
	return show(c.JSON, v, v.print)
}

func (v *versionJSON) print() error {
	first := "sbx " + v.SBX
	if v.Commit != "" {
		first += " (commit " + v.Commit + ")"
	}
	fmt.Fprintln(stdout, first)
	fmt.Fprintln(stdout, "built with "+v.Go+" for "+v.System)
	if runtime.GOOS != "linux" {
		return nil
	}
	bwrap, landlock := "none", "none"
	if v.Bwrap != nil {
		bwrap = cmp.Or(v.Bwrap.Version, "of unknown version") + ", " + text.Plain(v.Bwrap.Path)
	}
	if v.Landlock > 0 {
		landlock = fmt.Sprint("version ", v.Landlock)
	}
	fmt.Fprintln(stdout, "bwrap: "+bwrap)
	fmt.Fprintln(stdout, "Landlock: "+landlock)
	return nil
}
