// SPDX-License-Identifier: Apache-2.0

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
	libseccompArches = "NATIVE X86 X86_64 X32 ARM AARCH64 LOONGARCH64 M68K MIPS MIPS64 MIPS64N32 MIPSEL MIPSEL64 " +
		"MIPSEL64N32 PARISC PARISC64 PPC PPC64 PPC64LE RISCV64 S390 S390X SH SHEB"
	ruleArches = "x86 amd64 x32 arm arm64 loong64 loongarch64 m68k mips mips64 mips64n32 mipsel mipsel64 mipsel64n32 " +
		"mips3l64n32 parisc parisc64 ppc ppc64 ppc64le riscv64 s390 s390x sh sheb"
)

// unsupervised is why actions that ask another process are refused.
const unsupervised = "needs a supervisor outside of the sandbox, and there is none"

// ParseFile reads a filter. The name stands in errors, which are of type
// [*FileError] and tell the place.
func ParseFile(name string, data []byte) (*File, error) {
	p := parser{reader: reader{name: name, data: data}, f: &File{name: name}}
	root, err := p.readJSON()
	if err != nil {
		return nil, err
	}
	if p.file(root); p.err != nil {
		return nil, p.err
	}
	return p.f, nil
}

// parser reads a filter out of JSON values. It goes on after an error, and the
// first one counts.
type parser struct {
	reader
	f   *File
	err *FileError
}

func (p *parser) fail(at int, format string, args ...any) {
	if p.err == nil {
		p.err = p.errorf(at, format, args...)
	}
}

// unknown fails for a word that is not one of the known ones.
func (p *parser) unknown(at int, text, word string, known []string) {
	if p.err == nil {
		p.err = p.errorf(at, "%s", text)
		p.err.Word, p.err.Known = word, known
	}
}

// is reports whether a value is of a kind, and fails if it is not.
func (p *parser) is(v value, kind kind, what, want string) bool {
	if v.kind != kind {
		p.fail(v.at, "%s: want %s, got %s", what, want, v.kind)
	}
	return v.kind == kind
}

// object returns the members of an object of known keys. Unknown ones are
// refused: what they say would be left out of the filter without a word. A null
// is as good as no key.
func (p *parser) object(v value, what string, known ...string) map[string]*member {
	p.is(v, isObject, what, "an object")
	out := make(map[string]*member, len(v.keys))
	for i := range v.keys {
		m := &v.keys[i]
		if !slices.Contains(known, m.key) {
			p.unknown(m.at, "unknown key "+short(m.key), m.key, known)
		}
		if m.kind != isNull {
			out[m.key] = m
		}
	}
	return out
}

// each reads the elements of a list, if there is one.
func (p *parser) each(m *member, read func(v value)) {
	if m == nil || !p.is(m.value, isList, m.key, "a list") {
		return
	}
	for _, v := range m.list {
		read(v)
	}
}

// text reads a string, "" if there is none.
func (p *parser) text(m *member) string {
	if m == nil || !p.is(m.value, isText, m.key, "a string") {
		return ""
	}
	return m.text
}

// word reads a string that has to be one of the known ones, and returns which.
func (p *parser) word(v value, what string, known []string) int {
	i := slices.Index(known, v.text)
	if p.is(v, isText, what, "a string") && i < 0 {
		p.unknown(v.at, what+": "+short(v.text)+" is not known", v.text, known)
	}
	return max(0, i)
}

// whole reads a whole number, 0 if there is none.
func (p *parser) whole(m *member, high uint64) uint64 {
	if m == nil || !p.is(m.value, isNumber, m.key, "a whole number") {
		return 0
	}
	n, err := strconv.ParseUint(m.text, 10, 64)
	if err != nil || n > high {
		got := m.text
		if len(got) > 40 {
			got = got[:40] + "…"
		}
		p.fail(m.value.at, "%s: want a whole number from 0 to %d, got %s", m.key, high, got)
	}
	return n
}

