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
		ports = append(ports, listening(text)...)
	}
	if text := portsText(ports); text != "" {
		say("notice: " + text + " open only inside" + s.config.Ports)
	}
}

// maxPorts bounds how many ports are named.
const maxPorts = 5

// portsText is "port 80 is" or "ports 80, 81 and 2 more are", "" for none.
func portsText(ports []int) string {
	slices.Sort(ports)
	ports = slices.Compact(ports)
	if len(ports) == 0 {
		return ""
	}
	text := "port " + strconv.Itoa(ports[0])
	if len(ports) == 1 {
		return text + " is"
	}
	for _, port := range ports[1:min(len(ports), maxPorts)] {
		text += ", " + strconv.Itoa(port)
	}
	if more := len(ports) - maxPorts; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return "ports" + text[len("port"):] + " are"
}

// listening reads the local ports of /proc/net/tcp whose sockets listen: after a
// line of headings "   0: 0100007F:1538 00000000:0000 0A …".
func listening(text string) (ports []int) {
	for text != "" {
		var line, local, state string
		line, text = cut(text, '\n')
		_, line = cut(line, ':')
		_, line = cut(line, ' ')
		local, line = cut(line, ' ')
		_, line = cut(line, ' ')
		if state, _ = cut(line, ' '); state != "0A" {
			continue
		}
		_, number := cut(local, ':')
		if port, err := strconv.ParseUint(number, 16, 16); err == nil {
			ports = append(ports, int(port))
		}
	}
	return ports
}
