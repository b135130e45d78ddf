// SPDX-License-Identifier: Apache-2.0

package seccomp

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/bpf"
)

// Options choose a filter. Arch and Level have no default.
type Options struct {
	Arch string // as GOARCH has it: amd64 or arm64

	// Level is default, a deny-list; strict, which allows what common programs use
	// and refuses everything else; or dev, which is default and lets debuggers work.
	Level string

	// Root is for commands that run as the host's root: it refuses to make a
	// file set-uid or set-gid, which would outlive the sandbox. A directory
	// cannot be made set-gid then either.
	Root bool

	// Host is for a sandbox without namespaces (Landlock), in which the command
	// shares processes, IPC and network with the host. It refuses what reaches
	// these past Landlock, and answers to [Mark].
	Host bool

	// These go with Host, and hold without it as well.
	NoInet     bool // no socket of AF_INET or AF_INET6: the network is off
	NoUnix     bool // no socket of AF_UNIX that could reach one with a name
	NoTruncate bool // no truncation that Landlock before its third version would not see
}

// Mark is the errno that a filter with [Options.Host] answers to prctl(2) with
// the option MarkOption, and no kernel does: by it sbx knows that it runs inside
// such a sandbox.
const (
	Mark       = 1464
	MarkOption = 0x53425821 // "SBX!"
)

// Filter returns the program for o as an array of struct sock_filter, eight
// bytes each, little-endian as both architectures have it. The same Options
// give the same bytes. It fails for an unknown architecture or level.
func Filter(o Options) ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	for i := range programs {
		if programs[i].o == o {
			return programs[i].bytes(), nil
		}
	}
	return Assemble(o)
}

// assembled is a program that genfilters has assembled.
type assembled struct {
	o    Options
	code []uint64
}

func (a *assembled) bytes() []byte {
	out := make([]byte, 0, 8*len(a.code))
	for _, op := range a.code {
		out = binary.LittleEndian.AppendUint64(out, op)
	}
	return out
}

// Assemble is [Filter] without the programs that are assembled already, for
// their generator.
func Assemble(o Options) ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return encode("seccomp filter for "+o.Arch, assemble(o, segments(o)))
}

var levels = []string{"default", "strict", "dev"}

func (o Options) check() error {
	if audit(o.Arch) == 0 {
		return fmt.Errorf("seccomp architecture %q: not one of amd64, arm64", o.Arch)
	}
	if !slices.Contains(levels, o.Level) {
		return fmt.Errorf("seccomp level %q: not one of %s", o.Level, strings.Join(levels, ", "))
	}
	return nil
}

// audit returns AUDIT_ARCH_* of linux/audit.h, or 0 for an unknown name.
func audit(arch string) uint32 {
	switch arch {
	case "amd64":
		return 0xc000003e
	case "arm64":
		return 0xc00000b7
	}
	return 0
}

// segment gives one verdict to all numbers from its own up to the next
// segment's.
type segment struct {
	from uint32
	do   verdict
}

// segments lays the rules that hold under o over the whole range of numbers.
// Neighbours with the same verdict become one.
func segments(o Options) []segment {
	var of [newest + 2]verdict // the last for all above
	of[newest+1] = enosys
	if o.Level == "strict" {
		for n := range of {
			of[n] = enosys
		}
		for _, name := range allowed() {
			if n := syscallNumber(name, o.Arch); n != none {
				of[n] = allow
			}
		}
	}
	for name, do := range refused(o) {
		of[syscallNumber(name, o.Arch)] = do
	}
	segs := make([]segment, 0, len(of))
	for n, v := range of {
		if n == 0 || v != of[n-1] {
			segs = append(segs, segment{uint32(n), v})
		}
	}
	return segs
}

// levelProgram is the program of a level.
type levelProgram struct {
	program
	o  Options
	at [verdicts]label // where each verdict is carried out, 0 if nowhere
}

func assemble(o Options, segs []segment) []bpf.Instruction {
	p := levelProgram{program: newProgram(), o: o}
	for v := range finals {
		if v != mark || o.Host {
			p.at[v] = p.end(v.value())
		}
	}
	p.end(retKill)
	spots := make([]spot, len(segs))
	for i, s := range segs {
		if p.at[s.do] == 0 {
			p.at[s.do] = p.check(s.do)
		}
		spots[i] = spot{s.from, p.at[s.do]}
	}
	return p.finish(o.Arch, spots)
}
