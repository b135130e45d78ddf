// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// whyWorld is a project and a home directory with one of everything that why
// knows a word for.
type whyWorld struct {
	base string
	env  []string
}

func newWhyWorld(t *testing.T) *whyWorld {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &whyWorld{base: base}
	for _, name := range []string{
		"proj/main.go", "proj/sub/f", "proj/.env", "proj/.env.local", "proj/.env.example", "proj/tls.key", "proj/.envrc", "proj/.vscode/settings.json",
		"proj/.git/config", "proj/.git/HEAD", "proj/.git/hooks/pre-commit", "proj/.git/modules/lib/config", "proj/.git/modules/lib/HEAD", "proj/readonly", "proj/unreadable", "proj/closed/f",
		"home/notes", "home/.ssh/id_rsa", "home/.ssh/known_hosts", "home/.gitconfig", "home/.config/git/config", "home/.config/gh/hosts.yml", "home/.local/state/x", "home/.cache/tool/x",
		"home/bin/tool", "home/.bash_history", "home/.aws/credentials", "other/f", "shared/f",
	} {
		w.write(t, name)
	}
	for _, name := range odd {
		if name = strings.ReplaceAll(name, "/", "_"); name != "" {
			w.write(t, "proj/odd/"+name)
		}
	}
	links := map[string]string{"key": "../home/.ssh/id_rsa", "out": "../other/f", "dangling": "nowhere", "a": "b", "b": "a", "into": "sub", "absolute": base + "/proj/main.go", "etc": "/etc/passwd"}
	for name, to := range links {
		must(t, os.Symlink(to, base+"/proj/"+name))
	}
	must(t, syscall.Mkfifo(base+"/proj/fifo", 0o644))
	must(t, os.Chmod(base+"/proj/readonly", 0o444))
	must(t, os.Chmod(base+"/proj/unreadable", 0))
	must(t, os.Chmod(base+"/proj/closed", 0o500))
	t.Cleanup(func() { _ = os.Chmod(base+"/proj/closed", 0o700) })
	// By another process: a descriptor open for writing that a child of a test
	// beside this one inherits keeps the file from being executed.
	must(t, exec.Command("cp", sbxPath, base+"/proj/sbx").Run())
	home := base + "/home"
	w.env = []string{"HOME=" + home, "LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin", "TERM=dumb", "XDG_CACHE_HOME=" + home + "/.cache", "XDG_CONFIG_HOME=" + home + "/.config",
		"XDG_DATA_HOME=" + home + "/.local/share", "XDG_STATE_HOME=" + home + "/.local/state", "PLAIN=plain-value", "GH_TOKEN=secret-value", "HTTP_PROXY=http://u:secret-value@h", "LD_LIBRARY_PATH=/nowhere"}
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *whyWorld) write(t *testing.T, name string) {
	t.Helper()
	path := w.base + "/" + name
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte("content of "+name+"\n"), 0o644))
}

func (w *whyWorld) run(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(w.base+"/proj/sbx", args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.base+"/proj", w.env, &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("sbx %q: %v\n%s", args, err, errs.Bytes())
	}
	return out.Bytes()
}

func (w *whyWorld) answers(t *testing.T, args ...string) []answerJSON {
	t.Helper()
	data := w.run(t, args...)
	if bytes.Contains(data, []byte("-value")) {
		t.Error("a value is in the answer")
	}
	var out answersJSON
	must(t, json.Unmarshal(data, &out))
	return out.Answers
}

