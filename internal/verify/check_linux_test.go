// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bytes"
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

func TestJudgeHidden(t *testing.T) {
	out := fileInfo{Kind: kindFile, Dev: 1, Ino: 2, Size: 7, Read: true, Sum: "aa"}
	dir := fileInfo{Kind: kindDir, Dev: 1, Ino: 3, Read: true, Names: [][]byte{[]byte("id_rsa")}}
	names := func(n ...string) (out [][]byte) {
		for _, s := range n {
			out = append(out, []byte(s))
		}
		return out
	}
	tests := []struct {
		name   string
		secret secret
		in     *fileInfo
		want   Verdict
	}{
		{"no answer to the question", secret{Out: out}, nil, unchecked},
		{"absent", secret{Out: out}, &fileInfo{Kind: kindAbsent}, proved},
		{"empty", secret{Out: out}, &fileInfo{Kind: kindFile, Dev: 9, Ino: 9, Read: true}, proved},
		{"its content", secret{Out: out}, &fileInfo{Kind: kindFile, Dev: 9, Ino: 9, Read: true, Size: 7, Sum: "aa"},
			hole},
		{"its content, in a private place", secret{Out: out, Private: true},
			&fileInfo{Kind: kindFile, Dev: 9, Ino: 9, Read: true, Size: 7, Sum: "aa"}, hole},
		{"the file, changed meanwhile", secret{Out: out},
			&fileInfo{Kind: kindFile, Dev: 1, Ino: 2, Read: true, Size: 8, Sum: "bb"}, hole},
		{"the file, closed by its mode", secret{Out: out},
			&fileInfo{Kind: kindFile, Dev: 1, Ino: 2, Size: 7, Errno: 13}, hole},
		{"the file, never readable", secret{Out: fileInfo{Kind: kindFile, Dev: 1, Ino: 2, Errno: 13}},
			&fileInfo{Kind: kindFile, Dev: 1, Ino: 2, Errno: 13}, proved},
		{"the file, its owner's to open", secret{Out: fileInfo{Kind: kindFile, Dev: 1, Ino: 2, Errno: 13, Own: true}},
			&fileInfo{Kind: kindFile, Dev: 1, Ino: 2, Errno: 13, Own: true}, hole},
		{"the file, not mapped, to nobody", secret{Out: fileInfo{Kind: kindFile, Dev: 1, Ino: 2, Errno: 13}},
			&fileInfo{Kind: kindFile, Dev: 1, Ino: 2, Errno: 13, Own: true}, proved},
		{"the directory, its owner's to open",
			secret{Out: fileInfo{Kind: kindDir, Dev: 1, Ino: 3, Errno: 13, Own: true}},
			&fileInfo{Kind: kindDir, Dev: 1, Ino: 3, Errno: 13, Own: true}, hole},
		{"the directory, not mapped, to nobody", secret{Out: fileInfo{Kind: kindDir, Dev: 1, Ino: 3, Errno: 13}},
			&fileInfo{Kind: kindDir, Dev: 1, Ino: 3, Errno: 13, Own: true}, proved},
		{"another file", secret{Out: out}, &fileInfo{Kind: kindFile, Dev: 9, Ino: 9, Read: true, Size: 3, Sum: "cc"},
			hole},
		{"another file, in a private place", secret{Out: out, Private: true},
			&fileInfo{Kind: kindFile, Dev: 9, Ino: 9, Read: true, Size: 3, Sum: "cc"}, proved},
		{"empty directory", secret{Out: dir}, &fileInfo{Kind: kindDir, Dev: 9, Ino: 9, Read: true}, proved},
		{"names", secret{Out: dir}, &fileInfo{Kind: kindDir, Dev: 9, Ino: 9, Read: true, Names: names("x")}, hole},
		{"names that a rule shows", secret{Out: dir, Shown: []string{"known_hosts"}},
			&fileInfo{Kind: kindDir, Dev: 9, Ino: 9, Read: true, Names: names("known_hosts")}, proved},
		{"the directory", secret{Out: dir, Shown: []string{"id_rsa"}},
			&fileInfo{Kind: kindDir, Dev: 1, Ino: 3, Read: true, Names: names("id_rsa")}, hole},
		{"the empty directory", secret{Out: fileInfo{Kind: kindDir, Dev: 1, Ino: 3, Read: true}},
			&fileInfo{Kind: kindDir, Dev: 1, Ino: 3, Read: true}, hole},
		{"another directory, in a private place", secret{Out: dir, Private: true},
			&fileInfo{Kind: kindDir, Dev: 9, Ino: 9, Read: true, Names: names("x")}, proved},
		{"the same names, in a private place", secret{Out: dir, Private: true},
			&fileInfo{Kind: kindDir, Dev: 9, Ino: 9, Read: true, Names: names("id_rsa")}, hole},
		{"out of reach", secret{Out: out}, &fileInfo{Errno: 13}, proved},
		{"a failure", secret{Out: out}, &fileInfo{Errno: 5}, unchecked},
		{"from inside, empty", secret{}, &fileInfo{Kind: kindFile, Dev: 9, Ino: 9, Read: true}, proved},
		{"from inside, content", secret{}, &fileInfo{Kind: kindFile, Dev: 9, Ino: 9, Read: true, Size: 3, Sum: "cc"},
			hole},
	}
	for _, tt := range tests {
		a := answer{File: tt.in}
		if tt.in != nil && tt.in.Kind == "" {
			a.Errno = tt.in.Errno
		}
		if got, detail := new(target).unread(&tt.secret)([]answer{a}); got != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.name, got, detail, tt.want)
		}
	}
	// At the place of a remapped directory all is hidden, at its own it is not.
	two := secret{Out: out}
	if got, _ := new(target).unread(&two)([]answer{{File: &fileInfo{Kind: kindAbsent}}, {File: &out}}); got != hole {
		t.Errorf("a second way: %s, want hole", got)
	}
}

