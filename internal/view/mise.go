// SPDX-License-Identifier: Apache-2.0

package view

import (
	"path/filepath"

	"github.com/sbx-sandbox/sbx/internal/credentials"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// mise shows which versions of tools the user has chosen, where mise's own directory
// is visible: its shims run other versions without a word when they cannot read that.
func (c *cleaner) mise() {
	h := c.v.Host
	if len(h.Homes) == 0 || c.v.NoMounts {
		return
	}
	place := func(variable, inHome string) (host.Resolved, error) {
		dir, _ := host.LookupEnv(h.Environ, variable)
		if dir == "" {
			dir = h.Homes[0] + inHome
		}
		return c.v.Res.Resolve(filepath.Clean(dir))
	}
	data, err := place("XDG_DATA_HOME", "/.local/share")
	if own := c.v.At(host.Join(data.Path, "mise")); err != nil || own == nil || !Shows(own.Access) || own.Info.Kind != host.Dir {
		return
	}
	dir, err := place("XDG_CONFIG_HOME", "/.config")
	to, unread := c.v.Res.Resolve(host.Join(dir.Path, "mise/config.toml"))
	if err != nil || unread != nil || to.Info.Kind != host.File || len(to.Links) > 0 || to.Info.UID != h.UID ||
		c.v.At(to.Path) != nil || c.v.Access(to.Path) != policy.Private {
		return
	}
	text, whole := c.g.content(to)
	if copied := credentials.Mise(text); whole && copied != nil {
		m := Entry{Path: to.Path, Info: to.Info}
		m.turn(copied)
		c.made = append(c.made, m)
	}
}
