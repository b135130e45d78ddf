package pid1

// Mask is a mount that hides something of the host, or makes it read-only. Its
// mount point is a name in a directory that the host has, too, and the kernel
// takes the mount away when that name is renamed over or removed outside.
type Mask struct {
	Kind MaskKind
	Path string // as seen inside
	Top  string // the directory above it in which the names of the host begin: what holds that one, the sandbox has made itself
}

// MaskKind is what a mask is for, and what follows when it is gone.
type MaskKind byte

const (
	Hides      MaskKind = iota // the run ends, with status 125
	HidesWarn                  // as Hides, but a warning is all
	Copies                     // as Hides, of a file that is shown as it was, or in part
	CopiesWarn                 // as Copies, but a warning is all
	Protects                   // a warning, and what changes from then on is told at the end
	maskKinds
)

func (m *Mask) encode() string {
	return utoa(uint64(m.Kind)) + " " + utoa(uint64(len(m.Top))) + " " + m.Path
}

func decodeMask(value string) (m Mask, ok bool) {
	kind, value, ok1 := number(value)
	n, path, ok2 := number(value)
	if !ok1 || !ok2 || kind >= uint64(maskKinds) || n == 0 || n >= uint64(len(path)) || path[0] != '/' || n > 1 && path[n] != '/' {
		return m, false
	}
	return Mask{MaskKind(kind), path, path[:n]}, true
}

// watchedDirs lists the directories in which a mask can be taken away, each once:
// those that hold one, and those on the way to them.
func watchedDirs(masks []Mask) (dirs []string) {
	for i := range masks {
		for path := masks[i].Path; path != masks[i].Top && path != "/"; {
			path = dirOf(path)
			if has(dirs, path) { // and so what is above it
				break
			}
			dirs = append(dirs, path)
		}
	}
	return dirs
}

func has(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}

func dirOf(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return "/"
}

// mountedAt reports whether proc_pid_mountinfo(5) has a mount at a path.
func mountedAt(table []byte, path string) bool {
	var b []byte // as the kernel writes it
	for i := 0; i < len(path); i++ {
		switch c := path[i]; c {
		case ' ', '\t', '\n', '\\':
			b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			b = append(b, c)
		}
	}
	for len(table) > 0 {
		var line, word []byte
		line, table = cutLine(table)
		for range 5 {
			word, line = cutWord(line)
		}
		if string(word) == string(b) {
			return true
		}
	}
	return false
}

func cutLine(b []byte) (line, rest []byte) {
	if i := index(b, '\n'); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

func cutWord(b []byte) (word, rest []byte) {
	if i := index(b, ' '); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}
