// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Case is an act and what has to come of it.
type Case struct {
	Act  Act
	Want bool
	Line int    // of the table
	Text string // of that line
}

// Table is a table of decisions for one or more profiles.
type Table struct {
	Columns []string // names of profiles; one without name if the table has no header
	rows    []row
}

type row struct {
	want []string
	Case
}

// ParseTable reads a table as the package's description has it. Vars are what
// $NAME in a target stands for.
func ParseTable(text string, vars map[string]string) (*Table, error) {
	t := &Table{Columns: []string{""}}
	for i, line := range strings.Split(text, "\n") {
		words, err := splitLine(line, vars)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		case len(words) == 0:
			continue
		case words[0] == "profiles" && len(t.rows) == 0 && len(words) > 1:
			t.Columns = words[1:]
			continue
		}
		r, err := t.row(words)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		r.Line, r.Text = i+1, strings.TrimSpace(line)
		t.rows = append(t.rows, r)
	}
	if len(t.rows) == 0 {
		return nil, errors.New("a table without rows")
	}
	return t, nil
}

// Cases are the rows that say something about a profile.
func (t *Table) Cases(column string) ([]Case, error) {
	i := slices.Index(t.Columns, column)
	if i < 0 {
		return nil, fmt.Errorf("the table has no profile %q, only %q", column, t.Columns)
	}
	var cases []Case
	for _, r := range t.rows {
		if r.want[i] != "-" {
			c := r.Case
			c.Want = r.want[i] == "allow"
			cases = append(cases, c)
		}
	}
	return cases, nil
}

func (t *Table) row(words []string) (row, error) {
	n := len(t.Columns)
	if len(words) < n+1 {
		return row{}, fmt.Errorf("what is wanted is %d times allow, deny or -, an action and targets", n)
	}
	r := row{want: words[:n]}
	for _, w := range r.want {
		if w != "allow" && w != "deny" && w != "-" {
			return row{}, fmt.Errorf("%q is neither allow nor deny nor -", w)
		}
	}
	var err error
	r.Act, err = ParseAct(words[n:])
	return r, err
}

// action makes the act of a row.
type action struct {
	targets  int // how many there have to be
	optional int // how many more there may be
	paths    int // which of them are absolute paths: bit 0 for the first
	build    func(t []string) (Act, error)
}

func onPath(build func(string) Act) action {
	return action{1, 0, 1, func(t []string) (Act, error) { return build(t[0]), nil }}
}

func onPaths(build func(from, to string) Act) action {
	return action{2, 0, 3, func(t []string) (Act, error) { return build(t[0], t[1]), nil }}
}

func onName(build func(string) Act) action {
	return action{1, 0, 0, func(t []string) (Act, error) { return build(t[0]), nil }}
}

func onProcess(build func(string) Act) action {
	return action{1, 0, 0, func(t []string) (Act, error) {
		if targets[t[0]] == nil {
			return Act{}, fmt.Errorf("%q is no process: one of %q", t[0], slices.Sorted(maps.Keys(targets)))
		}
		return build(t[0]), nil
	}}
}

func onAddress(build func(address, proto string) Act) action {
	return action{1, 1, 0, func(t []string) (Act, error) {
		proto := "tcp"
		if len(t) == 2 {
			proto = t[1]
		}
		host, port, err := net.SplitHostPort(t[0])
		_, portErr := strconv.ParseUint(port, 10, 16)
		badHost := host != "localhost" && net.ParseIP(host) == nil
		if err != nil || portErr != nil || badHost || proto != "tcp" && proto != "udp" {
			return Act{}, fmt.Errorf("%q is not ADDRESS:PORT [tcp|udp]", strings.Join(t, " "))
		}
		return build(t[0], proto), nil
	}}
}

func alone(op string) action {
	return action{0, 1, 0, func(t []string) (Act, error) {
		if len(t) == 1 && t[0] != "-" {
			return Act{}, fmt.Errorf("%q is nothing that this is about", t[0])
		}
		return Do(Request{Op: op}), nil
	}}
}

var actions = map[string]action{
	"read": onPath(OpenRead), "list": onPath(List), "stat": onPath(Stat), "lstat": onPath(Lstat),
	"readlink": onPath(Readlink), "exists": onPath(Exists), "getxattr": onPath(Getxattr), "setxattr": onPath(Setxattr),
	"write": onPath(OpenWrite), "create": onPath(Create), "unlink": onPath(Unlink), "mkdir": onPath(Mkdir),
	"rename": onPaths(Rename), "rename-over": onPaths(RenameOver), "link": onPaths(Link), "clone": onPaths(Clone),
	"symlink": {2, 0, 2, func(t []string) (Act, error) { return Symlink(t[0], t[1]), nil }},
	"chmod":   onPath(Chmod), "setuid": onPath(Setuid), "chown": onPath(Chown), "chflags": onPath(Chflags),
	"utimes": onPath(Utimes), "exec": onPath(Exec), "interpret": onPath(Interpret), "map": onPath(MapExec),
	"fork":    alone("process-fork"),
	"connect": onPath(Connect), "bind": onPath(Bind), "connect-ip": onAddress(ConnectIP), "listen-ip": onAddress(ListenIP),
	"socket": {1, 1, 0, parseSocket},
	"mach":   onName(MachLookup), "mach-register": onName(MachRegister),
	"sysctl": onName(Sysctl), "sysctl-write": onName(SysctlWrite),
	"signal": onProcess(Signal), "process-info": onProcess(ProcessInfo), "task-port": onProcess(TaskPort),
	"ioctl": {2, 0, 1, parseIoctl}, "tty": onPath(Terminal), "pty": alone("pseudo-tty"),
	"shm": onName(Shm), "shm-create": onName(ShmCreate), "sem": onName(Sem),
	"pref": onName(Pref), "pref-write": onName(PrefWrite),
}

