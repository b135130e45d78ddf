package seccomp

import (
	"slices"
	"strconv"
	"strings"
)

// File is a filter that somebody wrote: rules in the JSON form of the OCI
// runtime specification, with what Docker and Podman add to it. It comes on top
// of the filters of [Filter], never in their place; the kernel takes the
// stricter verdict.
//
//   - All args of a rule have to match, as unsigned 64-bit numbers. When two of
//     them look at the same argument, any one of the rule's args is enough: so
//     runc and crun have it.
//   - Of several rules that match a call the strictest counts, wherever it
//     stands: kill the process, kill the thread, trap, errno, log, allow; of two
//     errnos the first. No rule opens what another one closes.
//   - Where none matches, defaultAction is taken. When that is an errno, the
//     calls newer than all that the file names answer ENOSYS, as with runc: C
//     libraries take any other errno for a failure.
//   - Calls by another architecture's numbers kill the process and x32 numbers
//     are refused, whatever architectures and archMap say: the list of names is
//     looked up for one architecture only.
//   - The command has no capabilities: includes.caps never holds, and
//     excludes.caps excludes nothing.
//
// The zero value is not of use; see [ParseFile].
type File struct {
	// Kernel is the version of the running kernel, which rules may depend on
	// (minKernel).
	Kernel Kernel

	// WholeProcess makes KILL_THREAD end the process, too. A Go program that
	// executes the command by one thread of several needs it: of a process whose
	// threads are not all dead nobody sees the end.
	WholeProcess bool

	name  string
	rules []rule
	base  uint32 // the return value where no rule matches
	notes []string
}

// Feigns reports whether the file answers some call with errno 0: the caller
// takes it for made.
func (f *File) Feigns() bool {
	return f.base == retErrno || slices.ContainsFunc(f.rules, func(r rule) bool { return r.ret == retErrno })
}

// Kernel is a version of Linux; the zero value is an unknown one.
type Kernel struct{ Major, Minor uint64 }

// ParseKernel reads the version out of what uname(2) calls the release,
// "6.1.0-18-amd64".
func ParseKernel(release string) (Kernel, bool) {
	major, rest, _ := strings.Cut(release, ".")
	end := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
	if end >= 0 {
		rest = rest[:end]
	}
	k, err1 := strconv.ParseUint(major, 10, 16)
	m, err2 := strconv.ParseUint(rest, 10, 16)
	return Kernel{k, m}, err1 == nil && err2 == nil && k > 0
}

func (k Kernel) less(o Kernel) bool {
	return k.Major < o.Major || k.Major == o.Major && k.Minor < o.Minor
}

// rule is one element of syscalls.
type rule struct {
	calls    []int // indexes into names
	ret      uint32
	conds    []cond
	includes scopes
	excludes scopes
}

// cond looks at one argument: op compares all 64 bits with value.
type cond struct {
	arg   uint32
	op    op
	value uint64
	mask  uint64 // of maskedEQ
}

type op uint8

const (
	opNE op = iota
	opLT
	opLE
	opEQ
	opGE
	opGT
	maskedEQ
)

var opNames = [...]string{
	opNE: "SCMP_CMP_NE", opLT: "SCMP_CMP_LT", opLE: "SCMP_CMP_LE", opEQ: "SCMP_CMP_EQ",
	opGE: "SCMP_CMP_GE", opGT: "SCMP_CMP_GT", maskedEQ: "SCMP_CMP_MASKED_EQ",
}

// scopes say where a rule counts.
type scopes struct {
	arches    []string
	caps      bool // some capability is named
	minKernel Kernel
}

// Return values beside those in program.go, seccomp(2).
const (
	retKillThread = 0x00000000
	retTrap       = 0x00030000
	retLog        = 0x7ffc0000
	retAction     = 0xffff0000 // SECCOMP_RET_ACTION_FULL
	maxErrno      = 4095       // MAX_ERRNO
	errnoEPERM    = 1
	errnoENOSYS   = 38
)

