// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// addAliases adds the places at which a hidden or protected file has another
// name through a mount: what is hidden in the home directory is hidden in a
// bind mount of it, too.
func (v *View) addAliases(found []resolvedRule) ([]resolvedRule, error) {
	mounts, err := v.Host.FS.Mounts()
	if err != nil {
		return nil, failed("cannot list the mounts of this machine: "+err.Error(), "is /proc mounted?")
	}
	t := host.NewMountTable(mounts)
	v.table = t
	if len(t.Twice) == 0 {
		return found, nil
	}
	for _, p := range found {
		if IsGrant(p.rule) || p.rule.Access == policy.Private || p.to.Info.Kind == host.Absent {
			continue
		}
		for _, path := range t.Aliases(p.to.Path) {
			info, err := v.Host.FS.Lstat(path)
			if made, ok := v.Res.Made[p.to.Path]; ok && err == nil && info.Kind == host.Absent {
				// It will be there when the one that it is another name of is made.
				info, v.Res.Made[path] = made, made
			}
			if err != nil || info.Kind == host.Absent || info.Kind == host.Link {
				continue
			}
			found = append(found, resolvedRule{rule: p.rule, name: path, to: host.Resolved{Path: path, Info: info}})
		}
	}
	return found, nil
}
