// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// withheld is a file with the names of the credentials in it.
type withheld struct {
	path  string
	names []string
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
	var all []string
	for _, w := range files {
		var names []string
		for _, n := range w.names {
			names = append(names, text.Plain(n))
		}
		path := c.v.Host.Shown(w.path)
		if policy.Within(w.path, c.v.Host.CWD) {
			path = text.Plain(w.path[len(c.v.Host.CWD)+1:])
		}
		all = append(all, path+" ("+few(names, " more")+")")
	}
	return few(all, " more files")
}

// few names the first of many.
func few(names []string, more string) string {
	if n := len(names) - maxNamed; n > 0 {
		names = append(names[:maxNamed], strconv.Itoa(n)+more)
	}
	return strings.Join(names, ", ")
}

// maxNamed bounds how many hidden files a line names.
const maxNamed = 3
