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
	highest := uint32(0)
	for n := range decisions {
		highest = max(highest, n)
	}
	// rets are the return values that a call can get.
	rets := func(name string) []uint32 {
		n := syscallNumber(name, arch)
		d, ok := decisions[uint32(n)]
		switch {
		case n == none:
			return []uint32{retAllow}
		case !ok && len(decisions) > 0 && uint32(n) > highest:
			return []uint32{f.beyond()}
		case !ok:
			return []uint32{f.base}
		}
		out := []uint32{d.last}
		for _, c := range d.checks {
			out = append(out, c.ret)
		}
		return out
	}
	var out []string
	for _, name := range needed {
		if !slices.ContainsFunc(rets(name), passes) {
			out = append(out, name)
		}
	}
	for _, name := range made {
		if !slices.ContainsFunc(rets(name), func(ret uint32) bool { return severity(ret) >= retErrno }) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}
