// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"math"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/engine"
)

// Memory says how a command gets more of it, "" where it has no limit of its own.
func Memory(b *Sandbox, say engine.Hints, words []string) string {
	h := &hinter{b, say, words}
	mb := h.number("memory_limit_mb")
	if mb == 0 {
		return ""
	}
	return "the limit is " + strconv.Itoa(mb) + " MiB" + h.by("memory_limit_mb") +
		h.change("--memory "+strconv.Itoa(2*mb)+"M", "memory_limit_mb", strconv.Itoa(2*mb), "; to allow twice as much: ")
}

// limited is about limits on the size of files and on processes. That the first was
// reached is known where its signal ended the command: others only get an error, and
// are told where the limit is a flag of this run.
func (h *hinter) limited(status int) string {
	const sizeSignal, noFork = 128 + 25, 254 // SIGXFSZ; bash's status
	flag := func(key string) bool { _, by := h.Setting(key); return strings.HasPrefix(by, "--") }
	size, _ := h.Setting("file_size_limit_mb")
	if mb, err := strconv.ParseFloat(size, 64); err == nil && (status == sizeSignal || status < 126 && flag("file_size_limit_mb")) {
		twice := strconv.Itoa(int(2*mb)) + "M"
		if mb*2 != math.Trunc(mb*2) {
			twice = strconv.Itoa(int(math.Ceil(2*mb*1024))) + "K"
		}
		size += " MiB"
		if mb < 1 {
			size = strconv.FormatFloat(mb*1024, 'f', -1, 64) + " KiB"
		}
		text := "no file may grow beyond " + size + " here"
		if status == sizeSignal {
			text = "it was ended since a file may not grow beyond " + size + " here"
		}
		return text + h.by("file_size_limit_mb") + h.change("--file-size "+twice, "file_size_limit_mb",
			strconv.FormatFloat(2*mb, 'f', -1, 64), "; to allow twice that: ")
	}
	most := h.number("procs")
	if most == 0 || h.Begun < most || status != noFork && !flag("procs") || status > 125 && status != noFork {
		return ""
	}
	return "it began " + strconv.Itoa(h.Begun) + " processes and threads, of which no more than " + strconv.Itoa(most) +
		" may run at a time" + h.by("procs") +
		h.change("--procs "+strconv.Itoa(2*most), "procs", strconv.Itoa(2*most), "; to allow twice as many: ")
}

// daemon is about containers, which no sandbox can make.
func (h *hinter) daemon(status int, programs []string) string {
	sockets := map[string]string{"docker": "/var/run/docker.sock", "docker-compose": "/var/run/docker.sock",
		"podman": "/run/podman/podman.sock", "podman-compose": "/run/podman/podman.sock", "nerdctl": "/run/containerd/containerd.sock"}
	for _, name := range programs {
		socket, ok := sockets[name]
		switch {
		case !ok || status > 125 || h.exists(socket):
		case strings.HasPrefix(name, "podman"):
			return name + " can make no container in a sandbox: run it outside"
		default:
			return "the socket " + socket + " is not visible in the sandbox, since who reaches it has the rights of root: run " +
				name + " outside"
		}
	}
	return ""
}