func (p *parser) file(root value) {
	o := p.object(root, "the filter", "defaultAction", "defaultErrnoRet", "defaultErrno", "architectures", "archMap",
		"flags", "listenerPath", "listenerMetadata", "syscalls")
	p.flags(o["flags"])
	for _, key := range []string{"listenerPath", "listenerMetadata"} {
		if m := o[key]; p.text(m) != "" {
			p.fail(m.at, "%s is for SCMP_ACT_NOTIFY, which %s", m.key, unsupervised)
		}
	}
	action := o["defaultAction"]
	if action == nil {
		p.fail(root.at, "defaultAction is missing")
		return
	}
	p.architectures(o["architectures"], o["archMap"])
	p.f.base = p.action(action, o["defaultErrnoRet"], o["defaultErrno"])
	p.each(o["syscalls"], p.rule)
}

// architectures checks the names and leaves it at that: a filter is made for
// one architecture, and calls of all others are refused.
func (p *parser) architectures(list, archMap *member) {
	if list != nil && archMap != nil {
		p.fail(archMap.at, "architectures and archMap contradict each other: write one of them")
	}
	known := strings.Fields(libseccompArches)
	for i := range known {
		known[i] = "SCMP_ARCH_" + known[i]
	}
	p.each(list, func(v value) { p.word(v, "architectures", known) })
	p.each(archMap, func(v value) {
		o := p.object(v, "archMap", "architecture", "subArchitectures")
		if m := o["architecture"]; m != nil {
			p.word(m.value, m.key, known)
		}
		p.each(o["subArchitectures"], func(v value) { p.word(v, "subArchitectures", known) })
	})
}

// flags knows the flags of seccomp(2). What they ask for is left out where that
// loosens nothing.
func (p *parser) flags(m *member) {
	const prefix = "SECCOMP_FILTER_FLAG_"
	const tsync, spec, log, wait = prefix + "TSYNC", prefix + "SPEC_ALLOW", prefix + "LOG",
		prefix + "WAIT_KILLABLE_RECV"
	p.each(m, func(v value) {
		p.word(v, "flags", []string{tsync, spec, log, wait})
		switch v.text {
		case wait:
			p.fail(v.at, "flags: %s is for SCMP_ACT_NOTIFY, which %s", v.text, unsupervised)
		case log:
			p.f.notes = append(p.f.notes, "flag "+v.text+" is not used: what is refused is not logged")
		case spec:
			p.f.notes = append(p.f.notes,
				"flag "+v.text+" is not used: the mitigation of speculative store bypass stays on")
		}
		// TSYNC is for the other threads, of which there are none.
	})
}

// action reads an action with its errno, which can be a number, a name (as
// Podman has it), or both when they agree.
func (p *parser) action(action, errnoRet, errno *member) uint32 {
	if action.kind == isText && (action.text == "SCMP_ACT_TRACE" || action.text == "SCMP_ACT_NOTIFY") {
		p.fail(action.value.at, "%s: %s %s: use SCMP_ACT_ERRNO or SCMP_ACT_LOG", action.key, action.text, unsupervised)
	}
	known := make([]string, len(actions))
	for i, a := range actions {
		known[i] = a.name
	}
	ret := actions[p.word(action.value, action.key, known)].ret
	if errno != nil && errno.kind == isText && errno.text == "" {
		errno = nil
	}
	for _, m := range []*member{errnoRet, errno} {
		if m != nil && ret != retErrno {
			p.fail(m.at, "%s goes with SCMP_ACT_ERRNO, not with %s", m.key, action.text)
		}
	}
	number, named := p.whole(errnoRet, maxErrno), p.errno(errno)
	switch {
	case ret != retErrno:
		return ret
	case errnoRet != nil && errno != nil && number != named:
		p.fail(errno.at, "%s and %s contradict each other", errnoRet.key, errno.key)
	case errno != nil:
		number = named
	case errnoRet == nil:
		number = errnoEPERM
	}
	return ret | uint32(number)
}

