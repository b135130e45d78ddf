package seccomp

import (
	"slices"

	"golang.org/x/net/bpf"
)

// Offsets into struct seccomp_data, seccomp(2).
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// Return values, seccomp(2). An errno is or-ed into the low half of retErrno.
const (
	retKill  = 0x80000000 // SECCOMP_RET_KILL_PROCESS
	retErrno = 0x00050000
	retAllow = 0x7fff0000
)

// program is a filter under construction. It is written from its end, last
// instruction first: jumps only go forward in BPF, so the target of each is
// already in place and its distance known.
type program struct {
	o      Options
	ops    []bpf.Instruction
	at     [verdicts]label // where each verdict is carried out, 0 if nowhere
	nearer map[label]label // what stands in for an instruction that is far away
}

// label is the place of an instruction counted from the end of the program,
// the last being 1.
type label int

// assemble returns the program: check the architecture, find the number's
// segment by binary search, then carry out its verdict.
func assemble(o Options, segs []segment) []bpf.Instruction {
	p := program{o: o, ops: make([]bpf.Instruction, 0, 512), nearer: map[label]label{}}
	for v := range finals {
		if v != mark || o.Host {
			p.at[v] = p.ret(v.value())
		}
	}
	kill := p.ret(retKill)
	for _, s := range segs {
		if p.at[s.do] == 0 {
			p.at[s.do] = p.check(s.do)
		}
	}
	p.tree(segs)
	number := p.load(offNumber)
	p.equal(audit(o.Arch), number, kill)
	p.load(offArch)
	slices.Reverse(p.ops)
	return p.ops
}

// tree emits the search for the number's segment and returns where it starts.
func (p *program) tree(segs []segment) label {
	if len(segs) == 1 {
		return p.at[segs[0].do]
	}
	middle := len(segs) / 2
	right := p.tree(segs[middle:])
	left := p.tree(segs[:middle])
	return p.test(bpf.JumpGreaterOrEqual, segs[middle].from, right, left)
}

func (p *program) emit(op bpf.Instruction) label {
	p.ops = append(p.ops, op)
	return label(len(p.ops))
}

func (p *program) ret(value uint32) label { return p.emit(bpf.RetConstant{Val: value}) }

// load and mask go on with the instruction emitted before them.
func (p *program) load(offset uint32) label {
	return p.emit(bpf.LoadAbsolute{Off: offset, Size: 4})
}

func (p *program) mask(bits uint32) label {
	return p.emit(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: bits})
}

// loadArg loads the lower half of an argument, which is all the kernel looks
// at where it takes an int. Comparing all 64 bits would let ioctl(2) through
// with a command of 1<<32 | TIOCSTI (CVE-2019-10063).
func (p *program) loadArg(n uint32) label { return p.load(offArgs + 8*n) }

func (p *program) equal(k uint32, yes, no label) label { return p.test(bpf.JumpEqual, k, yes, no) }
func (p *program) anyBit(k uint32, yes, no label) label {
	return p.test(bpf.JumpBitsSet, k, yes, no)
}

func (p *program) test(cond bpf.JumpTest, k uint32, yes, no label) label {
	yes, no = p.near(yes), p.near(no)
	return p.emit(bpf.JumpIf{
		Cond: cond, Val: k,
		SkipTrue: uint8(p.distance(yes)), SkipFalse: uint8(p.distance(no)),
	})
}

// near returns l, or what stands in for it when l is out of reach of the eight
// bits a test has: a long jump, or the same again where l ends the program.
// One step of reach is kept back for what the other branch of the same test may
// need.
func (p *program) near(l label) label {
	const reach = 255 - 1
	if p.distance(l) <= reach {
		return l
	}
	if n, ok := p.nearer[l]; ok && p.distance(n) <= reach {
		return n
	}
	var again bpf.Instruction = bpf.Jump{Skip: uint32(p.distance(l))}
	if end, ok := p.ops[l-1].(bpf.RetConstant); ok {
		again = end
	}
	p.nearer[l] = p.emit(again)
	return p.nearer[l]
}

// distance is the number of instructions between the next one emitted and l.
func (p *program) distance(l label) int { return len(p.ops) - int(l) }
