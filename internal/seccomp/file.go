// SPDX-License-Identifier: Apache-2.0

package seccomp

import (
	"slices"
	"strconv"
	"strings"
)

// File is a filter that the user wrote: rules in the JSON form of the OCI
// runtime specification, with what Docker and Podman add to it. It is loaded in
// addition to a filter of [Filter], never instead of it; the kernel takes the
// stricter verdict.
//
//   - All args of a rule have to match, as unsigned 64-bit numbers. When two of
//     them look at the same argument, any one of the rule's args is enough: so
//     runc and crun have it.
//   - Of several rules that match a call the strictest counts, wherever it
//     stands: kill the process, kill the thread, trap, errno, log, allow; of two
//     errnos the first. No rule opens what another one closes.
//   - Where none matches, defaultAction is taken. When that is an errno, the
//     calls newer than all that the file names answer ENOSYS, as with runc: C
//     libraries take any other errno for a failure.
//   - Calls by another architecture's numbers kill the process and x32 numbers
//     are refused, whatever architectures and archMap say: the list of names is
//     looked up for one architecture only.
//   - The command has no capabilities: includes.caps never holds, and
//     excludes.caps excludes nothing.
//
// The zero value is not of use; see [ParseFile].
type File struct {
	// Kernel is the version of the running kernel, which rules may depend on
	// (minKernel).
	Kernel Kernel

	// WholeProcess makes KILL_THREAD end the process, too. A Go program that
	// executes the command by one thread of several needs it: of a process whose
	// threads are not all dead no one sees the end.
	WholeProcess bool

	name  string
	rules []rule
	base  uint32 // the return value where no rule matches
	notes []string
}

// Feigns reports whether the file answers some call with errno 0: the caller
// takes it for made.
func (f *File) Feigns() bool {
	return f.base == retErrno || slices.ContainsFunc(f.rules, func(r rule) bool { return r.ret == retErrno })
}

// Kernel is a version of Linux; the zero value is an unknown one.
type Kernel struct{ Major, Minor uint64 }

// ParseKernel reads the version out of what uname(2) calls the release,
// "6.1.0-18-amd64".
func ParseKernel(release string) (Kernel, bool) {
	major, rest, _ := strings.Cut(release, ".")
	end := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
	if end >= 0 {
		rest = rest[:end]
	}
	k, err1 := strconv.ParseUint(major, 10, 16)
	m, err2 := strconv.ParseUint(rest, 10, 16)
	return Kernel{k, m}, err1 == nil && err2 == nil && k > 0
}

func (k Kernel) less(o Kernel) bool {
	return k.Major < o.Major || k.Major == o.Major && k.Minor < o.Minor
}

// rule is one element of syscalls.
type rule struct {
	calls    []int // indexes into names
	ret      uint32
	conds    []cond
	includes scopes
	excludes scopes
}

// cond looks at one argument: op compares all 64 bits with value.
type cond struct {
	arg   uint32
	op    op
	value uint64
	mask  uint64 // of maskedEQ
}

type op uint8

const (
	opNE op = iota
	opLT
	opLE
	opEQ
	opGE
	opGT
	maskedEQ
)

var opNames = [...]string{
	opNE: "SCMP_CMP_NE", opLT: "SCMP_CMP_LT", opLE: "SCMP_CMP_LE", opEQ: "SCMP_CMP_EQ",
	opGE: "SCMP_CMP_GE", opGT: "SCMP_CMP_GT", maskedEQ: "SCMP_CMP_MASKED_EQ",
}

// scopes say where a rule counts.
type scopes struct {
	arches    []string
	caps      bool // some capability is named
	minKernel Kernel
}

// Rules is the number of rules in the file, those for other machines included.
func (f *File) Rules() int { return len(f.rules) }

// Notes say what the file asks for in vain, one line each. It is nothing that
// would make the filter looser.
func (f *File) Notes() []string { return f.notes }
