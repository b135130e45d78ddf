// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"slices"
	"strings"
)

// operation is an action of a process that the kernel asks the sandbox about.
type operation struct {
	name     string
	parent   string   // what is asked when none of its rules matches
	families []string // of filters that go with it
	implicit bool     // what no rule is about is allowed, not left to parent and default
	since    bool     // not yet known to macOS 10.15
	chain    []string // itself, its parent, and so on up to default
}

// operationTable has the operations of macOS: those of 10.15 with their parents,
// filters and fallbacks as 0xbf00/simbple took them from libsandbox, and names that
// libsandbox of 14.4 has besides, whose parents and fallbacks are inferred.
//
//	name  parent  what filters  [allow]  [new]
//
// "allow" marks an operation that ends the search (P4). Its parent is then only
// what a reader of the text takes for it: [Naive] asks it, [Observed] does not.
// file-write-setugid is no part of file-write*, whatever its name.
const operationTable = `
default                        -                         -
appleevent-send                default                   appleevent
authorization-right-obtain     default                   right
boot-arg-set                   default                   -
device*                        default                   -
device-camera                  device*                   -
device-microphone              device*                   -
darwin-notification-post       default                   notification         allow
distributed-notification-post  default                   notification
dynamic-code-generation        default                   -                    allow
file*                          default                   path,vnode
file-chroot                    file*                     path,vnode
file-clone                     file*                     path,vnode           allow
file-ioctl                     file*                     path,vnode,ioctl
file-issue-extension           file*                     path,vnode,class
file-link                      file*                     path,vnode           allow
file-lock                      file*                     path,vnode           allow new
file-map-executable            file*                     path,vnode           allow
file-mknod                     file*                     path,vnode
file-mount                     file*                     path,vnode
file-mount-update              file-mount                path,vnode
file-read*                     file*                     path,vnode
file-read-data                 file-read*                path,vnode
file-read-metadata             file-read*                path,vnode
file-read-xattr                file-read*                path,vnode,xattr
file-revoke                    file*                     path,vnode
file-search                    file*                     path,vnode
file-test-existence            file*                     path,vnode           allow
file-unmount                   file*                     path,vnode
file-write*                    file*                     path,vnode
file-write-acl                 file-write*               path,vnode
file-write-create              file-write*               path,vnode
file-write-data                file-write*               path,vnode
file-write-finderinfo          file-write*               path,vnode
file-write-flags               file-write*               path,vnode
file-write-mode                file-write*               path,vnode
file-write-owner               file-write*               path,vnode
file-write-setugid             default                   path,vnode
file-write-times               file-write*               path,vnode
file-write-unlink              file-write*               path,vnode
file-write-xattr               file-write*               path,vnode,xattr
fs-quota*                      default                   -                    new
fs-rename                      default                   -
fs-snapshot*                   default                   -
fs-snapshot-create             fs-snapshot*              -
fs-snapshot-delete             fs-snapshot*              -
fs-snapshot-mount              fs-snapshot*              -                    new
fs-snapshot-revert             fs-snapshot*              -
generic-issue-extension        default                   class
hid-control                    default                   -
iokit*                         default                   -
iokit-get-properties           iokit*                    iokit                allow
iokit-issue-extension          iokit*                    class
iokit-open*                    iokit*                    iokit
iokit-open-service             iokit-open*               iokit                new
iokit-open-user-client         iokit-open*               iokit                new
iokit-set-properties           iokit*                    iokit
ipc*                           default                   -
ipc-posix*                     ipc*                      ipc
ipc-posix-issue-extension      ipc-posix*                ipc,class
ipc-posix-sem*                 ipc-posix*                ipc
ipc-posix-sem-create           ipc-posix-sem*            ipc
ipc-posix-sem-open             ipc-posix-sem*            ipc
ipc-posix-sem-post             ipc-posix-sem*            ipc
ipc-posix-sem-unlink           ipc-posix-sem*            ipc
ipc-posix-sem-wait             ipc-posix-sem*            ipc
ipc-posix-shm*                 ipc-posix*                ipc
ipc-posix-shm-read-data        ipc-posix-shm*            ipc
ipc-posix-shm-write*           ipc-posix-shm*            ipc
ipc-posix-shm-write-create     ipc-posix-shm-write*      ipc
ipc-posix-shm-write-data       ipc-posix-shm-write*      ipc
ipc-posix-shm-write-unlink     ipc-posix-shm-write*      ipc
ipc-sysv*                      ipc*                      -
ipc-sysv-msg                   ipc-sysv*                 -
ipc-sysv-sem                   ipc-sysv*                 -
ipc-sysv-shm                   ipc-sysv*                 -
job-creation                   default                   -
lsopen                         default                   -
mach*                          default                   -
mach-bootstrap                 mach*                     -                    allow new
mach-cross-domain-lookup       mach*                     mach                 allow
mach-derive-port               mach*                     -                    allow new
mach-host*                     mach*                     -
mach-host-exception-port-set   mach-host*                -
mach-host-special-port-set     mach-host*                -
mach-issue-extension           mach*                     mach,class
mach-kernel-endpoint           mach*                     -                    allow new
mach-lookup                    mach*                     mach
mach-priv*                     mach*                     -
mach-priv-host-port            mach-priv*                -
mach-priv-task-port            mach-priv*                path,target
mach-register                  mach*                     mach
mach-task*                     mach*                     target               new
mach-task-inspect              mach-task*                target               new
mach-task-name                 mach*                     target
mach-task-read                 mach-task*                target               new
managed-preference-read        user-preference-read      preference
network*                       default                   socket,network,path,vnode
network-bind                   network-inbound           socket,network,path,vnode
network-inbound                network*                  socket,network,path,vnode
network-outbound               network*                  socket,network,path,vnode
nvram*                         default                   nvram                allow
nvram-delete                   nvram*                    nvram
nvram-get                      nvram*                    nvram
nvram-set                      nvram*                    nvram
opendirectory-user-modify      default                   -
process*                       default                   -
process-codesigning-status*    process*                  target
process-codesigning-status-get process-codesigning-status* target
process-codesigning-status-set process-codesigning-status* target
process-exec*                  process*                  path
process-exec-interpreter       process-exec*             path
process-fork                   process*                  -
process-info*                  process*                  -                    allow
process-info-codesignature     process-info*             target               allow
process-info-dirtycontrol      process-info*             target
process-info-ledger            process-info*             target               new
process-info-listpids          process-info*             -
process-info-pidfdinfo         process-info*             target
process-info-pidfileportinfo   process-info*             target
process-info-pidinfo           process-info*             target
process-info-rusage            process-info*             target
process-info-setcontrol        process-info*             target
pseudo-tty                     default                   -
qtn-user                       default                   path
signal                         default                   target,signal
socket-ioctl                   default                   socket,ioctl         allow
socket-option*                 default                   socket               allow new
socket-option-get              socket-option*            socket               new
socket-option-set              socket-option*            socket               new
storage-class-map              default                   path
syscall*                       default                   -                    allow new
syscall-mach                   syscall*                  syscall              new
syscall-mig                    syscall*                  syscall              new
syscall-unix                   default                   syscall              allow
sysctl*                        default                   sysctl
sysctl-read                    sysctl*                   sysctl
sysctl-write                   sysctl*                   sysctl
system*                        default                   -
system-acct                    system*                   -
system-audit                   system*                   -
system-automount               system*                   path
system-debug                   system*                   target
system-fcntl                   system*                   fcntl                allow new
system-fsctl                   system*                   fsctl
system-info                    system*                   info
system-kext*                   system*                   -
system-kext-load               system-kext*              kext
system-kext-query              system-kext*              -
system-kext-unload             system-kext*              kext
system-mac-label               system*                   -
system-mac-syscall             system*                   policy               allow new
system-nfssvc                  system*                   -
system-package-check           system*                   -
system-privilege               system*                   privilege            allow
system-reboot                  system*                   -
system-sched                   system*                   target
system-set-time                system*                   -
system-socket                  system*                   socket
system-suspend-resume          system*                   -
system-swap                    system*                   -
user-preference*               default                   preference
user-preference-read           user-preference*          preference
user-preference-write          user-preference*          preference
`

