// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	var fast bytes.Buffer
	p := newProgress(&fast, 80, time.Hour)
	p.say("one")
	if p.end(); fast.Len() > 0 {
		t.Errorf("shown before its time: %q", fast.String())
	}
	var slow bytes.Buffer
	p = newProgress(&slow, 20, 0)
	for p.say("one"); ; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		shown := p.shown
		p.mu.Unlock()
		if shown {
			break
		}
	}
	p.say("one that is longer than the terminal is wide")
	p.end()
	p.say("after the end")
	for line := range strings.SplitSeq(slow.String(), "\r") {
		if line = strings.TrimSuffix(line, "\x1b[K"); len(line) > 19 {
			t.Errorf("too wide: %q", line)
		}
	}
	if !strings.Contains(slow.String(), "\rsbx: one ...\x1b[K\rsbx: one that") || !strings.HasSuffix(slow.String(), "\r\x1b[K") {
		t.Errorf("%q", slow.String())
	}
	if p = showProgress(false); p.to != nil {
		t.Error("shown where standard error is no terminal")
	}
}
