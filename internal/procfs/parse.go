// SPDX-License-Identifier: Apache-2.0

package procfs

// Field returns the value of a line "key: value", "" when there is none.
func Field(text, key string) string {
	for text != "" {
		var line string
		line, text = cut(text, '\n')
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
		field, rest = cut(rest, ' ')
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
			line, text = cut(text, '\n')
			m.ID, line = cut(line, ' ')
			_, line = cut(line, ' ') // of the parent
			m.Dev, line = cut(line, ' ')
			m.Root, line = cut(line, ' ')
			m.Point, line = cut(line, ' ')
			m.Options, line = cut(line, ' ')
			for line != "" && word != "-" { // optional fields
				word, line = cut(line, ' ')
			}
			m.Type, line = cut(line, ' ')
			_, line = cut(line, ' ') // the source
			m.Super, _ = cut(line, ' ')
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
		line, text = cut(text, '\n')
		_, line = cut(line, ':')
		names, line = cut(line, ':')
		if line == "" {
			continue
		}
		g := Cgroup{Path: line}
		for names != "" {
			name, names = cut(names, ',')
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

// cut divides a text at the first of a character; without one all is before it.
func cut(s string, c byte) (before, after string) {
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

// Digits and number stand in for strconv, which would have to be initialised
// before process 1.
func Digits(n uint64) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}

func number(s string) (n int, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > 1<<30 {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, s != ""
}
