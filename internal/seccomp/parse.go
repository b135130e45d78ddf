package seccomp

import (
	"slices"
	"strconv"
	"strings"
)

// actions are libseccomp's names of actions. The value of an errno is or-ed
// with it.
var actions = [...]struct {
	name string
	ret  uint32
}{
	{"SCMP_ACT_ALLOW", retAllow},
	{"SCMP_ACT_ERRNO", retErrno},
	{"SCMP_ACT_KILL", retKillThread},
	{"SCMP_ACT_KILL_PROCESS", retKill},
	{"SCMP_ACT_KILL_THREAD", retKillThread},
	{"SCMP_ACT_LOG", retLog},
	{"SCMP_ACT_TRAP", retTrap},
}

// Architectures, as libseccomp names them after "SCMP_ARCH_", and as the rules
// of Docker and of Podman do.
const (
	libseccompArches = "NATIVE X86 X86_64 X32 ARM AARCH64 LOONGARCH64 M68K MIPS MIPS64 MIPS64N32 MIPSEL MIPSEL64 MIPSEL64N32 " +
		"PARISC PARISC64 PPC PPC64 PPC64LE RISCV64 S390 S390X SH SHEB"
	ruleArches = "x86 amd64 x32 arm arm64 loong64 loongarch64 m68k mips mips64 mips64n32 mipsel mipsel64 mipsel64n32 mips3l64n32 " +
		"parisc parisc64 ppc ppc64 ppc64le riscv64 s390 s390x sh sheb"
)

// unsupervised is why actions that ask another process are refused.
const unsupervised = "needs a supervisor outside of the sandbox, and there is none"

// ParseFile reads a filter. The name stands in errors, which are of type
// [*FileError] and tell the place.
func ParseFile(name string, data []byte) (*File, error) {
	p := parser{reader{name: name, data: data}, &File{name: name}}
	root, err := p.readJSON()
	if err == nil {
		err = p.file(root)
	}
	if err != nil {
		return nil, err
	}
	return p.f, nil
}

type parser struct {
	reader
	f *File
}

// object returns the members of an object of known keys. Unknown ones are
// refused: what they say would be left out of the filter without a word. A null
// is as good as no key.
func (p *parser) object(v value, what string, known ...string) (map[string]*member, error) {
	if v.kind != isObject {
		return nil, p.wrong(v, what, "an object")
	}
	out := make(map[string]*member, len(v.keys))
	for i := range v.keys {
		m := &v.keys[i]
		if !slices.Contains(known, m.key) {
			return nil, p.unknown(m.at, "unknown key "+short(m.key), m.key, known)
		}
		if m.kind != isNull {
			out[m.key] = m
		}
	}
	return out, nil
}

func (p *parser) wrong(v value, what, want string) error {
	return p.errorf(v.at, "%s: want %s, got %s", what, want, v.kind)
}

func (p *parser) unknown(at int, text, word string, known []string) error {
	err := p.errorf(at, "%s", text)
	err.Word, err.Known = word, known
	return err
}

// each reads the elements of a list, if there is one.
func (p *parser) each(m *member, read func(v value) error) error {
	if m == nil {
		return nil
	}
	if m.kind != isList {
		return p.wrong(m.value, m.key, "a list")
	}
	for _, v := range m.list {
		if err := read(v); err != nil {
			return err
		}
	}
	return nil
}

// text reads a string, if there is one.
func (p *parser) text(m *member) error {
	if m != nil && m.kind != isText {
		return p.wrong(m.value, m.key, "a string")
	}
	return nil
}

// word reads a string that has to be one of the known ones.
func (p *parser) word(v value, what string, known []string) error {
	if v.kind != isText {
		return p.wrong(v, what, "a string")
	}
	if slices.Contains(known, v.text) {
		return nil
	}
	return p.unknown(v.at, what+": "+short(v.text)+" is not known", v.text, known)
}

// whole reads a whole number, 0 if there is none.
func (p *parser) whole(m *member, high uint64) (uint64, error) {
	if m == nil {
		return 0, nil
	}
	if m.kind != isNumber {
		return 0, p.wrong(m.value, m.key, "a whole number")
	}
	n, err := strconv.ParseUint(m.text, 10, 64)
	if err != nil || n > high {
		got := m.text
		if len(got) > 40 {
			got = got[:40] + "…"
		}
		return 0, p.errorf(m.value.at, "%s: want a whole number from 0 to %d, got %s", m.key, high, got)
	}
	return n, nil
}

