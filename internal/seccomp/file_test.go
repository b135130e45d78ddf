// SPDX-License-Identifier: Apache-2.0

package seccomp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/bpf"
)

func TestNames(t *testing.T) {
	if !slices.IsSortedFunc(syscalls[:], func(a, b call) int { return strings.Compare(a.name, b.name) }) {
		t.Error("the names are not sorted")
	}
	dir, err := xsysDir()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "unix", "zsysnum_linux_*.go"))
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		arch := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "zsysnum_linux_"), ".go")
		numbers, err := sysNumbers(arch)
		if err != nil {
			t.Fatal(err)
		}
		for name, n := range numbers {
			if name == "arch_specific_syscall" || name == "syscall_mask" || strings.HasPrefix(name, "reserved") ||
				strings.HasPrefix(name, "unused") {
				continue // placeholders
			}
			i, ok := findSyscall(name)
			if !ok {
				t.Errorf("%s of %s is missing", name, arch)
			} else if (arch == "amd64" || arch == "arm64") && uint32(syscalls[i].number(arch)) != n {
				t.Errorf("%s on %s: got %d, want %d", name, arch, syscalls[i].number(arch), n)
			}
		}
		for _, n := range syscalls {
			if _, ok := numbers[n.name]; !ok && (arch == "amd64" || arch == "arm64") && n.number(arch) != none {
				t.Errorf("%s on %s: got %d, want none", n.name, arch, n.number(arch))
			}
		}
	}
}

