package main

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// say writes one line to standard error: "sbx: KIND: TEXT". It is one write,
// so that lines of parallel runs do not mix.
func say(kind, text string) {
	line := "sbx: "
	if kind != "" {
		line += kind + ": "
	}
	_, _ = syscall.Write(2, []byte(line+harmless(text)+"\n"))
}

// harmless makes one line of a text, and takes out what would drive the terminal.
func harmless(text string) string {
	return strings.ReplaceAll(policy.Escape(text), "\n", `\n`)
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	return err == nil
}
