// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"slices"
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// portsAfter is when process 1 looks at the ports, after the start: by then most
// servers listen. In nanoseconds.
const portsAfter = 3e9

// tellPorts tells once which ports are open where no process outside can reach them.
func (s *supervisor) tellPorts() {
	if s.portsAt == 0 || now() < s.portsAt {
		return
	}
	s.portsAt, s.small = 0, false
	var ports []int
	for _, file := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, _ := procfs.Head(file, 4096) // those that listen come first
		ports = append(ports, procfs.Listening(text)...)
	}
	if text := portsText(ports); text != "" {
		say("notice: " + text + " open only inside" + s.config.Ports)
	}
}

// portsText is "port 80 is" or "ports 80, 81, … are", of five at most, "" for none.
func portsText(ports []int) string {
	slices.Sort(ports)
	ports = slices.Compact(ports)
	text, most := "", min(len(ports), 5)
	for _, port := range ports[:most] {
		text += ", " + strconv.Itoa(port)
	}
	switch {
	case most == 0:
		return ""
	case most == 1:
		return "port " + text[2:] + " is"
	case most < len(ports):
		text += ", …"
	}
	return "ports " + text[2:] + " are"
}