func (p *parser) file(root value) error {
	o, err := p.object(root, "the filter", "defaultAction", "defaultErrnoRet", "defaultErrno", "architectures", "archMap", "flags",
		"listenerPath", "listenerMetadata", "syscalls")
	if err != nil {
		return err
	}
	if err := p.flags(o["flags"]); err != nil {
		return err
	}
	for _, key := range []string{"listenerPath", "listenerMetadata"} {
		m := o[key]
		if err := p.text(m); err != nil {
			return err
		}
		if m != nil && m.text != "" {
			return p.errorf(m.at, "%s is for SCMP_ACT_NOTIFY, which %s", m.key, unsupervised)
		}
	}
	if o["defaultAction"] == nil {
		return p.errorf(root.at, "defaultAction is missing")
	}
	if err := p.architectures(o["architectures"], o["archMap"]); err != nil {
		return err
	}
	if p.f.base, err = p.action(o["defaultAction"], o["defaultErrnoRet"], o["defaultErrno"]); err != nil {
		return err
	}
	return p.each(o["syscalls"], p.rule)
}

// architectures checks the names and leaves it at that: a filter is made for
// one architecture, and calls of all others are refused.
func (p *parser) architectures(list, archMap *member) error {
	if list != nil && archMap != nil {
		return p.errorf(archMap.at, "architectures and archMap contradict each other: write one of them")
	}
	known := strings.Fields(libseccompArches)
	for i := range known {
		known[i] = "SCMP_ARCH_" + known[i]
	}
	if err := p.each(list, func(v value) error { return p.word(v, "architectures", known) }); err != nil {
		return err
	}
	return p.each(archMap, func(v value) error {
		o, err := p.object(v, "archMap", "architecture", "subArchitectures")
		if err != nil {
			return err
		}
		if m := o["architecture"]; m != nil {
			if err := p.word(m.value, m.key, known); err != nil {
				return err
			}
		}
		return p.each(o["subArchitectures"], func(v value) error { return p.word(v, "subArchitectures", known) })
	})
}

// flags knows the flags of seccomp(2). What they ask for is left out where that
// loosens nothing.
func (p *parser) flags(m *member) error {
	const prefix = "SECCOMP_FILTER_FLAG_"
	const tsync, spec, log, wait = prefix + "TSYNC", prefix + "SPEC_ALLOW", prefix + "LOG", prefix + "WAIT_KILLABLE_RECV"
	return p.each(m, func(v value) error {
		if err := p.word(v, "flags", []string{tsync, spec, log, wait}); err != nil {
			return err
		}
		switch v.text {
		case wait:
			return p.errorf(v.at, "flags: %s is for SCMP_ACT_NOTIFY, which %s", v.text, unsupervised)
		case log:
			p.f.notes = append(p.f.notes, "flag "+v.text+" is not used: what is refused is not logged")
		case spec:
			p.f.notes = append(p.f.notes, "flag "+v.text+" is not used: the mitigation of speculative store bypass stays on")
		}
		return nil // and TSYNC is for the other threads, of which there are none
	})
}

// action reads an action with its errno, which can be a number, a name (as
// Podman has it), or both when they agree.
func (p *parser) action(action, errnoRet, errno *member) (uint32, error) {
	if action.kind == isText && (action.text == "SCMP_ACT_TRACE" || action.text == "SCMP_ACT_NOTIFY") {
		return 0, p.errorf(action.value.at, "%s: %s %s: use SCMP_ACT_ERRNO or SCMP_ACT_LOG", action.key, action.text, unsupervised)
	}
	known := make([]string, len(actions))
	for i, a := range actions {
		known[i] = a.name
	}
	if err := p.word(action.value, action.key, known); err != nil {
		return 0, err
	}
	ret := actions[slices.Index(known, action.text)].ret
	if errno != nil && errno.kind == isText && errno.text == "" {
		errno = nil
	}
	for _, m := range []*member{errnoRet, errno} {
		if m != nil && ret != retErrno {
			return 0, p.errorf(m.at, "%s goes with SCMP_ACT_ERRNO, not with %s", m.key, action.text)
		}
	}
	number, err := p.whole(errnoRet, maxErrno)
	if err != nil {
		return 0, err
	}
	named, err := p.errno(errno)
	switch {
	case err != nil:
		return 0, err
	case ret != retErrno:
		return ret, nil
	case errnoRet != nil && errno != nil && number != named:
		return 0, p.errorf(errno.at, "%s and %s contradict each other", errnoRet.key, errno.key)
	case errno != nil:
		return ret | uint32(named), nil
	case errnoRet != nil:
		return ret | uint32(number), nil
	}
	return ret | errnoEPERM, nil
}

// errno reads the name of an error, or its number in quotes.
func (p *parser) errno(m *member) (uint64, error) {
	if m == nil {
		return 0, nil
	}
	if m.kind != isText {
		return 0, p.wrong(m.value, m.key, "the name of an error")
	}
	if n, err := strconv.ParseUint(m.text, 10, 64); err == nil && n <= maxErrno {
		return n, nil
	}
	if n := errnoNumber(m.text); n > 0 {
		return uint64(n), nil
	}
	known := make([]string, len(errnos))
	for i, e := range errnos {
		known[i] = e.name
	}
	return 0, p.unknown(m.value.at, m.key+": "+short(m.text)+" is no name of an error", m.text, known)
}

