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

// text is what was found as it is kept: lines of a word, a number and a quoted path.
func (l *socketCache) text() string {
	var b strings.Builder
	line := func(word string, number int64, path string) {
		b.WriteString(word + " " + strconv.FormatInt(number, 10) + " " + strconv.Quote(path) + "\n")
	}
	line("looked", l.when, "")
	for _, d := range l.dirs {
		line("dir", d.nanos, d.path)
	}
	for _, s := range l.sockets {
		line("socket", 0, s)
	}
	return b.String() + "end\n"
}

var errSocketCache = errors.New("not what a look for sockets is kept as")

// parseSocketCache reads what text wrote, and nothing else.
func parseSocketCache(text string) (*socketCache, error) {
	text, ok := strings.CutSuffix(text, "end\n")
	l := &socketCache{}
	for first := true; first || text != ""; first = false {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		word, rest, _ := strings.Cut(line, " ")
		digits, quoted, _ := strings.Cut(rest, " ")
		number, err := strconv.ParseInt(digits, 10, 64)
		path, unquoted := strconv.Unquote(quoted)
		if !ok || err != nil || unquoted != nil || first != (word == "looked") {
			return nil, errSocketCache
		}
		switch word {
		case "looked":
			l.when = number
		case "dir":
			l.dirs = append(l.dirs, stamped{path, number})
		case "socket":
			l.sockets = append(l.sockets, path)
		default:
			return nil, errSocketCache
		}
	}
	return l, nil
}
