// SPDX-License-Identifier: Apache-2.0

package sbpl

import "strconv"

// Filter says what of an operation a rule is about. The zero value is refused.
type Filter struct {
	name string // of SBPL
	path *Path
	text string // a constant, already in the form of the language
	in   []Filter
}

// Path is the path of a filter: a value of the caller's, or a constant.
type Path struct {
	role string // begins the names of parameters; "" for a constant
	name string
}

// Given is a path that is passed as a parameter. The role, upper case letters,
// begins the parameter's name and is for people who read the profile. The path is
// absolute and cleaned, with all links followed.
func Given(role, path string) Path { return Path{role, path} }

// Fixed is a constant path, which is part of the text.
func Fixed(path string) Path { return Path{name: path} }

// Literal is that node alone.
func Literal(p Path) Filter { return Filter{name: "literal", path: &p} }

// Subpath is the node and everything below.
func Subpath(p Path) Filter { return Filter{name: "subpath", path: &p} }

// All matches what each of the filters matches.
func All(f ...Filter) Filter { return Filter{name: "require-all", in: f} }

// Not matches what the filter does not.
func Not(f Filter) Filter { return Filter{name: "require-not", in: []Filter{f}} }

// Regex matches whole paths by a constant expression without quotes.
func Regex(expr string) Filter { return Filter{name: "regex", text: `#"` + expr + `"`} }

// Extension is what the system gave to this process at run time.
func Extension(class string) Filter { return constant("extension", class) }

// GlobalName is a service of launchd's.
func GlobalName(name string) Filter { return constant("global-name", name) }

// SysctlName is a value of sysctl(3) by its name.
func SysctlName(name string) Filter { return constant("sysctl-name", name) }

// SysctlPrefix are the values whose names begin so.
func SysctlPrefix(prefix string) Filter { return constant("sysctl-name-prefix", prefix) }

// IPCName is a POSIX object by its name.
func IPCName(name string) Filter { return constant("ipc-posix-name", name) }

// IPCPrefix are the POSIX objects whose names begin so.
func IPCPrefix(prefix string) Filter { return constant("ipc-posix-name-prefix", prefix) }

// Target is a process as seen from this one: self, same-sandbox.
func Target(who string) Filter { return Filter{name: "target", text: who} }

// RemoteIP is any address at the other end; sandbox-exec knows no names and no
// networks, only * and localhost.
func RemoteIP() Filter { return Filter{name: "remote", text: `ip "*:*"`} }

// LocalIP is any address at this end.
func LocalIP() Filter { return Filter{name: "local", text: `ip "*:*"`} }

// SocketDomain is a family of sockets: AF_UNIX.
func SocketDomain(family string) Filter { return Filter{name: "socket-domain", text: family} }

// SocketProtocol is a protocol within a family.
func SocketProtocol(n int) Filter {
	return Filter{name: "socket-protocol", text: strconv.Itoa(n)}
}

// IoctlCommand is a request of ioctl(2) by its number: names are known to some
// releases only.
func IoctlCommand(request uint32) Filter {
	return Filter{name: "ioctl-command", text: strconv.FormatUint(uint64(request), 10)}
}

// constant is a filter with a constant string.
func constant(name, value string) Filter {
	return Filter{name: name, text: `"` + value + `"`}
}
