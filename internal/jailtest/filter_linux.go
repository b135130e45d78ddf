// SPDX-License-Identifier: Apache-2.0

package jailtest

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Filter is a system call filter around the program.
type Filter string

const (
	// NoUserns refuses user namespaces, as RestrictNamespaces= of systemd does.
	NoUserns Filter = "no-userns"
	// Docker refuses what Docker's default does of the calls that bwrap makes.
	Docker Filter = "docker"
	// Eased is Docker with clone, unshare, mount, umount2 and pivot_root let through.
	Eased Filter = "docker-eased"
	// NoLandlock is a kernel before 5.13.
	NoLandlock Filter = "no-landlock"
	// NoSeccomp is a kernel without CONFIG_SECCOMP_FILTER.
	NoSeccomp Filter = "no-seccomp"
)

// refusal is a call that a filter answers with an error.
type refusal struct {
	call  uint32
	mask  uint32 // bits of the first argument of which one has to be set; 0 for every call
	equal []uint32
	errno syscall.Errno
}

// anyNew are the flags of all namespaces but the time's.
const anyNew = 0x7E020000

func refusals(f Filter) []refusal {
	mounting := []refusal{{call: unix.SYS_MOUNT, errno: unix.EPERM}, {call: unix.SYS_UMOUNT2, errno: unix.EPERM},
		{call: unix.SYS_PIVOT_ROOT, errno: unix.EPERM}}
	other := []refusal{
		{call: unix.SYS_SETNS, errno: unix.EPERM}, {call: unix.SYS_CLONE3, errno: unix.ENOSYS},
		{call: unix.SYS_OPEN_TREE, errno: unix.EPERM},
		{call: unix.SYS_MOVE_MOUNT, errno: unix.EPERM}, {call: unix.SYS_FSOPEN, errno: unix.EPERM},
		{call: unix.SYS_FSMOUNT, errno: unix.EPERM},
		{call: unix.SYS_MOUNT_SETATTR, errno: unix.EPERM}, {call: unix.SYS_SETHOSTNAME, errno: unix.EPERM},
		{call: unix.SYS_BPF, errno: unix.EPERM},
	}
	switch f {
	case NoUserns:
		return []refusal{
			{call: unix.SYS_CLONE, mask: unix.CLONE_NEWUSER, errno: unix.EPERM},
			{call: unix.SYS_UNSHARE, mask: unix.CLONE_NEWUSER, errno: unix.EPERM},
			{call: unix.SYS_CLONE3, errno: unix.ENOSYS},
		}
	case Docker:
		return append(append(mounting, other...), refusal{call: unix.SYS_CLONE, mask: anyNew, errno: unix.EPERM},
			refusal{call: unix.SYS_UNSHARE, errno: unix.EPERM})
	case Eased:
		return other
	case NoLandlock:
		return []refusal{{call: unix.SYS_LANDLOCK_CREATE_RULESET, errno: unix.ENOSYS},
			{call: unix.SYS_LANDLOCK_ADD_RULE, errno: unix.ENOSYS},
			{call: unix.SYS_LANDLOCK_RESTRICT_SELF, errno: unix.ENOSYS}}
	case NoSeccomp:
		return []refusal{{call: unix.SYS_SECCOMP, errno: unix.ENOSYS},
			{call: unix.SYS_PRCTL, equal: []uint32{unix.PR_SET_SECCOMP, unix.PR_GET_SECCOMP}, errno: unix.EINVAL}}
	}
	return nil
}

// code is the program of all filters together: one that refuses the setting of
// filters could not be followed by another.
func code(filters []Filter) ([]bpf.RawInstruction, error) {
	var ops []bpf.Instruction
	const nr, arg0 = 0, 16 // offsets in struct seccomp_data, little-endian
	for _, f := range filters {
		list := refusals(f)
		if list == nil {
			return nil, fmt.Errorf("no filter is called %q", f)
		}
		for _, r := range list {
			deny := bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(r.errno)}
			var block []bpf.Instruction
			switch {
			case r.mask != 0:
				block = []bpf.Instruction{bpf.LoadAbsolute{Off: arg0, Size: 4},
					bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: r.mask, SkipFalse: 1}, deny}
			case r.equal != nil:
				block = []bpf.Instruction{bpf.LoadAbsolute{Off: arg0, Size: 4}}
				for _, v := range r.equal {
					block = append(block, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: 1}, deny)
				}
			default:
				block = []bpf.Instruction{deny}
			}
			ops = append(ops, bpf.LoadAbsolute{Off: nr, Size: 4},
				bpf.JumpIf{Cond: bpf.JumpEqual, Val: r.call, SkipFalse: uint8(len(block))})
			ops = append(ops, block...)
		}
	}
	return bpf.Assemble(append(ops, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}))
}

// install puts filters on the calling thread, which has to be the one that
// executes the program.
func install(filters []Filter) error {
	if len(filters) == 0 {
		return nil
	}
	ops, err := code(filters)
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	// bpf.RawInstruction has the fields of struct sock_filter, in their order.
	prog := unix.SockFprog{Len: uint16(len(ops)), Filter: (*unix.SockFilter)(unsafe.Pointer(&ops[0]))}
	_, _, errno := syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER,
		uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(ops)
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}
