// SPDX-License-Identifier: Apache-2.0

package procfs

import "strconv"

// Field returns the value of a line "key: value", "" when there is none.
func Field(text, key string) string {
	for text != "" {
		var line string
		line, text = Cut(text, '\n')
		if len(line) > len(key) && line[:len(key)] == key && line[len(key)] == ':' {
			return trim(line[len(key)+1:])
		}
	}
	return ""
}

// startTime returns the 22nd field of the text of /proc/PID/stat, the 20th after
// the name, which may hold anything; "" when there is none.
func startTime(text string) string {
	end := len(text) - 1
	for end >= 0 && text[end] != ')' {
		end--
	}
	rest, field := trim(text[end+1:]), ""
	for range 20 {
		field, rest = Cut(rest, ' ')
	}
	return trim(field)
}

// Mount is a line of mountinfo. Texts are unescaped.
type Mount struct {
	ID      string // "36"
	Dev     string // of the file system: "98:0"
	Root    string // of the mount, in its file system
	Point   string // where it is mounted
	Options string // of the mount: "rw,noatime"
	Type    string // of the file system: "ext4"; "" where that is not known
	Super   string // options of the file system
}

// Mounts reads the text of /proc/self/mountinfo: "36 35 98:0 /root /point rw,noatime
// master:1 - ext3 /dev/root rw,errors=continue". Of two mounts at one point the
// later covers the earlier.
func Mounts(text string) func(yield func(Mount) bool) {
	return func(yield func(Mount) bool) {
		for text != "" {
			var line, word string
			var m Mount
			line, text = Cut(text, '\n')
			m.ID, line = Cut(line, ' ')
			_, line = Cut(line, ' ') // of the parent
			m.Dev, line = Cut(line, ' ')
			m.Root, line = Cut(line, ' ')
			m.Point, line = Cut(line, ' ')
			m.Options, line = Cut(line, ' ')
			for line != "" && word != "-" { // optional fields
				word, line = Cut(line, ' ')
			}
			m.Type, line = Cut(line, ' ')
			_, line = Cut(line, ' ') // the source
			m.Super, _ = Cut(line, ' ')
			if m.Point == "" {
				continue
			}
			m.Root, m.Point = unescape(m.Root), unescape(m.Point)
			if !yield(m) {
				return
			}
		}
	}
}

// Cgroup is a line of /proc/PID/cgroup.
type Cgroup struct {
	Controllers []string // of version 1; none for version 2
	Path        string
}

// Cgroups reads the text of /proc/PID/cgroup: "4:cpu,cpuacct:/user.slice".
func Cgroups(text string) (groups []Cgroup) {
	for text != "" {
		var line, names, name string
		line, text = Cut(text, '\n')
		_, line = Cut(line, ':')
		names, line = Cut(line, ':')
		if line == "" {
			continue
		}
		g := Cgroup{Path: line}
		for names != "" {
			name, names = Cut(names, ',')
			g.Controllers = append(g.Controllers, name)
		}
		groups = append(groups, g)
	}
	return groups
}

// unescape takes back the kernel's \040 for a space and the like.
func unescape(s string) string {
	i := 0
	for i < len(s) && s[i] != '\\' {
		i++
	}
	if i == len(s) {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:i]...)
	for ; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && octal(s[i+1]) && octal(s[i+2]) && octal(s[i+3]) {
			b = append(b, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

func octal(c byte) bool { return '0' <= c && c <= '7' }

// Cut divides a text at the first of a character; without one all is before it.
// It stands in for package strings, which would be initialised before process 1.
func Cut(s string, c byte) (before, after string) {
	for i := range len(s) {
		if s[i] == c {
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

func trim(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1] == '\n') {
		s = s[:len(s)-1]
	}
	return s
}

// Listening reads the local ports of /proc/net/tcp whose sockets listen: after a
// line of headings "   0: 0100007F:1538 00000000:0000 0A …".
func Listening(text string) (ports []int) {
	for text != "" {
		var line, local, state string
		line, text = Cut(text, '\n')
		_, line = Cut(line, ':')
		_, line = Cut(line, ' ')
		local, line = Cut(line, ' ')
		_, line = Cut(line, ' ')
		if state, _ = Cut(line, ' '); state != "0A" {
			continue
		}
		_, number := Cut(local, ':')
		if port, err := strconv.ParseUint(number, 16, 16); err == nil {
			ports = append(ports, int(port))
		}
	}
	return ports
}
