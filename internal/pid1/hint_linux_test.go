// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The test's own program is the process that explains a failure.
func init() {
	if len(os.Args) < 4 || os.Args[1] != hintName {
		return
	}
	switch os.Args[3] {
	case "words":
		_, err := os.Stderr.Write([]byte("not seen"))
		_, _ = os.Stdout.WriteString(strings.Join(os.Args[2:], " ") + " " + os.Getenv("HOME") + os.Getenv("PATH") +
			os.Getenv("OTHER"))
		if err != nil {
			os.Exit(1)
		}
	case "hangs":
		_, _ = os.Stdout.WriteString("late")
		time.Sleep(time.Hour)
	case "endless":
		for {
			_, _ = os.Stdout.WriteString(strings.Repeat("x", 4096))
		}
	}
	os.Exit(0)
}

func TestExplain(t *testing.T) {
	t.Setenv("HOME", "/h")
	t.Setenv("PATH", "/p")
	t.Setenv("OTHER", "/o")
	for what, want := range map[string]string{"words": "7 words left=/d until=N first=0 columns=0 -- a b /h/p", "hangs": "",
		"endless": strings.Repeat("x", 4*maxHint+4), "nothing": ""} {
		s := &supervisor{config: &InitConfig{Hints: []string{what}, Argv: []string{"a", "b"}, Parent: NoParentFDs}}
		s.parent.fds = NoParentFDs
		start := time.Now()
		got := regexp.MustCompile(`until=\d+`).ReplaceAllString(s.explain(7, []string{"left=/d"}), "until=N")
		if got != want {
			t.Errorf("%s: %q", what, got)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: %v", what, took)
		}
	}
	// Whoever sends a signal does not wait.
	s := &supervisor{config: &InitConfig{Hints: []string{"hangs"}, Parent: NoParentFDs}, told: bit(sigTERM)}
	s.parent.fds = NoParentFDs
	start := time.Now()
	if got := s.explain(7, nil); got != "" || time.Since(start) >= hintTime {
		t.Errorf("after a signal: %q, %v", got, time.Since(start))
	}
}
