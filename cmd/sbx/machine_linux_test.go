// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ownCode is all that runs before the Go runtime, or without it.
var ownCode = []string{"sbx_start", "sbx_limit", "sbx_plain"}

// TestMachineCallsNothing: from where the process begins no code can be reached but that
// in assembly, which calls nothing of Go's and leaves for Go's own start alone.
func TestMachineCallsNothing(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("reads object code of amd64")
	}
	code := objectCode(t, sbxPath, append([]string{`github.com/sbx-sandbox/sbx/internal/pid1\.(onSignal|signalReturn|leaveSignals)`}, ownCode...)...)
	f, err := elf.Open(sbxPath)
	must(t, err)
	defer f.Close()
	if at := code["sbx_start"].begin; f.Entry != at || at == 0 {
		t.Fatalf("the program begins at %#x, and sbx_start is at %#x", f.Entry, at)
	}
	if bad := walk(code, "sbx_start", ownCode, "_rt0_amd64_linux"); len(bad) > 0 {
		t.Errorf("reached from the entry: %q", bad)
	}
	// What the kernel and the runtime call.
	for _, name := range []string{"onSignal", "signalReturn", "leaveSignals"} {
		name = "github.com/sbx-sandbox/sbx/internal/pid1." + name
		if bad := walk(code, name, []string{name}); len(bad) > 0 || len(code[name].lines) == 0 {
			t.Errorf("%s: %q", name, bad)
		}
	}
}

// TestMachineCheckFinds: the check finds what Go code would bring in.
func TestMachineCheckFinds(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("reads object code of amd64")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module planted\n\ngo 1.24\n",
		"main.go": `package main

var (
	bytes []byte
	place *[4]int
	at    int
	big   int
)

func allocates()         { bytes = make([]byte, at) }
func barrier(p *[4]int)  { place = p }
func bounds() byte       { return bytes[at] }
func calls()             { println(at) }
func splits() (s int) {
	var room [1 << 12]int
	for i := range room {
		room[i&at] = i
	}
	for _, v := range room {
		s += v
	}
	return s
}

func entry()

func main() { entry(); big = splits() + int(bounds()); allocates(); barrier(place); calls() }
`,
		"entry_amd64.s": `#include "textflag.h"
TEXT ·entry(SB), NOSPLIT, $0-0
	RET
TEXT plant_allocates(SB), NOSPLIT|NOFRAME, $0
	JMP ·allocates(SB)
TEXT plant_barrier(SB), NOSPLIT|NOFRAME, $0
	JMP ·barrier(SB)
TEXT plant_bounds(SB), NOSPLIT|NOFRAME, $0
	JMP ·bounds(SB)
TEXT plant_calls(SB), NOSPLIT|NOFRAME, $0
	JMP ·calls(SB)
TEXT plant_splits(SB), NOSPLIT|NOFRAME, $0
	JMP ·splits(SB)
TEXT plant_indirect(SB), NOSPLIT|NOFRAME, $0
	CALL AX
	RET
TEXT plant_thread(SB), NOSPLIT|NOFRAME, $0
	MOVQ (TLS), AX
	RET
TEXT plant_stack(SB), NOSPLIT|NOFRAME, $0
	PUSHQ AX
	POPQ AX
	RET
TEXT plant_all(SB), NOSPLIT|NOFRAME, $0
	CALL plant_allocates(SB)
	CALL plant_barrier(SB)
	CALL plant_bounds(SB)
	CALL plant_calls(SB)
	CALL plant_splits(SB)
	CALL plant_indirect(SB)
	CALL plant_thread(SB)
	CALL plant_stack(SB)
	RET
`,
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	cmd := exec.Command("go", "build", "-gcflags=-l", "-ldflags=-E plant_all", "-o", "planted", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	code := objectCode(t, filepath.Join(dir, "planted"), "plant_", `main\.(allocates|barrier|bounds|calls|splits)`)
	for name, want := range map[string]string{"allocates": "runtime.makeslice", "barrier": "runtime.gcWriteBarrier2", "bounds": "runtime.panicBounds",
		"calls": "runtime.print", "splits": "runtime.morestack", "indirect": "CALL AX", "thread": "FS", "stack": "PUSHQ AX"} {
		own := []string{"plant_" + name, "main." + name + ".abi0", "main." + name} // what stands there counts, not only that it is Go's
		bad := walk(code, "plant_"+name, own)
		if !slices.ContainsFunc(bad, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("%s: found %q, want %s", name, bad, want)
		}
		if bad := walk(code, "plant_"+name, own[:1]); len(bad) == 0 {
			t.Errorf("%s: nothing found", name)
		}
	}
}

// symbol is the code of one.
type symbol struct {
	begin, end uint64
	lines      []string // instructions
}

// objectCode disassembles the symbols that expressions match.
func objectCode(t *testing.T, program string, names ...string) map[string]symbol {
	t.Helper()
	out, err := exec.Command("go", "tool", "objdump", "-s", strings.Join(names, "|"), program).Output()
	must(t, err)
	code := map[string]symbol{}
	name := ""
	for line := range strings.Lines(string(out)) {
		if rest, ok := strings.CutPrefix(line, "TEXT "); ok {
			name, _, _ = strings.Cut(rest, "(SB)")
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 {
			continue
		}
		at, err := strconv.ParseUint(strings.TrimPrefix(fields[1], "0x"), 16, 64)
		must(t, err)
		s := code[name]
		if len(s.lines) == 0 {
			s.begin = at
		}
		s.end, s.lines = at, append(s.lines, strings.Join(fields[3:], " "))
		code[name] = s
	}
	return code
}

var (
	target = regexp.MustCompile(`^(?:CALL|J[A-Z]+) (.*)$`)
	// The stack that is not there, and where Go keeps its own state.
	banned = regexp.MustCompile(`^(PUSH|POP|MOV\S* FS|MOV\S* GS)|FS:|GS:|\(R14\)|^XADD|^LEAVE`)
)

// walk follows all jumps and calls from a symbol, and returns what leads elsewhere than to
// those in own, or to Go's start by a jump.
func walk(code map[string]symbol, from string, own []string, start ...string) (bad []string) {
	seen := []string{from}
	for i := 0; i < len(seen); i++ {
		s := code[seen[i]]
		if len(s.lines) == 0 {
			bad = append(bad, seen[i]+": no code")
		}
		for _, line := range s.lines {
			if banned.MatchString(line) {
				bad = append(bad, seen[i]+": "+line)
			}
			m := target.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			to, isSymbol := strings.CutSuffix(m[1], "(SB)")
			at, err := strconv.ParseUint(strings.TrimPrefix(to, "0x"), 16, 64)
			switch {
			case isSymbol && slices.Contains(own, to):
				if !slices.Contains(seen, to) {
					seen = append(seen, to)
				}
			case isSymbol && slices.Contains(start, to) && strings.HasPrefix(line, "JMP "):
			case !isSymbol && err == nil && at >= s.begin && at <= s.end && !strings.HasPrefix(line, "CALL"):
			default:
				bad = append(bad, seen[i]+": "+line)
			}
		}
	}
	return bad
}