func whyPaths(base string) []string {
	paths := []string{
		"./main.go", "./sub", "./sub/f", "./.env", "./.env.local", "./.env.example", "./.env.new", "./tls.key", "./.envrc", "./.vscode", "./.vscode/settings.json", "./.vscode/new",
		"./.git", "./.git/config", "./.git/HEAD", "./.git/new", "./.git/hooks", "./.git/hooks/pre-commit", "./.git/hooks/new", "./.git/modules", "./.git/modules/lib", "./.git/modules/lib/config", "./.git/modules/lib/HEAD",
		"./readonly", "./unreadable", "./closed", "./closed/f", "./closed/new", "./fifo", "./new", "./new/deep/er", "./main.go/x", "./main.go/", "./sub/", ".", "..", "../other", "../other/f", "../shared/new",
		"./key", "./out", "./dangling", "./a", "./into", "./into/f", "./into/new", "./into/../main.go", "./into/../f", "./absolute", "./etc", "./etc/..", "./nosuch/../main.go",
		"~", "~/notes", "~/new", "~/.ssh", "~/.ssh/id_rsa", "~/.ssh/new", "~/.ssh/../notes", "~/.gitconfig", "~/.config", "~/.config/git/config", "~/.config/gh/hosts.yml", "~/.local/state", "~/.local/state/x", "~/.local/state/new",
		"~/.cache", "~/.cache/tool/x", "~/.cache/new", "~/bin", "~/bin/tool", "~/bin/new", "~/.bash_history", "~/.aws", "~/.aws/credentials",
		"/", "/etc", "/etc/passwd", "/etc/shadow", "/etc/new", "/usr", "/usr/bin/env", "/bin/sh", "/usr/bin/new", "/tmp", "/tmp/new", "/var", "/var/tmp", "/var/log", "/opt", "/opt/new", "/root", "/home", "/new",
		"/run", "/run/new", "/run/sbx", "/run/sbx/policy.json", "/run/sbx/new", "/dev", "/dev/zero", "/dev/new", "/dev/shm", "/dev/shm/new", "/proc/version", "/proc/self/status", "/proc/self/cwd/main.go", "/proc/self/root/etc/passwd",
		"/proc/sys/kernel/hostname", "/proc/999999", "/sys", "/sys/kernel", "/sys/devices/system", "/sys/devices/system/cpu/online",
		"/" + strings.Repeat("x", 300),
	}
	for _, name := range slices.Sorted(maps.Values(odd)) {
		paths = append(paths, "./odd/"+strings.ReplaceAll(name, "/", "_"))
	}
	return append(paths, base+"/proj/main.go", "//"+base+"/./proj//main.go")
}

// act tries what why says may be done, and prints what could.
const act = `
p=$1 read=no write=no
if [ -d "$p" ]; then
	if out=$(ls -A "$p/" 2>/dev/null); then
		if [ -n "$out" ] || [ -w "$p" ]; then read=yes; fi
	fi
	if t=$(mktemp "$p/probe.XXXXXX" 2>/dev/null); then rm -f "$t"; write=yes; fi
elif [ -p "$p" ]; then
	if (: <>"$p") 2>/dev/null; then read=yes write=yes; fi
else
	n=$(head -c 1 -- "$p" 2>/dev/null | wc -c)
	if [ "$n" -gt 0 ]; then read=yes; fi
	if [ ! -e "$p" ] && [ ! -L "$p" ]; then
		case $p in */../*) ;; *) mkdir -p "${p%/*}" 2>/dev/null ;; esac
	elif [ -L "$p" ] && [ ! -e "$p" ]; then
		mkdir -p "$(dirname "$(realpath -m "$p")")" 2>/dev/null
	fi
	if (: >>"$p") 2>/dev/null; then write=yes; fi
fi
echo "$read $write"`

