// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"path"
	"strings"
)

// systemLinks are the links that every Mac has.
var systemLinks = map[string]string{
	"/tmp":  "private/tmp",
	"/var":  "private/var",
	"/etc":  "private/etc",
	"/home": "/System/Volumes/Data/home",
}

// dataVolume holds what firmlinks show at the root: two spellings of one path, of
// which the kernel uses the short one.
const dataVolume = "/System/Volumes/Data"

var firmlinks = []string{"/Applications", "/Library", "/Users", "/Volumes", "/cores", "/opt", "/private", "/usr/local"}

// maxLinks is the kernel's MAXSYMLINKS.
const maxLinks = 32

// resolve gives a path as the kernel names what it leads to, and the links that
// were followed. With nofollow the last component is taken for what it is.
func (o *Options) resolve(name string, nofollow bool) (resolved string, links []string) {
	at, todo := "/", split(name)
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		next := path.Join(at, part) // ".." is of where one has got to, not of the text
		target, ok := o.link(next)
		if !ok || nofollow && len(todo) == 0 || len(links) == maxLinks {
			at = shorten(next)
			continue
		}
		links = append(links, next)
		if strings.HasPrefix(target, "/") {
			at = "/"
		}
		todo = append(split(target), todo...)
	}
	return at, links
}

func split(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
}

func (o *Options) link(name string) (string, bool) {
	for from, to := range systemLinks {
		if len(from) == len(name) && o.same(from, name) {
			return to, true
		}
	}
	for from, to := range o.Links {
		if o.same(from, name) {
			return to, true
		}
	}
	return "", false
}

func (o *Options) same(a, b string) bool {
	return strings.EqualFold(a, b)
}

func shorten(name string) string {
	if len(name) <= len(dataVolume) || !strings.EqualFold(name[:len(dataVolume)], dataVolume) {
		return name
	}
	for _, f := range firmlinks {
		if strings.EqualFold(name[len(dataVolume):], f) {
			return f
		}
	}
	return name
}