func TestJudgeChanges(t *testing.T) {
	tests := []struct {
		name string
		act  string
		a    answer
		want Verdict
	}{
		{"done", actOpen, answer{}, hole},
		{"read-only mount", actOpen, answer{Errno: 30}, proved},
		{"mount point", actRename, answer{Errno: 16}, proved},
		{"other file system", actLink, answer{Errno: 18}, proved},
		{"absent", actOpen, answer{Errno: 2}, proved},
		{"mode of another user's", actOpen, answer{Errno: 13, Guard: &guardInfo{}}, proved},
		{"mode of one's own", actOpen, answer{Errno: 13, Guard: &guardInfo{Own: true}}, hole},
		{"mode of one's own, read-only mount", actOpen, answer{Errno: 13, Guard: &guardInfo{Own: true, ReadOnly: true}},
			proved},
		{"mode above a mount point", actRename, answer{Errno: 13, Guard: &guardInfo{Own: true, Mount: true}}, proved},
		{"mode of a mount point", actOpen, answer{Errno: 13, Guard: &guardInfo{Own: true, Mount: true}}, hole},
		{"mode, and nothing is known", actOpen, answer{Errno: 13}, unchecked},
		{"being executed", actOpen, answer{Errno: 26, Guard: &guardInfo{}}, hole},
		{"being executed, read-only mount", actOpen, answer{Errno: 26, Guard: &guardInfo{ReadOnly: true}}, proved},
		{"anything else", actOpen, answer{Errno: 5}, unchecked},
	}
	for _, tt := range tests {
		if got, detail := new(target).changes([]question{{Act: tt.act}})([]answer{tt.a}); got != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.name, got, detail, tt.want)
		}
	}
}

