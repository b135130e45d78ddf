// SPDX-License-Identifier: Apache-2.0

package seccomp

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/net/bpf"
)

// x32 is where amd64 has numbers of the x32 interface: from here up without
// bit 30, which old kernels accept, and with it.
const x32 = 512

// decision is what happens to a call: the first check that holds decides, and
// without one the return value last.
type decision struct {
	checks []check
	last   uint32
}

type check struct {
	conds []cond // all of them have to hold
	ret   uint32
}

// Filter returns the program of the file as an array of struct sock_filter,
// little-endian. It fails for an unknown architecture, when a rule depends on
// the version of a kernel that is not known, and when the program is longer
// than the kernel takes.
func (f *File) Filter(arch string) ([]byte, error) {
	ops, err := f.program(arch)
	if err != nil {
		return nil, err
	}
	return encode(f.name+" for "+arch, ops)
}

func (f *File) program(arch string) ([]bpf.Instruction, error) {
	decisions, err := f.decisions(arch)
	if err != nil {
		return nil, err
	}
	w := writer{newProgram(), f.WholeProcess, map[string]label{}}
	w.end(retKill)
	ops := w.finish(arch, w.spots(f, arch, decisions))
	if len(ops) > maxProgram {
		return nil, fmt.Errorf("%s: the filter takes %d instructions, and the kernel accepts %d: "+
			"write fewer rules with args", f.name, len(ops), maxProgram)
	}
	return ops, nil
}

// decisions returns what happens to each call that the file names.
func (f *File) decisions(arch string) (map[uint32]decision, error) {
	if audit(arch) == 0 {
		return nil, fmt.Errorf("seccomp architecture %q: not one of amd64, arm64", arch)
	}
	of := map[uint32][]rule{} // those about a call, in the file's order
	for _, r := range f.rules {
		counts, err := f.counts(&r, arch)
		if err != nil {
			return nil, err
		}
		for _, i := range r.calls {
			if n := syscalls[i].number(arch); counts && n != none {
				of[uint32(n)] = append(of[uint32(n)], r)
			}
		}
	}
	out := make(map[uint32]decision, len(of))
	for n, rules := range of {
		out[n] = f.decide(rules)
	}
	return out, nil
}

// counts reports whether a rule is for this machine.
func (f *File) counts(r *rule, arch string) (bool, error) {
	if f.Kernel == (Kernel{}) && (r.includes.minKernel != Kernel{} || r.excludes.minKernel != Kernel{}) {
		return false, errors.New(f.name +
			": a rule depends on the version of the kernel (minKernel), and that is not known")
	}
	in, ex := &r.includes, &r.excludes
	switch {
	case slices.Contains(ex.arches, arch), ex.minKernel != Kernel{} && !f.Kernel.less(ex.minKernel):
		return false, nil
	case len(in.arches) > 0 && !slices.Contains(in.arches, arch), in.caps, f.Kernel.less(in.minKernel):
		return false, nil
	}
	return true, nil
}

// decide orders the rules about one call, the strictest first, up to one that
// holds in any case.
func (f *File) decide(rules []rule) decision {
	d := decision{last: f.base}
	slices.SortStableFunc(rules, func(a, b rule) int { return cmp.Compare(severity(a.ret), severity(b.ret)) })
	for _, r := range rules {
		if len(r.conds) == 0 {
			d.last = r.ret
			break
		}
		if !twice(r.conds) {
			d.checks = append(d.checks, check{r.conds, r.ret})
			continue
		}
		for i := range r.conds {
			d.checks = append(d.checks, check{r.conds[i : i+1], r.ret})
		}
	}
	for n := len(d.checks) - 1; n >= 0 && d.checks[n].ret == d.last; n-- {
		d.checks = d.checks[:n]
	}
	return d
}

// severity orders return values as the kernel does for several filters: what is
// smaller is stricter.
func severity(ret uint32) int32 { return int32(ret & retAction) }

