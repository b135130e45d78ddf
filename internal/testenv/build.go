// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// sources prints the directories and files that a program is made of, those of this
// module alone: other modules do not change without go.mod.
const sources = `{{with .Module}}{{if .Main}}{{.GoMod}}
{{$.Dir}}
{{range $.GoFiles}}{{$.Dir}}/{{.}}
{{end}}{{range $.SFiles}}{{$.Dir}}/{{.}}
{{end}}{{range $.EmbedFiles}}{{$.Dir}}/{{.}}
{{end}}{{end}}{{end}}`

// Start are the flags of the go command for sbx as it ships, see the Makefile: on Linux it
// begins before the Go runtime does.
func Start() []string {
	if runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
		return []string{"-ldflags=-E sbx_start"}
	}
	return nil
}

// Build makes a program of this module at the path out. The go command does not see
// what a test builds: it would print a result from its cache after the program
// changed. It does see what a test opens, so the sources are opened here. That counts
// from [testing.M.Run] on; before it, only what the test package imports does.
func Build(out, pkg string, flags ...string) error {
	list, err := command("list", "-deps", "-f", sources, pkg)
	if err != nil {
		return err
	}
	for name := range strings.Lines(list) {
		if name = strings.TrimSuffix(name, "\n"); name == "" {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		f.Close()
	}
	_, err = command(append(append([]string{"build", "-o", out}, flags...), pkg)...)
	return err
}

func command(words ...string) (string, error) {
	cmd := exec.Command("go", words...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", words[0], err, stderr.String())
	}
	return string(out), nil
}
