package risk

import (
	"path"
	"slices"
	"strings"
)

// systemDirs are directories a machine, or all of a user's work, hangs on.
var systemDirs = []string{
	"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/media", "/mnt", "/nix", "/nix/store",
	"/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/local",
	"/usr/sbin", "/usr/share", "/var", "/var/lib", "/var/log",
	"/Applications", "/Library", "/System", "/Users", "/Volumes", "/private", "/private/etc", "/private/var",
	home,
}

// vital reports whether name is a system directory, a home directory, or
// everything in one of them.
func vital(name string) bool {
	for base := path.Base(name); len(name) > 1 && strings.Trim(base, glob+".?[]!^") == "" && strings.Contains(base, glob); base = path.Base(name) {
		name = path.Dir(name) // what /* or ~/.* stand for is /, ~
	}
	return slices.Contains(systemDirs, name) || isHome(name)
}

// isHome knows home directories by where systems put them.
func isHome(name string) bool {
	dir, user := path.Split(name)
	return user != "" && user != "Shared" && (dir == "/home/" || dir == "/Users/")
}

// diskNames are how names of block devices and memory in /dev start.
var diskNames = []string{
	"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "md", "dm-", "loop", "nbd", "sr", "zram", "ram", "zd", "pmem", "mtd",
	"disk", "rdisk", "mapper/", "block/", "mem", "kmem", "port",
}

// device reports whether writing to name destroys data below any file system.
func device(name string) bool {
	rest, ok := strings.CutPrefix(path.Clean(name), "/dev/")
	return ok && slices.ContainsFunc(diskNames, func(p string) bool { return strings.HasPrefix(rest, p) })
}

// ofDevice is device for dd's operand.
func ofDevice(operand string) bool {
	name, ok := strings.CutPrefix(operand, "of=")
	return ok && device(name)
}

// likelyDevice takes also what cannot be known: mkfs.ext4 "$DISK".
func likelyDevice(name string) bool {
	return device(name) || strings.HasPrefix(name, unknown) || strings.HasPrefix(name, "/dev/"+unknown)
}

// account reports whether name is a file that says who may be whom.
func account(name string) bool {
	return slices.Contains([]string{"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/sudoers"}, name) ||
		strings.HasPrefix(name, "/etc/sudoers.d/")
}
