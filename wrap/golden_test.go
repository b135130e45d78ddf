// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/golden"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/seccomp"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// describe writes a whole plan, one word per line.
func describe(t *testing.T, p *engine.Plan, uid int) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "engine %s, tier %s, limit %v, path %s\n", p.Engine, p.Tier, p.Limit, p.Path)
	list := func(name string, words []string) {
		b.WriteString(name + ":\n")
		for _, w := range words {
			b.WriteString("\t" + text.Plain(w) + "\n")
		}
	}
	if p.Engine == host.EngineSeatbelt {
		b.WriteString("profile:\n" + p.Argv[2])
		n := slices.Index(p.Argv, "--")
		list("parameters", slices.DeleteFunc(slices.Clone(p.Argv[3:n]), func(w string) bool { return w == "-D" }))
		list("command", p.Argv[n+1:])
		list("env", p.Env)
		list("dirs", p.Dirs)
		list("gaps", p.Gaps)
		return b.String()
	}
	list("argv", p.Argv)
	if p.Confined != nil {
		b.WriteString("walls: " + walls(p))
		list("filters", filterNames(t, p, uid))
	} else {
		list("options", options(p))
		b.WriteString("descriptors:\n")
		for _, fd := range p.FDs[1:] {
			fmt.Fprintf(&b, "\t%d %s: %s\n", fd.Num, fd.Name, content(t, p, fd, uid))
		}
	}
	list("env", p.Env)
	fmt.Fprintf(&b, "keep %v, copy %v\n", p.Keep, p.Copy)
	if p.Reopen != nil {
		fmt.Fprintf(&b, "reopen %v\n", p.Reopen)
	}
	list("dirs", p.Dirs)
	list("gaps", p.Gaps)
	b.WriteString("command: " + p.Report.Command + "\n")
	return b.String()
}

// filterNames are the options of the filters of a plan.
func filterNames(t *testing.T, p *engine.Plan, uid int) (out []string) {
	t.Helper()
	o := seccomp.Options{Arch: "amd64", Level: p.Report.Policy.Seccomp, Root: uid == 0, Host: true, NoInet: !p.Report.Policy.Network, NoUnix: true}
	want, err := seccomp.Filter(o)
	for _, f := range p.Confined.Filters {
		if err != nil || !bytes.Equal(f.Code, want) {
			t.Errorf("%s is not that of %+v (%v)", f.Name, o, err)
		}
		out = append(out, fmt.Sprintf("%s: level %s, root %v, no inet %v, no unix %v", f.Name, o.Level, o.Root, o.NoInet, o.NoUnix))
	}
	return out
}

// content shows what a descriptor holds. The filter is compared with that of
// package seccomp, whose own tests look into it.
func content(t *testing.T, p *engine.Plan, fd bwrapargs.FD, uid int) string {
	t.Helper()
	if fd.Path != "" {
		return "the file"
	}
	if fd.Name == "what has to be mounted" {
		return strconv.Quote(regexp.MustCompile(`[0-9]+ [0-9]+ `).ReplaceAllString(string(fd.Data), ""))
	}
	if fd.Name == "configuration of process 1" {
		return strconv.Quote(initConfig(p.Init))
	}
	if fd.Name != "seccomp filter" {
		return strconv.Quote(string(fd.Data))
	}
	o := seccomp.Options{Arch: "amd64", Level: p.Report.Policy.Seccomp, Root: uid == 0}
	want, err := seccomp.Filter(o)
	if err != nil || !bytes.Equal(fd.Data, want) {
		t.Errorf("the filter is not that of %+v (%v)", o, err)
	}
	return fmt.Sprintf("level %s, root %v, net %v", o.Level, o.Root, p.Report.Policy.Network)
}

// initConfig shows what process 1 is told: a line of a key and a value for each, ended
// by NUL.
func initConfig(cfg *pid1.InitConfig) string {
	var b strings.Builder
	put := func(key string, value any) { fmt.Fprintf(&b, "%s=%v\x00", key, value) }
	put("sbx", 1)
	put("path", cfg.Path)
	put("group", byte(cfg.Group))
	put("mask", cfg.Mask)
	if cfg.Limit > 0 {
		put("limit", int64(cfg.Limit*1e9))
	}
	for _, l := range cfg.Rlimits {
		put("rlimit", fmt.Sprint(l.Resource, " ", l.Max))
	}
	if cfg.OOM >= 0 {
		put("oom", cfg.OOM)
	}
	put("memory", cfg.Memory)
	for _, fd := range cfg.Reopen {
		put("reopen", fd)
	}
	if r := cfg.Ruleset; r != nil {
		put("wall", fmt.Sprint(uint64(r.FS), " ", uint64(r.Net), " ", uint64(r.Scope)))
		for _, rule := range r.Rules {
			put("beneath", fmt.Sprintf("%d %d %d %s", uint64(rule.Allow), rule.Dev, rule.Ino, rule.Path))
		}
	}
	for _, fd := range cfg.Keep {
		put("keep", fd)
	}
	for _, m := range cfg.Masks {
		put("watch", fmt.Sprintf("%d %d %s", m.Kind, len(m.Top), m.Path))
	}
	for _, word := range cfg.Hints {
		put("hint", word)
	}
	if cfg.Filter != nil {
		put("filter", fmt.Sprintf("%x", cfg.Filter))
	}
	w := cfg.Parent
	for i, fd := range []int{w.Status, w.Stat, w.Epoll, w.Signal, w.Read, w.Write, w.WatchdogRead, w.WatchdogWrite, w.Stderr} {
		if fd >= 0 {
			put(strings.Fields("status stat epoll signal read write guard relief stderr")[i], fd)
		}
	}
	for _, word := range cfg.Argv {
		put("argv", word)
	}
	return b.String() + "look=\x00" + string(cfg.Expected)
}