func TestErrnoNames(t *testing.T) {
	dir, err := xsysDir()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]uint32{}
	for _, file := range []string{"zerrors_linux.go", "zerrors_linux_amd64.go", "zerrors_linux_arm64.go"} {
		text, err := os.ReadFile(filepath.Join(dir, "unix", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(E[A-Z0-9]+) += syscall\.Errno\((0x[0-9a-f]+)\)`).FindAllStringSubmatch(string(text), -1) {
			n, err := strconv.ParseUint(m[2], 0, 32)
			if err != nil {
				t.Fatal(err)
			}
			want[m[1]] = uint32(n)
		}
	}
	if len(want) < 130 {
		t.Fatalf("only %d errors read", len(want))
	}
	for name, n := range want {
		if got := errnoNumber(name); got != n {
			t.Errorf("%s: got %d, want %d", name, got, n)
		}
	}
	for _, e := range errnos {
		if want[e.name] != e.number {
			t.Errorf("%s is %d", e.name, want[e.name])
		}
	}
	if errnoNumber("") != 0 || errnoNumber("EPREM") != 0 {
		t.Error("a name that there is not has a number")
	}
}

// rules1 is a filter with one element of syscalls.
func rules1(rule string) string {
	return `{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [` + rule + `]}`
}

func TestParseErrors(t *testing.T) {
	args := func(arg string) string {
		return rules1(`{"names": ["read"], "action": "SCMP_ACT_ERRNO", "args": [` + arg + `]}`)
	}
	tests := []struct{ name, text, want string }{
		{"nothing", "", "1:1: unexpected end of JSON input"},
		{"blanks", " \n ", "2:2: unexpected end of JSON input"},
		{"no JSON", "defaultAction: x", "1:1: want a value, got 'd'"},
		{"a list", "[]", "1:1: the filter: want an object, got a list"},
		{"another text", `"x"`, "1:1: the filter: want an object, got a string"},
		{"nothing in it", "{}", "1:1: defaultAction is missing"},
		{"half an object", `{"defaultAction"`, "1:17: unexpected end of JSON input"},
		{"half a text", `{"defaultAction": "SC`, "1:22: unexpected end of JSON input"},
		{"no comma", `{"a": 1 "b": 2}`, `1:9: want "," or "}", got '"'`},
		{"no quotes", `{a: 1}`, "1:2: want a key in quotes, got 'a'"},
		{"a comma too many", `{"a": 1,}`, "1:9: want a key in quotes, got '}'"},
		{"a comma too many in a list", `{"a": [1,]}`, "1:10: want a value, got ']'"},
		{"half a number", `{"a": 1.}`, "1:9: invalid character '}' after decimal point in numeric literal"},
		{"a zero first", `{"a": 01}`, `1:8: want "," or "}", got '1'`},
		{"a newline in a text", "{\"a\": \"\n\"}", `1:8: invalid character '\n' in string literal`},
		{"an escape", `{"a": "\x"}`, "1:9: invalid character 'x' in string escape code"},
		{"half a surrogate", `{"a": "\ud800"}`, "1:7: half a character: of these two have to stand together"},
		{"no text file", "{\"a\": \"\xff\"}", "1:8: byte 0xff: not a text file (UTF-8)"},
		{"a byte order mark", "\ufeff{}", "1:1: starts with a byte order mark: save it as plain UTF-8"},
		{"too deep", strings.Repeat("[", 20) + strings.Repeat("]", 20), "1:17: nested more than 16 levels deep"},
		{"too large", strings.Repeat(" ", maxFile+1), "1:1: larger than 1048576 bytes"},
		{"more after it", "{\"defaultAction\": \"SCMP_ACT_ALLOW\"}\n{}",
			"2:1: there is something after the end of the filter"},
		{"a key twice", "{\"defaultAction\": \"SCMP_ACT_ERRNO\",\n \"defaultAction\": \"SCMP_ACT_ALLOW\"}",
			`2:2: the key "defaultAction" stands there twice`},
		{"a key twice, once escaped", `{"a": 1, "\u0061": 2}`, `1:10: the key "a" stands there twice`},
		{"an unknown key", "{\n  \"defaultaction\": \"SCMP_ACT_ALLOW\"\n}", `2:3: unknown key "defaultaction"`},
		{"no action", `{"defaultAction": null}`, "1:1: defaultAction is missing"},
		{"an action of a wrong kind", `{"defaultAction": 1}`, "1:19: defaultAction: want a string, got a number"},
		{"an unknown action", `{"defaultAction": "SCMP_ACT_DENY"}`,
			`1:19: defaultAction: "SCMP_ACT_DENY" is not known`},
		{"trace", `{"defaultAction": "SCMP_ACT_TRACE"}`,
			"1:19: defaultAction: SCMP_ACT_TRACE needs a supervisor outside of the sandbox, and there is none: use SCMP_ACT_ERRNO or SCMP_ACT_LOG"},
		{"notify", rules1(`{"names": ["read"], "action": "SCMP_ACT_NOTIFY"}`),
			"1:80: action: SCMP_ACT_NOTIFY needs a supervisor outside of the sandbox, and there is none: use SCMP_ACT_ERRNO or SCMP_ACT_LOG"},
		{"a listener", `{"defaultAction": "SCMP_ACT_ALLOW", "listenerPath": "/run/x"}`,
			"1:37: listenerPath is for SCMP_ACT_NOTIFY, which needs a supervisor outside of the sandbox, and there is none"},
		{"a listener of a wrong kind", `{"defaultAction": "SCMP_ACT_ALLOW", "listenerMetadata": {}}`,
			"1:57: listenerMetadata: want a string, got an object"},
		{"an unknown flag", `{"defaultAction": "SCMP_ACT_ALLOW", "flags": ["SECCOMP_FILTER_FLAG_NEW_LISTENER"]}`,
			`1:47: flags: "SECCOMP_FILTER_FLAG_NEW_LISTENER" is not known`},
		{"a flag for a supervisor", `{"defaultAction": "SCMP_ACT_ALLOW", "flags": ["SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"]}`, "1:47: flags: SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV is for SCMP_ACT_NOTIFY, which needs a supervisor outside of the sandbox, and there is none"},
		{"an errno too large", `{"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 4096}`,
			"1:56: defaultErrnoRet: want a whole number from 0 to 4095, got 4096"},
		{"an errno below 0", `{"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": -1}`,
			"1:56: defaultErrnoRet: want a whole number from 0 to 4095, got -1"},
		{"an errno in quotes", `{"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": "1"}`,
			"1:56: defaultErrnoRet: want a whole number, got a string"},
		{"an unknown errno", `{"defaultAction": "SCMP_ACT_ERRNO", "defaultErrno": "EPREM"}`,
			`1:53: defaultErrno: "EPREM" is not the name of an error`},
		{"two errnos", `{"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 1, "defaultErrno": "ENOSYS"}`,
			"1:59: defaultErrnoRet and defaultErrno contradict each other"},
		{"an errno for nothing", `{"defaultAction": "SCMP_ACT_KILL", "defaultErrnoRet": 1}`,
			"1:36: defaultErrnoRet goes with SCMP_ACT_ERRNO, not with SCMP_ACT_KILL"},
		{"an architecture", `{"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["amd64"]}`,
			`1:55: architectures: "amd64" is not known`},
		{"a map of architectures", `{"defaultAction": "SCMP_ACT_ALLOW", "archMap": [{"architecture": "SCMP_ARCH_X8664"}]}`, `1:66: architecture: "SCMP_ARCH_X8664" is not known`},
		{"architectures twice", `{"defaultAction": "SCMP_ACT_ALLOW", "architectures": [], "archMap": []}`,
			"1:58: architectures and archMap contradict each other: write one of them"},
		{"no list of calls", `{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": {}}`,
			"1:49: syscalls: want a list, got an object"},
		{"no rule", rules1("1"), "1:50: syscalls: want an object, got a number"},
		{"no names", rules1(`{"action": "SCMP_ACT_KILL"}`), "1:50: this rule has no names, so it is about no call"},
		{"an empty list of names", rules1(`{"names": [], "action": "SCMP_ACT_KILL"}`),
			"1:50: this rule has no names, so it is about no call"},
		{"name and names", rules1(`{"name": "read", "names": ["read"], "action": "SCMP_ACT_KILL"}`),
			"1:51: name and names contradict each other: write one of them"},
		{"an unknown name", rules1("{\n\"names\": [\"read\",\n \"wriet\"], \"action\": \"SCMP_ACT_KILL\"}"),
			`3:2: "wriet" is not a system call`},
		{"a name in capitals", rules1(`{"names": ["READ"], "action": "SCMP_ACT_KILL"}`),
			`1:61: "READ" is not a system call`},
		{"a name of a wrong kind", rules1(`{"names": [0], "action": "SCMP_ACT_KILL"}`),
			"1:61: names: want a string, got a number"},
		{"no action in a rule", rules1(`{"names": ["read"]}`), "1:50: action is missing"},
		{"an unknown key in a rule", rules1(`{"names": ["read"], "acton": "SCMP_ACT_KILL"}`),
			`1:70: unknown key "acton"`},
		{"a comment", rules1(`{"names": ["read"], "action": "SCMP_ACT_KILL", "comment": 1}`),
			"1:108: comment: want a string, got a number"},
		{"an index", args(`{"index": 6, "value": 1, "op": "SCMP_CMP_EQ"}`),
			"1:117: index: want a whole number from 0 to 5, got 6"},
		{"no index", args(`{"value": 1, "op": "SCMP_CMP_EQ"}`), "1:107: args: index is missing"},
		{"no value", args(`{"index": 1, "op": "SCMP_CMP_EQ"}`), "1:107: args: value is missing"},
		{"no op", args(`{"index": 1, "value": 2}`), "1:107: args: op is missing"},
		{"an unknown op", args(`{"index": 1, "value": 2, "op": "SCMP_CMP_NEQ"}`),
			`1:138: op: "SCMP_CMP_NEQ" is not known`},
		{"a value too large", args(`{"index": 1, "value": 18446744073709551616, "op": "SCMP_CMP_EQ"}`),
			"1:129: value: want a whole number from 0 to 18446744073709551615, got 18446744073709551616"},
		{"a value with a fraction", args(`{"index": 1, "value": 1e3, "op": "SCMP_CMP_EQ"}`),
			"1:129: value: want a whole number from 0 to 18446744073709551615, got 1e3"},
		{"a second value for nothing", args(`{"index": 1, "value": 1, "valueTwo": 2, "op": "SCMP_CMP_EQ"}`),
			"1:132: valueTwo goes with SCMP_CMP_MASKED_EQ, where value is the mask and valueTwo what is left of it"},
		{"more bits than the mask", args(`{"index": 1, "value": 1, "valueTwo": 2, "op": "SCMP_CMP_MASKED_EQ"}`),
			"1:144: valueTwo has bits that value, the mask, has not: this can never match"},
		{"an arch", rules1(`{"names": ["read"], "action": "SCMP_ACT_KILL", "includes": {"arches": ["x86_64"]}}`),
			`1:121: arches: "x86_64" is not known`},
		{"a capability", rules1(`{"names": ["read"], "action": "SCMP_ACT_KILL", "excludes": {"caps": ["SYS_ADMIN"]}}`),
			"1:119: caps: want the name of a capability, CAP_…"},
		{"a kernel", rules1(`{"names": ["read"], "action": "SCMP_ACT_KILL", "includes": {"minKernel": "4.8.1"}}`),
			`1:123: minKernel: want a version of Linux, such as "4.8"`},
		{"a kernel as a number", rules1(`{"names": ["read"], "action": "SCMP_ACT_KILL", "includes": {"minKernel": 4.8}}`), `1:123: minKernel: want a version of Linux, such as "4.8"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := ParseFile("f.json", []byte(tt.text))
			var fe *FileError
			if f != nil || !errors.As(err, &fe) {
				t.Fatalf("got %v, %v", f, err)
			}
			if got := err.Error(); got != "f.json:"+tt.want {
				t.Errorf("got  %s\nwant f.json:%s", got, tt.want)
			}
			if (fe.Word != "") != (len(fe.Known) > 0) || slices.Contains(fe.Known, fe.Word) {
				t.Errorf("%q is not one of %q", fe.Word, fe.Known)
			}
		})
	}
}

// oracle reads a file with encoding/json and says, in the plainest way, what
// becomes of a call: the strictest of all that match.
type oracle struct {
	DefaultAction   string
	DefaultErrnoRet *uint32
	Syscalls        []struct {
		Names    []string
		Name     string
		Action   string
		ErrnoRet *uint32
		Args     []struct {
			Index           int
			Value, ValueTwo uint64
			Op              string
		}
		Includes, Excludes struct {
			Arches, Caps []string
			MinKernel    string
		}
	}
	kernel  float64 // 6.1
	numbers map[string]map[string]uint32
}

func newOracle(t *testing.T, text []byte) *oracle {
	t.Helper()
	o := &oracle{kernel: 6.1, numbers: map[string]map[string]uint32{}}
	if err := json.Unmarshal(text, o); err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		n, err := sysNumbers(arch)
		if err != nil {
			t.Fatal(err)
		}
		o.numbers[arch] = n
	}
	return o
}

// strictness, the strictest first.
var strictness = []string{"KILL_PROCESS", "KILL_THREAD", "TRAP", "ERRNO", "LOG", "ALLOW"}

func outcome(action string, errno *uint32) string {
	action = strings.TrimPrefix(action, "SCMP_ACT_")
	switch {
	case action == "KILL":
		return "KILL_THREAD"
	case action == "ERRNO" && errno == nil:
		return "ERRNO 1"
	case action == "ERRNO":
		return fmt.Sprint("ERRNO ", *errno)
	}
	return action
}

func rank(outcome string) int {
	word, _, _ := strings.Cut(outcome, " ")
	return slices.Index(strictness, word)
}

func (o *oracle) decide(arch string, number uint32, args [6]uint64) string {
	usual := outcome(o.DefaultAction, o.DefaultErrnoRet)
	if arch == "amd64" && number >= 512 {
		if rank(usual) < rank("ERRNO 38") {
			return usual
		}
		return "ERRNO 38"
	}
	best, newer, some := "", true, false
	for _, r := range o.Syscalls {
		if !o.counts(arch, r.Includes.Arches, r.Includes.Caps, r.Includes.MinKernel, r.Excludes.Arches,
			r.Excludes.MinKernel) {
			continue
		}
		about := false
		for _, name := range append(slices.Clone(r.Names), r.Name) {
			n, ok := o.numbers[arch][name]
			about = about || ok && n == number
			newer = newer && !(ok && n >= number)
			some = some || ok
		}
		if !about {
			continue
		}
		hits, seen, repeated := 0, map[int]bool{}, false
		for _, a := range r.Args {
			if compare(args[a.Index], a.Op, a.Value, a.ValueTwo) {
				hits++
			}
			repeated = repeated || seen[a.Index]
			seen[a.Index] = true
		}
		match := hits == len(r.Args) || repeated && hits > 0
		if got := outcome(r.Action, r.ErrnoRet); match && (best == "" || rank(got) < rank(best)) {
			best = got
		}
	}
	switch {
	case best != "":
		return best
	case newer && some && rank(usual) == rank("ERRNO"):
		return "ERRNO 38"
	}
	return usual
}

func (o *oracle) counts(arch string, inArch, inCaps []string, inKernel string, exArch []string, exKernel string) bool {
	older := func(version string) bool {
		var major, minor int
		if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
			panic(err)
		}
		return major > 6 || major == 6 && minor > 1
	}
	if slices.Contains(exArch, arch) || len(inArch) > 0 && !slices.Contains(inArch, arch) || len(inCaps) > 0 {
		return false
	}
	return (inKernel == "" || !older(inKernel)) && (exKernel == "" || older(exKernel))
}

func compare(arg uint64, op string, value, two uint64) bool {
	switch strings.TrimPrefix(op, "SCMP_CMP_") {
	case "NE":
		return arg != value
	case "LT":
		return arg < value
	case "LE":
		return arg <= value
	case "EQ":
		return arg == value
	case "GE":
		return arg >= value
	case "GT":
		return arg > value
	case "MASKED_EQ":
		return arg&value == two
	}
	panic(op)
}

// spell spells a return value as the oracle does.
func spell(ret uint32) string {
	switch ret & 0xffff0000 {
	case 0x80000000:
		return "KILL_PROCESS"
	case 0:
		return "KILL_THREAD"
	case 0x00030000:
		return "TRAP"
	case 0x00050000:
		return fmt.Sprint("ERRNO ", ret&0xffff)
	case 0x7ffc0000:
		return "LOG"
	case 0x7fff0000:
		return "ALLOW"
	}
	return fmt.Sprintf("%#x", ret)
}

func fileMachine(t *testing.T, f *File, arch string) machine {
	t.Helper()
	ops, err := f.program(arch)
	if err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(ops)
	if err != nil {
		t.Fatal(err)
	}
	return machine{vm}
}

// agree compares a file's programs with the oracle, for every number and for
// argument words around those that the file compares with.
func agree(t *testing.T, text []byte, words int, rnd *rand.Rand) {
	t.Helper()
	f, err := ParseFile("f.json", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	f.Kernel = Kernel{6, 1}
	o := newOracle(t, text)
	pool := []uint64{0, 1, 1 << 31, 1 << 32, 1<<64 - 1}
	for _, r := range o.Syscalls {
		for _, a := range r.Args {
			for _, v := range []uint64{a.Value, a.ValueTwo} {
				pool = append(pool, v, v-1, v+1, v^1<<32, v|high, v&0xffffffff, v<<32)
			}
		}
	}
	for arch, foreign := range map[string]uint32{"amd64": 0xc00000b7, "arm64": 0x40000003} {
		vm := fileMachine(t, f, arch)
		if got := spell(vm.run(t, foreign, 0)); got != "KILL_PROCESS" {
			t.Errorf("%s: a foreign call: %s", arch, got)
		}
		for n := range uint32(560) {
			for range words {
				var args [6]uint64
				for i := range args {
					args[i] = pool[rnd.IntN(len(pool))]
				}
				if got, want := spell(vm.run(t, audit(arch), n, args[:]...)), o.decide(arch, n, args); got != want {
					t.Fatalf("%s: call %d with %#x: got %s, want %s\n%s", arch, n, args, got, want, text)
				}
			}
		}
		for _, n := range []uint32{1 << 30, 1<<30 | 514, 1<<31 - 1, 1<<32 - 1} {
			if got, want := spell(vm.run(t, audit(arch), n, 0)), o.decide(arch, n, [6]uint64{}); got != want {
				t.Errorf("%s: call %#x: got %s, want %s", arch, n, got, want)
			}
		}
	}
}

func TestSemantics(t *testing.T) {
	const read, write = `{"names": ["read"]`, `{"names": ["write"]`
	eq := func(index int, value string) string {
		return fmt.Sprintf(`{"index": %d, "value": %s, "op": "SCMP_CMP_EQ"}`, index, value)
	}
	type tc struct {
		name, rules string
		number      uint32 // amd64: read is 0
		args        []uint64
		want        string
	}
	tests := []tc{
		{"the default", "", 0, nil, "ERRNO 1"},
		{"a rule", read + `, "action": "SCMP_ACT_ALLOW"}`, 0, nil, "ALLOW"},
		{"newer than all that is named", read + `, "action": "SCMP_ACT_ALLOW"}`, 1, nil, "ERRNO 38"},
		{"older than one that is named", write + `, "action": "SCMP_ACT_ALLOW"}`, 0, nil, "ERRNO 1"},
		{"kill is of the thread", read + `, "action": "SCMP_ACT_KILL"}`, 0, nil, "KILL_THREAD"},
		{"log", read + `, "action": "SCMP_ACT_LOG"}`, 0, nil, "LOG"},
		{"trap", read + `, "action": "SCMP_ACT_TRAP"}`, 0, nil, "TRAP"},
		{"errno 0", read + `, "action": "SCMP_ACT_ERRNO", "errnoRet": 0}`, 0, nil, "ERRNO 0"},
		{"errno by name", read + `, "action": "SCMP_ACT_ERRNO", "errno": "ENOSYS"}`, 0, nil, "ERRNO 38"},
		{"errno twice", read + `, "action": "SCMP_ACT_ERRNO", "errno": "ENOSYS", "errnoRet": 38}`, 0, nil, "ERRNO 38"},
		{"the stricter one first", read + `, "action": "SCMP_ACT_KILL_PROCESS"}, ` + read +
			`, "action": "SCMP_ACT_ALLOW"}`, 0, nil, "KILL_PROCESS"},
		{"the stricter one last", read + `, "action": "SCMP_ACT_ALLOW"}, ` + read +
			`, "action": "SCMP_ACT_KILL_PROCESS"}`, 0, nil, "KILL_PROCESS"},
		{"an allow without conditions opens no other", read + `, "action": "SCMP_ACT_ERRNO", "errnoRet": 5, "args": [` +
			eq(0, "7") + `]}, ` + read + `, "action": "SCMP_ACT_ALLOW"}`, 0, []uint64{7}, "ERRNO 5"},
		{"and where it does not hold", read + `, "action": "SCMP_ACT_ERRNO", "errnoRet": 5, "args": [` + eq(0, "7") +
			`]}, ` + read + `, "action": "SCMP_ACT_ALLOW"}`, 0, []uint64{8}, "ALLOW"},
		{"the first errno", read + `, "action": "SCMP_ACT_ERRNO", "errnoRet": 5}, ` + read +
			`, "action": "SCMP_ACT_ERRNO", "errnoRet": 6}`, 0, nil, "ERRNO 5"},
		{"the first errno, with and without conditions", read + `, "action": "SCMP_ACT_ERRNO", "errnoRet": 5}, ` +
			read + `, "action": "SCMP_ACT_ERRNO", "errnoRet": 6, "args": [` + eq(0, "7") + `]}`, 0, []uint64{7},
			"ERRNO 5"},
		{"both conditions", read + `, "action": "SCMP_ACT_ALLOW", "args": [` + eq(0, "7") + `, ` + eq(1, "8") + `]}`, 0,
			[]uint64{7, 8}, "ALLOW"},
		{"one of two conditions", read + `, "action": "SCMP_ACT_ALLOW", "args": [` + eq(0, "7") + `, ` + eq(1, "8") +
			`]}`, 0, []uint64{7, 9}, "ERRNO 1"},
		{"one argument twice", read + `, "action": "SCMP_ACT_ALLOW", "args": [` + eq(0, "7") + `, ` + eq(0, "8") + `]}`,
			0, []uint64{8}, "ALLOW"},
		{"one argument twice, and another", read + `, "action": "SCMP_ACT_ALLOW", "args": [` + eq(0, "7") + `, ` +
			eq(0, "8") + `, ` + eq(1, "9") + `]}`, 0, []uint64{1, 9}, "ALLOW"},
		{"all 64 bits", read + `, "action": "SCMP_ACT_ALLOW", "args": [` + eq(0, "7") + `]}`, 0, []uint64{1<<32 | 7},
			"ERRNO 1"},
		{"a large value", read + `, "action": "SCMP_ACT_ALLOW", "args": [` + eq(5, "18446744073709551615") + `]}`, 0,
			[]uint64{0, 0, 0, 0, 0, 1<<64 - 1}, "ALLOW"},
		{"unsigned", read + `, "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_GT"}]}`, 0,
			[]uint64{1 << 63}, "ALLOW"},
		{"another architecture", read + `, "action": "SCMP_ACT_ALLOW", "includes": {"arches": ["arm64"]}}`, 0, nil,
			"ERRNO 1"},
		{"this architecture", read + `, "action": "SCMP_ACT_ALLOW", "includes": {"arches": ["arm64", "amd64"]}}`, 0,
			nil, "ALLOW"},
		{"not this architecture", read + `, "action": "SCMP_ACT_ALLOW", "excludes": {"arches": ["amd64"]}}`, 0, nil,
			"ERRNO 1"},
		{"a capability", read + `, "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_ADMIN"]}}`, 0, nil,
			"ERRNO 1"},
		{"no capability", read + `, "action": "SCMP_ACT_ALLOW", "excludes": {"caps": ["CAP_SYS_ADMIN"]}}`, 0, nil,
			"ALLOW"},
		{"an older kernel", read + `, "action": "SCMP_ACT_ALLOW", "includes": {"minKernel": "6.1"}}`, 0, nil, "ALLOW"},
		{"a newer kernel", read + `, "action": "SCMP_ACT_ALLOW", "includes": {"minKernel": "6.2"}}`, 0, nil, "ERRNO 1"},
		{"not from a kernel on", read + `, "action": "SCMP_ACT_ALLOW", "excludes": {"minKernel": "5.19"}}`, 0, nil,
			"ERRNO 1"},
		{"nulls", `{"names": ["read"], "name": null, "action": "SCMP_ACT_ALLOW", "args": null, "includes": null, "excludes": {}, "comment": null, "errnoRet": null, "errno": ""}`, 0, nil, "ALLOW"},
		{"the old form", `{"name": "read", "action": "SCMP_ACT_ALLOW", "args": []}`, 0, nil, "ALLOW"},
		{"a call of another architecture",
			`{"names": ["read", "socketcall", "cacheflush"], "action": "SCMP_ACT_ALLOW"}`, 0, nil, "ALLOW"},
		{"x32", read + `, "action": "SCMP_ACT_ALLOW"}`, 1 << 30, nil, "ERRNO 38"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := []byte(`{"defaultAction": "SCMP_ACT_ERRNO", "archMap": [{"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"]}], "syscalls": [` + tt.rules + `]}`)
			f, err := ParseFile("f", text)
			if err != nil {
				t.Fatal(err)
			}
			f.Kernel = Kernel{6, 1}
			if got := spell(fileMachine(t, f, "amd64").run(t, audit("amd64"), tt.number, tt.args...)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if !bytes.Contains(text, []byte(`"errno"`)) { // which the oracle cannot read
				agree(t, text, 3, rand.New(rand.NewPCG(1, 2)))
			}
		})
	}
}

// randomFile writes a filter with all that there is in it.
func randomFile(rnd *rand.Rand) []byte {
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	action := func(key string) string {
		a := pick("ALLOW", "ALLOW", "ALLOW", "LOG", "ERRNO", "ERRNO", "TRAP", "KILL", "KILL_THREAD", "KILL_PROCESS")
		s := `"SCMP_ACT_` + a + `"`
		if a == "ERRNO" && rnd.IntN(2) == 0 {
			s += fmt.Sprintf(`, %q: %d`, key, rnd.IntN(4096))
		}
		return s
	}
	value := func() uint64 { return rnd.Uint64() >> pick("\x00", "\x20", "\x30", "\x3e", "\x10")[0] }
	var rules []string
	// Few names, so that rules meet.
	few := []string{"read", "write", "openat", "close", "socketcall", "getpid", "execve", "mkdirat", "stat", "statx",
		"clone3"}
	for range rnd.IntN(30) {
		var calls, args []string
		for range 1 + rnd.IntN(4) {
			name := pick(few...)
			if rnd.IntN(5) == 0 {
				name = syscalls[rnd.IntN(len(syscalls))].name
			}
			calls = append(calls, `"`+name+`"`)
		}
		for range max(0, rnd.IntN(5)-1) {
			op, v := pick("NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ"), value()
			two := uint64(0)
			if op == "MASKED_EQ" {
				two = v & value()
			}
			args = append(args, fmt.Sprintf(`{"index": %d, "value": %d, "valueTwo": %d, "op": "SCMP_CMP_%s"}`,
				rnd.IntN(6), v, two, op))
		}
		rule := fmt.Sprintf(`{"names": [%s], "action": %s, "args": [%s]`, strings.Join(calls, ", "), action("errnoRet"),
			strings.Join(args, ", "))
		switch rnd.IntN(6) {
		case 0:
			rule += `, "includes": {"arches": ["` + pick("amd64", "arm64", "x32") + `"]}`
		case 1:
			rule += `, "excludes": {"arches": ["` + pick("amd64", "arm64", "x86") + `"], "caps": ["CAP_SYS_ADMIN"]}`
		case 2:
			rule += `, "` + pick("includes", "excludes") + `": {"minKernel": "` +
				pick("4.8", "6.1", "6.2", "5.99", "7.0") + `"}`
		case 3:
			rule += `, "includes": {"caps": [` + pick("", `"CAP_SYS_PTRACE"`) + `]}`
		}
		rules = append(rules, rule+"}")
	}
	return []byte(fmt.Sprintf(`{"defaultAction": %s, "syscalls": [%s]}`, action("defaultErrnoRet"),
		strings.Join(rules, ",\n")))
}