func parseSocket(t []string) (Act, error) {
	protocol := 0
	if len(t) == 2 {
		var err error
		if protocol, err = strconv.Atoi(t[1]); err != nil {
			return Act{}, fmt.Errorf("%q is no protocol", t[1])
		}
	}
	if !strings.HasPrefix(t[0], "AF_") {
		return Act{}, fmt.Errorf("%q is no domain of sockets", t[0])
	}
	return Socket(t[0], protocol), nil
}

func parseIoctl(t []string) (Act, error) {
	request, ok := ioctls[t[1]]
	if !ok {
		var err error
		if request, err = strconv.ParseInt(t[1], 0, 64); err != nil {
			return Act{}, fmt.Errorf("%q is no ioctl that is known", t[1])
		}
	}
	return Ioctl(t[0], request), nil
}

// ParseAct takes the words of a row after its verdicts: an action, targets, and
// kind=… or extension=….
func ParseAct(words []string) (Act, error) {
	var targets []string
	var kind string
	var extensions []string
	for _, w := range words[1:] {
		if v, ok := strings.CutPrefix(w, "kind="); ok {
			kind = v
		} else if v, ok := strings.CutPrefix(w, "extension="); ok {
			extensions = append(extensions, v)
		} else {
			targets = append(targets, w)
		}
	}
	if kind != "" && !slices.Contains(constants, kind) {
		return Act{}, fmt.Errorf("%q is no kind of node", kind)
	}
	a, err := makeAct(words[0], targets)
	if err != nil {
		return Act{}, fmt.Errorf("%s: %w", words[0], err)
	}
	for i := range a.Steps {
		if s := &a.Steps[i]; s.Path != "" && kind != "" {
			s.Kind = kind
		}
		a.Steps[i].Extensions = extensions
	}
	return a, nil
}

func makeAct(name string, targets []string) (Act, error) {
	kind, ok := actions[name]
	if !ok {
		return makeOperation(name, targets)
	}
	if len(targets) < kind.targets || len(targets) > kind.targets+kind.optional {
		return Act{}, fmt.Errorf("%d targets where %d are wanted", len(targets), kind.targets)
	}
	for i := range kind.targets {
		if kind.paths&(1<<i) != 0 && !strings.HasPrefix(targets[i], "/") {
			return Act{}, fmt.Errorf("%q is not absolute", targets[i])
		}
	}
	return kind.build(targets)
}

// makeOperation takes an operation for an action, with what it is about.
func makeOperation(name string, about []string) (Act, error) {
	op := operations[name]
	if op == nil {
		return Act{}, errors.New("neither an action nor an operation")
	}
	if len(about) > 1 {
		return Act{}, errors.New("an operation is about one thing")
	}
	r := Request{Op: name}
	if len(about) == 1 && about[0] != "-" {
		switch {
		case strings.HasPrefix(about[0], "/"):
			r.Path = about[0]
		case targets[about[0]] != nil && op.takes("target"):
			r.Target = about[0]
		default:
			r.Name = about[0]
		}
	}
	return Do(r), nil
}

// Run checks cases in both models. The error names each that came out otherwise,
// with the rule that decided.
func (p *Profile) Run(cases []Case) error {
	var errs []error
	for _, c := range cases {
		for _, m := range Models {
			if got, why := p.Check(m, c.Act); got != c.Want {
				errs = append(errs, fmt.Errorf("line %d: %s: %s says %s by %s", c.Line, c.Act.Name, m, verdict(got), why))
			}
		}
	}
	return errors.Join(errs...)
}

// splitLine takes a row apart: words between blanks or in quotes, $NAME replaced,
// up to a # that begins a word.
func splitLine(line string, vars map[string]string) ([]string, error) {
	var words []string
	for rest := strings.TrimSpace(line); rest != "" && rest[0] != '#'; rest = strings.TrimSpace(rest) {
		var word string
		if rest[0] == '"' {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, errors.New("a quote without its end")
			}
			rest = rest[len(quoted):]
			if word, err = strconv.Unquote(quoted); err != nil {
				return nil, err
			}
		} else {
			end := strings.IndexAny(rest, " \t")
			if end < 0 {
				end = len(rest)
			}
			word, rest = rest[:end], rest[end:]
		}
		word, err := expand(word, vars)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
	}
	return words, nil
}

// expand replaces $NAME, of capitals, digits and _; $$ is a dollar.
func expand(word string, vars map[string]string) (string, error) {
	var b strings.Builder
	for {
		at := strings.IndexByte(word, '$')
		if at < 0 {
			b.WriteString(word)
			return b.String(), nil
		}
		b.WriteString(word[:at])
		word = word[at+1:]
		if strings.HasPrefix(word, "$") {
			b.WriteByte('$')
			word = word[1:]
			continue
		}
		name := word[:len(word)-len(strings.TrimLeft(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))]
		v, ok := vars[name]
		if !ok {
			return "", fmt.Errorf("$%s stands for nothing", name)
		}
		b.WriteString(v)
		word = word[len(name):]
	}
}
