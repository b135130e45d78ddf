// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// binary builds the program as make does and tells its size.
func (m *module) binary(tmp string) (string, error) {
	out := filepath.Join(tmp, "sbx")
	if err := m.build(out); err != nil {
		return "", err
	}
	info, err := os.Stat(out)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.2f MB (%d bytes, stripped, %s/%s)", float64(info.Size())/1e6, info.Size(), runtime.GOOS,
		runtime.GOARCH), nil
}

func (m *module) build(out string, flags ...string) error {
	ld := "-s -w"
	if runtime.GOOS == "linux" {
		ld += " -E sbx_start" // as in the Makefile
	}
	words := append([]string{"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", ld, "-o", out}, flags...)
	_, err := command(m.dir, []string{"CGO_ENABLED=0"}, append(words, "./cmd/sbx")...)
	return err
}

// inits sums up what the initialisation of packages takes, the least of some runs.
func (m *module) inits(tmp string) (string, error) {
	best, packages := 0.0, 0
	for i := range 30 {
		said := filepath.Join(tmp, "said")
		if _, err := command(m.dir, nil, "sh", "-c",
			"GODEBUG=inittrace=1 "+tmp+"/sbx --version >/dev/null 2>"+said); err != nil {
			return "", err
		}
		text, err := os.ReadFile(said)
		if err != nil {
			return "", err
		}
		sum, n := 0.0, 0
		for line := range strings.Lines(string(text)) { // init os @0.1 ms, 0.01 ms clock, 96 bytes, 3 allocs
			if f := strings.Fields(line); len(f) > 5 && f[0] == "init" {
				ms, err := strconv.ParseFloat(f[4], 64)
				if err != nil {
					return "", err
				}
				sum, n = sum+ms, n+1
			}
		}
		if i == 0 || sum < best {
			best, packages = sum, n
		}
	}
	return fmt.Sprintf("%.3f ms in %d packages (GODEBUG=inittrace=1, least of 30 runs)", best, packages), nil
}

// hookSource counts calls in memory that it shares with a file, so that the count
// outlasts the program that replaces this one. Process 1 of a sandbox, which has
// another environment, is not counted.
const hookSource = `package measurehook

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var counts *[3]uint64 // calls, switches, file before
var files *[4096]uint64
var off bool

func Hit(file uint64) {
	if counts == nil && !open() {
		return
	}
	atomic.AddUint64(&counts[0], 1)
	if atomic.SwapUint64(&counts[2], file) != file {
		atomic.AddUint64(&counts[1], 1)
	}
	atomic.AddUint64(&files[file], 1)
}

func open() bool {
	if off {
		return false
	}
	off = true
	if syscall.Getpid() == 1 {
		return false
	}
	path, ok := syscall.Getenv("SBX_MEASURE")
	if !ok {
		return false
	}
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	b, err := syscall.Mmap(fd, 0, 8*(4096+8), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	syscall.Close(fd)
	if err != nil {
		return false
	}
	files = (*[4096]uint64)(unsafe.Pointer(&b[64]))
	counts = (*[3]uint64)(unsafe.Pointer(&b[0]))
	off = false
	return true
}
`

// calls builds the program anew with a counter at the beginning of each function
// of this module, runs "sbx -- true", and tells how many calls that took, in how
// many files, and how often a call was in another file than the call before it.
// What the compiler would inline counts as well.
func (m *module) calls(tmp string) (string, error) {
	if runtime.GOOS != "linux" {
		return "", errors.New("only on Linux")
	}
	overlay := map[string]string{}
	hook := filepath.Join(tmp, "hook.go")
	if err := os.WriteFile(hook, []byte(hookSource), 0o600); err != nil {
		return "", err
	}
	overlay[filepath.Join(m.dir, "internal", "measurehook", "hook.go")] = hook
	var names []string
	for _, f := range m.files {
		if f.kind != product && f.kind != generated {
			continue
		}
		text, ok := m.counted(f, len(names)+1)
		if !ok {
			continue
		}
		names = append(names, f.name)
		path := filepath.Join(tmp, strconv.Itoa(len(names))+".go")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return "", err
		}
		overlay[filepath.Join(m.dir, f.name)] = path
	}
	data, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(tmp, "overlay.json"), data, 0o600); err != nil {
		return "", err
	}
	program := filepath.Join(tmp, "counting", "sbx")
	if err := m.build(program, "-overlay", filepath.Join(tmp, "overlay.json")); err != nil {
		return "", err
	}
	return m.count(tmp, program)
}

// counted is the text of a file with a call of the hook in each function, but for
// those that a directive makes special.
func (m *module) counted(f *file, number int) ([]byte, bool) {
	var at []int
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || fn.Doc != nil && slices.ContainsFunc(fn.Doc.List,
			func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:") }) {
			continue
		}
		at = append(at, m.fset.Position(fn.Body.Lbrace).Offset+1)
	}
	if len(at) == 0 {
		return nil, false
	}
	var b bytes.Buffer
	end := m.fset.Position(f.ast.Name.End()).Offset
	b.Write(f.text[:end])
	fmt.Fprintf(&b, "; import measurehook %q", m.path+"/internal/measurehook")
	for _, offset := range at {
		b.Write(f.text[end:offset])
		fmt.Fprintf(&b, " measurehook.Hit(%d); ", number)
		end = offset
	}
	b.Write(f.text[end:])
	return b.Bytes(), true
}

// count runs the program twice, with a home and a project of its own, and counts
// the second run: the first one probes the machine.
func (m *module) count(tmp, program string) (string, error) {
	project, shared := filepath.Join(tmp, "home", "project"), filepath.Join(tmp, "counts")
	if err := os.MkdirAll(project, 0o700); err != nil {
		return "", err
	}
	var data []byte
	for range 2 {
		err := os.WriteFile(shared, make([]byte, 8*(4096+8)), 0o600)
		if err != nil {
			return "", err
		}
		env := []string{"-i", "PATH=/usr/bin:/bin", "HOME=" + filepath.Join(tmp, "home"), "SBX_MEASURE=" + shared,
			program, "--", "true"}
		if _, err := command(project, nil, append([]string{"env"}, env...)...); err != nil {
			return "", err
		}
		if data, err = os.ReadFile(shared); err != nil {
			return "", err
		}
	}
	files := 0
	for i := 64; i < len(data); i += 8 {
		if binary.NativeEndian.Uint64(data[i:]) > 0 {
			files++
		}
	}
	return fmt.Sprintf("%d calls in %d files, %d switches between files", binary.NativeEndian.Uint64(data), files,
		binary.NativeEndian.Uint64(data[8:])), nil
}
