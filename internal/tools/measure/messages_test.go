// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestMessages: what the pages quote of sbx ("sbx: error: …") is what sbx prints. A
// message is put together of several texts of the source, so its words have to be found
// there, most of them in runs of three or more; paths, numbers and flags are examples.
func TestMessages(t *testing.T) {
	source := literals(t)
	quoted := regexp.MustCompile("(?m)(?:^    (?:    )?|`)(sbx: (?:error|hint|notice|warning|WARNING): [^`\n]*)")
	example := regexp.MustCompile(`[/~…0-9=$]|^[-."(]|^(?:sbx|git|add|main|topic|&&|MB\))$`)
	found := 0
	for name, page := range pages(t) {
		for _, m := range quoted.FindAllStringSubmatch(page, -1) {
			if strings.HasSuffix(m[1], ": …") || name == "CHANGELOG.md" {
				continue
			}
			found++
			all, known := 0, 0
			var unknown []string
			for _, part := range strings.Split(m[1], ": ")[2:] {
				var run []string
				for _, w := range append(strings.Fields(part), "/") {
					if !example.MatchString(w) {
						run = append(run, w)
						continue
					}
					all += len(run)
					for whole := len(run); len(run) > 0; {
						n := len(run)
						for n > 0 && !strings.Contains(source, strings.TrimRight(strings.Join(run[:n], " "), ".,:;)")) {
							n--
						}
						if n >= 3 || 2*n >= whole {
							known += n
						} else {
							unknown = append(unknown, run[:max(1, n)]...)
						}
						run = run[max(1, n):]
					}
				}
			}
			if known*3 <= all*2 || len(unknown) > 6 {
				t.Errorf("%s: sbx does not print %q (%d of %d words; not %q)", name, m[1], known, all, unknown)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d messages were found", found)
	}
}

// literals are the strings of the source, one in a line.
func literals(t *testing.T) string {
	var all strings.Builder
	for _, dir := range []string{"cmd", "internal", "shims", "wrap"} {
		err := filepath.WalkDir(filepath.Join(top, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			var s scanner.Scanner
			s.Init(token.NewFileSet().AddFile(path, -1, len(text)), text, nil, 0)
			for tok := token.ILLEGAL; tok != token.EOF; {
				var literal string
				if _, tok, literal = s.Scan(); tok == token.STRING {
					value, _ := strconv.Unquote(literal)
					fmt.Fprintln(&all, value)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
