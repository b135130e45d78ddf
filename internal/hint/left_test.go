// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hint

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
)

// left asks for a home directory that is said to be a file system in memory.
func left(home string, more ...string) string {
	mounts := ""
	for _, point := range append([]string{home}, more...) {
		mounts += "1 1 0:1 / " + point + " rw - tmpfs tmpfs rw\n"
	}
	b := &Sandbox{Checker: &access.Checker{FS: host.OS{}, Host: &host.Host{Caller: host.Caller{Homes: []string{home}}}},
		CWD: "/", Home: home, Secret: func(string) bool { return false }}
	return Left(b, engine.Hints{Left: []string{home}, Made: []string{home + "/link"}}, nil, mounts, time.Now().Add(time.Minute))
}

func TestLeft(t *testing.T) {
	home := t.TempDir()
	at := func(name string) string { return filepath.Join(home, name) }
	write := func(names ...string) {
		for _, name := range names {
			if os.MkdirAll(filepath.Dir(at(name)), 0o755) != nil || os.WriteFile(at(name), []byte("x"), 0o644) != nil {
				t.Fatal(name)
			}
		}
	}
	write("src/proj/f", ".cache/a", ".npm/_logs/b", ".zsh_history")
	if os.Symlink("/", at("link")) != nil || syscall.Mkfifo(at("fifo"), 0o600) != nil {
		t.Fatal("link, fifo")
	}
	if got := left(home, at("src/proj")); got != "" {
		t.Errorf("of what sbx made and no one misses: %s", got)
	}
	for _, step := range []struct {
		names []string
		want  string
	}{
		{[]string{"src/x"}, "~/src/x is gone with the sandbox; to keep it: sbx -w ~/src"},
		{[]string{"src/y"}, "2 files in ~/src are gone with the sandbox; to keep them: sbx -w ~/src"},
		{[]string{".config/tool/a", ".config/tool/b/c", ".config/tool/d"}, "3 files in ~/.config/tool and " +
			"2 files in ~/src are gone with the sandbox; to keep what is in ~/.config/tool: " +
			"mkdir -p ~/.config/tool && sbx -w ~/.config/tool"},
	} {
		write(step.names...)
		if got := left(home, at("src/proj")); got != step.want {
			t.Errorf("%v: %s", step.names, got)
		}
	}
	big, _ := os.Create(at("sparse"))
	if err := big.Truncate(1 << 40); err != nil {
		t.Fatal(err)
	}
	if got := left(home, at("src/proj")); strings.Contains(got, "MB") || !strings.Contains(got, "~/sparse") {
		t.Error(got)
	}
}

// TestLeftIsHarmless: whatever the names, it is one line for a terminal, of bounded length.
func TestLeftIsHarmless(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		home := t.TempDir()
		for range 1 + r.IntN(6) {
			name := make([]byte, 1+r.IntN(255))
			for i := range name {
				if name[i] = byte(r.Uint32()); r.IntN(4) > 0 {
					name[i] = "\n\x1b[m\u202e\u009b'\"$`\\ ;~"[r.IntN(17)]
				}
				if name[i] == 0 || name[i] == '/' {
					name[i] = '\n'
				}
			}
			path := home + "/" + string(name)
			if r.IntN(2) == 0 && os.Mkdir(path, 0o755) == nil {
				path += "/f"
			}
			_ = os.WriteFile(path, nil, 0o644)
		}
		got := left(home)
		bad := func(r rune) bool { return !unicode.IsPrint(r) }
		if got == "" || strings.ContainsFunc(got, bad) || len(got) > 1000 {
			t.Fatalf("seed %d: %q", seed, got)
		}
	}
}

func TestLeftIsBounded(t *testing.T) {
	home := t.TempDir()
	for i := range maxEntries + 500 {
		if err := os.WriteFile(home+"/"+strconv.Itoa(i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := strconv.Itoa(maxEntries) + " files in ~ and more are gone with the sandbox"
	if got := left(home); got != want {
		t.Error(got)
	}
}
