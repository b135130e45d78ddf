// SPDX-License-Identifier: Apache-2.0

package host

import "strings"

// Child is the entry of dir that path is or lies in.
func Child(dir, path string) string {
	if dir == "/" {
		dir = ""
	}
	for i := len(dir) + 1; i < len(path); i++ {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return path
}

// The kernel's own limits, PATH_MAX and NAME_MAX.
const (
	MaxPath = 4096
	MaxName = 255
)

// OneLine makes the text of an error of the system fit to be shown.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}
