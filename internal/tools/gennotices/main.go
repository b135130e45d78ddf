// SPDX-License-Identifier: Apache-2.0

// Command gennotices writes THIRD_PARTY_NOTICES: the licences of the modules that sbx
// is made of, on any system it is built for, as these modules ship them. It is run by
// go generate in cmd/sbx.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const intro = `sbx is licensed under the Apache License 2.0, see LICENSE. The program contains the
following modules, and the standard library of Go, each under the licence below its
name.
`

// names are what modules call their licences and what belongs to these.
var names = []string{"LICENSE", "LICENSE.md", "LICENSE.txt", "COPYING", "NOTICE", "PATENTS"}

func main() {
	if err := run("../.."); err != nil {
		fmt.Fprintln(os.Stderr, "gennotices:", err)
		os.Exit(1)
	}
}

// run works in the directory root, the top of the module.
func run(root string) error {
	text, err := generate(root)
	if err != nil {
		return err
	}
	return os.WriteFile(root+"/THIRD_PARTY_NOTICES", text, 0o644)
}

func generate(root string) ([]byte, error) {
	goroot, err := command(root, "", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	// A module is a line: its name and version, a tab, its directory.
	modules := []string{"The standard library of Go\t" + strings.TrimSpace(goroot)}
	for _, system := range []string{"linux", "darwin"} {
		list, err := command(root, system, "list", "-deps",
			"-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/sbx")
		if err != nil {
			return nil, err
		}
		modules = append(modules, strings.FieldsFunc(list, func(r rune) bool { return r == '\n' })...)
	}
	slices.Sort(modules)
	out := bytes.NewBufferString(intro)
	for _, module := range slices.Compact(modules) {
		name, dir, _ := strings.Cut(module, "\t")
		texts, err := licence(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), name, texts)
	}
	return out.Bytes(), nil
}

// licence is the text of the files of a module that have to go with it.
func licence(dir string) (string, error) {
	var texts []string
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return "", err
		}
		plain := strings.ReplaceAll(string(text), "\r\n", "\n")
		texts = append(texts, strings.Trim(plain, "\n"))
	}
	if len(texts) == 0 {
		return "", fmt.Errorf("no licence in %s", dir)
	}
	return strings.Join(texts, "\n\n"), nil
}

func command(dir, system string, words ...string) (string, error) {
	cmd := exec.Command("go", words...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if system != "" {
		cmd.Env = append(cmd.Env, "GOOS="+system)
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return string(out), err
}