func TestRandomFiles(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 99))
		agree(t, randomFile(rnd), 8, rnd)
	}
}

// TestWholeProcess: all that ends a thread ends the process, and nothing else
// changes.
func TestWholeProcess(t *testing.T) {
	kills := 0
	for seed := range uint64(60) {
		for _, arch := range []string{"amd64", "arm64"} {
			f, err := ParseFile("f.json", randomFile(rand.New(rand.NewPCG(seed, 7))))
			if err != nil {
				t.Fatal(err)
			}
			f.Kernel = Kernel{6, 1}
			each := fileMachine(t, f, arch)
			f.WholeProcess = true
			whole := fileMachine(t, f, arch)
			for n := range uint32(1100) {
				one, all := spell(each.run(t, audit(arch), n, 0)), spell(whole.run(t, audit(arch), n, 0))
				if one == "KILL_THREAD" {
					kills++
					one = "KILL_PROCESS"
				}
				if all != one {
					t.Fatalf("seed %d, %s, call %d: %s, want %s", seed, arch, n, all, one)
				}
			}
		}
	}
	if kills == 0 {
		t.Error("no file kills a thread")
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		rnd := rand.New(rand.NewPCG(a, b))
		agree(t, randomFile(rnd), 4, rnd)
	})
}

// TestSamples: what people have loads, and does what it says.
func TestSamples(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) < 2 {
		t.Fatal(paths, err)
	}
	// Real profiles of container engines, where there is a directory of them.
	if dir := os.Getenv("SBX_TEST_SECCOMP_PROFILES"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil || len(more) == 0 {
			t.Fatal(dir, err)
		}
		paths = append(paths, more...)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := ParseFile(path, text)
			if err != nil {
				t.Fatal(err)
			}
			f.Kernel = Kernel{6, 1}
			for _, arch := range []string{"amd64", "arm64"} {
				code, err := f.Filter(arch)
				if err != nil {
					t.Fatal(err)
				}
				hinders, err := f.Hinders(arch)
				t.Logf("%s: %d rules, %d instructions, hinders %q, %v", arch, f.Rules(), len(code)/8, hinders, err)
			}
			agree(t, text, 20, rand.New(rand.NewPCG(3, 4)))
		})
	}
}

