// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"strconv"
	"strings"
)

// SocketTops are the directories that are looked into for sockets: services that
// did not come with the system put theirs there, and profiles show them.
var SocketTops = [...]string{"/opt", "/srv", "/usr/local", "/etc"}

// socketCache is what was found when someone looked for sockets, and by what it can
// be told that there may be others now.
type socketCache struct {
	when    int64 // seconds since 1970
	dirs    []stamped
	sockets []string
}

// stamped is a directory with the time at which its entries were last changed.
type stamped struct {
	path  string
	nanos int64
}

// text is a lookout as it is kept.
func (l *socketCache) text() string {
	var b strings.Builder
	b.WriteString("looked " + strconv.FormatInt(l.when, 10) + "\n")
	for _, d := range l.dirs {
		b.WriteString("dir " + strconv.FormatInt(d.nanos, 10) + " " + strconv.Quote(d.path) + "\n")
	}
	for _, s := range l.sockets {
		b.WriteString("socket " + strconv.Quote(s) + "\n")
	}
	b.WriteString("end\n")
	return b.String()
}

var errSocketCache = errors.New("not what a look for sockets is kept as")

// parseSocketCache reads what text wrote, and nothing else.
func parseSocketCache(text string) (*socketCache, error) {
	l := &socketCache{}
	for i := 0; ; i++ {
		line, rest, ok := strings.Cut(text, "\n")
		text = rest
		word, value, _ := strings.Cut(line, " ")
		var err error
		switch {
		case !ok || (i == 0) != (word == "looked"):
			return nil, errSocketCache
		case word == "looked":
			l.when, err = strconv.ParseInt(value, 10, 64)
		case word == "dir":
			var d stamped
			number, path, _ := strings.Cut(value, " ")
			if d.nanos, err = strconv.ParseInt(number, 10, 64); err == nil {
				d.path, err = strconv.Unquote(path)
			}
			l.dirs = append(l.dirs, d)
		case word == "socket":
			var path string
			path, err = strconv.Unquote(value)
			l.sockets = append(l.sockets, path)
		case line == "end" && text == "":
			return l, nil
		default:
			err = errSocketCache
		}
		if err != nil {
			return nil, errSocketCache
		}
	}
}
