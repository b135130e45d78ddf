// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/hint"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// printHint tells what a command left, and explains why it failed, for process 1 of the sandbox that this
// process runs in: see [pid1.IsHint]. What it cannot tell is no error, a bug in
// it included.
func printHint(args []string) {
	defer func() { _ = recover() }()
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	end := slices.Index(args, "--")
	status, err := strconv.Atoi(args[1])
	m, ok := engine.Inside()
	if end < 2 || err != nil || !ok || m.Engine != host.EngineBwrap {
		return
	}
	say := engine.ParseHints(args[2:end])
	home := os.Getenv("HOME")
	h := &host.Host{
		Facts:  host.Facts{FS: host.OS{}},
		Caller: host.Caller{UID: os.Geteuid()},
		Places: host.Places{Config: say.ConfigDir},
	}
	if len(home) > 1 && home[0] == '/' {
		h.Homes = []string{home}
	}
	h.CWD, _ = syscall.Getwd()
	sight, err := m.Sight(h, engine.ManifestFile())
	if err != nil {
		return
	}
	file := func(path string) string {
		data, _ := host.OS{}.Head(path, 16<<10)
		return string(data)
	}
	b := &hint.Sandbox{Checker: sight, CWD: h.CWD, Home: home, PATH: os.Getenv("PATH"), Secret: hint.SecretIn(home),
		Setting: m.Setting, Full: full,
		Snmp: file("/proc/self/net/snmp"), Snmp6: file("/proc/self/net/snmp6"),
		Begun: os.Getpid() - say.First}
	if len(say.Left) > 0 {
		var now unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
		mounts, _ := os.ReadFile("/proc/self/mountinfo")
		until := time.Now().Add(time.Duration(say.Until - now.Nano()))
		if line := hint.Left(b, say, args[end+1:], string(mounts), until); line != "" {
			tellInit(say.Screen, "notice: "+line)
		}
	}
	if status == 0 {
		return
	}
	line := ""
	if status == pid1.Starved {
		line = hint.Memory(b, say, args[end+1:])
	} else {
		line = hint.Line(b, say, max(status, 0), args[end+1:])
	}
	if line != "" {
		tellInit(say.Screen, "hint: "+line)
	}
}

// tellInit has process 1 say a line, which begins it with the name of sbx.
func tellInit(s text.Screen, line string) {
	_, _ = exact.WriteString(strings.TrimPrefix(s.Show("sbx: "+line+"\n"), "sbx: "))
}

// full reports whether a file system has no room left.
func full(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Blocks > 0 && fs.Bavail == 0
}
