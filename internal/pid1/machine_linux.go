// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"slices"
	"syscall"
	"unsafe"
)

// op is one step of the machine, which knows its layout: a system call, then the look
// at a word, which is the result unless another one is named.
type op struct {
	nr          uintptr // or opNone, opFind
	args        [6]uintptr
	result      uintptr
	at          uintptr // address of the word
	mask, want  uintptr // whose masked value has to be this
	to          uintptr // where that value is stored; 0 is nowhere
	then, other uintptr // addresses of the next op; 0 is Go
}

const (
	opNone = ^uintptr(0) // no system call
	// Find the word args[2] in the args[1] bytes at args[0]: the result is 1, and args[3:]
	// get what follows.
	opFind = ^uintptr(0) - 1

	opSize  = unsafe.Sizeof(op{})
	maxText = 2048 // where opFind looks
)

// machineImage is what the file in memory holds at imageBase, where the machine maps it: the
// header, data, ops and the configuration.
type machineImage struct {
	magic   uint64
	first   uintptr // address of the first op,
	exec    uintptr // and of the one that executes the command, which gets its words and environment
	action  uintptr // of the struct sigaction that gets the address of onSignal
	started uintptr // the command's process id
	ended   uintptr // it has ended with the status in listing.info
	config  uintptr // where the configuration begins,
	end     uintptr // and ends
}

// Known to the assembly.
const (
	imageMagic = 0x31656e69616c7073 // "splaine1"
	imageBase  = 0x1000000000       // where no kernel puts anything by itself
	imageMax   = 256 << 10
	imageFirst = imageBase + unsafe.Sizeof(machineImage{})
)

var (
	mapped  *machineImage // when the machine has run
	entered byte          // 1 when this process began with it, which is so on amd64 alone
)

// Words that stand for addresses known at the end.
const (
	opRef = 1 << 56 // and an offset among the ops
	toGo  = 2 << 56 // explicitly
	maxOp = 512
)

// listing is the program for a plain run, and what [resume] has to know of it.
type listing struct {
	data    []byte
	ops     []op
	taken   []int // descriptors
	mounts  int   // descriptors,
	watched []int
	private []int
	own     int     // of a signalfd
	action  uintptr // of struct sigaction
	events  uintptr
	masks   []uintptr // addresses: of struct statx,
	used    []uintptr // of struct statfs,
	info    uintptr   // of siginfo_t of the command's end,
	cont    uintptr   // of siginfo_t of the last SIGCONT that was taken
	ex      *op       // the step that executes the command
}

const closeOnExec = 4 // CLOSE_RANGE_CLOEXEC

// configOf is the configuration in the file for process 1.
func configOf(data []byte) []byte {
	if len(data) < int(unsafe.Sizeof(machineImage{})) {
		return data
	}
	if head := (*machineImage)(unsafe.Pointer(&data[0])); head.magic == imageMagic && head.config <= uintptr(len(data)) {
		return data[head.config:]
	}
	return data
}

func (m *machineImage) configuration() []byte {
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(m), m.config)), m.end-m.config)
}

// link puts it all in place.
func (p *listing) link(config []byte) []byte {
	ops := imageFirst + uintptr(len(p.data))
	for i := range p.ops {
		o := &p.ops[i]
		if o.then == 0 {
			o.then = p.ref(i + 1)
		}
		for _, w := range []*uintptr{&o.at, &o.to, &o.then, &o.other} {
			switch {
			case *w == toGo:
				*w = 0
			case *w>>56 == opRef>>56:
				*w = ops + *w&0xffffffff
			}
		}
	}
	at := ops - imageBase + uintptr(len(p.ops))*opSize
	head := machineImage{magic: imageMagic, first: ops, exec: ops + p.index(p.ex)*opSize, action: p.action, config: at,
		end: at + uintptr(len(config))}
	out := make([]byte, 0, int(at)+len(config))
	out = append(out, unsafe.Slice((*byte)(unsafe.Pointer(&head)), unsafe.Sizeof(head))...)
	out = append(out, p.data...)
	out = append(out, unsafe.Slice((*byte)(unsafe.Pointer(&p.ops[0])), uintptr(len(p.ops))*opSize)...)
	if out = append(out, config...); len(out) > imageMax {
		return config
	}
	return out
}

