// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"slices"

	"github.com/sbx-sandbox/sbx/internal/text"
)

const (
	temporary = "ed mktemp"
	terminals = "script tmux screen zellij expect unbuffer dtach asciinema"
	runtimes  = "python python3 pytest tox nox node npm npx pnpm yarn bun deno go cargo mvn gradle java ruby bundle rake rspec " +
		"php composer dotnet make just"
)

// Landlock explains the end of a command for which Landlock alone had the walls: what
// that cannot give, where the command is one that may need it. Nothing was counted, so
// the words have to do. Remedy says how to get the rest.
func Landlock(words []string, network bool, remedy string) (line string) {
	defer func() { _ = recover() }()
	if len(words) == 0 || interactive(words) {
		return ""
	}
	r := &reader{live: true, last: true}
	r.command(words)
	known := func(list string) bool {
		return slices.ContainsFunc(r.programs, func(name string) bool { return is(list, name) })
	}
	tmp := slices.ContainsFunc(r.uses, func(u use) bool { return shared(u.path) })
	lack := "no new pseudo terminals"
	switch {
	case !network && (r.outward || r.near):
		return "the network is off, and with Landlock so is the loopback: --net turns both on"
	case !network && r.packs:
		return "npm adds what it packs to its cache, and while the network is off that is the host's, which " +
			"cannot be written: --net gives the project its own"
	case known(terminals):
		lack += " and no Unix sockets"
	case tmp || known(temporary):
		lack = "no /tmp, /var/tmp or /dev/shm but the directory $TMPDIR"
	case !known(runtimes):
		return ""
	default:
		lack += ", Unix sockets, shared memory or semaphores by name, System V IPC, and no /tmp but $TMPDIR"
		if !network {
			lack += ", nor a loopback while the network is off"
		}
	}
	return text.Escape("with Landlock there are " + lack + ": " + remedy)
}

// shared reports whether a path is in a directory that all users share.
func shared(path string) bool {
	return slices.ContainsFunc([]string{"/tmp", "/var/tmp", "/dev/shm"}, func(dir string) bool {
		return path == dir || len(path) > len(dir) && path[:len(dir)+1] == dir+"/"
	})
}
