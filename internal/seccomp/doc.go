// SPDX-License-Identifier: Apache-2.0

// Package seccomp writes the system call filters of sbx: [Filter] turns a
// level and an architecture into the classic BPF program that bwrap(1) takes
// by --seccomp FD and that seccomp(2) loads.
//
// In levels default and dev a filter is a deny-list. It refuses the calls that
// reach around a sandbox made of namespaces (namespaces, mounts, handles to
// other processes, the terminal), those that only an administrator needs, and
// those whose bugs have often been the way into the kernel. Everything else
// passes, so programs work as they do outside. In level strict it is an
// allow-list of what common programs use, under the same rules.
//
// Without namespaces ([Options.Host]) a filter also refuses what reaches the
// host's processes, IPC and network past Landlock.
//
// Before the list:
//
//   - A call by another architecture's numbers (int 0x80 on amd64, 32-bit
//     programs) kills the process: its numbers would mean other calls.
//   - A number above the newest known one answers ENOSYS, as an older kernel
//     does, so that a mount call added next year is not let through. On amd64
//     this also covers the x32 numbers (bit 30) and their twins from 512 up,
//     which old kernels accept without the bit: 514 is an ioctl, 521 a ptrace.
//
// Which errno a call gets is chosen by what programs do next. ENOSYS says
// "this kernel has no such call" and starts the fallback that most programs
// have; EPERM is used where the kernel itself answers so when an administrator
// or a missing capability forbids the call.
//
// Not protected against: what an allowed call does. A filter sees numbers and
// argument words and never what a pointer points to: paths, socket addresses
// and structs are invisible to it. It limits kernel bugs, it does not remove
// them. And it is no sandbox by itself, since files and network stay as they are.
//
// [ParseFile] reads filters that others wrote, in the JSON form of the OCI
// runtime specification; [File.Filter] compiles one to a second program,
// which is loaded after that of Filter.
//
// The package is pure: it reads nothing of the host and makes no system call,
// so a filter for Linux on arm64 can be written, read and tested anywhere.
package seccomp

// The programs follow from the numbers, so these are written first.
//go:generate go run ../tools/gensyscalls
//go:generate go run ../tools/genfilters