func TestJudgeTrial(t *testing.T) {
	tests := []struct {
		trial, seccomp string
		errno          syscall.Errno
		want           Verdict
	}{
		{"TIOCSTI", "default", unix.EPERM, proved},
		{"TIOCSTI", "default", unix.ENOTTY, hole},
		{"TIOCSTI", "dev", unix.ENOTTY, hole},
		{"TIOCSTI", "off", unix.ENOTTY, allowed},
		{"ptrace", "default", unix.ESRCH, hole},
		{"ptrace", "dev", unix.ESRCH, allowed},
		{"keyctl", "default", 0, hole},
		{"keyctl", "strict", 0, hole},
		{"ptrace", "strict", unix.EPERM, proved},
		{"vmsplice", "strict", unix.ENOSYS, proved},
		{"vmsplice", "strict", 9, hole},
		{"keyctl", "off", 0, allowed},
		{"mount", "default", unix.EPERM, proved},
		{"mount", "off", unix.EPERM, proved},
		{"mount", "off", 0, hole},
		{"umount", "default", unix.EINVAL, hole},
		{"fsopen", "default", unix.ENOSYS, proved},
		{"fsopen", "off", unix.EPERM, proved},
		{"user namespace", "off", unix.ENOSPC, proved},
		{"user namespace", "off", 0, hole},
		{"user namespace", "default", 0, hole},
	}
	for _, tt := range tests {
		s := &target{Seccomp: tt.seccomp}
		for _, tr := range trials() {
			if tr.name != tt.trial {
				continue
			}
			if got, detail := s.judgeTrial(tr, &answer{Errno: int(tt.errno)}, nil); got != tt.want {
				t.Errorf("%s, %s, %s: %s (%s), want %s", tt.trial, tt.seccomp, errnoName(int(tt.errno)), got, detail,
					tt.want)
			}
		}
	}
}

// TestJudgeTrialFilter: a file may refuse in another way than sbx's own filter,
// and what the kernel itself answers is a hole all the same.
func TestJudgeTrialFilter(t *testing.T) {
	tests := []struct {
		trial string
		out   syscall.Errno // outside; -1 where it is not known
		errno syscall.Errno
		want  Verdict
	}{
		{"TIOCSTI", unix.ENOTTY, unix.EPERM, proved},
		{"TIOCSTI", unix.ENOTTY, unix.ENOSYS, unchecked},
		{"TIOCSTI", unix.ENOTTY, unix.EINVAL, unchecked},
		{"TIOCSTI", unix.ENOTTY, unix.ENOTTY, hole},
		{"TIOCSTI", ^syscall.Errno(0), unix.ENOTTY, hole},
		{"TIOCSTI", ^syscall.Errno(0), unix.ENOSYS, unchecked},
		{"keyctl", 0, unix.ENOSYS, proved},
		{"keyctl", 0, unix.EPERM, unchecked},
		{"keyctl", 0, 0, hole},
	}
	for _, tt := range tests {
		s := &target{Seccomp: "dev", Filter: true}
		var out *int
		if tt.out != ^syscall.Errno(0) {
			n := int(tt.out)
			out = &n
		}
		for _, tr := range trials() {
			if tr.name != tt.trial {
				continue
			}
			if got, detail := s.judgeTrial(tr, &answer{Errno: int(tt.errno)}, out); got != tt.want {
				t.Errorf("%s, %s outside, %s inside: %s (%s), want %s", tt.trial, errnoName(int(tt.out)),
					errnoName(int(tt.errno)), got, detail, tt.want)
			}
		}
	}
}

