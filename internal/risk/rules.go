// SPDX-License-Identifier: Apache-2.0

package risk

import (
	"path"
	"slices"
	"strings"
)

// rule describes a kind of command. Every part that is set must hold.
type rule struct {
	names   string // commands, separated by spaces; a * at the end stands for anything
	sub     string // the first operand
	flags   string // one of these must be given, separated by spaces
	unless  string // none of these may be given
	operand func(string) bool
	text    string // %c is the command, %o the operand
}

var rules = []rule{
	{names: "rm", flags: "-r -R --recursive", operand: vital, text: "rm -r of %o"},
	{names: "rm", flags: "--no-preserve-root", text: "rm --no-preserve-root"},
	{names: "mv", operand: vital, text: "moves %o away"},
	{names: "chmod chown chgrp", flags: "-R --recursive", operand: vital, text: "%c -R of %o"},
	{names: "find", flags: "-delete", operand: vital, text: "find deletes below %o"},

	{names: "dd", operand: ofDevice, text: "dd %o overwrites the device"},
	{names: "tee shred truncate blkdiscard", operand: device, text: "%c overwrites the device %o"},
	{names: "wipefs", flags: "-a --all", operand: device, text: "wipefs erases the signatures of %o"},
	{names: "mkfs mkfs.* mke2fs mkswap", operand: device, text: "%c makes a new file system on %o"},

	{names: "git", sub: "push", flags: "-f --force", unless: "-n --dry-run",
		text: "git push --force overwrites the remote branch"},
	{names: "git", sub: "push", flags: "-d --delete --mirror --prune", unless: "-n --dry-run",
		text: "git push removes branches of the remote"},
	{names: "git", sub: "reset", flags: "--hard", text: "git reset --hard discards uncommitted changes"},
	{names: "git", sub: "clean", flags: "-f --force", unless: "-n --dry-run",
		text: "git clean -f deletes files git does not know"},

	{names: "shutdown", unless: "-c --help --show", text: "%c of the machine"},
	{names: "reboot halt poweroff", unless: "--help", text: "%c of the machine"},
	{names: "systemctl", sub: "poweroff", text: "%c %o stops the machine"},
	{names: "systemctl", sub: "reboot", text: "%c %o stops the machine"},
}

// systemDirs are directories a machine, or all of a user's work, hangs on.
const systemDirs = "/ /bin /boot /dev /etc /home /lib /lib64 /nix /opt /proc /root /run /sbin /srv /sys " +
	"/usr /usr/bin /usr/lib /usr/local /usr/sbin /usr/share /var /var/lib /Applications /Library /System /Users ~"

// vital reports whether name is a system directory, a home directory, or
// everything in one of them.
func vital(name string) bool {
	name = path.Clean(name)
	if strings.Trim(path.Base(name), ".*") == "" { // /* or ~/.*
		name = path.Dir(name)
	}
	dir, user := path.Split(name)
	return in(systemDirs, name) || user != "" && user != "Shared" && (dir == "/home/" || dir == "/Users/")
}

// diskNames are how names of block devices in /dev start.
const diskNames = "sd hd vd xvd nvme mmcblk md dm- loop nbd disk rdisk mapper/"

// device reports whether writing to name destroys data below any file system.
func device(name string) bool {
	rest, ok := strings.CutPrefix(path.Clean(name), "/dev/")
	begins := func(name string) bool { return strings.HasPrefix(rest, name) }
	return ok && slices.ContainsFunc(strings.Fields(diskNames), begins)
}

// ofDevice is device for dd's operand.
func ofDevice(operand string) bool {
	name, ok := strings.CutPrefix(operand, "of=")
	return ok && device(name)
}
