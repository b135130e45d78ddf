// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/limits"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// AsMac is a host of another system as a Mac would be: with the files of the
// system that every Mac has, and the project and the home directory of this one.
// A plan for it can be printed and not executed.
func AsMac(h *Host) *Host {
	m := *h
	m.Modelled, m.OS = true, "darwin"
	m.FS = MacFS{h.FS}
	m.Limits = limits.Facts{Mac: true, Root: h.UID == 0, Running: 1}
	m.FDs = slices.Clone(h.FDs)
	for i := range m.FDs {
		if fd := &m.FDs[i]; fd.Kind == FDDevice && fd.Num <= 2 && h.TTY {
			fd.Path = "/dev/ttys000"
		}
	}
	return &m
}

// moved are the places that have another path on a Mac.
var moved = []struct{ from, to string }{
	{"/home", "/Users"}, {"/root", "/private/var/root"}, {"/tmp", "/private/tmp"}, {"/var", "/private/var"},
	{"/etc", "/private/etc"},
}

// OnMac is where a path of the host would be: where it is, on a Mac.
func (h *Host) OnMac(path string) string {
	if !h.Modelled {
		return path
	}
	for _, m := range moved {
		if policy.Within(path, m.from) {
			return m.to + path[len(m.from):]
		}
	}
	return path
}

// MacFS is the system of a Mac in place of this one's. It has directories and
// what has a part in the rules; programs are not in it.
type MacFS struct{ FS }

// macTree is what every Mac has and what has a part in the rules, parents before
// children. Of the devices these are the harmless ones.
var macTree = []struct {
	Info
	paths []string
}{
	{Info{Kind: Dir, Mode: 0o755}, []string{
		"/Applications", "/Library", "/Library/Apple", "/Library/Developer", "/Library/Developer/CommandLineTools",
		"/Library/Fonts", "/Library/Frameworks", "/Library/Java", "/Library/Filesystems",
		"/Library/Filesystems/NetFSPlugins", "/Library/Keychains", "/Library/Preferences",
		"/Library/Preferences/Logging", "/Library/Application Support", "/System", "/System/Applications",
		"/System/Cryptexes", "/System/Library", "/System/Library/Frameworks", "/System/iOSSupport", "/System/Volumes",
		"/System/Volumes/Data", "/System/Volumes/Preboot", "/System/Volumes/Preboot/Cryptexes", "/Users", "/Volumes",
		"/bin", "/cores", "/dev", "/dev/fd", "/opt", "/private", "/private/etc", "/private/etc/ssh",
		"/private/etc/ssl", "/private/tmp", "/private/var", "/private/var/db", "/private/var/db/dslocal",
		"/private/var/db/dyld", "/private/var/db/mds", "/private/var/db/mds/system", "/private/var/db/timezone",
		"/private/var/folders", "/private/var/log", "/private/var/root", "/private/var/run", "/private/var/select",
		"/private/var/tmp",
		"/sbin", "/usr", "/usr/bin", "/usr/lib", "/usr/libexec", "/usr/local", "/usr/local/bin", "/usr/sbin",
		"/usr/share"}},
	{Info{Kind: File, Mode: 0o755}, []string{
		SandboxExec, "/bin/sh", "/bin/bash", "/bin/zsh", "/private/etc/sudoers", "/private/etc/master.passwd",
		"/private/etc/passwd", "/private/etc/hosts", "/private/etc/resolv.conf", "/private/etc/zshrc",
		"/Library/Preferences/.GlobalPreferences.plist",
		"/private/var/run/resolv.conf"}},
	{Info{Kind: Device, Mode: 0o666}, []string{"/dev/null", "/dev/ptmx", "/dev/random", "/dev/tty", "/dev/urandom",
		"/dev/zero"}},
	{Info{Kind: Link, Mode: 0o777}, []string{
		"/private/var/select/sh", "/private/var/select/developer_dir", "/private/var/db/xcode_select_link",
		"/private/etc/localtime", "/etc"}},
}

// macLink is where a link of the system's leads, "" for any other path.
func macLink(path string) string {
	switch path {
	case "/private/var/select/sh":
		return "/bin/bash"
	case "/private/var/select/developer_dir", "/private/var/db/xcode_select_link":
		return "/Library/Developer/CommandLineTools"
	case "/private/etc/localtime":
		return "/private/var/db/timezone"
	case "/etc":
		return "private/etc"
	}
	return ""
}

// linuxOnly are the places of a Linux that no Mac has, or that are a Mac's own.
var linuxOnly = []string{
	"/Applications", "/Library", "/System", "/Users", "/Volumes", "/bin", "/boot", "/cores", "/dev", "/etc", "/gnu",
	"/lib", "/lib32", "/lib64", "/libx32", "/libexec", "/lost+found", "/nix", "/opt", "/private", "/proc", "/run",
	"/sbin", "/snap", "/sys", "/usr", "/var/lib", "/var/log", "/var/cache", "/var/spool", "/var/mail", "/var/backups",
	"/var/crash", "/var/run", "/home/linuxbrew",
}

// Host reports whether a path is taken from this machine: the work of people.
func (MacFS) Host(path string) bool {
	return !policy.WithinAny(path, linuxOnly...) ||
		policy.Within(path, "/usr/src") && path != "/usr/src"
}

// Lstat is that of the system, or of this machine.
func (m MacFS) Lstat(path string) (Info, error) {
	if m.Host(path) {
		return m.FS.Lstat(path)
	}
	for _, kind := range macTree {
		if slices.Contains(kind.paths, path) || kind.Kind == Device && strings.HasPrefix(path, "/dev/fd/") &&
			Digits(Base(path)) {
			return kind.Info, nil
		}
	}
	return Info{}, nil
}

// Readlink is that of the system, or of this machine.
func (m MacFS) Readlink(path string) (string, error) {
	if to := macLink(path); to != "" {
		return to, nil
	}
	return m.FS.Readlink(path)
}

// ReadDir lists what is known.
func (m MacFS) ReadDir(path string) ([]Entry, error) {
	var out []Entry
	if m.Host(path) {
		list, err := m.FS.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if m.Host(Join(path, e.Name)) {
				out = append(out, e)
			}
		}
	}
	for _, kind := range macTree {
		for _, p := range kind.paths {
			if policy.Dir(p) == path && p != "/Users" { // that is /home
				out = append(out, Entry{Base(p), kind.Kind})
			}
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Access is that of this machine, and what a user has of the system.
func (m MacFS) Access(path string, rwx byte) bool {
	if m.Host(path) {
		return m.FS.Access(path, rwx)
	}
	info, _ := m.Lstat(path)
	return info.Kind == Device || info.Kind != Absent && rwx != 'w'
}

// Mounts are none: a directory of a Mac's is not mounted twice.
func (MacFS) Mounts() ([]Mount, error) { return nil, nil }
