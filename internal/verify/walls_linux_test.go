// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

func TestJudgeBehind(t *testing.T) {
	eacces, eperm := int(unix.EACCES), int(unix.EPERM)
	for _, tt := range []struct {
		name string
		a    answer
		want Verdict
	}{
		{"done", answer{}, hole},
		{"the wall", answer{Errno: eacces, Guard: &guardInfo{May: true, Own: true}}, proved},
		{"the wall, another errno", answer{Errno: eperm, Guard: &guardInfo{May: true}}, proved},
		{"a mode of one's own", answer{Errno: eacces, Guard: &guardInfo{Own: true}}, unchecked},
		{"a mode of another user's", answer{Errno: eacces, Guard: &guardInfo{}}, proved},
		{"a read-only mount", answer{Errno: eacces, Guard: &guardInfo{Own: true, ReadOnly: true}}, proved},
		{"a mount point", answer{Errno: 16, Guard: &guardInfo{Own: true, Mount: true}}, proved},
		{"nothing is known", answer{Errno: eacces}, unchecked},
		{"being executed", answer{Errno: 26, Guard: &guardInfo{May: true}}, unchecked},
		{"another directory", answer{Errno: 18}, proved},
		{"anything else", answer{Errno: 5, Guard: &guardInfo{May: true}}, unchecked},
	} {
		if got, detail := (&target{Walls: true}).changes([]question{{Act: actOpen}})([]answer{tt.a}); got != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.name, got, detail, tt.want)
		}
	}
}

func TestJudgeClosed(t *testing.T) {
	secret := secret{Path: "/h/.ssh", Inner: []string{"/h/.ssh/id", "/h/.ssh/more"}}
	shut := &fileInfo{Kind: kindDir, May: true, Own: true, Errno: 13}
	for _, tt := range []struct {
		name string
		in   []*fileInfo
		want Verdict
	}{
		{"closed", []*fileInfo{shut, {Kind: kindFile, May: true, Errno: 13}, {Kind: kindAbsent}}, proved},
		{"another user's", []*fileInfo{{Kind: kindDir, Errno: 13}, {Errno: 13}, {Errno: 13}}, proved},
		{"can be listed", []*fileInfo{{Kind: kindDir, Read: true}, shut, shut}, hole},
		{"an empty file that can be read", []*fileInfo{{Kind: kindFile, Read: true}, shut, shut}, hole},
		{"a file in it can be read", []*fileInfo{shut, {Kind: kindAbsent}, {Kind: kindFile, Read: true}}, hole},
		{"a mode of one's own", []*fileInfo{{Kind: kindDir, Own: true, Errno: 13}, shut, shut}, unchecked},
		{"a mode of one's own in it", []*fileInfo{shut, shut, {Kind: kindFile, Own: true, Errno: 13}}, unchecked},
		{"no answer", []*fileInfo{shut, nil, shut}, unchecked},
	} {
		var answers []answer
		for _, f := range tt.in {
			a := answer{File: f}
			if f != nil && f.Kind == "" {
				a.Errno = f.Errno
			}
			answers = append(answers, a)
		}
		if got, detail := (&target{Walls: true}).unread(&secret)(answers); got != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.name, got, detail, tt.want)
		}
	}
}

// walled is [full] for Landlock.
func walled() *target {
	s := full()
	s.Walls, s.Scratch, s.Mode, s.Closed, s.Devices = true, runTmp, "/tmp/x", []string{"/tmp", "/h"},
		[]string{"/dev/kvm"}
	s.Own = ownFiles{Manifest: runManifest, Dir: runDir, Programs: map[string]string{"/usr/bin/sbx": ""}}
	s.Hidden = append(s.Hidden, secret{Path: "/h/.ssh", Out: fileInfo{Kind: kindDir, Read: true},
		Inner: []string{"/h/.ssh/id"}}, secret{Path: "/h/fifo", Out: fileInfo{Kind: kindOther}})
	s.Guarded = append(s.Guarded, guardedPath{Path: "/p/.mcp.json", Kind: kindLink, Loose: true})
	s.Frozen = []string{"/p"}
	s.Gaps = []string{engine.GapNames, engine.GapModes, engine.GapProcesses, engine.GapPlaces, engine.GapLoopback,
		engine.GapUnix + ": version 7"}
	return s
}

