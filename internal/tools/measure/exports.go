// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// export is an exported name of a package; decl is what it is made of.
type export struct {
	pkg, name string
	decl      ast.Node
	spec      *ast.ValueSpec // of a constant or variable
}

// exports counts the exported names of packages (methods and fields apart) that
// no other package names, and that no export in use is made of.
func (m *module) exports(all bool) {
	byPackage := map[string]map[string]*export{}
	for _, f := range m.files {
		if f.kind != product && f.kind != generated || f.ast.Name.Name == "main" {
			continue
		}
		if byPackage[f.pkg] == nil {
			byPackage[f.pkg] = map[string]*export{}
		}
		for _, e := range exported(f) {
			byPackage[f.pkg][e.name] = e
		}
	}
	used, byTests := map[*export]bool{}, map[*export]bool{}
	for _, f := range m.files {
		m.named(f, byPackage, func(e *export) {
			if f.kind == tests {
				byTests[e] = true
			} else {
				used[e] = true
			}
		})
	}
	for _, e := range slices.Collect(maps.Keys(used)) {
		reach(e, byPackage[e.pkg], used)
	}
	unused, onlyTests := map[string]int{}, 0
	var names []string
	total := 0
	for pkg, exports := range byPackage {
		for name, e := range exports {
			if total++; used[e] {
				continue
			}
			word := pkg + "." + name
			if byTests[e] {
				onlyTests++
				word += " (tests of other packages)"
			} else {
				unused[pkg]++
			}
			names = append(names, word)
		}
	}
	sum := 0
	for _, n := range unused {
		sum += n
	}
	row("exports", fmt.Sprintf("%d, %d of them unused outside of their package, %d only by tests of others", total, sum,
		onlyTests))
	list("", unused, len(unused))
	if all {
		slices.Sort(names)
		fmt.Println("  " + strings.Join(names, "\n  "))
	}
}

// exported are the exported names that a file declares.
func exported(f *file) (out []*export) {
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.IsExported() {
				out = append(out, &export{pkg: f.pkg, name: d.Name.Name, decl: d.Type})
			}
		case *ast.GenDecl:
			var last ast.Expr // of constants that repeat it
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						out = append(out, &export{pkg: f.pkg, name: s.Name.Name, decl: s.Type})
					}
				case *ast.ValueSpec:
					if s.Type != nil || len(s.Values) > 0 {
						last = s.Type
					}
					for _, name := range s.Names {
						if name.IsExported() {
							out = append(out, &export{pkg: f.pkg, name: name.Name, decl: last, spec: s})
						}
					}
				}
			}
		}
	}
	return out
}

// named calls do for each export that a file of another package names.
func (m *module) named(f *file, byPackage map[string]map[string]*export, do func(*export)) {
	imports := map[string]map[string]*export{}
	for _, i := range f.ast.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		pkg, ok := strings.CutPrefix(path, m.path+"/")
		if !ok || pkg == f.pkg {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = byPackage[pkg]
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				if e := imports[x.Name][s.Sel.Name]; e != nil {
					do(e)
				}
			}
		}
		return true
	})
}

// reach marks what an export in use is made of: its type, and the types of its
// parameters, results and exported fields.
func reach(e *export, own map[string]*export, used map[*export]bool) {
	if e.decl == nil || isNil(e.decl) {
		return
	}
	ast.Inspect(e.decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			return len(n.Names) == 0 || token.IsExported(n.Names[0].Name) || !inStruct(e.decl, n)
		case *ast.SelectorExpr:
			return false
		case *ast.Ident:
			if next := own[n.Name]; next != nil && !used[next] {
				used[next] = true
				reach(next, own, used)
			}
		}
		return true
	})
}

func isNil(n ast.Node) bool { e, ok := n.(ast.Expr); return ok && e == nil }

// inStruct reports whether a field is one of a struct and no parameter.
func inStruct(decl ast.Node, field *ast.Field) (found bool) {
	ast.Inspect(decl, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok {
			found = found || slices.Contains(s.Fields.List, field)
		}
		return !found
	})
	return found
}

// deadCode counts the functions that are dead on each system, as
// golang.org/x/tools/cmd/deadcode finds them.
func (m *module) deadCode(tmp string, all bool) error {
	tool, err := exec.LookPath("deadcode")
	if err != nil {
		tool = filepath.Join(tmp, "deadcode")
		if _, err := command(m.dir, []string{"GOBIN=" + tmp}, "go", "install",
			"golang.org/x/tools/cmd/deadcode@latest"); err != nil {
			return err
		}
	}
	var dead map[string]bool
	for _, system := range []string{"linux", "darwin"} {
		text, err := command(m.dir, []string{"GOOS=" + system}, tool, "./cmd/sbx")
		if err != nil {
			return err
		}
		now := map[string]bool{}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); dead == nil || dead[line] {
				now[line] = true
			}
		}
		dead = now
	}
	row("dead functions", fmt.Sprintf("%d (deadcode ./cmd/sbx, on Linux and on macOS)", len(dead)))
	if all {
		for _, line := range slices.Sorted(maps.Keys(dead)) {
			fmt.Println("  " + line)
		}
	}
	return nil
}
