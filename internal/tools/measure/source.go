// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kinds of files.
const (
	product   = "product"
	generated = "generated"
	support   = "test support" // packages that the program does not contain
	tools     = "tools"
	tests     = "tests"
)

// module is the parsed source, for all systems.
type module struct {
	dir, path string
	fset      *token.FileSet
	files     []*file
}

type file struct {
	name string // in the module
	pkg  string // directory in the module
	kind string
	text []byte
	ast  *ast.File
}

// load parses all Go files of a module.
func load(dir string) (*module, error) {
	path, err := command(dir, nil, "go", "list", "-m")
	if err != nil {
		return nil, err
	}
	m := &module{dir: dir, path: strings.TrimSpace(path), fset: token.NewFileSet()}
	contained, err := m.contained()
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch base := filepath.Base(path); {
		case err != nil:
			return err
		case d.IsDir() && path != dir && (base == "testdata" || base[0] == '.' || base[0] == '_'):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f := &file{name: filepath.ToSlash(rel), pkg: filepath.ToSlash(filepath.Dir(rel)), kind: product}
		if f.text, err = os.ReadFile(path); err != nil {
			return err
		}
		if f.ast, err = parser.ParseFile(m.fset, path, f.text,
			parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return err
		}
		switch {
		case strings.HasSuffix(path, "_test.go"):
			f.kind = tests
		case strings.HasPrefix(f.pkg, "internal/tools"):
			f.kind = tools
		case !contained[f.pkg]:
			f.kind = support
		case ast.IsGenerated(f.ast):
			f.kind = generated
		}
		m.files = append(m.files, f)
		return nil
	})
	return m, err
}

// contained are the packages of the module that the program is made of, on any
// system.
func (m *module) contained() (map[string]bool, error) {
	out := map[string]bool{}
	for _, system := range []string{"linux", "darwin"} {
		text, err := command(m.dir, []string{"GOOS=" + system}, "go", "list", "-deps", "-json=Dir,ImportPath",
			"./cmd/sbx")
		if err != nil {
			return nil, err
		}
		for d := json.NewDecoder(strings.NewReader(text)); ; {
			var p struct{ Dir, ImportPath string }
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if rel, ok := strings.CutPrefix(p.ImportPath, m.path+"/"); ok {
				out[rel] = true
			}
		}
	}
	return out, nil
}

func lines(text []byte) int { return bytes.Count(text, []byte("\n")) }

// sizes prints lines, files and functions.
func (m *module) sizes(all bool) {
	byKind, byPackage, byFile, wide, long := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{},
		map[string]int{}
	var functions []int
	tested := 0
	for _, f := range m.files {
		n := lines(f.text)
		byKind[f.kind] += n
		tested += f.tests()
		if f.kind != product {
			continue
		}
		byPackage[f.pkg] += n
		byFile[f.name] = n
		for i, line := range bytes.Split(f.text, []byte("\n")) {
			if w := width(line); w > 120 {
				wide[fmt.Sprintf("%s:%d", f.name, i+1)] = w
			}
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				n := m.fset.Position(fn.End()).Line - m.fset.Position(fn.Pos()).Line + 1
				functions = append(functions, n)
				long[f.name+" "+fn.Name.Name] = n
			}
		}
	}
	for _, kind := range []string{product, generated, support, tools, tests} {
		row(kind+" lines", byKind[kind])
	}
	slices.Sort(functions)
	row("functions", fmt.Sprintf("%d: median %d, p90 %d, max %d lines", len(functions), quantile(functions, 0.5),
		quantile(functions, 0.9), quantile(functions, 1)))
	over := 0
	for _, n := range byFile {
		if n > 500 {
			over++
		}
	}
	row("files", fmt.Sprintf("%d, %d of them over 500 lines", len(byFile), over))
	row("lines over 120 columns", len(wide))
	row("tests", fmt.Sprintf("%d functions (tests, fuzz tests, examples, benchmarks)", tested))
	list("product lines per package", byPackage, len(byPackage))
	list("longest files", byFile, max(10, over))
	list("longest functions", long, 10)
	if all {
		list("lines over 120 columns", wide, len(wide))
	}
}

// width of a line in columns, a tab being four.
func width(line []byte) int {
	tabs := bytes.Count(line, []byte("\t"))
	return utf8.RuneCount(line) + 3*tabs
}

// tests is how many functions of a file go test calls.
func (f *file) tests() (n int) {
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if f.kind == tests && ok && fn.Recv == nil && fn.Name.Name != "TestMain" &&
			slices.ContainsFunc([]string{"Test", "Fuzz", "Example", "Benchmark"}, func(start string) bool {
				return strings.HasPrefix(fn.Name.Name, start)
			}) {
			n++
		}
	}
	return n
}

// command runs a program and returns what it writes to standard output.
func command(dir string, env []string, words ...string) (string, error) {
	var out, said bytes.Buffer
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(words[:min(3, len(words))], " "), err,
			firstLine(said.String()))
	}
	return out.String(), nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
