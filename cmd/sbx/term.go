package main

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
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

// harmless takes out what would drive the terminal, whatever a text quotes.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	return err == nil
}

// colour wraps a text in an SGR sequence when standard output can show it.
func colour(sgr, text string) string {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !isTerminal(1) {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}