// TestFeigned: a file that answers with errno 0 does not make holes, and hides
// none of which more is seen than an errno.
func TestFeigned(t *testing.T) {
	done := func(act string, a answer) check {
		return check{Ask: []question{{Act: act}}, Judge: func([]answer) (Verdict, string) { return hole, "done" },
			Heard: func() bool { return a.Step == "heard" }}
	}
	tests := []struct {
		name string
		act  string
		a    answer
		want Verdict
	}{
		{"a call", actCall, answer{}, unchecked},
		{"a socket", actSocket, answer{}, unchecked},
		{"opened", actOpen, answer{}, unchecked},
		{"made", actCreate, answer{}, unchecked},
		{"made, and seen on the host", actCreate, answer{Found: []string{"x"}}, hole},
		{"connected", actTCP, answer{}, unchecked},
		{"connected, and heard outside", actTCP, answer{Step: "heard"}, hole},
		{"the kernel's answer", actCall, answer{Errno: int(unix.ENOTTY)}, hole},
		{"its content", actLook, answer{File: &fileInfo{Read: true}}, hole},
		{"what the process is", actSelf, answer{Self: &selfInfo{}}, hole},
	}
	for _, tt := range tests {
		c := done(tt.act, tt.a)
		if got, _ := (&target{Feigned: true}).verdict(&c, map[int]answer{0: tt.a}); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	for _, feigned := range []bool{false, true} {
		s := &target{Seccomp: "dev", Filter: true, Feigned: feigned}
		for _, c := range s.checks() {
			if c.Section != secKernel || c.Name != "mount" {
				continue
			}
			if got, _ := s.verdict(c, map[int]answer{0: {}}); got != map[bool]Verdict{false: hole,
				true: unchecked}[feigned] {
				t.Errorf("mount, feigned %t: %s", feigned, got)
			}
		}
	}
}

// full is a tg with something of each kind.
func full() *target {
	yes := func() bool { return true }
	return &target{
		Nonce: "n", CWD: "/p", Scratch: "/tmp", Seccomp: "default",
		Spaces: map[string]string{"pid": "pid:[1]", "net": "net:[1]", "user": "user:[1]"},
		Hidden: []secret{{Path: "/p/.env", Out: fileInfo{Kind: kindFile, Read: true}},
			{Path: "/s", Out: fileInfo{Kind: kindSocket}}},
		Guarded: []guardedPath{{Path: "/p/.git/hooks", Kind: kindDir},
			{Path: "/p/.envrc", Kind: kindFile, Tops: []string{"/p"}}}, Moves: []string{"/p"},
		Places: []place{{Path: "/etc"}}, Plan: mounts{{Rule: view.Rule{Path: "/p", Access: policy.Write}}},
		Servers: []server{{Name: "TCP", question: question{Act: actTCP}, Heard: yes}},
		Sockets: []socket{{Name: "docker", Path: "/run/docker.sock"}},
		Env:     variables{Dropped: []string{"A"}, Planted: map[string]string{"A": "x"}, Mark: "m"},
		Own: ownFiles{Manifest: "/run/sbx/policy.json", Dir: "/run/sbx",
			Programs: map[string]string{"/usr/bin/bwrap": ""}}, Helper: 7, Word: "w",
	}
}

// compared are the checks of a target as if every act could be done outside.
func compared(s *target) []*check {
	checks := s.checks()
	for _, c := range checks {
		if c.Twin {
			c.compare(0)
		}
	}
	return checks
}

// A probe that says nothing, or that everything could be done, proves nothing.
func TestEvaluateProvesNothingWithoutAnswers(t *testing.T) {
	tg := full()
	checks := compared(tg)
	asked := number(checks)
	if len(asked) < 80 {
		t.Fatalf("%d questions", len(asked))
	}
	for _, r := range tg.evaluate(checks, nil) {
		if r.Verdict != unchecked {
			t.Errorf("%s %s %s without an answer: %s", r.Section, r.Name, r.Subject, r.Verdict)
		}
		if r.Control == "" {
			t.Errorf("%s %s %s has no control", r.Section, r.Name, r.Subject)
		}
	}
	done := make(map[int]answer)
	for _, q := range asked {
		done[q.ID] = answer{ID: q.ID}
	}
	for _, r := range tg.evaluate(checks, done) {
		if r.Verdict == proved && r.Name != "control" || r.Verdict == allowed {
			t.Errorf("%s %s %s: %s, though nothing was refused", r.Section, r.Name, r.Subject, r.Verdict)
		}
	}
	if (&Report{}).OK() {
		t.Error("a report of nothing is no proof")
	}
}

// Every kind of result with names that are hard to print.
func odd() *Report {
	r := &Report{Profiles: []string{"moderate"}, Place: "/p\xff\n"}
	for v := range verdicts {
		for _, name := range []string{"/a/.env\n<&>'\"]]>\x1b[31m\x00", "/\xff\xfe", "/\u2028\uffff\ufdd0\u0085",
			"/ok"} {
			r.Results = append(r.Results, Result{Section: secHidden, Name: "read", Subject: name, Verdict: Verdict(v),
				Detail: "shown by " + name, Control: name})
		}
	}
	return r
}

func TestOutputsAreSafe(t *testing.T) {
	r := odd()
	var table bytes.Buffer
	js, err := json.Marshal(r.Document())
	for _, err := range []error{err, r.Table(&table, true, func(_, text string) string { return text })} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"table": table.String(), "json": string(js)} {
		if !utf8.ValidString(text) || strings.ContainsFunc(text,
			func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 }) {
			t.Errorf("%s is not safe: %q", name, text)
		}
	}
	if got, want := strings.Count(table.String(), "\n"), len(r.Results)+3; got != want {
		t.Errorf("table has %d lines, want %d:\n%s", got, want, table.String())
	}
	var doc struct {
		OK      bool
		Summary map[string]int
		Checks  []map[string]string
	}
	if err := json.Unmarshal(js, &doc); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"proved": 4, "allowed": 4, "hole": 4, "unchecked": 4, "not_applicable": 4,
		"gap": 4}, doc.Summary); diff != "" || doc.OK {
		t.Errorf("summary, ok %v (-want +got):\n%s", doc.OK, diff)
	}
	want := map[string]string{"section": "hidden", "check": "read", "subject": "/ok", "verdict": "unchecked",
		"detail": "shown by /ok", "control": "/ok"}
	if diff := cmp.Diff(want, doc.Checks[3]); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestCompare(t *testing.T) {
	tg := &target{Nonce: "abc", Guarded: []guardedPath{{Path: "/p/.vscode"}},
		Moves: []string{"/p/f"}, Plan: mounts{{Rule: view.Rule{Path: "/p/.env"}}, {Rule: view.Rule{Path: "/p/d/e"}}}}
	file := entry{Mode: 0o100644, Mtime: 1, Size: 3}
	with := func(change func(*entry)) entry { e := file; change(&e); return e }
	tests := []struct {
		name  string
		after tree
		want  map[string]Verdict
	}{
		{"nothing", tree{"/p/f": file}, map[string]Verdict{"project and home": proved}},
		{"gone", tree{}, map[string]Verdict{"/p/f": hole}},
		{"stub", tree{"/p/f": file, "/p/.env": {Mode: 0o100600}}, map[string]Verdict{"/p/.env": hole}},
		{"mount point", tree{"/p/f": file, "/p/d": {Mode: 0o040700}}, map[string]Verdict{"/p/d": hole}},
		{"of the probe", tree{"/p/f": file, "/p/x-abc-y": {Mode: 0o100600, Size: 1}},
			map[string]Verdict{"/p/x-abc-y": hole}},
		{"of the policy", tree{"/p/f": file, "/p/.vscode": {Mode: 0o100600, Size: 1}},
			map[string]Verdict{"/p/.vscode": hole}},
		{"of another run", tree{"/p/f": file, "/p/.sbx-verify-def-hidden": {Mode: 0o100600}},
			map[string]Verdict{"project and home": proved}},
		{"of this run", tree{"/p/f": file, "/p/.sbx-verify-abc-hidden": {Mode: 0o100600}},
			map[string]Verdict{"/p/.sbx-verify-abc-hidden": hole}},
		{"empty, of another program", tree{"/p/f": file, "/p/g": {Mode: 0o040700}}, map[string]Verdict{"/p/g": unchecked}},
		{"of another program", tree{"/p/f": file, "/p/g": file}, map[string]Verdict{"/p/g": unchecked}},
		{"mode", tree{"/p/f": with(func(e *entry) { e.Mode = 0o100600 })}, map[string]Verdict{"/p/f": hole}},
		{"time", tree{"/p/f": with(func(e *entry) { e.Mtime = 2 })}, map[string]Verdict{"/p/f": unchecked}},
		{"size", tree{"/p/f": with(func(e *entry) { e.Size = 2 })}, map[string]Verdict{"/p/f": unchecked}},
	}
	// With a file that neither the policy nor the probe speaks of the same is no hole.
	elsewhere := tree{"/p/o": with(func(e *entry) { e.Mode = 0o100600 })}
	for path, after := range map[string]tree{"/p/o": elsewhere, "/p/x": {}} {
		if r := compare(tree{path: file}, after, tg, map[string]bool{}); r[0].Verdict != unchecked {
			t.Error(path, r)
		}
	}
	for _, tt := range tests {
		got := map[string]Verdict{}
		for _, r := range compare(tree{"/p/f": file}, tt.after, tg, map[string]bool{}) {
			got[r.Subject] = r.Verdict
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestMounts(t *testing.T) {
	m := mounts{{Rule: view.Rule{Path: "/", Access: policy.Read, Source: "permissive"}},
		{Rule: view.Rule{Path: "/p", Access: policy.Write, Source: "moderate"}}, {Rule: view.Rule{Path: "/p/.git", Access: policy.Write}},
		{Rule: view.Rule{Path: "/p/.git/hooks", Access: policy.Protect}},
		{Rule: view.Rule{Path: "/s", Access: policy.Read, Layer: policy.Flag, Source: "--allow-read"}},
		{Rule: view.Rule{Path: "/h/.cache", Access: policy.Write, Source: view.SourceCache}}}
	if diff := cmp.Diff([]string{"/p/.git", "/p"}, m.writableTree("/p/.git/hooks")); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	for path, want := range map[string]string{"/run/x": "", "/p/s": "", "/p": "moderate", "/s/sock": "--allow-read"} {
		if got := m.at(path).named(path); got != want {
			t.Errorf("%s is named by %q, want %q", path, got, want)
		}
	}
	if !m.at("/h/.cache/x").own() || m.at("/p/x").own() {
		t.Error("the private cache is the sandbox's own, the project is not")
	}
}

func TestInside(t *testing.T) {
	m := &Manifest{Seccomp: "dev", Rules: []view.Rule{
		{Path: "/home/u", Access: policy.Private}, {Path: "/home/u/.ssh", Access: policy.Block},
		{Path: "/home/u/.ssh/known_hosts", Access: policy.Read}, {Path: "/p", Access: policy.Write},
		{Path: "/p/.env", Access: policy.Block},
		{Path: "/p/.git", Access: policy.Write}, {Path: "/p/.git/hooks", Access: policy.Protect},
		{Path: "/tmp", Access: policy.Private}, {Path: "relative", Access: policy.Block},
		{Path: "/p/../x", Access: policy.Block}, {Path: "/y", Access: policy.Unseen},
	}}
	s := inside(m, 1, "n", "/p", []string{"/", "/p", "/tmp"}, nil, func(string) string { return kindDir })
	s.Sockets = nil
	want := &target{Inside: true, UID: 1, Nonce: "n", CWD: "/p", Seccomp: "dev", Scratch: "/tmp",
		Hidden: []secret{{Path: "/home/u/.ssh", Private: true, Shown: []string{"known_hosts"}}, {Path: "/p/.env"}},
		Guarded: []guardedPath{{Path: "/p/.env", Kind: kindOther},
			{Path: "/p/.git/hooks", Kind: kindDir, Tops: []string{"/p/.git"}}},
		Moves:  []string{"/p", "/p/.git"},
		Places: []place{{Path: "/"}, {Path: "/p", Opened: "write /p"}, {Path: "/tmp", Private: true}},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("tg (-want +got):\n%s", diff)
	}
	for _, c := range s.checks() {
		if len(c.Ask) > 0 && c.Control == "" {
			t.Errorf("%s %s %s does not say that it has no control", c.Section, c.Name, c.Subject)
		}
	}
}

// A manifest is read from a file that only root can forge, and still nothing
// in it makes sbx panic.
func FuzzInside(f *testing.F) {
	f.Add([]byte(`{"Rules":[{"Path":"/","Access":2},{"Path":"/a","Access":5},{"Path":"","Access":4},` +
		`{"Path":"/a/b","Access":3,"Source":"x"}]}`))
	f.Add([]byte(`{"Rules":null,"Network":true}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m Manifest
		if json.Unmarshal(data, &m) != nil {
			return
		}
		s := inside(&m, 0, "n", "/p", []string{"/"}, []string{"/h"}, func(string) string { return kindFile })
		checks := s.checks()
		number(checks)
		r := &Report{Results: s.evaluate(checks, nil)}
		if r.OK() {
			t.Error("proved without an answer")
		}
	})
}