// errno reads the name of an error, or its number in quotes.
func (p *parser) errno(m *member) uint64 {
	if m == nil || !p.is(m.value, isText, m.key, "the name of an error") {
		return 0
	}
	if n, err := strconv.ParseUint(m.text, 10, 64); err == nil && n <= maxErrno {
		return n
	}
	n := errnoNumber(m.text)
	if n == 0 {
		known := make([]string, len(errnos))
		for i, e := range errnos {
			known[i] = e.name
		}
		p.unknown(m.value.at, m.key+": "+short(m.text)+" is not the name of an error", m.text, known)
	}
	return uint64(n)
}

func (p *parser) rule(v value) {
	o := p.object(v, "syscalls", "names", "name", "action", "errnoRet", "errno", "args", "comment", "includes",
		"excludes")
	p.text(o["comment"])
	r := rule{includes: p.scopes(o["includes"]), excludes: p.scopes(o["excludes"]),
		calls: p.calls(o["name"], o["names"])}
	if len(r.calls) == 0 {
		p.fail(v.at, "this rule has no names, so it is about no call")
	}
	if o["action"] == nil {
		p.fail(v.at, "action is missing")
		return
	}
	r.ret = p.action(o["action"], o["errnoRet"], o["errno"])
	p.each(o["args"], func(v value) { r.conds = append(r.conds, p.arg(v)) })
	p.f.rules = append(p.f.rules, r)
}

// calls reads the calls that a rule is about. A name may be one that only other
// architectures have, or other versions of the kernel, but not an unknown one: a
// typing error in a deny-list would leave a call open.
func (p *parser) calls(name, names *member) (calls []int) {
	add := func(v value) {
		i, ok := findSyscall(v.text)
		if p.is(v, isText, "names", "a string") && !ok {
			known := make([]string, len(syscalls))
			for i, s := range syscalls {
				known[i] = s.name
			}
			p.unknown(v.at, short(v.text)+" is not a system call", v.text, known)
		}
		calls = append(calls, i)
	}
	if name != nil {
		if names != nil {
			p.fail(name.at, "name and names contradict each other: write one of them")
		}
		add(name.value)
	}
	p.each(names, add)
	return calls
}

func (p *parser) arg(v value) (c cond) {
	const all = 1<<64 - 1
	o := p.object(v, "args", "index", "value", "valueTwo", "op")
	for _, key := range []string{"index", "value", "op"} {
		if o[key] == nil {
			p.fail(v.at, "args: %s is missing", key)
			return c
		}
	}
	index, first, second := p.whole(o["index"], 5), p.whole(o["value"], all), p.whole(o["valueTwo"], all)
	c = cond{arg: uint32(index), op: op(p.word(o["op"].value, "op", opNames[:])), value: first}
	switch {
	case c.op == maskedEQ:
		c.mask, c.value = first, second
		if c.value&^c.mask != 0 {
			p.fail(o["valueTwo"].value.at, "valueTwo has bits that value, the mask, has not: this can never match")
		}
	case second != 0:
		p.fail(o["valueTwo"].at,
			"valueTwo goes with SCMP_CMP_MASKED_EQ, where value is the mask and valueTwo what is left of it")
	}
	return c
}

func (p *parser) scopes(m *member) (s scopes) {
	if m == nil {
		return s
	}
	o := p.object(m.value, m.key, "arches", "caps", "minKernel")
	known := strings.Fields(ruleArches)
	p.each(o["arches"], func(v value) { s.arches = append(s.arches, known[p.word(v, "arches", known)]) })
	p.each(o["caps"], func(v value) {
		s.caps = true
		if v.kind != isText || !strings.HasPrefix(v.text, "CAP_") {
			p.fail(v.at, "caps: want the name of a capability, CAP_…")
		}
	})
	s.minKernel = p.minKernel(o["minKernel"])
	return s
}

// minKernel reads "4.8".
func (p *parser) minKernel(m *member) Kernel {
	if m == nil {
		return Kernel{}
	}
	major, minor, ok := strings.Cut(m.text, ".")
	k, err1 := strconv.ParseUint(major, 10, 8)
	n, err2 := strconv.ParseUint(minor, 10, 8)
	if m.kind != isText || !ok || err1 != nil || err2 != nil || k == 0 {
		p.fail(m.value.at, `minKernel: want a version of Linux, such as "4.8"`)
	}
	return Kernel{k, n}
}
