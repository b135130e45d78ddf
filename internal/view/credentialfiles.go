// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/credentials"
	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// withheld is a file with the names of the credentials in it.
type withheld struct {
	path  string
	names []string
}

// file has a settings file shown without what clean takes out of it, and returns
// what is in it.
func (c *cleaner) file(path string, clean func(name string, data []byte) ([]byte, []string, error)) []byte {
	to, ok := c.visible(path)
	if !ok {
		return nil
	}
	data, whole := c.g.content(to)
	if c.left--; c.left < 0 || !whole {
		if c.left < 0 || !c.closed(to) {
			c.show(to, nil, nil, false)
		}
		return nil
	}
	copied, names, err := clean(host.Base(path), data)
	if err != nil || len(names) > 0 || len(copied) != len(data) {
		c.show(to, copied, names, err == nil)
	}
	return data
}

// git looks at a config file and at what it includes.
func (c *cleaner) git(name string, depth int) {
	data := c.file(name, func(_ string, data []byte) ([]byte, []string, error) { return credentials.Git(data) })
	_ = gitdir.Each(data, func(s gitdir.Setting) {
		if n := s.Name(); (n == "include.path" || n == "includeif.path") && depth < maxIncludes+2 {
			if path := c.g.plainPath(s.Value, policy.Dir(name)); path != "" {
				c.git(path, depth+1)
			}
		}
	})
}

// withoutURL is for a file that names a remote: it cannot be shown when that is a
// URL with a password.
func withoutURL(_ string, data []byte) ([]byte, []string, error) {
	if credentials.In(data) {
		return nil, nil, errors.New("a URL with a password")
	}
	return data, nil, nil
}

// hidden shows a project's settings file that is hidden for the credentials that
// it may hold, when it is sure to hold none.
func (c *cleaner) hidden(m *Entry) {
	data, whole := c.g.content(host.Resolved{Path: m.Path, Info: m.Info})
	if copied, _, err := credentials.Lines(host.Base(m.Path), data); whole && err == nil {
		m.turn(copied)
		c.v.Hidden = slices.DeleteFunc(c.v.Hidden, func(path string) bool { return path == m.Path })
	}
}

// turn has a mount show a copy.
func (m *Entry) turn(data []byte) {
	m.Rule = &policy.Rule{Path: m.Path, Access: policy.Read, Layer: policy.Builtin, Source: SourceCleaned}
	m.rules, m.Access, m.Redundant = policy.RuleSet{Give: m.Rule}, policy.Read, false
	m.Copied, m.Copy = true, data
}

// show puts a copy in place of a file, or something that cannot be opened,
// when it could not be read as what it is.
func (c *cleaner) show(to host.Resolved, copied []byte, names []string, good bool) {
	w := withheld{to.Path, names}
	if !good {
		w.names = []string{"all of it: it cannot be read as settings"}
	}
	if c.v.NoMounts || c.full(to.Path) {
		if good && len(names) == 0 {
			return // a comment
		}
		c.had = append(c.had, w)
		return
	}
	m := c.v.At(to.Path)
	if m == nil {
		c.made = append(c.made, Entry{Path: to.Path, Info: to.Info})
		m = &c.made[len(c.made)-1]
	}
	if m.turn(copied); !good {
		m.Rule.Access, m.Access, m.Copied = policy.Block, policy.Block, false
		m.Rule.Source = "it may hold credentials, and cannot be read as settings"
	}
	if len(w.names) > 0 {
		c.cut = append(c.cut, w)
	}
}

// report says what was left out, or could not be, once for all files.
func (c *cleaner) report() error {
	if len(c.cut) > 0 {
		c.v.Once = append(c.v.Once, "shown without credentials: "+c.list(c.cut)+"; -r FILE shows one whole")
	}
	if len(c.had) == 0 {
		return nil
	}
	const remedy = "better kept by a credential helper or in a variable (in CI persist-credentials: false)"
	text := "the command can read the credentials in " + c.list(c.had)
	if !c.v.NoMounts {
		c.v.Loose = append(c.v.Loose, text+", which git = full lets it write: "+remedy)
		return nil
	}
	text += ", of which this engine can show no copy without them"
	if StrictWalls(c.g.pol) {
		return failed(text, remedy)
	}
	c.v.Loose = append(c.v.Loose, text+": "+remedy)
	return nil
}

// list names files with the settings in them.
func (c *cleaner) list(files []withheld) string {
	var out []string
	for i, w := range files {
		if i == maxNamed {
			out = append(out, strconv.Itoa(len(files)-i)+" more files")
			break
		}
		names := w.names
		more := max(len(names)-maxNamed, 0)
		names = slices.Clone(names[:len(names)-more])
		for i := range names {
			names[i] = text.Plain(names[i])
		}
		if more > 0 {
			names = append(names, strconv.Itoa(more)+" more")
		}
		path := c.v.Host.Shown(w.path)
		if policy.Within(w.path, c.v.Host.CWD) {
			path = text.Plain(w.path[len(c.v.Host.CWD)+1:])
		}
		out = append(out, path+" ("+strings.Join(names, ", ")+")")
	}
	return strings.Join(out, ", ")
}