// What could be done is a gap when the plan owns up to it, and else a hole;
// and nothing is proved by a probe that says nothing.
func TestGapsAreOwned(t *testing.T) {
	s := walled()
	done := func(s *target) map[string]Verdict {
		checks := s.checks()
		answers := make(map[int]answer)
		for _, q := range number(checks) {
			a := answer{ID: q.ID}
			switch q.Act {
			case actLook:
				a.File = &fileInfo{Kind: kindFile, Read: true, Size: 1}
			case actSearch:
				a.Read, a.Found = 1, []string{"/proc/7/cmdline"}
			case actSelf:
				a.Self = &selfInfo{Spaces: s.Spaces, Status: map[string]string{}, Env: []string{"A", "SBX_TIER"},
					FDs: []fdInfo{{Num: 9}}, Core: 1 << 20}
			case actLocal:
				a.Errno, a.Step = 97, "socket"
			case actCreate:
				if q.Text == "" {
					a.Errno, a.Guard = 13, &guardInfo{May: true}
				}
			}
			answers[q.ID] = a
		}
		out := map[string]Verdict{}
		for _, r := range s.evaluate(checks, answers) {
			if r.Verdict == gap || r.Verdict == proved {
				out[strings.TrimSpace(r.Section+" "+r.Name+" "+r.Subject)] = r.Verdict
			}
		}
		return out
	}
	want := map[string]Verdict{
		"hidden see names, sizes and times": gap, "outside use private directories": gap,
		"outside change the mode /tmp/x": gap, "network serve own loopback": gap,
		"network interfaces": gap, "processes see a process outside": gap, "processes namespaces": gap,
		// The controls, and what was refused above.
		"network control own pair of sockets": proved, "protected control $TMPDIR": proved,
		"sbx itself manifest $SBX_MANIFEST": proved, "outside create /etc": proved,
	}
	if d := cmp.Diff(want, done(s)); d != "" {
		t.Errorf("with gaps (-want +got):\n%s", d)
	}
	s = walled()
	s.Gaps = nil
	for name, v := range done(s) {
		if v == gap {
			t.Errorf("%s is a gap, though the plan names none", name)
		}
	}
	s = walled()
	for _, r := range s.evaluate(compared(s), nil) {
		if r.Verdict != unchecked && r.Verdict != notApplicable {
			t.Errorf("%s %s %s without an answer: %s", r.Section, r.Name, r.Subject, r.Verdict)
		}
		if r.Control == "" && r.Verdict != notApplicable {
			t.Errorf("%s %s %s has no control", r.Section, r.Name, r.Subject)
		}
	}
	if r := (&Report{Results: []Result{{Verdict: gap}, {Verdict: gap}}}); r.OK() {
		t.Error("gaps alone are no proof")
	}
}

func TestInsideWalled(t *testing.T) {
	m := &Manifest{Landlock: true, Gaps: []string{engine.GapNames},
		Rules: []view.Rule{
			{Path: "/home/u", Access: policy.Private, Closed: true}, {Path: "/p", Access: policy.Write},
			{Path: "/p/.env", Access: policy.Block}, {Path: "/q", Access: policy.Write},
		}, Writable: func(dir string) bool { return dir == "/q" }}
	s := inside(m, 1, "n", "/p", []string{"/", "/p", "/q", "/proc", "/dev/shm"}, nil,
		func(string) string { return kindDir })
	s.Sockets = nil
	want := &target{Inside: true, UID: 1, Nonce: "n", CWD: "/p", Seccomp: "default", Walls: true, Scratch: runTmp,
		Mode: runDir, Gaps: m.Gaps, Closed: []string{"/home/u"}, Frozen: []string{"/p"},
		Hidden:  []secret{{Path: "/p/.env"}},
		Guarded: []guardedPath{{Path: "/p/.env", Kind: kindOther}},
		Moves:   []string{"/p"},
		Places: []place{{Path: "/"}, {Path: "/p"}, {Path: "/q", Opened: "write /q"}, {Path: "/proc", Private: true},
			{Path: "/dev/shm"}},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("tg (-want +got):\n%s", diff)
	}
}