func (p *listing) index(o *op) uintptr {
	return (uintptr(unsafe.Pointer(o)) - uintptr(unsafe.Pointer(&p.ops[0]))) / opSize
}

// ref stands for the address of an op, field for one of a field.
func (p *listing) ref(i int) uintptr { return opRef | uintptr(i)*opSize }
func (p *listing) here() uintptr     { return p.ref(len(p.ops)) }
func (p *listing) field(o *op, offset uintptr) uintptr {
	return opRef | (p.index(o)*opSize + offset)
}

// room are n bytes of zeros, at an address that is a multiple of 8.
func (p *listing) room(n int) uintptr {
	at := imageFirst + uintptr(len(p.data))
	p.data = append(p.data, make([]byte, (n+7)&^7)...)
	return at
}

func (p *listing) bytes(b []byte) uintptr {
	at := p.room(len(b) + 1)
	copy(p.data[at-imageFirst:], b)
	return at
}

func (p *listing) text(s string) uintptr { return p.bytes([]byte(s)) }

func (p *listing) words(w ...uint64) uintptr {
	at := p.room(len(w) * 8)
	copy(p.data[at-imageFirst:], unsafe.Slice((*byte)(unsafe.Pointer(&w[0])), len(w)*8))
	return at
}

// call adds a system call that has to answer 0.
func (p *listing) call(nr uintptr, args ...uintptr) *op {
	p.ops = append(p.ops[:min(len(p.ops), maxOp-1)], op{nr: nr, mask: ^uintptr(0)})
	o := &p.ops[len(p.ops)-1]
	copy(o.args[:], args)
	o.at = p.field(o, unsafe.Offsetof(o.result))
	return o
}

func (o *op) is(v int) *op          { o.want = uintptr(v); return o }
func (o *op) any() *op              { o.mask = 0; return o }
func (o *op) notNegative() *op      { o.mask = 1 << 63; return o }
func (o *op) jump(to uintptr) *op   { o.then = to; return o }
func (o *op) orElse(to uintptr) *op { o.other = to; return o }

// test compares a word of the image.
func (p *listing) test(at, mask, want uintptr) *op {
	o := p.call(opNone)
	o.at, o.mask, o.want = at, mask, want
	return o
}

// move copies a word.
func (p *listing) move(at, mask, to uintptr) {
	o := p.test(at, mask, 0)
	o.to, o.other = to, p.here()
}

// open adds a system call that opens a descriptor, and returns its number.
func (p *listing) open(nr uintptr, args ...uintptr) int {
	fd := 3
	for slices.Contains(p.taken, fd) {
		fd++
	}
	p.taken = append(p.taken, fd)
	p.call(nr, args...).is(fd)
	return fd
}

const (
	atCWD         = ^uintptr(99) // AT_FDCWD
	createRuleset = 444          // landlock_create_ruleset(2)
)

func (p *listing) openAt(path string, flags uintptr) int {
	return p.open(syscall.SYS_OPENAT, atCWD, p.text(path), flags|syscall.O_CLOEXEC, 0)
}

// closeBut closes all descriptors but these.
func (p *listing) closeBut(keep ...int) {
	for _, s := range ranges(slices.Clone(keep)) {
		p.call(s.nr, s.args[:]...).any()
	}
}

// find looks for a text of 8 bytes.
func (p *listing) find(text uintptr, what string) *op {
	return p.call(opFind, text, maxText, word(what)).is(1)
}

// word is a text of 8 bytes in a word.
func word(text string) (w uintptr) {
	for i := range 8 {
		w |= uintptr(text[i]) << (8 * i)
	}
	return w
}

// endedAs is the wait status of what waitid(2) reports; that memory was dumped counts for nothing.
func endedAs(info *[8]uint32) syscall.WaitStatus {
	status := syscall.WaitStatus(info[infoStatus/4] & 0xff)
	if info[infoCode/4] == cldExited {
		status <<= 8
	}
	return status
}

// at is what the machine has at an address.
func at(address uintptr) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(mapped), address-imageBase) }
