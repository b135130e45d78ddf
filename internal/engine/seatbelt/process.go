// SPDX-License-Identifier: Apache-2.0

package seatbelt

import (
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
	"github.com/sbx-sandbox/sbx/sbpl"
)

// process is about processes: the command sees, signals and debugs those of its
// own sandbox.
func (s *builder) process(pol *policy.Policy) {
	own := []sbpl.Filter{sbpl.Target("self"), sbpl.Target("same-sandbox")}
	s.everything(sbpl.ProcessFork)
	if pol.SharePID {
		s.everything(sbpl.ProcessInfo, sbpl.Signal)
	} else {
		s.profile.Shut = append(s.profile.Shut, sbpl.ProcessInfo)
		s.allow([]sbpl.Op{sbpl.ProcessInfo, sbpl.Signal}, own...)
		// Others' arguments and variables, and the list of all processes.
		s.deny([]sbpl.Op{sbpl.SysctlRead}, named(sbpl.SysctlPrefix, []string{"kern.procargs", "kern.proc.all",
			"kern.proc.uid", "kern.proc.ruid", "kern.proc.tty", "kern.proc.session", "kern.proc.lcid",
			"kern.proc.pgrp"})...)
	}
	s.allow([]sbpl.Op{sbpl.TaskPort}, sbpl.Target("same-sandbox"))
	s.everything(sbpl.SysctlRead)
	// V8 and Java tell the scheduler what they are.
	s.allow([]sbpl.Op{sbpl.SysctlWrite}, sbpl.SysctlName("kern.tcsm_enable"), sbpl.SysctlName("kern.grade_cputype"))
}

// services are what the command may ask of the system. What is not here is
// closed: the launch of programs outside (launchservicesd, appleevents, lsopen),
// the keychain (SecurityServer, securityd), the pasteboard.
func (s *builder) services() {
	s.allow([]sbpl.Op{sbpl.MachLookup}, named(sbpl.GlobalName, baseServices)...)
	s.everything(sbpl.PosixSem)
	// The state of notifications and settings; OpenMP and Python's own.
	s.allow([]sbpl.Op{sbpl.PosixShm}, sbpl.IPCName("apple.shm.notification_center"), sbpl.IPCPrefix("apple.cfprefs."),
		sbpl.IPCPrefix("/__KMP_"), sbpl.IPCPrefix("/psm_"))
}

func named(filter func(string) sbpl.Filter, names []string) []sbpl.Filter {
	out := make([]sbpl.Filter, len(names))
	for i, n := range names {
		out[i] = filter(n)
	}
	return out
}

// given notes the files that the command gets as descriptors.
func (s *builder) given(fds []host.FD) {
	for _, fd := range fds {
		path := s.v.Host.OnMac(fd.Path)
		named := (fd.Kind == host.FDFile || fd.Kind == host.FDPipe) && !fd.Deleted && sbpl.Fits(path)
		if named && path != host.SandboxExec && !slices.Contains(s.stdio, path) {
			s.stdio = append(s.stdio, path)
		}
	}
	slices.SortFunc(s.stdio, view.ComparePaths)
}

// devices are the harmless ones, and the terminal by its name: by a pattern each
// window of the user's would be within reach. A pseudo terminal that the command
// opens is given to it by the system.
func (s *builder) devices(fds []host.FD) {
	fixed := func(names ...string) []sbpl.Filter {
		return named(func(name string) sbpl.Filter { return sbpl.Literal(sbpl.Fixed("/dev/" + name)) }, names)
	}
	ops := []sbpl.Op{sbpl.FileRead, sbpl.FileWriteData, sbpl.FileIoctl}
	s.allow(ops, fixed("null", "zero", "random", "urandom", "dtracehelper", "tty", "ptmx")...)
	s.allow([]sbpl.Op{sbpl.FileRead}, fixed("autofs_nowait", "stdin", "stdout", "stderr")...)
	s.allow([]sbpl.Op{sbpl.FileRead, sbpl.FileWriteData}, sbpl.Subpath(sbpl.Fixed("/dev/fd")))
	s.everything(sbpl.PseudoTTY)
	s.allow(ops, sbpl.All(sbpl.Regex("^/dev/ttys[0-9]+$"), sbpl.Extension("com.apple.sandbox.pty")))
	var tty []sbpl.Filter
	var seen []string
	for _, fd := range fds {
		if fd.Kind == host.FDDevice && strings.HasPrefix(fd.Path, "/dev/tty") && fd.Path != "/dev/tty" &&
			!slices.Contains(seen, fd.Path) {
			seen = append(seen, fd.Path)
			tty = append(tty, sbpl.Literal(sbpl.Given("TTY", fd.Path)))
		}
	}
	s.allow(ops, tty...)
	s.deny([]sbpl.Op{sbpl.FileIoctl}, sbpl.IoctlCommand(tiocsti))
}

// network opens addresses, never all of network-outbound: that would be the
// sockets of the host as well.
func (s *builder) network(pol *policy.Policy) {
	s.allow([]sbpl.Op{sbpl.SystemSocket}, sbpl.SocketDomain("AF_UNIX"),
		sbpl.All(sbpl.SocketDomain("AF_SYSTEM"), sbpl.SocketProtocol(2)))
	if !pol.Network {
		return
	}
	s.allow([]sbpl.Op{sbpl.SystemSocket}, sbpl.SocketDomain("AF_INET"), sbpl.SocketDomain("AF_INET6"),
		sbpl.SocketDomain("AF_ROUTE"))
	s.allow([]sbpl.Op{sbpl.NetworkOutbound}, sbpl.RemoteIP(),
		sbpl.Literal(sbpl.Fixed("/private/var/run/mDNSResponder")))
	s.allow([]sbpl.Op{sbpl.NetworkBind, sbpl.NetworkInbound}, sbpl.LocalIP())
	s.allow([]sbpl.Op{sbpl.MachLookup}, named(sbpl.GlobalName, netServices)...)
}

// last marks this sandbox: a sandbox cannot be put into
// another, and who asks should hear so. No other profile lets a file be opened
// and not be looked at.
func (s *builder) last() {
	if s.covered(host.SandboxExec) {
		s.deny([]sbpl.Op{sbpl.FileReadMetadata, sbpl.ProcessExec}, sbpl.Literal(sbpl.Fixed(host.SandboxExec)))
	}
}
