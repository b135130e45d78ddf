// SPDX-License-Identifier: Apache-2.0

package seccomp

import "slices"

// What a C library does before main, and after it: found by refusing one call
// after the other to /bin/true (glibc 2.36, musl 1.2), which a test repeats.
var (
	// needed are the calls without which it does not start. The first two are
	// all that a static program asks for, and arm64 has no arch_prctl. Of fstat
	// and newfstatat a library uses one, most of them the second.
	needed = []string{"execve", "arch_prctl", "close", "mmap", "mprotect", "newfstatat", "openat", "pread64", "read"}

	// made are the other calls that it makes. It can do without them, but not if
	// they kill it.
	made = []string{"access", "brk", "exit_group", "faccessat", "getrandom", "munmap", "prlimit64", "rseq",
		"set_robust_list", "set_tid_address"}
)

// Hinders lists the calls that the file refuses whatever their arguments, and
// without which not even /bin/true starts, sorted. It fails as [File.Filter]
// does.
func (f *File) Hinders(arch string) ([]string, error) {
	decisions, err := f.decisions(arch)
	if err != nil {
		return nil, err
	}
	end := past(decisions)
	// gets reports whether a call can get a return value that is no stricter than one.
	gets := func(name string, least int32) bool {
		n := syscallNumber(name, arch)
		d, ok := decisions[uint32(n)]
		switch {
		case n == none:
			return true
		case !ok && end > 0 && uint32(n) >= end:
			d.last = f.beyond()
		case !ok:
			d.last = f.base
		}
		return severity(d.last) >= least ||
			slices.ContainsFunc(d.checks, func(c check) bool { return severity(c.ret) >= least })
	}
	var out []string
	for _, name := range slices.Concat(needed, made) {
		least := severity(retLog) // such as goes on to the kernel
		if slices.Contains(made, name) {
			least = severity(retErrno)
		}
		if !gets(name, least) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}
