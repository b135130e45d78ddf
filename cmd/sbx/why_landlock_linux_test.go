// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// needLandlock skips a Go test, or fails it, where the kernel has no Landlock.
func needLandlock(t *testing.T) {
	t.Helper()
	ok, err := condition("landlock")
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Skip("the kernel has no Landlock")
	}
}

// actWalled opens each path for reading and for writing, or makes something in
// it or at it, and takes that away again.
const actWalled = `
for p; do
	read=no write=no
	if [ -d "$p" ]; then
		ls -A "$p/" >/dev/null 2>&1 && read=yes
		t=$p/probe.$$
		if (: >"$t") 2>/dev/null; then write=yes; rm -f "$t"; fi
	elif [ -p "$p" ]; then
		if (: <>"$p") 2>/dev/null; then read=yes write=yes; fi
	elif [ -e "$p" ]; then
		(: <"$p") 2>/dev/null && read=yes
		(: >>"$p") 2>/dev/null && write=yes
	else
		case $p in
		*/../*) ;;
		*) mkdir -p "$(dirname "$(realpath -m "$p")")" 2>/dev/null ;;
		esac
		if (: >>"$p") 2>/dev/null; then write=yes; rm -f "$(realpath -m "$p")"; fi
	fi
	echo "$read $write"
done`

// TestWhyTellsTheTruthOfLandlock compares what why says of paths with what
// happens when a command tries, and what its remedies promise with what it says
// once they are pulled.
func TestWhyTellsTheTruthOfLandlock(t *testing.T) {
	needLandlock(t)
	for _, flags := range [][]string{{"--engine", "landlock"}, {"--engine", "landlock", "-p", "permissive"}, {"--engine", "landlock", "--git", "full", "-r", "../shared", "--block", "../shared/f", "-w", "../other", "--no-net"}} {
		t.Run(strings.Join(flags[2:], " "), func(t *testing.T) {
			t.Parallel()
			w := newWhyWorld(t)
			must(t, os.Link(w.base+"/proj/tls.key", w.base+"/other/second")) // the same file, hidden by one name
			words := slices.DeleteFunc(whyPaths(w.base), func(p string) bool { return strings.HasPrefix(p, "/run/sbx") })
			words = append(words, "../other/second", "../shared/f", "../shared/g", "/dev", "/dev/full", "/dev/kmsg", "/dev/fuse", "/dev/pts", "/proc", "/proc/1/environ", "/proc/1/status", "/proc/self/environ", "/proc/self/mem", "/proc/sys/kernel/core_pattern")
			w.run(t, append(slices.Clone(flags), "-q", "--", "true")...) // makes the private cache
			answers := w.answers(t, slices.Concat([]string{"why", "--json"}, flags, words)...)
			full := w.full(words)
			truth := strings.Split(strings.TrimSpace(string(w.run(t, slices.Concat(flags, []string{"-q", "--", "sh", "-c", actWalled, "sh"}, full)...))), "\n")
			if len(answers) != len(words) || len(truth) != len(words) {
				t.Fatalf("%d answers and %d attempts for %d words", len(answers), len(truth), len(words))
			}
			seen := map[string]int{}
			for i, a := range answers {
				if _, err := os.Lstat(full[i]); *a.Seen != (err == nil) && !strings.HasSuffix(words[i], "/") {
					t.Errorf("%s: why says seen %v, in truth %v", words[i], *a.Seen, err)
				}
				said := fmt.Sprintf("%s %s", yesNo(*a.Read), yesNo(*a.Write))
				if truth[i] != said {
					t.Errorf("%s: why says %s, in truth %s: %+v, rule %+v", words[i], said, truth[i], a, a.Rule)
				}
				seen[said]++
				if !strings.HasPrefix(a.LeadsTo+a.Name, "/proc") {
					w.pull(t, flags, words[i], a)
				}
			}
			for _, kind := range []string{"no no", "yes no", "no yes", "yes yes"} {
				if seen[kind] == 0 {
					t.Errorf("nothing is %s: the test tests too little", kind)
				}
			}
		})
	}
}

// full gives words their whole paths.
func (w *whyWorld) full(words []string) []string {
	out := slices.Clone(words)
	for i, word := range out {
		if rest, ok := strings.CutPrefix(word, "~"); ok {
			out[i] = w.base + "/home" + rest
		} else if word[0] != '/' {
			out[i] = w.base + "/proj/" + word
		}
	}
	return out
}

// What why says inside is what it says outside.
func TestWhyInsideLandlock(t *testing.T) {
	needLandlock(t)
	w := newWhyWorld(t)
	words := append(slices.DeleteFunc(whyPaths(w.base), func(p string) bool { return strings.HasPrefix(p, "/proc/self") }), "github.com", "127.0.0.1:80", "localhost", "@x", "PLAIN", "GH_TOKEN", "HOME", "SBX_PROFILE", "SBX_MANIFEST", "TMPDIR")
	w.run(t, "--engine", "landlock", "-q", "--", "true")
	outside := w.answers(t, append([]string{"why", "--engine", "landlock", "--json"}, words...)...)
	inside := w.answers(t, append([]string{"--engine", "landlock", "-q", "--", "./sbx", "why", "--json"}, words...)...)
	for i := range outside {
		alike("moderate", &outside[i], &inside[i])
	}
	if d := cmp.Diff(outside, inside); d != "" {
		t.Errorf("(-outside +inside):\n%s", d)
	}
	// What only the run itself knows.
	out := string(w.run(t, "--engine", "landlock", "-q", "--", "sh", "-c", `./sbx why "$TMPDIR" "$TMPDIR/new" "$SBX_MANIFEST"; SBX_MANIFEST=/dev/null ./sbx why main.go 2>&1; echo $?`))
	for _, text := range []string{"can read and change it", "temporary files", "of which nothing more is known", "\n125\n"} {
		if !strings.Contains(out, text) {
			t.Errorf("%q is not in\n%s", text, out)
		}
	}
}
