// SPDX-License-Identifier: Apache-2.0

// Command testsum runs go test with the arguments given and prints what a
// person wants to know of it: a line per package, what failed tests wrote, why
// tests were skipped, and last of all "N passed, M failed, K skipped".
//
// SBX_TEST_REQUIRE (words, comma-separated) names what must not be missing: a
// test skipped for one of these counts as failed.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/testenv"
)

func main() {
	s := summary{out: map[test][]string{}, required: words(os.Getenv("SBX_TEST_REQUIRE"))}
	if err := s.run(os.Args[1:]); err != nil && s.failed == 0 {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		s.failed++
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	if s.failed > 0 {
		os.Exit(1)
	}
}

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

type test struct{ pkg, name string }

type summary struct {
	passed, failed, skipped int
	required                []string
	out                     map[test][]string // what a running test wrote so far
	lost                    map[string]bool   // packages with a failed test
}

func (s *summary) run(args []string) error {
	// Most tests wait for a sandbox most of the time.
	parallel := "-parallel=" + strconv.Itoa(runtime.NumCPU()+1)
	cmd := exec.Command("go", append([]string{"test", "-json", parallel}, args...)...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "TMPDIR="+testenv.TempDir())
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.lost = map[string]bool{}
	dec := json.NewDecoder(pipe)
	for {
		var e event
		if err := dec.Decode(&e); err == io.EOF {
			break
		} else if err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return fmt.Errorf("go test -json: %w", err)
		}
		s.add(e)
	}
	return cmd.Wait()
}

func (s *summary) add(e event) {
	t := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Print(e.Output)
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") {
			s.out[t] = append(s.out[t], e.Output)
		}
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.endPackage(e)
		} else {
			s.endTest(e, t)
		}
		delete(s.out, t)
	}
}

func (s *summary) endTest(e event, t test) {
	why := reasons(s.out[t])
	switch {
	case e.Action == "fail":
		s.failed++
		s.lost[e.Package] = true
		fmt.Print(strings.Join(s.out[t], ""))
	case e.Action == "pass":
		s.passed++
		s.counts(t)
	case s.needed(why):
		s.failed++
		s.lost[e.Package] = true
		fmt.Printf("FAIL  %s %s: skipped, and SBX_TEST_REQUIRE asks for it: %s\n", short(e.Package), e.Test, why)
	default:
		s.skipped++
		fmt.Printf("skip  %s %s: %s\n", short(e.Package), e.Test, why)
	}
}

// counts prints what a test that passed has counted: lines that begin with its package.
func (s *summary) counts(t test) {
	for _, line := range s.out[t] {
		if m := logLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil && strings.HasPrefix(m[1], path.Base(t.pkg)+": ") {
			fmt.Println(m[1])
		}
	}
}

// endPackage counts a package that failed without a failed test: it did not
// compile, it panicked, or it ran out of time.
func (s *summary) endPackage(e event) {
	switch {
	case e.Action == "pass":
		fmt.Printf("ok    %-28s %6.2fs\n", short(e.Package), e.Elapsed)
	case e.Action == "fail":
		if !s.lost[e.Package] {
			s.failed++
			// A panic or a timeout is the output of the test it struck.
			for t, out := range s.out {
				if t.pkg == e.Package {
					fmt.Print(strings.Join(out, ""))
				}
			}
		}
		fmt.Printf("FAIL  %-28s %6.2fs\n", short(e.Package), e.Elapsed)
	}
	for t := range s.out {
		if t.pkg == e.Package {
			delete(s.out, t)
		}
	}
}

var logLine = regexp.MustCompile(`^\s*[^ :]+\.go:\d+: (.*)`)

// reasons is what a test itself logged, without file names: "plan_bwrap.go:3:
// needs root" is not about bwrap.
func reasons(out []string) string {
	var why []string
	for _, line := range out {
		if m := logLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil && m[1] != "" {
			why = append(why, m[1])
		}
	}
	return strings.Join(why, "; ")
}

func (s *summary) needed(why string) bool {
	found := strings.FieldsFunc(strings.ToLower(why), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' })
	return slices.ContainsFunc(s.required, func(w string) bool {
		return slices.Contains(found, w) || w == "bwrap" && slices.Contains(found, "bubblewrap")
	})
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func short(pkg string) string {
	return strings.TrimPrefix(pkg, "github.com/sbx-sandbox/sbx/")
}