var actionNames = []string{
	"SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO", "SCMP_ACT_KILL", "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_KILL_THREAD", "SCMP_ACT_LOG", "SCMP_ACT_TRAP",
}

// archNames are libseccomp's names of architectures and what rules call them.
var archNames = [...][2]string{
	{"SCMP_ARCH_NATIVE", ""},
	{"SCMP_ARCH_X86", "x86"},
	{"SCMP_ARCH_X86_64", "amd64"},
	{"SCMP_ARCH_X32", "x32"},
	{"SCMP_ARCH_ARM", "arm"},
	{"SCMP_ARCH_AARCH64", "arm64"},
	{"SCMP_ARCH_LOONGARCH64", "loong64"},
	{"SCMP_ARCH_LOONGARCH64", "loongarch64"},
	{"SCMP_ARCH_M68K", "m68k"},
	{"SCMP_ARCH_MIPS", "mips"},
	{"SCMP_ARCH_MIPS64", "mips64"},
	{"SCMP_ARCH_MIPS64N32", "mips64n32"},
	{"SCMP_ARCH_MIPSEL", "mipsel"},
	{"SCMP_ARCH_MIPSEL64", "mipsel64"},
	{"SCMP_ARCH_MIPSEL64N32", "mipsel64n32"},
	{"SCMP_ARCH_MIPSEL64N32", "mips3l64n32"},
	{"SCMP_ARCH_PARISC", "parisc"},
	{"SCMP_ARCH_PARISC64", "parisc64"},
	{"SCMP_ARCH_PPC", "ppc"},
	{"SCMP_ARCH_PPC64", "ppc64"},
	{"SCMP_ARCH_PPC64LE", "ppc64le"},
	{"SCMP_ARCH_RISCV64", "riscv64"},
	{"SCMP_ARCH_S390", "s390"},
	{"SCMP_ARCH_S390X", "s390x"},
	{"SCMP_ARCH_SH", "sh"},
	{"SCMP_ARCH_SHEB", "sheb"},
}

// archList returns one column of archNames.
func archList(column int) []string {
	var out []string
	for _, a := range archNames {
		if a[column] != "" {
			out = append(out, a[column])
		}
	}
	return slices.Compact(out)
}

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

// Name is the file's name as it was given.
func (f *File) Name() string { return f.name }

// Rules is the number of rules in the file, those for other machines included.
func (f *File) Rules() int { return len(f.rules) }

// Notes say what the file asks for in vain, one line each. It is nothing that
// would make the filter looser.
func (f *File) Notes() []string { return f.notes }

type parser struct {
	reader
	f *File
}

// field reads one key of an object.
type field struct {
	key  string
	read func(m member) error
}

// object reads an object of known keys. Unknown ones are refused: what they say
// would be left out of the filter without a word. A null is as good as no key.
func (p *parser) object(v value, what string, fields ...field) error {
	if v.kind != isObject {
		return p.wrong(v, what, "an object")
	}
	for _, m := range v.keys {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == m.key })
		if i < 0 {
			known := make([]string, len(fields))
			for i, f := range fields {
				known[i] = f.key
			}
			err := p.errorf(m.at, "unknown key %s", short(m.key))
			err.Word, err.Known = m.key, known
			return err
		}
		if m.kind == isNull {
			continue
		}
		if err := fields[i].read(m); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) wrong(v value, what, want string) error {
	return p.errorf(v.at, "%s: want %s, got %s", what, want, v.kind)
}

