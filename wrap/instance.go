// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/ownfile"
)

// started is when a process was started.
var started = ownfile.Started

// isRun reports whether the parts of a name are those of a run's: on Linux its
// process, when that was started, the namespaces of processes and of time and the
// start of the machine. macOS has no namespaces, and the name is short there: a
// socket's path has 103 bytes, of which the system's own directory takes half.
func isRun(f []string) bool {
	switch len(f) {
	case 5:
		return host.Digits(f[0]) && host.Digits(f[1]) && host.Digits(f[2]) && host.Digits(f[3]) && isBoot(f[4])
	case 3:
		const signs = "0123456789abcdefghijklmnopqrstuvwxyz"
		return host.Digits(f[0]) && f[1] != "" && strings.Trim(f[1], signs) == "" && isBoot(f[2])
	}
	return false
}

// isBoot reports whether a text tells one start of the machine from others.
func isBoot(s string) bool { return len(s) == 8 && strings.Trim(s, "0123456789abcdef") == "" }

// macInstance is the name of a run on macOS, by when its process was started, in
// seconds, and the identifier of the start of the machine (kern.bootsessionuuid).
// Where that is not known nothing is removed by what the name says.
func macInstance(pid int, start, boot string) string {
	boot, _, _ = strings.Cut(strings.ToLower(boot), "-")
	if !isBoot(boot) {
		boot = "unknown"
	}
	if start == "" {
		start = "0"
	}
	return strconv.Itoa(pid) + "." + start + "." + boot
}
