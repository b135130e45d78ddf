// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"strings"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Color is the value of --color.
var Color string

// Screen is how a descriptor is shown to people.
func Screen(fd int) text.Screen {
	size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	if err != nil {
		return text.NewScreen(false, 0, Color, os.Getenv)
	}
	return text.NewScreen(true, int(size.Col), Color, os.Getenv)
}

// Say writes one line to standard error: "sbx: KIND: TEXT", wrapped and coloured on
// a terminal. It is one write, so that lines of parallel runs do not mix.
func Say(kind, line string) {
	label, s := "sbx:", Screen(2)
	if kind != "" {
		label += " " + kind + ":"
	}
	out := s.Show(label + " " + Harmless(line) + "\n")
	if sgr := map[string]string{"error": "31", "warning": "33", "hint": "36"}[strings.ToLower(kind)]; sgr != "" {
		out = s.Raw(s.Paint(sgr, label)) + out[len(label):]
	}
	_, _ = syscall.Write(2, []byte(out))
}

// Harmless makes one line of a text, and takes out what would drive the terminal.
func Harmless(s string) string { return strings.ReplaceAll(text.Escape(s), "\n", `\n`) }

// IsTerminal reports whether a descriptor is a terminal.
func IsTerminal(fd int) bool {
	_, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	return err == nil
}

// Failed is the error of a run that does not start, with what to do about it, if
// there is anything.
func Failed(text, hint string) error {
	return &host.Error{Status: host.StatusFailed, Text: text, Hint: hint}
}

// Gone is the error for a working directory that cannot be worked in.
func Gone() error { return host.Gone() }

// logger writes to standard error when a level was asked for.
func logger(level string) hclog.Logger {
	if level == "" {
		return hclog.NewNullLogger()
	}
	return hclog.New(&hclog.LoggerOptions{Name: "sbx", Level: hclog.LevelFromString(level), Output: escaped{}})
}

// escaped is standard error, for records that may hold any name.
type escaped struct{}

func (escaped) Write(record []byte) (int, error) {
	if _, err := os.Stderr.WriteString(text.Escape(string(record))); err != nil {
		return 0, err
	}
	return len(record), nil
}