func (p *parser) file(root value) error {
	var action, errnoRet, errno, architectures, archMap, syscalls *member
	keep := func(to **member) func(member) error {
		return func(m member) error { *to = &m; return nil }
	}
	err := p.object(root, "the filter",
		field{"defaultAction", keep(&action)},
		field{"defaultErrnoRet", keep(&errnoRet)},
		field{"defaultErrno", keep(&errno)},
		field{"architectures", keep(&architectures)},
		field{"archMap", keep(&archMap)},
		field{"flags", p.flags},
		field{"listenerPath", p.listener},
		field{"listenerMetadata", p.listener},
		field{"syscalls", keep(&syscalls)})
	if err != nil {
		return err
	}
	if action == nil {
		return p.errorf(root.at, "defaultAction is missing")
	}
	if architectures != nil && archMap != nil {
		return p.errorf(archMap.at, "architectures and archMap contradict each other: write one of them")
	}
	if err := p.architectures(architectures, archMap); err != nil {
		return err
	}
	if p.f.base, err = p.action(action, errnoRet, errno); err != nil {
		return err
	}
	if syscalls == nil {
		return nil
	}
	return p.each(syscalls, func(v value) error { return p.rule(v) })
}

// each reads the elements of a list.
func (p *parser) each(m *member, read func(v value) error) error {
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

// word reads a string that has to be one of the known ones.
func (p *parser) word(v value, what string, known []string) error {
	if v.kind != isText {
		return p.wrong(v, what, "a string")
	}
	if slices.Contains(known, v.text) {
		return nil
	}
	err := p.errorf(v.at, "%s: %s is not known", what, short(v.text))
	err.Word, err.Known = v.text, known
	return err
}

// whole reads a whole number.
func (p *parser) whole(m member, high uint64) (uint64, error) {
	if m.kind != isNumber {
		return 0, p.wrong(m.value, m.key, "a whole number")
	}
	n, err := strconv.ParseUint(m.text, 10, 64)
	if err != nil || n > high {
		return 0, p.errorf(m.value.at, "%s: want a whole number from 0 to %d, got %s", m.key, high, cut(m.text))
	}
	return n, nil
}

// architectures checks the names and leaves it at that: a filter is made for
// one architecture, and calls of all others are refused.
func (p *parser) architectures(list, archMap *member) error {
	known := archList(0)
	name := func(what string) func(value) error {
		return func(v value) error { return p.word(v, what, known) }
	}
	if list != nil {
		if err := p.each(list, name("architectures")); err != nil {
			return err
		}
	}
	if archMap == nil {
		return nil
	}
	return p.each(archMap, func(v value) error {
		return p.object(v, "archMap",
			field{"architecture", func(m member) error { return p.word(m.value, m.key, known) }},
			field{"subArchitectures", func(m member) error { return p.each(&m, name(m.key)) }})
	})
}

// flags knows the flags of seccomp(2). What they ask for is left out where that
// loosens nothing.
func (p *parser) flags(m member) error {
	const tsync, spec, log, wait = "SECCOMP_FILTER_FLAG_TSYNC", "SECCOMP_FILTER_FLAG_SPEC_ALLOW", "SECCOMP_FILTER_FLAG_LOG", "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"
	return p.each(&m, func(v value) error {
		if err := p.word(v, "flags", []string{tsync, spec, log, wait}); err != nil {
			return err
		}
		switch v.text {
		case wait:
			return p.errorf(v.at, "flags: %s is for SCMP_ACT_NOTIFY, which needs a supervisor outside of the sandbox, and there is none", v.text)
		case log:
			p.f.notes = append(p.f.notes, "flag "+v.text+" is not used: what is refused is not logged")
		case spec:
			p.f.notes = append(p.f.notes, "flag "+v.text+" is not used: the mitigation of speculative store bypass stays on")
		}
		return nil // and TSYNC is for the other threads, of which there are none
	})
}

func (p *parser) listener(m member) error {
	if m.kind != isText {
		return p.wrong(m.value, m.key, "a string")
	}
	if m.text != "" {
		return p.errorf(m.at, "%s is for SCMP_ACT_NOTIFY, which needs a supervisor outside of the sandbox, and there is none", m.key)
	}
	return nil
}

// action reads an action with its errno, which can be a number, a name (as
// Podman has it), or both when they agree.
func (p *parser) action(action, errnoRet, errno *member) (uint32, error) {
	if action.kind == isText && (action.text == "SCMP_ACT_TRACE" || action.text == "SCMP_ACT_NOTIFY") {
		return 0, p.errorf(action.value.at, "%s: %s needs a supervisor outside of the sandbox, and there is none: use SCMP_ACT_ERRNO or SCMP_ACT_LOG", action.key, action.text)
	}
	if err := p.word(action.value, action.key, actionNames); err != nil {
		return 0, err
	}
	n := uint64(errnoEPERM)
	if errno != nil && errno.kind == isText && errno.text == "" {
		errno = nil
	}
	for _, m := range []*member{errnoRet, errno} {
		if m != nil && action.text != "SCMP_ACT_ERRNO" {
			return 0, p.errorf(m.at, "%s goes with SCMP_ACT_ERRNO, not with %s", m.key, action.text)
		}
	}
	if errnoRet != nil {
		var err error
		if n, err = p.whole(*errnoRet, maxErrno); err != nil {
			return 0, err
		}
	}
	if errno != nil {
		named, err := p.errno(*errno)
		if err != nil {
			return 0, err
		}
		if errnoRet != nil && n != named {
			return 0, p.errorf(errno.at, "%s and %s contradict each other", errnoRet.key, errno.key)
		}
		n = named
	}
	switch action.text {
	case "SCMP_ACT_ALLOW":
		return retAllow, nil
	case "SCMP_ACT_LOG":
		return retLog, nil
	case "SCMP_ACT_ERRNO":
		return retErrno | uint32(n), nil
	case "SCMP_ACT_TRAP":
		return retTrap, nil
	case "SCMP_ACT_KILL", "SCMP_ACT_KILL_THREAD":
		return retKillThread, nil
	}
	return retKill, nil
}

// errno reads the name of an error, or its number in quotes.
func (p *parser) errno(m member) (uint64, error) {
	if m.kind != isText {
		return 0, p.wrong(m.value, m.key, "the name of an error")
	}
	if n, err := strconv.ParseUint(m.text, 10, 64); err == nil && n <= maxErrno {
		return n, nil
	}
	if n := errnoNumber(m.text); n > 0 {
		return uint64(n), nil
	}
	err := p.errorf(m.value.at, "%s: %s is no name of an error", m.key, short(m.text))
	err.Word, err.Known = m.text, errnoNames[1:]
	return 0, err
}

func (p *parser) rule(v value) error {
	var r rule
	var one, many, action, errnoRet, errno, args *member
	keep := func(to **member) func(member) error {
		return func(m member) error { *to = &m; return nil }
	}
	err := p.object(v, "syscalls",
		field{"names", keep(&many)},
		field{"name", keep(&one)},
		field{"action", keep(&action)},
		field{"errnoRet", keep(&errnoRet)},
		field{"errno", keep(&errno)},
		field{"args", keep(&args)},
		field{"comment", p.comment},
		field{"includes", p.scopes(&r.includes)},
		field{"excludes", p.scopes(&r.excludes)})
	switch {
	case err != nil:
		return err
	case one != nil && many != nil:
		return p.errorf(one.at, "name and names contradict each other: write one of them")
	case one != nil:
		err = p.call(&r, one.value)
	case many != nil:
		err = p.each(many, func(v value) error { return p.call(&r, v) })
	}
	if err != nil {
		return err
	}
	if len(r.calls) == 0 {
		return p.errorf(v.at, "this rule has no names, so it is about no call")
	}
	if action == nil {
		return p.errorf(v.at, "action is missing")
	}
	if r.ret, err = p.action(action, errnoRet, errno); err != nil {
		return err
	}
	if args != nil {
		if err := p.each(args, func(v value) error { return p.arg(&r, v) }); err != nil {
			return err
		}
	}
	p.f.rules = append(p.f.rules, r)
	return nil
}

func (p *parser) comment(m member) error {
	if m.kind != isText {
		return p.wrong(m.value, m.key, "a string")
	}
	return nil
}

// call adds a call to a rule. The name may be one that only other architectures
// have, or other versions of the kernel, but not one that nobody knows: a typing
// error in a deny-list would leave open what it is to close.
func (p *parser) call(r *rule, v value) error {
	if v.kind != isText {
		return p.wrong(v, "names", "a string")
	}
	i, ok := findName(v.text)
	if !ok {
		err := p.errorf(v.at, "%s is no system call", short(v.text))
		err.Word = v.text
		for _, n := range names {
			err.Known = append(err.Known, n.name)
		}
		return err
	}
	r.calls = append(r.calls, i)
	return nil
}

func findName(name string) (int, bool) {
	return slices.BinarySearchFunc(names[:], name, func(n syscallName, name string) int { return strings.Compare(n.name, name) })
}

func (p *parser) arg(r *rule, v value) error {
	const all = 1<<64 - 1
	var c cond
	var second uint64
	var index, value, valueTwo, operator *member
	number := func(to *uint64, seen **member, high uint64) func(member) error {
		return func(m member) (err error) {
			*to, err = p.whole(m, high)
			*seen = &m
			return err
		}
	}
	var arg uint64
	err := p.object(v, "args",
		field{"index", number(&arg, &index, 5)},
		field{"value", number(&c.value, &value, all)},
		field{"valueTwo", number(&second, &valueTwo, all)},
		field{"op", func(m member) error {
			operator = &m
			return p.word(m.value, m.key, opNames[:])
		}})
	if err != nil {
		return err
	}
	for _, f := range []struct {
		key string
		m   *member
	}{{"index", index}, {"value", value}, {"op", operator}} {
		if f.m == nil {
			return p.errorf(v.at, "args: %s is missing", f.key)
		}
	}
	c.arg, c.op = uint32(arg), op(slices.Index(opNames[:], operator.text))
	switch {
	case c.op == maskedEQ:
		c.mask, c.value = c.value, second
		if c.value&^c.mask != 0 {
			return p.errorf(valueTwo.value.at, "valueTwo has bits that value, the mask, has not: this can never match")
		}
	case second != 0:
		return p.errorf(valueTwo.at, "valueTwo goes with SCMP_CMP_MASKED_EQ, where value is the mask and valueTwo what is left of it")
	}
	r.conds = append(r.conds, c)
	return nil
}

func (p *parser) scopes(s *scopes) func(member) error {
	known := archList(1)
	return func(m member) error {
		return p.object(m.value, m.key,
			field{"arches", func(m member) error {
				return p.each(&m, func(v value) error {
					s.arches = append(s.arches, v.text)
					return p.word(v, m.key, known)
				})
			}},
			field{"caps", func(m member) error {
				return p.each(&m, func(v value) error {
					s.caps = true
					if v.kind != isText || !strings.HasPrefix(v.text, "CAP_") {
						return p.errorf(v.at, "caps: want the name of a capability, CAP_…")
					}
					return nil
				})
			}},
			field{"minKernel", func(m member) (err error) {
				s.minKernel, err = p.minKernel(m)
				return err
			}})
	}
}

// minKernel reads "4.8".
func (p *parser) minKernel(m member) (Kernel, error) {
	major, minor, ok := strings.Cut(m.text, ".")
	k, err1 := strconv.ParseUint(major, 10, 8)
	n, err2 := strconv.ParseUint(minor, 10, 8)
	if m.kind != isText || !ok || err1 != nil || err2 != nil || k == 0 {
		return Kernel{}, p.errorf(m.value.at, `minKernel: want a version of Linux, such as "4.8"`)
	}
	return Kernel{k, n}, nil
}

// cut bounds the length of a number that is shown.
func cut(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
