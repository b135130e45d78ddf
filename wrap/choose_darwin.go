// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
)

// Choose finds the engine for a run: there is one. Whether it
// works is tried, and kept in a file below dir ("" for nowhere); a verdict that is
// wrong makes a run fail and never weaker. The error is an [*Unavailable].
func Choose(h *host.Host, dir, name, tier string) (c engine.Chosen, err error) {
	if u := host.OtherEngine(name); u != nil {
		return c, u
	}
	c.Runtime, c.Instance = runDir(h, dir) // what a run would be is shown where there can be none, too
	if u := host.ChooseSeatbelt(h, dir); u != nil {
		c.Lack = u
		return c, u
	}
	c.Name = host.EngineSeatbelt
	return c, nil
}

// runDir finds where the directories of runs are: the directory for temporary
// files that the system makes for each user, else sbx's own cache. TMPDIR is
// believed only where it leads to one of those.
func runDir(h *host.Host, cacheDir string) (runtime, instance string) {
	if dir, ok := host.LookupEnv(h.Environ, "TMPDIR"); ok && len(dir) > 0 && dir[0] == '/' && !host.HasDotDot(dir) {
		to, err := host.NewResolver(host.OS{}).Resolve(filepath.Clean(dir)) // /var is a link
		if err == nil && host.UserTemp(to.Path) && to.Info.Kind == host.Dir && to.Info.UID == h.UID &&
			to.Info.Mode&0o077 == 0 && unix.Access(to.Path, unix.W_OK) == nil {
			runtime = to.Path + "/sbx"
		}
	}
	if runtime == "" && h.CheckOwnDir(cacheDir) == nil {
		runtime = host.RunsIn(cacheDir)
	}
	pid := os.Getpid()
	return runtime, macInstance(pid, started(pid), host.BootID())
}