// cases are the runs with a golden file of their own: every profile on every
// shape of machine, and the rest on one.
func cases() map[string]machine {
	out := map[string]machine{}
	for _, s := range shapes {
		for _, profile := range []string{"strict", "moderate", "permissive"} {
			m := s.m
			m.profiles = []string{profile}
			out[profile+"-"+s.name] = m
		}
	}
	for _, s := range shapes {
		for _, profile := range []string{"moderate", "permissive"} {
			m := s.m
			m.profiles, m.landlock = []string{profile}, 7
			out["landlock-"+profile+"-"+s.name] = m
		}
	}
	base := shapes[0].m
	plain := user(debian + home("/home/u", "1000"))
	with := func(name string, change func(m *machine)) {
		m := base
		change(&m)
		out[name] = m
	}
	for _, v := range []bwrapargs.Version{{Minor: 4}, {Minor: 6, Patch: 2}, {Minor: 8}, {Minor: 11, Patch: 1}} {
		with("bwrap-"+v.String(), func(m *machine) { m.version = v })
	}
	for _, g := range []string{"none", "commit", "full"} {
		with("git-"+g, func(m *machine) { m.over.Git = g })
	}
	with("git-subdirectory", func(m *machine) { m.cwd = "/home/u/src/app/sub" })
	with("git-file", func(m *machine) {
		*m = plain
		m.more = "/home/u/src/app/.git = gitdir: /home/u/src/other/.git/worktrees/app\n" + repo("/home/u/src/other")
	})
	with("git-link", func(m *machine) {
		*m = plain
		m.more = "/home/u/src/app/.git -> ../other/.git\n" + repo("/home/u/src/other")
	})
	with("git-of-root", func(m *machine) { m.more = "/home/u/src/app/.git/ uid=0" })
	with("no-git", func(m *machine) { *m = plain })
	with("stow", func(m *machine) {
		m.more = "/home/u/.ssh gone\n/home/u/.gitconfig gone\n/home/u/.ssh -> dots/ssh\n/home/u/.gitconfig -> dots/git/config\n/home/u/dots/ssh/id_rsa\n/home/u/dots/git/config"
	})
	with("stow-permissive", func(m *machine) {
		m.more, m.profiles = "/home/u/.ssh gone\n/home/u/.ssh -> dots/ssh\n/home/u/dots/ssh/id_rsa\n", []string{"permissive"}
	})
	with("read-only", func(m *machine) { m.readOnly = true })
	with("workspace", func(m *machine) { m.request.Remap = "/workspace" })
	with("flags", func(m *machine) {
		m.more = "/srv/out/ uid=1000\n/srv/my\\sfiles/\n/home/u/.ssh/known_hosts\n"
		m.over = policy.Profile{AllowNetwork: policy.Yes, Write: flagPaths("--allow-write", "/srv/out"),
			Read: flagPaths("--allow-read", "/srv/my files", "/home/u/.ssh/known_hosts"), Block: flagPaths("--block", "/home/u/src/app/sub")}
	})
	with("time-limit", func(m *machine) { m.over.TimeoutSeconds = 1.5 })
	with("seccomp-off", func(m *machine) { m.over.Seccomp = "off" })
	with("share-pid", func(m *machine) { m.over.SharePID = policy.Yes })
	with("share-pid-wall", func(m *machine) {
		m.over.SharePID, m.landlock, m.version = policy.Yes, 6, bwrapargs.Version{Minor: 11, Patch: 1}
	})
	with("network-wall", func(m *machine) { m.over.AllowNetwork, m.landlock = policy.Yes, 7 })
	with("network-old-kernel", func(m *machine) { m.over.AllowNetwork, m.landlock = policy.Yes, 5 })
	with("network-direct", func(m *machine) { m.over.AllowNetwork, m.landlock, m.request.Direct = policy.Yes, 7, true })
	with("reopened", func(m *machine) {
		m.more = "/srv/data/big uid=1000 mode=600"
		m.fds, m.known = []host.FD{{Num: 0, Kind: host.FDFile, Path: "/srv/data/big", Size: engine.MaxCopy + 1}}, true
	})
	with("descriptors", func(m *machine) {
		m.fds = []host.FD{{Num: 0, Kind: host.FDFile, Path: "/etc/passwd", Size: 9}, {Num: 1, Kind: host.FDPipe, Writes: true}, {Num: 2, Kind: host.FDOther, Writes: true},
			{Num: 3, Kind: host.FDDir}, {Num: 20, Kind: host.FDPipe}, {Num: 21, Kind: host.FDPair}, {Num: 23, CloseOn: true}}
	})
	with("two-homes", func(m *machine) {
		m.more, m.homes = home("/var/lib/u", "1000"), []string{"/home/u", "/var/lib/u"}
	})
	return out
}

func TestGoldenPlans(t *testing.T) {
	for name, m := range cases() {
		t.Run(name, func(t *testing.T) {
			p, fs, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, name, describe(t, p, m.uid))
			if m.request.Remap != "" {
				return // other paths inside than on the host
			}
			if p.Confined != nil {
				for _, b := range judgeWalls(newOracle(fs, p.Report.Policy), p) {
					t.Error(b)
				}
				return
			}
			for _, b := range judge(newOracle(fs, p.Report.Policy), p) {
				t.Error(b)
			}
		})
	}
}

func TestGoldenFilesAreUsed(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil {
		t.Fatal(err)
	}
	all := cases()
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".golden")
		if _, ok := all[name]; !ok && name != "diagnoses" && !strings.HasPrefix(name, "mac-") {
			t.Errorf("%s belongs to no test", f)
		}
	}
}
