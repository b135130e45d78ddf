// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/lookpath"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/man"
)

// manCmd shows a manual page: in the pager of man(1) on a terminal, else as text.
type manCmd struct {
	Roff bool     `help:"Print the source of the page, for man -l - and groff."`
	Page []string `arg:"" optional:"" help:"sbx, sh, config, profiles or security; as for man, sbx-config or 5 sbx-config."`
}

// manPath is where programs that show a page are looked for, before the caller's PATH.
const manPath = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin:/run/current-system/sw/bin"

func (c *manCmd) Run() error {
	name := man.Find(c.Page)
	page := man.Page(name)
	switch {
	case name == "":
		hint := "the pages: sbx man, sbx man sh, sbx man config, sbx man profiles, sbx man security"
		if slices.Contains(commandNames, c.Page[0]) {
			hint = "sbx help " + c.Page[0]
		}
		return app.Failed("there is no page "+text.Plain(strings.Join(c.Page, " ")), hint)
	case !c.Roff && onTerminal() && os.Getenv("TERM") != "dumb" && pager(name, page):
		return nil
	case !c.Roff:
		page = man.Text(page, cmp.Or(screen().Width, 80))
	}
	_, err := exact.WriteString(page)
	return err
}

// pager shows a page as man does, if there is a program for that. It is taken from
// the system's directories, and so is what it starts, but for what only the caller's
// PATH has: the pager that MANPAGER or PAGER names.
func pager(name, page string) bool {
	dirs := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool { return !filepath.IsAbs(dir) })
	prompt := "MANLESS= Manual page " + strings.Replace(name, ".", "(", 1) + ") (press h for help or q to quit)" // of man-db
	env := append([]string{prompt}, append(os.Environ(), "PATH="+strings.Join(append([]string{manPath}, dirs...), ":"))...)
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGQUIT) // the pager's, which outlives them
	programs := [][]string{{"man"}, {"mandoc", "-a"}}
	if runtime.GOOS == "darwin" { // whose man takes no pipe
		slices.Reverse(programs)
	}
	for _, words := range programs {
		program := lookpath.First(manPath, words[0], app.Runs)
		r, w, err := os.Pipe()
		if program == "" || err != nil {
			continue // two descriptors stay, for the moment that is left
		}
		go func() {
			_, _ = w.WriteString(page)
			w.Close()
		}()
		run := exec.Command(program, append(words[1:], "/dev/fd/3")...) // standard input is the pager's
		run.Env, run.ExtraFiles = env, []*os.File{r}
		attach(run)
		if run.Run() == nil {
			return true
		}
	}
	return false
}
