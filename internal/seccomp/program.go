// SPDX-License-Identifier: Apache-2.0

package seccomp

import (
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/net/bpf"
)

// maxProgram is BPF_MAXINSNS, the most instructions that the kernel takes.
const maxProgram = 4096

// Offsets into struct seccomp_data, seccomp(2).
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// Return values, seccomp(2). An errno is or-ed into the low half of retErrno.
const (
	retKill       = 0x80000000 // SECCOMP_RET_KILL_PROCESS
	retKillThread = 0x00000000
	retTrap       = 0x00030000
	retErrno      = 0x00050000
	retLog        = 0x7ffc0000
	retAllow      = 0x7fff0000
	retAction     = 0xffff0000 // SECCOMP_RET_ACTION_FULL
	maxErrno      = 4095       // MAX_ERRNO
	errnoEPERM    = 1
	errnoENOSYS   = 38
)

// program is a filter under construction. It is written from its end, last
// instruction first: jumps only go forward in BPF, so the target of each is
// already in place and its distance known.
type program struct {
	ops    []bpf.Instruction
	ends   map[uint32]label // where each value is returned
	nearer map[label]label  // what stands in for an instruction that is far away
}

// label is the place of an instruction counted from the end of the program,
// the last being 1.
type label int

// spot is where the numbers from one up to the next spot's are decided.
type spot struct {
	from uint32
	at   label
}

func newProgram() program {
	return program{ops: make([]bpf.Instruction, 0, 512), ends: map[uint32]label{}, nearer: map[label]label{}}
}

// finish returns the program: check the architecture, then find the number's
// spot by binary search.
func (p *program) finish(arch string, spots []spot) []bpf.Instruction {
	kill := p.end(retKill)
	if root := p.search(spots); p.distance(root) > 0 {
		p.emit(bpf.Jump{Skip: uint32(p.distance(root))}) // there was nothing to search
	}
	number := p.load(offNumber)
	p.equal(audit(arch), number, kill)
	p.load(offArch)
	slices.Reverse(p.ops)
	return p.ops
}

// encode returns a program as an array of struct sock_filter, little-endian.
func encode(what string, ops []bpf.Instruction) ([]byte, error) {
	code, err := bpf.Assemble(ops)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	out := make([]byte, 0, 8*len(code))
	for _, op := range code {
		out = binary.LittleEndian.AppendUint16(out, op.Op)
		out = append(out, op.Jt, op.Jf)
		out = binary.LittleEndian.AppendUint32(out, op.K)
	}
	return out, nil
}

// search emits the search for the number's spot and returns where it starts.
func (p *program) search(spots []spot) label {
	if len(spots) == 1 {
		return spots[0].at
	}
	middle := len(spots) / 2
	right := p.search(spots[middle:])
	left := p.search(spots[:middle])
	return p.test(bpf.JumpGreaterOrEqual, spots[middle].from, right, left)
}

func (p *program) emit(op bpf.Instruction) label {
	p.ops = append(p.ops, op)
	return label(len(p.ops))
}

// end returns where a value is returned.
func (p *program) end(ret uint32) label {
	if p.ends[ret] == 0 {
		p.ends[ret] = p.emit(bpf.RetConstant{Val: ret})
	}
	return p.ends[ret]
}

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
