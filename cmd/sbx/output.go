package main

import (
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"sync"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// stdout is the only way to standard output. File names, arguments and the
// contents of files reach a terminal escaped (policy.Escape), whichever command
// prints them; a file or a pipe gets every byte as it is.
var stdout = &output{}

// output keeps the first error, since commands print line by line.
type output struct{ err error }

func (o *output) Write(p []byte) (int, error) {
	out := p
	if onTerminal() {
		parts := strings.Split(string(p), escMark())
		for i := range parts {
			parts[i] = text.Escape(parts[i])
		}
		out = []byte(strings.Join(parts, "\x1b"))
	}
	if _, err := os.Stdout.Write(out); err != nil {
		if o.err == nil {
			o.err = app.Failed("standard output: "+cause(err), "")
		}
		return 0, o.err
	}
	return len(p), nil
}

func (o *output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// cause is the reason of an error without the file it is about.
func cause(err error) string {
	if e, ok := err.(*os.PathError); ok {
		err = e.Err
	}
	return err.Error()
}

// finish is the outcome of a command that printed: what was not written counts.
func finish(err error) error {
	var exit exitError
	if stdout.err != nil && (err == nil || errors.As(err, &exit)) {
		return stdout.err
	}
	return err
}

var onTerminal = sync.OnceValue(func() bool { return app.IsTerminal(1) })

// escMark stands for ESC in sbx's own sequences, so that none in a name passes for
// one of them.
var escMark = sync.OnceValue(func() string { return "\x1b" + rand.Text() })

// colour wraps a text in an SGR sequence when standard output can show it.
func colour(sgr, text string) string {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !onTerminal() {
		return text
	}
	return escMark() + "[" + sgr + "m" + text + escMark() + "[0m"
}
