package host

import (
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Mount is one line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type Mount struct {
	Dev   string // "8:1"
	Root  string // of the mount, in its file system
	Point string // where it is mounted
	Type  string // of the file system: "ext4", "fuse.sshfs"; "" where that is not known
}

// parseMounts reads mountinfo: "36 35 98:0 /root /point opts - type source".
func parseMounts(text string) []Mount {
	mounts := make([]Mount, 0, 64)
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		var field [5]string
		for i := range field {
			field[i], line, _ = strings.Cut(line, " ")
		}
		if field[4] != "" {
			_, kind, _ := strings.Cut(" "+line, " - ") // behind options, of which there may be none
			kind, _, _ = strings.Cut(kind, " ")
			mounts = append(mounts, Mount{field[2], unescape(field[3]), unescape(field[4]), kind})
		}
	}
	return mounts
}

// unescape takes back the kernel's \040 for a space and the like.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && octal(s[i+1]) && octal(s[i+2]) && octal(s[i+3]) {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func octal(c byte) bool { return '0' <= c && c <= '7' }

// MountTable finds the other names of a file: those that it has because its
// file system, or a directory of it, is mounted more than once.
type MountTable struct {
	mounts []Mount
	Twice  map[string]bool // devices with several mounts
}

func NewMountTable(mounts []Mount) *MountTable {
	t := &MountTable{mounts: mounts}
	for i, m := range mounts {
		for _, o := range mounts[:i] {
			if o.Dev == m.Dev {
				if t.Twice == nil {
					t.Twice = make(map[string]bool, 4)
				}
				t.Twice[m.Dev] = true
				break
			}
		}
	}
	return t
}

// owner is the mount that a canonical path lies on, -1 for none. Of two at one
// place the later covers the earlier.
func (t *MountTable) owner(path string) int {
	best := -1
	for i := range t.mounts {
		if p := t.mounts[i].Point; policy.Within(path, p) && (best < 0 || len(p) >= len(t.mounts[best].Point)) {
			best = i
		}
	}
	return best
}

// Aliases are the other paths at which a canonical path, or something in it,
// can be seen.
func (t *MountTable) Aliases(path string) []string {
	if len(t.Twice) == 0 {
		return nil
	}
	own := t.owner(path)
	if own < 0 || !t.Twice[t.mounts[own].Dev] {
		return nil
	}
	m := &t.mounts[own]
	inside := rebase(path, m.Point, m.Root)
	var out []string
	for i := range t.mounts {
		n := &t.mounts[i]
		alias := n.Point
		switch {
		case i == own || n.Dev != m.Dev:
			continue
		case policy.Within(inside, n.Root):
			alias = rebase(inside, n.Root, n.Point)
		case !policy.Within(n.Root, inside):
			continue
		}
		if alias != path && t.owner(alias) == i {
			out = append(out, alias)
		}
	}
	return out
}

// rebase moves a path from below one directory to below another.
func rebase(path, from, to string) string {
	rest := strings.TrimPrefix(path, from)
	if rest != "" && rest[0] != '/' {
		rest = "/" + rest
	}
	if to == "/" && rest != "" {
		return rest
	}
	return to + rest
}
