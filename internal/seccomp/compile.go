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

// decide orders the rules about one call, the strictest first.
func (f *File) decide(rules []rule) decision {
	d := decision{last: f.base}
	always := -1 // the strictest rule without conditions
	for i, r := range rules {
		if len(r.conds) == 0 && (always < 0 || severity(r.ret) < severity(rules[always].ret)) {
			always = i
		}
	}
	if always >= 0 {
		d.last = rules[always].ret
	}
	for i, r := range rules {
		stricter := always < 0 || cmp.Or(cmp.Compare(severity(r.ret), severity(d.last)), cmp.Compare(i, always)) < 0
		if !stricter || len(r.conds) == 0 {
			continue
		}
		if !twice(r.conds) {
			d.checks = append(d.checks, check{r.conds, r.ret})
			continue
		}
		for i := range r.conds {
			d.checks = append(d.checks, check{r.conds[i : i+1], r.ret})
		}
	}
	slices.SortStableFunc(d.checks, func(a, b check) int { return cmp.Compare(severity(a.ret), severity(b.ret)) })
	for n := len(d.checks) - 1; n >= 0 && d.checks[n].ret == d.last; n-- {
		d.checks = d.checks[:n]
	}
	return d
}

// severity orders return values as the kernel does for several filters: what is
// smaller is stricter.
func severity(ret uint32) int32 { return int32(ret & retAction) }

// passes reports whether a call goes on to the kernel.
func passes(ret uint32) bool { return severity(ret) >= severity(retLog) }

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
	numbers := make([]uint32, 0, len(decisions))
	for n := range decisions {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	out := []spot{{0, w.end(f.base)}}
	put := func(from uint32, at label) {
		if last := len(out) - 1; out[last].from == from {
			out = out[:last]
		}
		if last := len(out) - 1; last < 0 || out[last].at != at {
			out = append(out, spot{from, at})
		}
	}
	next := uint32(0)
	for _, n := range numbers {
		put(n, w.block(decisions[n]))
		put(n+1, w.end(f.base))
		next = n + 1
	}
	if next > 0 {
		put(next, w.end(f.beyond()))
	}
	if arch == "amd64" {
		put(x32, w.end(f.foreign()))
	}
	return out
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
