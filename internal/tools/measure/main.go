// SPDX-License-Identifier: Apache-2.0

// Command measure prints figures about the source of sbx and the program that is
// made of it: sizes, exports that nothing uses, dead code, and what one start of
// the program takes. Run it in the module, or name one:
//
//	go run ./internal/tools/measure [-C directory] [-all]
//
// A figure that cannot be had here is left out, with the reason. It changes
// nothing in the module.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	dir := flag.String("C", ".", "the module to measure")
	all := flag.Bool("all", false, "list each long file, function and line, and each unused export")
	flag.Parse()
	if err := measure(*dir, *all); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func measure(dir string, all bool) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	m, err := load(dir)
	if err != nil {
		return err
	}
	m.sizes(all)
	m.exports(all)
	tmp, err := os.MkdirTemp("", "measure")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := m.deadCode(tmp, all); err != nil {
		row("dead functions", "not measured: "+err.Error())
	}
	for _, figure := range []struct {
		name string
		of   func(tmp string) (string, error)
	}{{"binary", m.binary}, {"package init", m.inits}, {"sbx -- true", m.calls}} {
		text, err := figure.of(tmp)
		if err != nil {
			text = "not measured: " + err.Error()
		}
		row(figure.name, text)
	}
	return nil
}

func row(name string, value any) { fmt.Printf("%-28s %v\n", name, value) }

// quantile of sorted numbers.
func quantile(sorted []int, q float64) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

// list prints the entries with the largest numbers first.
func list(title string, counts map[string]int, most int) {
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return len(a) - len(b)
	})
	if title != "" {
		fmt.Println(title)
	}
	for _, name := range names[:min(most, len(names))] {
		fmt.Printf("  %7d  %s\n", counts[name], name)
	}
}
