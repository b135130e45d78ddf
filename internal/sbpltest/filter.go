// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// anyOperation is the family of filters that go with every operation.
const anyOperation = "any"

// how a filter compares with what a request is about.
type comparison int

const (
	exactly comparison = iota
	below              // on component borders
	beginning
	matching // a regular expression, unanchored
	addressed
	numbered
)

type filterSpec struct {
	family string
	how    comparison
	space  string // names of the same family that are not the same: of mach services
}

// filterSpecs are the filters that can be written, but for the boolean ones.
var filterSpecs = makeFilterSpecs()

func makeFilterSpecs() map[string]filterSpec {
	specs := map[string]filterSpec{
		"literal": {"path", exactly, ""}, "path": {"path", exactly, ""}, "path-literal": {"path", exactly, ""},
		"subpath": {"path", below, ""},
		"prefix":  {"path", beginning, ""}, "path-prefix": {"path", beginning, ""},
		"regex": {"path", matching, ""}, "path-regex": {"path", matching, ""},
		"vnode-type": {"vnode", exactly, ""},
		"extension":  {anyOperation, exactly, ""},
		"target":     {"target", exactly, ""},
		"remote":     {"network", addressed, "remote"}, "local": {"network", addressed, "local"},
		"to": {"network", addressed, "remote"}, "from": {"network", addressed, "local"},
		"socket-domain": {"socket", exactly, "domain"}, "socket-type": {"socket", exactly, "type"},
		"socket-protocol": {"socket", numbered, "protocol"},
		"ioctl-command":   {"ioctl", numbered, ""},
		"fcntl-command":   {"fcntl", exactly, ""}, "fsctl-command": {"fsctl", exactly, ""},
		"signal-number": {"signal", exactly, ""}, "syscall-number": {"syscall", exactly, ""},
		"info-type": {"info", exactly, ""}, "kext-bundle-id": {"kext", exactly, ""},
		"mac-policy-name": {"policy", exactly, ""}, "privilege-id": {"privilege", exactly, ""},
		"appleevent-destination": {"appleevent", exactly, ""}, "right-name": {"right", exactly, ""},
		"iokit-connection": {"iokit", exactly, ""},
	}
	for name, family := range map[string]string{
		"global-name": "mach", "local-name": "mach", "xpc-service-name": "mach",
		"sysctl-name": "sysctl", "ipc-posix-name": "ipc", "preference-domain": "preference",
		"notification-name": "notification", "xattr": "xattr", "nvram-variable": "nvram", "extension-class": "class",
		"iokit-registry-entry-class": "iokit", "iokit-user-client-class": "iokit", "iokit-property": "iokit",
	} {
		space := ""
		if family == "mach" {
			space = name
		}
		specs[name] = filterSpec{family, exactly, space}
		specs[name+"-prefix"] = filterSpec{family, beginning, space}
		specs[name+"-regex"] = filterSpec{family, matching, space}
	}
	return specs
}

// filter is a condition of a rule. The boolean ones have others in them.
type filter struct {
	name string
	spec filterSpec
	in   []*filter
	arg  string         // a path, name, address; a number in decimal
	what string         // of remote and local: ip, tcp, udp, …
	expr *regexp.Regexp // of matching

	text   string // what String gives
	folded string // arg in lower case
}

const (
	all  = "require-all"
	some = "require-any"
	not  = "require-not"
)

// String is the filter as one would write it, with parameters replaced.
func (f *filter) String() string {
	switch {
	case f.text != "":
		return f.text
	case len(f.in) > 0:
		return "(" + f.name + " " + joinFilters(f.in) + ")"
	case f.what != "":
		return fmt.Sprintf("(%s %s %q)", f.name, f.what, f.arg)
	}
	return fmt.Sprintf("(%s %q)", f.name, f.arg)
}

// settle works out once what is asked for often.
func (f *filter) settle() {
	for _, in := range f.in {
		in.settle()
	}
	f.text, f.folded = f.String(), strings.ToLower(f.arg)
}

func joinFilters(fs []*filter) string {
	words := make([]string, len(fs))
	for i, f := range fs {
		words[i] = f.String()
	}
	return strings.Join(words, " ")
}

// leaves calls fn for each filter that is not boolean. Under is false within an
// odd number of require-not.
func (f *filter) leaves(fn func(leaf *filter, straight bool)) { f.walk(true, fn) }

func (f *filter) walk(straight bool, fn func(*filter, bool)) {
	if !f.boolean() {
		fn(f, straight)
		return
	}
	for _, in := range f.in {
		in.walk(straight != (f.name == not), fn)
	}
}

func (f *filter) boolean() bool { return f.name == all || f.name == some || f.name == not }

func isFilter(name string) bool {
	_, ok := filterSpecs[name]
	return ok || name == all || name == some || name == not
}

