// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/sbx-sandbox/sbx/docs/schema"
	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/text"
)

//go:embed config.toml
var sampleConfig string

//go:embed project.toml
var sampleProject string

// initCmd writes a config file.
type initCmd struct {
	Project bool `help:"Write .sbx.toml for the project in this directory, with examples for what is found here."`
	Print   bool `help:"Print the file instead of writing it."`
}

// downloads are the commands of ecosystems that need the network, by the files that
// tell them, and the variable with the key of a private registry. The first of an
// ecosystem counts.
var downloads = []struct{ of, file, command, token string }{
	{"node", "pnpm-lock.yaml", "pnpm install", "NPM_TOKEN"},
	{"node", "yarn.lock", "yarn install", "NPM_TOKEN"},
	{"node", "package-lock.json", "npm ci", "NPM_TOKEN"},
	{"node", "package.json", "npm install", "NPM_TOKEN"},
	{"python", "uv.lock", "uv sync", "UV_INDEX_*"},
	{"python", "poetry.lock", "poetry install", "POETRY_HTTP_BASIC_*"},
	{"python", "requirements.txt", "pip install -r requirements.txt", "PIP_INDEX_URL"},
	{"python", "pyproject.toml", "pip install -e .", "PIP_INDEX_URL"},
	{"go", "go.mod", "go mod download", ""},
	{"rust", "Cargo.toml", "cargo fetch", "CARGO_REGISTRIES_*"},
	{"java", "pom.xml", "mvn dependency:go-offline", ""},
	{"java", "build.gradle.kts", "gradle dependencies", ""},
	{"java", "build.gradle", "gradle dependencies", ""},
	{"ruby", "Gemfile", "bundle install", "BUNDLE_*"},
	{"php", "composer.json", "composer install", "COMPOSER_AUTH"},
	{"dotnet", "global.json", "dotnet restore", ""},
}

// projectConfig is the file for a project in a directory. All of it is a comment.
func projectConfig(dir string) string {
	var seen, lines, tokens []string
	for _, d := range downloads {
		if _, err := os.Lstat(filepath.Join(dir, d.file)); err != nil || slices.Contains(seen, d.of) {
			continue
		}
		seen, lines = append(seen, d.of), append(lines, "#   sbx -p fetch -- "+d.command)
		if d.token != "" {
			tokens = append(tokens, d.token)
		}
	}
	all := cmp.Or(strings.Join(lines, "\n"), "#   sbx -p fetch -- git fetch")
	list := cmp.Or(strings.Trim(tomlList(tokens), "[]"), `"GH_TOKEN"`)
	return strings.NewReplacer("#   sbx -p fetch -- COMMAND", all, "TOKENS", list).Replace(sampleProject)
}

func (c *initCmd) Run() error {
	s, err := app.Here("")
	if err != nil {
		return err
	}
	files, content, again := s.UserFiles(), sampleConfig, "sbx init --print"
	if c.Project {
		if s.Vars.CWD == "" {
			return app.Gone()
		}
		files = []string{filepath.Join(s.Vars.CWD, ".sbx.toml"), filepath.Join(s.Vars.CWD, ".sbx.hcl")}
		content, again = projectConfig(s.Vars.CWD), again+" --project"
	}
	if c.Print {
		_, err := exact.WriteString(content)
		return err
	}
	if len(files) == 0 {
		return app.Failed("there is no home directory to write a config file in", again)
	}
	for _, path := range files {
		if _, err := os.Lstat(path); err == nil {
			return app.Failed(text.Plain(path)+" exists already", again+" shows what would have been written")
		}
	}
	path, dir := files[0], filepath.Dir(files[0])
	if !c.Project {
		if err := s.Kept(dir, "no config file can be written", again+" shows what would be in it"); err != nil {
			return err
		}
	}
	if err := writeNew(path, content); err != nil {
		why, _ := errors.AsType[syscall.Errno](err)
		return app.Failed("cannot write "+text.Plain(path)+": "+why.Error(), again+" shows what would be in it")
	}
	fmt.Fprintln(stdout, "wrote "+text.Plain(path))
	if c.Project {
		_, err := fmt.Fprintln(stdout, "all of it is a comment: change it, then sbx config check says what is wrong or ignored, "+
			"and sbx trust agrees to what loosens")
		return err
	}
	if err := writeNew(filepath.Join(dir, "config.schema.json"), schema.Config); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// writeNew writes a file whole or not at all, and never over another one.
func writeNew(path, text string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, ".sbx-"+rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err = cmp.Or(err, f.Close()); err != nil {
		return err
	}
	// A link fails where a rename would replace.
	return os.Link(f.Name(), path)
}