func (p *parser) rule(v value) error {
	o, err := p.object(v, "syscalls", "names", "name", "action", "errnoRet", "errno", "args", "comment", "includes", "excludes")
	if err != nil {
		return err
	}
	var r rule
	if err := p.text(o["comment"]); err != nil {
		return err
	}
	if r.includes, err = p.scopes(o["includes"]); err != nil {
		return err
	}
	if r.excludes, err = p.scopes(o["excludes"]); err != nil {
		return err
	}
	if r.calls, err = p.calls(o["name"], o["names"]); err != nil {
		return err
	}
	if len(r.calls) == 0 {
		return p.errorf(v.at, "this rule has no names, so it is about no call")
	}
	if o["action"] == nil {
		return p.errorf(v.at, "action is missing")
	}
	if r.ret, err = p.action(o["action"], o["errnoRet"], o["errno"]); err != nil {
		return err
	}
	err = p.each(o["args"], func(v value) error {
		c, err := p.arg(v)
		r.conds = append(r.conds, c)
		return err
	})
	p.f.rules = append(p.f.rules, r)
	return err
}

// calls reads the calls that a rule is about. A name may be one that only other
// architectures have, or other versions of the kernel, but not one that nobody
// knows: a typing error in a deny-list would leave open what it is to close.
func (p *parser) calls(name, names *member) (calls []int, err error) {
	add := func(v value) error {
		if v.kind != isText {
			return p.wrong(v, "names", "a string")
		}
		i, ok := findSyscall(v.text)
		if !ok {
			known := make([]string, len(syscalls))
			for i, s := range syscalls {
				known[i] = s.name
			}
			return p.unknown(v.at, short(v.text)+" is no system call", v.text, known)
		}
		calls = append(calls, i)
		return nil
	}
	switch {
	case name != nil && names != nil:
		return nil, p.errorf(name.at, "name and names contradict each other: write one of them")
	case name != nil:
		err = add(name.value)
	default:
		err = p.each(names, add)
	}
	return calls, err
}

func (p *parser) arg(v value) (c cond, err error) {
	o, err := p.object(v, "args", "index", "value", "valueTwo", "op")
	if err != nil {
		return c, err
	}
	for _, key := range []string{"index", "value", "op"} {
		if o[key] == nil {
			return c, p.errorf(v.at, "args: %s is missing", key)
		}
	}
	var numbers [3]uint64
	for i, f := range []struct {
		key  string
		high uint64
	}{{"index", 5}, {"value", 1<<64 - 1}, {"valueTwo", 1<<64 - 1}} {
		if numbers[i], err = p.whole(o[f.key], f.high); err != nil {
			return c, err
		}
	}
	if err := p.word(o["op"].value, "op", opNames[:]); err != nil {
		return c, err
	}
	second := numbers[2]
	c = cond{arg: uint32(numbers[0]), op: op(slices.Index(opNames[:], o["op"].text)), value: numbers[1]}
	switch {
	case c.op == maskedEQ:
		c.mask, c.value = c.value, second
		if c.value&^c.mask != 0 {
			return c, p.errorf(o["valueTwo"].value.at, "valueTwo has bits that value, the mask, has not: this can never match")
		}
	case second != 0:
		return c, p.errorf(o["valueTwo"].at, "valueTwo goes with SCMP_CMP_MASKED_EQ, where value is the mask and valueTwo what is left of it")
	}
	return c, nil
}

func (p *parser) scopes(m *member) (s scopes, err error) {
	if m == nil {
		return s, nil
	}
	o, err := p.object(m.value, m.key, "arches", "caps", "minKernel")
	if err != nil {
		return s, err
	}
	known := strings.Fields(ruleArches)
	err = p.each(o["arches"], func(v value) error {
		s.arches = append(s.arches, v.text)
		return p.word(v, "arches", known)
	})
	if err != nil {
		return s, err
	}
	err = p.each(o["caps"], func(v value) error {
		s.caps = true
		if v.kind != isText || !strings.HasPrefix(v.text, "CAP_") {
			return p.errorf(v.at, "caps: want the name of a capability, CAP_…")
		}
		return nil
	})
	if err == nil && o["minKernel"] != nil {
		s.minKernel, err = p.minKernel(o["minKernel"])
	}
	return s, err
}

// minKernel reads "4.8".
func (p *parser) minKernel(m *member) (Kernel, error) {
	major, minor, ok := strings.Cut(m.text, ".")
	k, err1 := strconv.ParseUint(major, 10, 8)
	n, err2 := strconv.ParseUint(minor, 10, 8)
	if m.kind != isText || !ok || err1 != nil || err2 != nil || k == 0 {
		return Kernel{}, p.errorf(m.value.at, `minKernel: want a version of Linux, such as "4.8"`)
	}
	return Kernel{k, n}, nil
}