func TestHinders(t *testing.T) {
	all := append(slices.Clone(needed), made...)
	slices.Sort(all)
	arm := slices.DeleteFunc(slices.Clone(all), func(n string) bool { return n == "arch_prctl" || n == "access" })
	amd := all
	some := func(of []string) []string {
		return slices.DeleteFunc(slices.Clone(of), func(n string) bool { return !slices.Contains(needed, n) })
	}
	tests := []struct {
		name, text string
		amd, arm   []string
	}{
		{"nothing", `{"defaultAction": "SCMP_ACT_ALLOW"}`, nil, nil},
		{"logs", `{"defaultAction": "SCMP_ACT_LOG"}`, nil, nil},
		{"all", `{"defaultAction": "SCMP_ACT_ERRNO"}`, some(amd), some(arm)},
		{"all, with death", `{"defaultAction": "SCMP_ACT_KILL"}`, amd, arm},
		{"one", rules1(`{"names": ["execve"], "action": "SCMP_ACT_ERRNO"}`), []string{"execve"}, []string{"execve"}},
		{"one with some arguments", rules1(`{"names": ["execve"], "action": "SCMP_ACT_ERRNO", "args": [{"index": 0, "value": 0, "op": "SCMP_CMP_EQ"}]}`), nil, nil},
		{"one that it can do without", rules1(`{"names": ["brk"], "action": "SCMP_ACT_ERRNO"}`), nil, nil},
		{"one that kills", rules1(`{"names": ["brk"], "action": "SCMP_ACT_TRAP"}`), []string{"brk"}, []string{"brk"}},
	}
	for _, tt := range tests {
		f, err := ParseFile("f", []byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		for arch, want := range map[string][]string{"amd64": tt.amd, "arm64": tt.arm} {
			got, err := f.Hinders(arch)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s on %s: %v %s", tt.name, arch, err, diff)
			}
		}
	}
}

