// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/tripwire"
)

// ask shows one change after the other and does what a person says. It returns
// how many are left.
func (t *tripped) ask(in io.Reader) (left int, err error) {
	lines := bufio.NewReader(in)
	for i := range t.changes {
		if t.changes[i].Open() {
			left++
		}
	}
	for i := range t.changes {
		c := &t.changes[i]
		t.printOne(c)
		switch replyTo(lines, "[a]ccept, [r]emove, [s]kip, [q]uit? ", "a", "r", "s", "q") {
		case "a":
			err = t.accept(c)
		case "r":
			var gone bool
			if gone, err = t.remove(c, lines); err == nil && !gone {
				continue
			}
		case "s":
			continue
		default:
			return left, nil
		}
		if err != nil {
			app.Say("error", err.Error())
			err = nil
			continue
		}
		if c.Open() {
			left--
		}
	}
	return left, nil
}

// remove deletes after the answer; a directory only after another one, since
// that is more than one can see.
func (t *tripped) remove(c *tripwire.Change, lines *bufio.Reader) (gone bool, err error) {
	if strings.HasPrefix(c.Now, "dir ") {
		n, err := c.Entries()
		if err != nil {
			return false, err
		}
		if replyTo(lines, "remove the directory "+t.shown(c)+" with "+strconv.Itoa(n)+" entries? [yes/no] ", "yes",
			"no", "q") != "yes" {
			return false, nil
		}
	}
	if err := c.Remove(); err != nil {
		return false, err
	}
	return true, nil
}

// replyTo asks until the answer is one of those there are. The end of the input
// is none of them.
func replyTo(lines *bufio.Reader, question string, answers ...string) string {
	for {
		fmt.Fprint(stdout, question)
		line, err := lines.ReadString('\n')
		line = strings.ToLower(strings.TrimSpace(line))
		for _, a := range answers {
			if line == a || line == longAnswers[a] {
				return a
			}
		}
		if err != nil {
			fmt.Fprintln(stdout)
			return ""
		}
	}
}

// longAnswers are the words that letters stand for.
var longAnswers = map[string]string{"a": "accept", "r": "remove", "s": "skip", "q": "quit", "yes": "y", "no": "n"}
