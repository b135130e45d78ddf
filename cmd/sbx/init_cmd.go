// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/text"
)

//go:embed config.toml
var sampleConfig string

// initCmd writes the user's config file.
type initCmd struct {
	Print bool `help:"Print the file instead of writing it."`
}

func (c *initCmd) Run() error {
	if c.Print {
		_, err := exact.WriteString(sampleConfig)
		return err
	}
	s, err := app.Here("")
	if err != nil {
		return err
	}
	dir := s.Host.Config
	if dir == "" {
		return app.Failed("there is no home directory to write a config file in", "sbx init --print")
	}
	for _, name := range []string{"config.toml", "config.hcl"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return app.Failed(text.Plain(filepath.Join(dir, name))+" exists already",
				"sbx init --print shows what would have been written")
		}
	}
	if err := s.Kept(dir, "no config file can be written", "sbx init --print shows what would be in it"); err != nil {
		return err
	}
	path := filepath.Join(dir, "config.toml")
	if err := writeNew(path, sampleConfig); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "wrote "+text.Plain(path))
	return nil
}

// writeNew writes a file whole or not at all, and never over another one.
func writeNew(path, text string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".config-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	// A link fails where a rename would replace.
	return os.Link(f.Name(), path)
}
