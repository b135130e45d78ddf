// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/sbx-sandbox/sbx/internal/app"
)

// progress is a line on a terminal that says what takes long. It appears after a
// while, and is gone at the end.
type progress struct {
	mu    sync.Mutex
	to    io.Writer // nil where nothing is shown
	width int
	step  string
	shown bool
}

// showProgress shows it on standard error, where that is a terminal which can take a
// line back.
func showProgress(quiet bool) *progress {
	s := app.Screen(2)
	if quiet || !s.Terminal || os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "" {
		return &progress{}
	}
	return newProgress(os.Stderr, s.Width, time.Second)
}

func newProgress(to io.Writer, width int, after time.Duration) *progress {
	p := &progress{to: to, width: width}
	time.AfterFunc(after, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.shown = p.to != nil
		p.draw()
	})
	return p
}

// say names the current step, in a few words of ASCII.
func (p *progress) say(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = step
	p.draw()
}

func (p *progress) draw() {
	if p.shown {
		line := "sbx: " + p.step + " ..."
		_, _ = io.WriteString(p.to, "\r"+line[:min(len(line), p.width-1)]+"\x1b[K")
	}
}

// end takes the line back. Nothing is shown from then on.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		_, _ = io.WriteString(p.to, "\r\x1b[K")
	}
	p.to, p.shown = nil, false
}