func isPath(f *filter) bool { return f.spec.family == "path" }

// newFilter makes the filter that a call with these arguments stands for.
func newFilter(name string, args []value) (*filter, error) {
	if name == all || name == some || name == not {
		return newBoolean(name, args)
	}
	if len(args) == 0 {
		return nil, fmt.Errorf("%s of nothing", name)
	}
	spec := filterSpecs[name]
	if spec.how == addressed {
		return newAddress(name, spec, args)
	}
	var fs []*filter
	for _, a := range args {
		f := &filter{name: name, spec: spec}
		switch a := a.(type) {
		case string:
			f.arg = a
		case symbol:
			f.arg = string(a)
		case int64:
			f.arg = strconv.FormatInt(a, 10)
		case missing:
			return nil, fmt.Errorf("%s: parameter %q is not given", name, string(a))
		default:
			return nil, fmt.Errorf("%s of %s", name, describe(a))
		}
		if err := f.check(a); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fs = append(fs, f)
	}
	if len(fs) == 1 {
		return fs[0], nil
	}
	return &filter{name: some, in: fs}, nil
}

// stringly are the families whose arguments are strings; those of the others are
// symbols or numbers.
var stringly = []string{"path", "mach", "sysctl", "ipc", "preference", "notification", "xattr", "nvram", "class",
	"iokit", "appleevent", "right", "kext", "policy", anyOperation}

func (f *filter) check(arg value) error {
	_, isString := arg.(string)
	if want := slices.Contains(stringly, f.spec.family); want != isString {
		return fmt.Errorf("%s does not go here", describe(arg))
	}
	if f.spec.how == numbered {
		if n, ok := ioctls[f.arg]; ok {
			f.arg = strconv.FormatInt(n, 10)
		}
		if _, err := strconv.ParseInt(f.arg, 10, 64); err != nil {
			return fmt.Errorf("%q is no number that is known", f.arg)
		}
	}
	if isPath(f) && f.arg == "" {
		return fmt.Errorf("an empty path")
	}
	if f.spec.how == matching {
		return f.compile()
	}
	return nil
}

// compile takes what both Apple's matcher and Go's read the same way. (?i) is a
// compile error of sandbox-exec (orbit PR 495), (?: ) silently matches nothing
// (nono PR 1764).
func (f *filter) compile() error {
	if strings.Contains(f.arg, "(?") {
		return fmt.Errorf("%q: macOS knows no (? groups", f.arg)
	}
	expr, err := regexp.Compile(f.arg)
	if err != nil {
		return fmt.Errorf("%q is no regular expression", f.arg)
	}
	f.expr = expr
	return nil
}

func newBoolean(name string, args []value) (*filter, error) {
	f := &filter{name: name}
	for _, a := range args {
		in, ok := a.(*filter)
		if !ok {
			return nil, fmt.Errorf("%s of %s", name, describe(a))
		}
		f.in = append(f.in, in)
	}
	if len(f.in) == 0 || name == not && len(f.in) != 1 {
		return nil, fmt.Errorf("%s of %d filters", name, len(f.in))
	}
	return f, nil
}

var protocols = []string{"ip", "ip4", "ip6", "tcp", "tcp4", "tcp6", "udp", "udp4", "udp6"}

// newAddress makes (remote ip "*:*") and the like. The host is * or localhost:
// the kernel compares with no names and no networks.
func newAddress(name string, spec filterSpec, args []value) (*filter, error) {
	what, _ := args[0].(symbol)
	f := &filter{name: name, spec: spec, what: string(what), arg: "*:*"}
	switch {
	case what == "unix" || what == "unix-socket":
		return newUnixAddress(name, args[1:])
	case !slices.Contains(protocols, string(what)) || len(args) > 2:
		return nil, fmt.Errorf("%s: what is wanted is ip, tcp, udp or unix-socket and one address", name)
	}
	if len(args) == 2 {
		s, ok := args[1].(string)
		if !ok {
			return nil, fmt.Errorf("%s: the address is %s", name, describe(args[1]))
		}
		f.arg = s
	}
	host, port, ok := strings.Cut(f.arg, ":")
	n, err := strconv.ParseUint(port, 10, 16)
	if !ok || host != "*" && host != "localhost" || port != "*" && (err != nil || n == 0) {
		return nil, fmt.Errorf("%s: %q is not HOST:PORT with * or localhost and * or a port", name, f.arg)
	}
	return f, nil
}

// newUnixAddress is the old way to write a path for network-outbound and -bind.
func newUnixAddress(name string, paths []value) (*filter, error) {
	if len(paths) == 0 {
		return &filter{name: name, spec: filterSpec{"network", addressed, "unix"}, what: "unix-socket", arg: "*"}, nil
	}
	f, ok := paths[0].(*filter)
	if !ok || len(paths) > 1 || !isPath(f) {
		return nil, fmt.Errorf("%s unix-socket: what is wanted is one filter of paths", name)
	}
	return f, nil
}