// twice reports whether two conditions look at the same argument.
func twice(conds []cond) bool {
	var seen [6]bool
	for _, c := range conds {
		if seen[c.arg] {
			return true
		}
		seen[c.arg] = true
	}
	return false
}

// beyond is the return value for numbers above all that the file names.
func (f *File) beyond() uint32 {
	if severity(f.base) == retErrno {
		return retErrno | errnoENOSYS
	}
	return f.base
}

// foreign is the return value for x32 numbers.
func (f *File) foreign() uint32 {
	if severity(f.base) < retErrno {
		return f.base
	}
	return retErrno | errnoENOSYS
}

// writer writes a program whose ends are any return values.
type writer struct {
	program
	whole  bool             // see [File.WholeProcess]
	blocks map[string]label // of checks that were written already
}

func (w *writer) end(ret uint32) label {
	if w.whole && ret&retAction == retKillThread {
		ret = retKill
	}
	return w.program.end(ret)
}

// spots writes the decisions and lays them over the whole range of numbers.
func (w *writer) spots(f *File, arch string, decisions map[uint32]decision) []spot {
	out, end := []spot{{0, w.end(f.base)}}, past(decisions)
	for n := range end {
		at := w.end(f.base)
		if d, ok := decisions[n]; ok {
			at = w.block(d)
		}
		out = put(out, spot{n, at})
	}
	if end > 0 {
		out = put(out, spot{end, w.end(f.beyond())})
	}
	if arch == "amd64" {
		out = put(out, spot{x32, w.end(f.foreign())})
	}
	return out
}

// past is the number after all that a file names, 0 when it names none.
func past(decisions map[uint32]decision) (end uint32) {
	for n := range decisions {
		end = max(end, n+1)
	}
	return end
}

// put goes on with another spot, unless it is decided where the last one is.
func put(spots []spot, next spot) []spot {
	last := len(spots) - 1
	switch {
	case spots[last].at == next.at:
		return spots
	case spots[last].from == next.from:
		spots = spots[:last]
	}
	return append(spots, next)
}

// block writes a decision, from its end.
func (w *writer) block(d decision) label {
	key := fmt.Sprint(d)
	if at := w.blocks[key]; at != 0 {
		return at
	}
	at := w.end(d.last)
	for _, c := range slices.Backward(d.checks) {
		yes, no := w.end(c.ret), at
		for _, cond := range slices.Backward(c.conds) {
			yes = w.cond(cond, yes, no)
		}
		at = yes
	}
	w.blocks[key] = at
	return at
}

// cond writes the comparison of an argument, upper half first.
func (w *writer) cond(c cond, yes, no label) label {
	switch c.op {
	case opNE:
		c.op, yes, no = opEQ, no, yes
	case opLT:
		c.op, yes, no = opGE, no, yes
	case opLE:
		c.op, yes, no = opGT, no, yes
	}
	low, high := offArgs+8*c.arg, offArgs+8*c.arg+4
	value, upper := uint32(c.value), uint32(c.value>>32)
	switch c.op {
	case opEQ:
		yes = w.half(low, value, ^uint32(0), yes, no)
		return w.half(high, upper, ^uint32(0), yes, no)
	case maskedEQ:
		yes = w.half(low, value, uint32(c.mask), yes, no)
		return w.half(high, upper, uint32(c.mask>>32), yes, no)
	}
	than := bpf.JumpGreaterThan
	if c.op == opGE {
		than = bpf.JumpGreaterOrEqual
	}
	w.test(than, value, yes, no)
	next := w.equal(upper, w.load(low), no)
	w.test(bpf.JumpGreaterThan, upper, yes, next)
	return w.load(high)
}

// half compares half of an argument under a mask.
func (w *writer) half(offset, value, mask uint32, yes, no label) label {
	if mask == 0 {
		return yes
	}
	w.equal(value, yes, no)
	if bits.OnesCount32(mask) < 32 {
		w.mask(mask)
	}
	return w.load(offset)
}
