package wrap

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// SourceSocket is the source of the rules that hide sockets of the host.
const SourceSocket = "sockets of the host"

// GapSockets is what is left of the host's sockets where directories are shown.
const GapSockets = "a Unix socket in a directory that is shown can be connected to where sbx does not know of it: bound by a relative name, renamed since or of another network namespace, or more than two directories deep in /opt, /srv, /usr/local or /etc; and where it is bound after the start; the same goes for named pipes"

// deafen hides the sockets of the host that lie where the rules show a
// directory: whom a profile lets read /opt/app it does not let talk to the
// service there, and a read-only mount keeps nobody from connecting. A socket that
// a rule names is meant to be reached, and so is one that a variable names which a
// person lets through. So are those in the project and in trees
// that a person made writable, where the command's own are, too.
func (v *view) deafen(pol *policy.Policy) error {
	eachPointer(pol, v.host, func(_, path string, let bool) {
		if let {
			v.let = append(v.let, path)
			if to, err := v.res.resolve(path); err == nil {
				v.let = append(v.let, to.Path)
			}
		}
	})
	var masks []string
	for _, path := range v.socketsShown() {
		if !slices.Contains(masks, path) {
			masks = append(masks, path)
		}
	}
	if len(masks) == 0 {
		return nil
	}
	slices.SortFunc(masks, comparePaths)
	if masks = v.gathered(masks); len(masks) > maxMatches {
		return &Error{StatusFailed, strconv.Itoa(len(masks)) + " sockets lie in directories that the profile shows, too many to hide one by one", "hide the directories with --block or blocked_paths"}
	}
	for _, path := range masks {
		info, err := v.host.FS.Lstat(path)
		if err != nil || !rendezvous(info.Kind) && info.Kind != Dir {
			continue
		}
		r := &policy.Rule{Path: path, Access: policy.Block, Layer: policy.Builtin, Source: SourceSocket}
		m := mount{path: path, info: info, rule: r}
		m.rules.Add(r)
		v.mounts = append(v.mounts, m)
	}
	v.sort()
	v.pin()
	return nil
}

// socketsShown are the canonical paths at which sockets of the host could be
// reached, by each name that a mount gives them.
func (v *view) socketsShown() []string {
	var out []string
	add := func(path string, there bool) {
		if shows(v.access(path)) && !v.meant(path) {
			if info, err := v.host.FS.Lstat(path); there || err == nil && rendezvous(info.Kind) {
				out = append(out, path)
			}
		}
	}
	reached := make(map[string]bool) // directories from which a socket is shown, by whatever name
	for _, path := range v.host.Sockets {
		dir := policy.Dir(path)
		shown, ok := reached[dir]
		if !ok {
			shown = slices.ContainsFunc(v.names(dir), func(name string) bool { return shows(v.access(name)) })
			reached[dir] = shown
		}
		if !shown && !shows(v.access(path)) {
			continue // most lie in /run
		}
		to, err := v.res.resolve(path)
		if err != nil || !rendezvous(to.Info.Kind) {
			continue
		}
		for _, name := range v.names(to.Path) {
			add(name, name == to.Path)
		}
	}
	for _, home := range v.host.Homes {
		to, err := v.res.resolve(home)
		if err != nil || to.Info.Kind != Dir || !shows(v.access(to.Path)) {
			continue
		}
		entries, err := v.res.entries(to.Path)
		for i := 0; err == nil && i < len(entries); i++ {
			if rendezvous(entries[i].Kind) {
				add(join(to.Path, entries[i].Name), true)
			}
		}
	}
	return out
}

// rendezvous reports whether a kind of file leads to a process that waits at it. A
// read-only mount does not keep a command from writing to a named pipe either.
func rendezvous(k Kind) bool { return k == Socket || k == Fifo }

// meant reports whether a socket is one that the run is about.
func (v *view) meant(path string) bool {
	if slices.Contains(v.let, path) {
		return true
	}
	for _, dir := range []string{v.root, v.host.CWD} {
		if dir != "" && policy.Within(path, dir) {
			return true
		}
	}
	i, ok := v.over(path)
	if !ok {
		return false
	}
	if v.mounts[i].path == path {
		return true // named, and settled by that
	}
	for ; i >= 0; i = v.mounts[i].over {
		if m := &v.mounts[i]; m.rule.Layer != policy.Builtin && m.eff == policy.Write {
			return true
		}
	}
	return false
}

// maxSockets is how many are hidden one by one: each is a mount.
const maxSockets = 20

// gathered puts directories in the place of sockets where there are very many,
// those with most of them first, and goes up as far as that hides nothing else
// that a rule names.
func (v *view) gathered(masks []string) []string {
	for len(masks) > maxSockets {
		in := make(map[string]int)
		var most string
		for _, path := range masks {
			for dir := policy.Dir(path); v.coverable(dir); dir = policy.Dir(dir) {
				if in[dir]++; in[dir] > 1 && (most == "" || in[dir] > in[most] || in[dir] == in[most] && (len(dir) > len(most) || len(dir) == len(most) && dir < most)) {
					most = dir
				}
			}
		}
		if most == "" {
			return masks
		}
		masks = slices.DeleteFunc(masks, func(path string) bool { return policy.Within(path, most) })
		masks = append(masks, most)
		slices.SortFunc(masks, comparePaths)
	}
	return masks
}

// coverable reports whether a directory can be hidden as a whole: it is nobody's
// home, none of the system's own, and no rule is about it or what is in it.
func (v *view) coverable(dir string) bool {
	if slices.Contains(socketTops[:], dir) || slices.Contains(sharedDirs, dir) || slices.Contains(systemTrees, dir) || policy.Within(dir, "/usr/lib") || !v.host.maskable(dir) {
		return false
	}
	return !slices.ContainsFunc(v.mounts, func(m mount) bool { return policy.Within(m.path, dir) })
}

// socketTops are the directories that are looked into for sockets: services that
// did not come with the system put theirs there, and profiles show them.
var socketTops = [...]string{"/opt", "/srv", "/usr/local", "/etc"}

// lookout is what was found when somebody looked for sockets, and by what it can
// be told that there may be others now.
type lookout struct {
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
func (l *lookout) text() string {
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

var errLookout = errors.New("not what a look for sockets is kept as")

// parseLookout reads what text wrote, and nothing else.
func parseLookout(text string) (*lookout, error) {
	l := &lookout{}
	for i := 0; ; i++ {
		line, rest, ok := strings.Cut(text, "\n")
		text = rest
		word, value, _ := strings.Cut(line, " ")
		var err error
		switch {
		case !ok || (i == 0) != (word == "looked"):
			return nil, errLookout
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
			err = errLookout
		}
		if err != nil {
			return nil, errLookout
		}
	}
}
