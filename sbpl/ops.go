// SPDX-License-Identifier: Apache-2.0

package sbpl

import "strings"

// Op is an operation of the sandbox, by the name that SBPL has for it.
type Op string

// The operations that are used here. A name with * is a group.
const (
	FileAll           Op = "file*"
	FileRead          Op = "file-read*"
	FileReadData      Op = "file-read-data"
	FileReadMetadata  Op = "file-read-metadata"
	FileReadXattr     Op = "file-read-xattr"
	FileWrite         Op = "file-write*"
	FileWriteCreate   Op = "file-write-create"
	FileWriteData     Op = "file-write-data"
	FileWriteUnlink   Op = "file-write-unlink"
	FileWriteSetUGID  Op = "file-write-setugid" // no part of file-write*
	FileIoctl         Op = "file-ioctl"
	FileLink          Op = "file-link"
	FileClone         Op = "file-clone"
	FileMapExec       Op = "file-map-executable"
	FileTestExistence Op = "file-test-existence"

	ProcessExec Op = "process-exec*"
	ProcessFork Op = "process-fork"
	ProcessInfo Op = "process-info*"
	Signal      Op = "signal"
	TaskPort    Op = "mach-priv-task-port"

	NetworkOutbound Op = "network-outbound"
	NetworkInbound  Op = "network-inbound"
	NetworkBind     Op = "network-bind"
	SystemSocket    Op = "system-socket"

	MachLookup  Op = "mach-lookup"
	SysctlRead  Op = "sysctl-read"
	SysctlWrite Op = "sysctl-write"
	PosixSem    Op = "ipc-posix-sem"
	PosixShm    Op = "ipc-posix-shm*"
	PseudoTTY   Op = "pseudo-tty"
)

// newer reports whether not every release of macOS knows an operation. A profile
// with a name that is not known is refused as a whole, so these are asked for.
func newer(op Op) bool { return op == FileClone || op == FileTestExistence }

// group is what an operation falls back to, "" for the default.
func group(op Op) Op {
	switch {
	case op == FileWriteSetUGID || op == FileAll:
		return ""
	case op == FileRead || op == FileWrite:
		return FileAll
	case strings.HasPrefix(string(op), "file-read-"):
		return FileRead
	case strings.HasPrefix(string(op), "file-write-"):
		return FileWrite
	case strings.HasPrefix(string(op), "file-"):
		return FileAll
	}
	return ""
}