func TestFilterErrors(t *testing.T) {
	parse := func(text string) *File {
		f, err := ParseFile("f.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := parse(rules1(`{"names": ["read"], "action": "SCMP_ACT_KILL", "excludes": {"minKernel": "4.8"}}`))
	if _, err := f.Filter("amd64"); err == nil ||
		err.Error() != "f.json: a rule depends on the version of the kernel (minKernel), and that is not known" {
		t.Error(err)
	}
	if _, err := f.Hinders("amd64"); err == nil {
		t.Error("Hinders knows the kernel")
	}
	if _, err := parse(`{"defaultAction": "SCMP_ACT_ALLOW"}`).Filter("riscv64"); err == nil ||
		err.Error() != `seccomp architecture "riscv64": not one of amd64, arm64` {
		t.Error(err)
	}
	var rules []string
	for i := range 1200 {
		rules = append(rules, fmt.Sprintf(`{"names": ["read"], "action": "SCMP_ACT_ERRNO", "args": [{"index": 0, "value": %d, "op": "SCMP_CMP_EQ"}]}`, i))
	}
	_, err := parse(rules1(strings.Join(rules, ","))).Filter("amd64")
	if err == nil || !regexp.MustCompile(`^f\.json: the filter takes \d+ instructions, and the kernel accepts 4096: write fewer rules with args$`).MatchString(err.Error()) {
		t.Error(err)
	}
	agree(t, []byte(rules1(strings.Join(rules[:800], ","))), 4, rand.New(rand.NewPCG(5, 6))) // long jumps
}

func TestFlags(t *testing.T) {
	f, err := ParseFile("f", []byte(`{"defaultAction": "SCMP_ACT_ALLOW", "listenerPath": "", "flags": ["SECCOMP_FILTER_FLAG_TSYNC", "SECCOMP_FILTER_FLAG_LOG", "SECCOMP_FILTER_FLAG_SPEC_ALLOW"], "architectures": ["SCMP_ARCH_NATIVE"]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"flag SECCOMP_FILTER_FLAG_LOG is not used: what is refused is not logged",
		"flag SECCOMP_FILTER_FLAG_SPEC_ALLOW is not used: the mitigation of speculative store bypass stays on",
	}
	if diff := cmp.Diff(want, f.Notes()); diff != "" {
		t.Error(diff)
	}
}

func TestParseKernel(t *testing.T) {
	for _, tt := range []struct {
		release string
		want    Kernel
		ok      bool
	}{
		{"6.1.0-18-amd64", Kernel{6, 1}, true}, {"5.15", Kernel{5, 15}, true}, {"4.19-rc1", Kernel{4, 19}, true},
		{"3.10.0-1160.el7.x86_64", Kernel{3, 10}, true},
		{"", Kernel{}, false}, {"x.1", Kernel{}, false}, {"6", Kernel{}, false}, {"6.", Kernel{}, false},
		{"0.1", Kernel{}, false},
	} {
		got, ok := ParseKernel(tt.release)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: got %v, %t", tt.release, got, ok)
		}
	}
}

var place = regexp.MustCompile(`^f\.json:[1-9][0-9]*:[1-9][0-9]*: [^\n]+$`)

// FuzzParseFile: no text crashes the reader, every error has a place in one
// line, and what is read is JSON.
func FuzzParseFile(f *testing.F) {
	f.Add([]byte(rules1(`{"names": ["read"], "action": "SCMP_ACT_ERRNO", "errno": "EPERM", "args": [{"index": 1, "value": 2, "valueTwo": 0, "op": "SCMP_CMP_EQ"}], "includes": {"arches": ["amd64"], "minKernel": "4.8"}, "comment": "\u00e9\ud83d\ude00"}`)))
	f.Add([]byte(`{"defaultAction": "SCMP_ACT_KILL", "archMap": [{"architecture": "SCMP_ARCH_X86_64", "subArchitectures": null}], "flags": ["SECCOMP_FILTER_FLAG_LOG"]}`))
	f.Add([]byte(`[1.5e-3, true, "\ud800"]`))
	f.Add(randomFile(rand.New(rand.NewPCG(7, 8))))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := reader{name: "f.json", data: text}
		v, err := r.readJSON()
		if err == nil && !json.Valid(text) {
			t.Fatalf("%q is no JSON", text)
		}
		if err != nil && json.Valid(text) &&
			!regexp.MustCompile(`stands there twice|nested more|not a text file|half a character`).MatchString(err.Error()) {
			t.Fatalf("%q is JSON: %v", text, err)
		}
		if err == nil && v.kind == isText {
			var want string
			if json.Unmarshal(text, &want) != nil || want != v.text {
				t.Fatalf("got %q, want %q", v.text, want)
			}
		}
		file, err := ParseFile("f.json", text)
		if err != nil {
			if !place.MatchString(err.Error()) || len(err.Error()) > 1000 {
				t.Fatalf("%q", err)
			}
			return
		}
		file.Kernel = Kernel{6, 1}
		for _, arch := range []string{"amd64", "arm64"} {
			code, err := file.Filter(arch)
			if err == nil && (len(code) == 0 || len(code) > 8*maxProgram) {
				t.Fatalf("%d bytes", len(code))
			}
			again, _ := file.Filter(arch)
			if !bytes.Equal(code, again) {
				t.Fatal("the same file gives other bytes")
			}
		}
	})
}

// TestPure: the package asks the host for nothing.
func TestPure(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{join .Imports " "}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"os", "syscall", "golang.org/x/sys/unix"} {
		if slices.Contains(strings.Fields(string(out)), bad) {
			t.Errorf("it imports %s", bad)
		}
	}
}