// aliases are the other names that Apple's library gives to operations.
// sysctl-write, there another name of sysctl*, is taken by its word: what it
// allows to read too does not matter to a profile that lets sysctls be read.
var aliases = map[string]string{
	"file-fsctl":    "system-fsctl",
	"file-unlink":   "file-write-unlink",
	"iokit-open":    "iokit-open*",
	"ipc-posix-sem": "ipc-posix-sem*",
	"ipc-posix-shm": "ipc-posix-shm*",
	"process-exec":  "process-exec*",
	"system-misc":   "system*",
	"time-set":      "system-set-time",
}

var operations = parseOperations()

func parseOperations() map[string]*operation {
	ops := make(map[string]*operation)
	for line := range strings.Lines(operationTable) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		op := &operation{name: f[0], implicit: slices.Contains(f, "allow"), since: slices.Contains(f, "new")}
		if f[1] != "-" {
			op.parent = f[1]
		}
		if f[2] != "-" {
			op.families = strings.Split(f[2], ",")
		}
		ops[op.name] = op
	}
	for _, op := range ops {
		for o := op; o != nil; o = ops[o.parent] {
			op.chain = append(op.chain, o.name)
		}
	}
	return ops
}

// isA reports whether an operation is another one or belongs to it.
func isA(op, group string) bool { return slices.Contains(operations[op].chain, group) }

// takes reports whether filters of a family go with an operation. Those of a
// group are all that go with one of its members: (process-info* (target self)).
func (op *operation) takes(family string) bool {
	if family == anyOperation || slices.Contains(op.families, family) {
		return true
	}
	for _, member := range operations {
		if member != op && op.name != "default" && isA(member.name, op.name) && slices.Contains(member.families, family) {
			return true
		}
	}
	return false
}