// TestWhyTellsTheTruth compares what why says of a path with what happens when
// the command tries, what it says inside with what it says outside, and what
// its remedies promise with what it says once they are pulled.
func TestWhyTellsTheTruth(t *testing.T) {
	needBwrap(t)
	for _, profile := range []string{"strict", "moderate", "permissive"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			w := newWhyWorld(t)
			words := whyPaths(w.base)
			w.run(t, "-p", profile, "--", "true") // makes the private cache
			answers := w.answers(t, append([]string{"why", "-p", profile, "--json"}, words...)...)
			if len(answers) != len(words) {
				t.Fatalf("%d answers for %d words", len(answers), len(words))
			}
			for i, a := range answers {
				said := fmt.Sprintf("%s %s", yesNo(*a.Read), yesNo(*a.Write))
				if did := w.try(t, profile, words[i]); did != said {
					t.Errorf("%s: why says %s, in truth %s: %+v, rule %+v", words[i], said, did, a, a.Rule)
				}
				w.pull(t, []string{"-p", profile}, words[i], a)
			}
			if t.Failed() {
				return
			}
			words = append(words, "github.com", "github.com:443", "https://github.com/x", "127.0.0.1:80", "[::1]:80", "localhost", "@x",
				"PLAIN", "GH_TOKEN", "HTTP_PROXY", "LD_LIBRARY_PATH", "HOME", "PATH", "TERM", "SBX_PROFILE", "UNSET_VARIABLE", "UNSET_TOKEN")
			outside := w.answers(t, append([]string{"why", "-p", profile, "--json"}, words...)...)
			inside := w.answers(t, append([]string{"-p", profile, "--", "./sbx", "why", "--json"}, words...)...)
			for i := range outside {
				alike(profile, &outside[i], &inside[i])
			}
			if d := cmp.Diff(outside, inside); d != "" {
				t.Errorf("(-outside +inside):\n%s", d)
			}
		})
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// try does it, and takes away what it made on the host.
func (w *whyWorld) try(t *testing.T, profile, word string) string {
	t.Helper()
	path := word
	if rest, ok := strings.CutPrefix(word, "~"); ok {
		path = w.base + "/home" + rest
	}
	out := w.run(t, "-q", "-p", profile, "--", "sh", "-c", act, "sh", path)
	for _, made := range []string{"proj/new", "proj/nowhere", "proj/.env.new", "proj/sub/new", "proj/.git/new", "proj/nosuch", "home/.local/state/new", "home/.cache/new"} {
		must(t, os.RemoveAll(w.base+"/"+made))
	}
	return strings.TrimSpace(string(out))
}

// pull asks again with the flags that each remedy names.
func (w *whyWorld) pull(t *testing.T, flags []string, word string, a answerJSON) {
	t.Helper()
	for _, l := range a.Remedies {
		if len(l.Flags) == 0 {
			continue
		}
		b := w.answers(t, slices.Concat([]string{"why", "--json"}, flags, l.Flags, []string{word})...)[0]
		own := b.Rule != nil && b.Rule.Access == "private"
		switch {
		case strings.Contains(l.Text, "opens what is in it") && b.Rule != nil && b.Rule.Access == map[string]string{"read": "read", "write": "write"}[l.To]:
		case l.To == "read" && *b.Read && !own, l.To == "write" && *b.Write && !own, l.To == "hide" && !*b.Read:
		default:
			t.Errorf("%s: %q to %s gives %+v, rule %+v", word, l.Flags, l.To, b, b.Rule)
		}
	}
}

// alike evens out what no one can know inside: what the host has where nothing
// of it is visible, and what became of variables that no rule names.
func alike(profile string, out, in *answerJSON) {
	switch out.Name {
	case "PLAIN", "LD_LIBRARY_PATH", "HTTP_PROXY":
		if profile == "strict" && out.Rule.Source == "not on the list" && in.Rule.Access == "unset" {
			out.Rule.Access, out.Why = in.Rule.Access, in.Why
		}
		return
	case "UNSET_VARIABLE", "UNSET_TOKEN":
		if strings.HasPrefix(out.Why, "it is not set") && strings.HasPrefix(in.Why, "it is not set") {
			out.Rule, out.Why, out.Remedies = in.Rule, in.Why, in.Remedies
		}
		return
	}
	for _, text := range []string{" (the host has it)", " (nor does the host have it)"} {
		out.Why = strings.Replace(out.Why, text, "", 1)
	}
	if in.Listens == nil {
		out.Listens = nil
	}
	for _, tail := range []string{" (the host has it, at ", ", and the next run would ", "; a server of this machine ", "; no server of this machine "} {
		if strings.HasPrefix(tail, ";") && in.Listens != nil {
			continue
		}
		out.Why, _, _ = strings.Cut(out.Why, tail)
	}
	if out.Rule == nil || out.Rule.Access == "private" || out.Rule.Access == "block" {
		// Flags and their refusals depend on what the host has there.
		out.Remedies, out.NoRemedy = in.Remedies, in.NoRemedy
	}
}
