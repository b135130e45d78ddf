// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

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

// levels are those of the log, the coarsest first.
var levels = []string{"error", "warn", "info", "debug"}

// log writes a record to standard error when --log-level asks for it, with keys and
// values: "2026-01-02T03:04:05.678Z [INFO]  sbx: read config: layer=user bytes=7".
func (f *Flags) log(level, what string, pairs ...any) {
	if slices.Index(levels, f.LogLevel) < slices.Index(levels, level) {
		return
	}
	b := fmt.Appendf(nil, "%s %-7s sbx: %s:", time.Now().Format("2006-01-02T15:04:05.000Z0700"),
		"["+strings.ToUpper(level)+"]", what)
	for i := 0; i < len(pairs); i += 2 {
		value := fmt.Sprint(pairs[i+1])
		if _, list := pairs[i+1].([]string); list || value == "" || strings.ContainsAny(value, " \t\n\"") {
			value = fmt.Sprintf("%q", pairs[i+1])
		}
		b = fmt.Appendf(b, " %s=%s", pairs[i], value)
	}
	_, _ = os.Stderr.WriteString(text.Escape(string(b)) + "\n")
}