// match reports whether a request, whose path is resolved, is what a filter is about.
func (f *filter) match(r *Request) bool {
	switch f.name {
	case all:
		return !slices.ContainsFunc(f.in, func(in *filter) bool { return !in.match(r) })
	case some:
		return slices.ContainsFunc(f.in, func(in *filter) bool { return in.match(r) })
	case not:
		return !f.in[0].match(r)
	}
	switch f.spec.family {
	case "path":
		return r.Path != "" && f.matchPath(r)
	case "vnode":
		return r.Kind == f.arg
	case anyOperation:
		return slices.Contains(r.Extensions, f.arg)
	case "target":
		return slices.Contains(targets[r.Target], f.arg)
	case "network":
		return f.matchAddress(r)
	case "socket":
		return f.matchSocket(r)
	case "ioctl":
		return f.arg == strconv.FormatInt(r.Ioctl, 10)
	case "mach":
		space := r.Space
		if space == "" {
			space = "global-name"
		}
		return space == f.spec.space && f.matchName(r.Name)
	}
	return r.Name != "" && f.matchName(r.Name)
}

// targets are the words that describe a process: what is asked about → filters.
// same-sandbox is not taken to hold self, since nono found that both are needed.
var targets = map[string][]string{
	"self":         {"self", "pgrp"},
	"same-sandbox": {"same-sandbox"},
	"children":     {"children", "same-sandbox"},
	"pgrp":         {"pgrp", "same-sandbox"},
	"others":       {"others"},
	"initproc":     {"initproc", "others"},
}

// matchPath compares as a volume does that takes upper and lower case for the
// same; expressions do not (orbit PR 494).
func (f *filter) matchPath(r *Request) bool {
	switch f.spec.how {
	case matching:
		return f.expr.MatchString(r.Path)
	case below:
		return within(r.folded, f.folded)
	case beginning:
		return strings.HasPrefix(r.folded, f.folded)
	}
	return r.folded == f.folded
}

// within reports whether a path is root or below it.
func within(path, root string) bool {
	return path == root || root == "/" && strings.HasPrefix(path, "/") || strings.HasPrefix(path, root+"/")
}

func (f *filter) matchName(name string) bool {
	switch f.spec.how {
	case beginning:
		return strings.HasPrefix(name, f.arg)
	case matching:
		return f.expr.MatchString(name)
	}
	return name == f.arg
}

func (f *filter) matchSocket(r *Request) bool {
	switch f.spec.space {
	case "domain":
		return r.Domain == f.arg
	case "type":
		return r.Type == f.arg
	}
	return strconv.Itoa(r.Protocol) == f.arg
}

func (f *filter) matchAddress(r *Request) bool {
	if f.spec.space == "unix" {
		return r.Path != ""
	}
	address := r.Remote
	if f.spec.space == "local" {
		address = r.Local
	}
	at := strings.LastIndexByte(address, ':')
	if at < 0 {
		return false
	}
	host, port := strings.Trim(address[:at], "[]"), address[at+1:]
	wantHost, wantPort, _ := strings.Cut(f.arg, ":")
	return protocolMatches(f.what, r.Net, host) &&
		(wantHost == "*" || isLoopback(host)) && (wantPort == "*" || wantPort == port)
}

func protocolMatches(what, proto, host string) bool {
	kind := strings.TrimRight(what, "46")
	if kind != "ip" && kind != proto {
		return false
	}
	version := strings.TrimPrefix(what, kind)
	six := strings.Contains(host, ":")
	return version == "" || (version == "6") == six
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// ioctls are the requests of terminals by name.
var ioctls = map[string]int64{
	"TIOCSTI": 0x80017472, "TIOCGWINSZ": 0x40087468, "TIOCSWINSZ": 0x80087467,
	"TIOCGETA": 0x40487413, "TIOCSETA": 0x80487414, "TIOCSETAW": 0x80487415, "TIOCSETAF": 0x80487416,
	"TIOCGPGRP": 0x40047477, "TIOCSPGRP": 0x80047476, "TIOCSCTTY": 0x20007461, "TIOCNOTTY": 0x20007471,
	"TIOCEXCL": 0x2000740d, "TIOCNXCL": 0x2000740e, "TIOCFLUSH": 0x80047410, "TIOCDRAIN": 0x2000745e,
	"TIOCPTYGRANT": 0x20007454, "TIOCPTYUNLK": 0x20007452, "TIOCPTYGNAME": 0x40807453,
	"TIOCCONS": 0x80047462, "FIONREAD": 0x4004667f, "FIONBIO": 0x8004667e,
	"FIOCLEX": 0x20006601, "FIONCLEX": 0x20006602, "FIODTYPE": 0x4004667a,
}
