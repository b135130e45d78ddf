package seccomp

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/net/bpf"
)

// Options choose a filter. Arch and Level have no default.
type Options struct {
	Arch  string // as GOARCH has it: amd64 or arm64
	Level string // default, or dev, which also lets debuggers work

	// Root is for commands that run as the host's root: it refuses to make a
	// file set-uid or set-gid, which would outlive the sandbox. A directory
	// cannot be made set-gid then either.
	Root bool

	Net bool // the network is shared; reserved, no rule depends on it yet

	Host, NoInet, NoUnix, NoTruncate bool
}

// Filter returns the program for o as an array of struct sock_filter, eight
// bytes each, little-endian as both architectures have it. The same Options
// give the same bytes. It fails for an unknown architecture or level.
func Filter(o Options) ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	code, err := bpf.Assemble(assemble(audit(o.Arch), segments(o)))
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

// Rule is one line of the deny-list, for people and tests.
type Rule struct {
	Name   string // of the system call, as in man section 2
	Args   string // which arguments are refused, "" for all
	Action string // the errno returned, by name
}

// Rules lists what Filter refuses for the same Options, sorted by name, and
// nothing at all when Filter would fail.
func Rules(o Options) []Rule {
	if o.check() != nil {
		return nil
	}
	var rules []Rule
	for i := range calls {
		c := &calls[i]
		if c.number(o.Arch) == none || !c.in.holds(o) {
			continue
		}
		for _, r := range c.do.refusals() {
			rules = append(rules, Rule{c.name, r.args, r.errno})
		}
	}
	slices.SortStableFunc(rules, func(a, b Rule) int { return cmp.Compare(a.Name, b.Name) })
	return rules
}

func (o Options) check() error {
	if audit(o.Arch) == 0 {
		return fmt.Errorf("seccomp architecture %q: not one of amd64, arm64", o.Arch)
	}
	if o.Level != "default" && o.Level != "dev" {
		return fmt.Errorf("seccomp level %q: not one of default, dev", o.Level)
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
	refused := make([]segment, 0, len(calls))
	for i := range calls {
		c := &calls[i]
		if n := c.number(o.Arch); n != none && c.in.holds(o) {
			refused = append(refused, segment{uint32(n), c.do})
		}
	}
	slices.SortFunc(refused, func(a, b segment) int { return cmp.Compare(a.from, b.from) })

	segs := append(make([]segment, 0, 2*len(refused)+2), segment{0, allow})
	for _, r := range refused {
		segs = push(segs, r)
		segs = append(segs, segment{r.from + 1, allow})
	}
	return push(segs, segment{newest + 1, enosys})
}

// push adds s, which may start where the last segment does and then takes its
// place.
func push(segs []segment, s segment) []segment {
	if last := len(segs) - 1; segs[last].from == s.from {
		segs = segs[:last]
	}
	if last := len(segs) - 1; last >= 0 && segs[last].do == s.do {
		return segs
	}
	return append(segs, s)
}
