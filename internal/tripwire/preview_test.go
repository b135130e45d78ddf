// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tripwire

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPreview(t *testing.T) {
	const config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tfsmonitor = \"touch x; :\"\n[user]\n\tname = me\n[branch \"main\"]\n\tremote = origin\n"
	git := map[string]string{
		"HEAD": "ref: x\n", "config": config, "objects/": "", "refs/": "", "hooks/pre-commit": "x #!/bin/sh\nevil\n",
		"hooks/post-merge": "not run\n", "hooks/a.sample": "x sample", "hooks/linked": "-> ../evil",
		"commondir": "../../x\n",
	}
	gitLines := []string{
		"+ config, what is not usual in it:", "+     [core]", "+     \tfsmonitor = \"touch x; :\"", "+     [user]",
		"+     \tname = me",
		"+ commondir:", "+     ../../x",
		"+ hooks/linked:", "+     cannot be read: too many levels of symbolic links",
		"+ hooks/pre-commit:", "+     #!/bin/sh", "+     evil",
		"+ HEAD, 7 bytes", fmt.Sprintf("+ commondir, %d bytes", 8), fmt.Sprintf("+ config, %d bytes", len(config)),
		"+ hooks/", "+ objects/", "+ refs/",
	}
	for _, tt := range []struct {
		name   string
		files  map[string]string // of what is at "it", "" being itself
		was    string
		before string
		want   []string
	}{
		{"a file", map[string]string{"": "a\nb\n"}, "", "", []string{"+ a", "+ b"}},
		{"without an end of line", map[string]string{"": "a\n\nb"}, "", "", []string{"+ a", "+ ", "+ b"}},
		{"empty", map[string]string{"": ""}, "", "", []string{"+ an empty file"}},
		{"binary", map[string]string{"": "a\x00b"}, "", "", []string{"+ binary, 3 bytes"}},
		{"what a terminal obeys", map[string]string{"": "\x1b[2J\r\u202e\u200b\xff\ttab \u00e9\x7f\n"}, "", "",
			[]string{"+ \\x1b[2J\\r\\u202e\\u200b\\xff\ttab \u00e9\\x7f"}},
		{"a link", map[string]string{"": "-> /x\x1b\n"}, "", "", []string{`+ -> /x\x1b\n`}},
		{"a fifo", map[string]string{"": "|"}, "", "", []string{"+ fifo"}},
		{"a file that was a link", map[string]string{"": "a"}, "link /x", "", []string{`- was a link to "/x"`, "+ a"}},
		{"changed", map[string]string{"": "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"}, "file x", "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
			[]string{"  … 1 unchanged", "  2", "  3", "  4", "- 5", "+ five", "  6", "  7", "  8"}},
		{"only executable", map[string]string{"": "x a\n"}, "file x", "a\n",
			[]string{"+ the same content, now an executable file"}},
		{"emptied", map[string]string{"": ""}, "file x", "a\n", []string{"- a"}},
		{"a directory", map[string]string{"tasks.json": "{\n}\n", "sub/run": "x #!/bin/sh\n", "l": "-> x",
			"bin": "\x00", "big": strings.Repeat("x", maxSmall+1)}, "", "",
			[]string{"+ big, 4097 bytes", "+ bin, 1 bytes", "+     binary", "+ l -> x", "+ sub/",
				"+ sub/run, executable, 10 bytes", "+     #!/bin/sh", "+ tasks.json, 4 bytes", "+     {", "+     }"}},
		{"a git directory", git, "", "", gitLines},
		{"a git directory without anything", map[string]string{"HEAD": "", "objects/": "", "refs/": ""}, "", "",
			[]string{"+ HEAD, 0 bytes", "+ objects/", "+ refs/"}},
		{"hooks that are a link", map[string]string{"HEAD": "", "objects/": "", "refs/": "", "hooks": "-> /x"}, "", "",
			[]string{"+ hooks: PATH/it/hooks: a directory on the way has become a link", "+ HEAD, 0 bytes",
				"+ hooks -> /x", "+ objects/", "+ refs/"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, nil)
			for name, text := range tt.files {
				if name != "" {
					name = "/" + name
				}
				put(t, dir+"/it"+name, text)
			}
			now, err := Look(Name, dir+"/it")
			if err != nil {
				t.Fatal(err)
			}
			c := Change{Path: dir + "/it", Was: tt.was, Now: now}
			if tt.before != "" {
				c.Before = []byte(tt.before)
			}
			got := c.Preview()
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], dir, "PATH")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A preview is small, whatever is shown, and says so.
func TestPreviewBounds(t *testing.T) {
	dir := tree(t, map[string]string{
		"lines": strings.Repeat("a\n", 5000), "long": strings.Repeat("\u00e9", 5000),
		"wide": strings.Repeat(strings.Repeat("a", 300)+"\n", 150), "huge": strings.Repeat("a", maxFile+1),
	})
	for i := range 1000 {
		put(t, fmt.Sprintf("%s/dir/%d", dir, i), "text\n")
	}
	for name, want := range map[string]string{"lines": "… and more", "long": "… 9602 more bytes in this line",
		"wide": "… and more", "huge": "more than 1 MiB", "dir": "… and more"} {
		now, err := Look(Name, dir+"/"+name)
		if err != nil {
			t.Fatal(err)
		}
		lines := (&Change{Path: dir + "/" + name, Now: now}).Preview()
		text := strings.Join(lines, "\n")
		if len(lines) > maxLines || len(text) > maxShown+2*maxLine+maxLines || !strings.HasSuffix(text, want) {
			t.Errorf("%s: %d lines, %d bytes, ends with %q", name, len(lines), len(text), text[max(0, len(text)-60):])
		}
	}
}

// What is not any more what the change is about is neither shown nor removed.
func TestChangedSince(t *testing.T) {
	dir := tree(t, map[string]string{"file": "one", "d/x": "one", "keep": "mine"})
	file, sub := change(t, dir+"/file"), change(t, dir+"/d")
	for _, c := range []*Change{file, sub} {
		if err := c.Same(); err != nil {
			t.Error(err)
		}
	}
	put(t, dir+"/file", "two")
	put(t, dir+"/d/x", "two")
	if got := file.Preview(); !cmp.Equal(got, []string{"+ it has changed since it was looked at"}) {
		t.Errorf("shown: %q", got)
	}
	for _, c := range []*Change{file, sub} {
		if err := c.Remove(); err == nil {
			t.Errorf("%s was removed", c.Path)
		}
	}
	for _, path := range []string{dir + "/file", dir + "/d/x"} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

func change(t *testing.T, path string) *Change {
	t.Helper()
	now, err := Look(Name, path)
	if err != nil || now == "" {
		t.Fatal(path, now, err)
	}
	return &Change{Path: path, Now: now}
}

// Removing follows no link, and takes away all of a directory.
func TestRemove(t *testing.T) {
	dir := tree(t, map[string]string{
		"mine/file": "mine", "link": "-> mine", "filelink": "-> mine/file", "fifo": "|", "d/a": "", "d/b/c": "",
		"d/b/l": "-> ../../mine", "d/caf\xe9\n": "", "x": "x ",
	})
	for path, entries := range map[string]int{"link": 0, "filelink": 0, "fifo": 0, "d": 5, "x": 0} {
		c := change(t, dir+"/"+path)
		n, err := c.Entries()
		if err != nil || n != entries {
			t.Errorf("%s: %d entries, %v; want %d", path, n, err, entries)
		}
		if err := c.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(c.Path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	if data, err := os.ReadFile(dir + "/mine/file"); err != nil || string(data) != "mine" {
		t.Errorf("what links lead to: %q, %v", data, err)
	}
	// Not through a directory that has become a link.
	put(t, dir+"/other/file", "mine")
	c := change(t, dir+"/other/file")
	if err := os.Rename(dir+"/other", dir+"/other2"); err != nil {
		t.Fatal(err)
	}
	put(t, dir+"/other", "-> other2")
	if err := c.Remove(); err == nil {
		t.Error("removed through a link")
	}
	if _, err := os.Lstat(dir + "/other2/file"); err != nil {
		t.Error(err)
	}
}

func TestPlain(t *testing.T) {
	for s, want := range map[string]string{"": "", "plain": "plain", "a\x1bb": `a\x1bb`, "\ufffd": "\ufffd",
		"\xff": `\xff`, "tab\t": "tab\t", "\u202eabc": `\u202eabc`, "\\x1b": "\\x1b", "é中": "é中"} {
		if got := Plain(s); got != want {
			t.Errorf("Plain(%q) = %q, want %q", s, got, want)
		}
	}
}
