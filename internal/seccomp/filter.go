package seccomp

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
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

	Net bool // the network is shared; reserved, no rule depends on it yet

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
	code, err := bpf.Assemble(assemble(o, segments(o)))
	if err != nil {
		return nil, fmt.Errorf("seccomp filter for %s: %w", o.Arch, err)
	}
	out := make([]byte, 0, 8*len(code))
	for _, op := range code {
		out = binary.LittleEndian.AppendUint16(out, op.Op)
		out = append(out, op.Jt, op.Jf)
		out = binary.LittleEndian.AppendUint32(out, op.K)
	}
	return out, nil
}

// Rule is one line of what is refused, for people and tests.
type Rule struct {
	Name   string // of the system call, as in man section 2
	Args   string // which arguments are refused, "" for all
	Action string // the errno returned, by name
}

// Rules lists what Filter refuses for the same Options, sorted by name, and
// nothing at all when Filter would fail. Numbers without a name, all of which
// answer ENOSYS in level strict and above the newest known one, are not in it.
func Rules(o Options) []Rule {
	if o.check() != nil {
		return nil
	}
	var rules []Rule
	for c := range rulesOf(o) {
		for _, r := range c.do.refusals(o) {
			rules = append(rules, Rule{c.name, r.args, r.errno})
		}
	}
	slices.SortStableFunc(rules, func(a, b Rule) int { return cmp.Compare(a.Name, b.Name) })
	return rules
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

// rulesOf goes through the calls that are refused under o, wholly or in part.
func rulesOf(o Options) iter.Seq[*call] {
	return func(yield func(*call) bool) {
		for _, list := range [][]call{calls[:], unusual[:]} {
			for i := range list {
				if c := &list[i]; c.number(o.Arch) != none && c.in.holds(o) && !yield(c) {
					return
				}
			}
		}
	}
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
		for i := range usual {
			if n := usual[i].number(o.Arch); n != none {
				of[n] = allow
			}
		}
	}
	for c := range rulesOf(o) {
		of[c.number(o.Arch)] = c.do
	}
	segs := make([]segment, 0, len(of))
	for n, v := range of {
		if n == 0 || v != of[n-1] {
			segs = append(segs, segment{uint32(n), v})
		}
	}
	return segs
}
