// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/seccomp"
	"github.com/sbx-sandbox/sbx/profiles"
	"github.com/sbx-sandbox/sbx/wrap"
)

// mutants are sandboxes of the Landlock engine with one wall missing: what that
// does to the plan of the run, and what has to be found in it, all of it and
// nothing else. A star at the end stands for anything. Protected paths are enforced,
// but where the name begins with auto.
var mutants = []struct {
	name string
	edit func(p *engine.Plan, dir string)
	want []string
}{
	{"none", func(p *engine.Plan, _ string) {}, nil},
	{"hidden file", allow(landlock.ReadFile, "proj/.env"), []string{"hole hidden read $DIR/proj/.env"}},
	{"hidden directory", allow(landlock.ReadDir, "home/.ssh"), []string{"hole hidden read $DIR/home/.ssh"}},
	{"file in a hidden directory", allow(landlock.ReadFile, "home/.ssh/id_rsa"),
		[]string{"hole hidden read $DIR/home/.ssh"}},
	{"hidden pipe", allow(landlock.ReadFile, "proj/server.key"), []string{"hole hidden read $DIR/proj/server.key"}},
	{"protected file", allow(landlock.WriteFile|landlock.Truncate, "proj/.envrc"),
		[]string{"hole protected write, move, link $DIR/proj/.envrc"}},
	// What can be made and not removed, the one who verifies removes.
	{"hooks", allow(landlock.MakeReg, "proj/.git/hooks"),
		[]string{"hole protected write, move, link $DIR/proj/.git/hooks", "hole residue left $DIR/proj/.git/hooks/*"}},
	{"removal of directories", allow(landlock.RemoveDir, "proj"), []string{"hole protected write, move, link *"}},
	{"fifos", allow(landlock.MakeFifo, "proj"), []string{"hole protected make $DIR/proj",
		"hole protected make $DIR/proj/.git", "hole residue left *"}},
	{"everything in the project", allow(landlock.Write, "proj"),
		[]string{"hole hidden read *", "hole protected write, move, link *", "hole protected move *",
			"hole protected make *", "hole protected replace $DIR/proj/.mcp.json", "hole outside create $DIR/proj*"}},
	{"home directory", allow(landlock.Make|landlock.WriteFile, "home"),
		[]string{"hole outside create $DIR/home*", "hole outside use private directories",
			"hole sbx itself write, move $SBX_MANIFEST"}},
	{"devices", func(p *engine.Plan, _ string) { rule(p, "/dev", landlock.ReadFile) },
		[]string{"hole kernel devices of the host"}},
	{"signals", func(p *engine.Plan, _ string) { p.Confined.Ruleset.Scope &^= landlock.Signal },
		[]string{"hole processes kill a process outside", "hole processes tgkill a process outside",
			"hole processes pidfd_send_signal a process outside"}},
	{"signals as agreed", func(p *engine.Plan, _ string) {
		p.Confined.Ruleset.Scope &^= landlock.Signal
	}, nil},
	{"environment", func(p *engine.Plan, _ string) { p.Env = append(p.Env, "GH_TOKEN=x") },
		[]string{"hole environment variables"}},
	{"descriptor", leaveOpen, []string{"hole descriptors open"}},
	{"manifest", func(p *engine.Plan, _ string) { rule(p, p.Session, landlock.Write) },
		[]string{"hole sbx itself write, move $SBX_MANIFEST"}},
	{"another manifest", func(p *engine.Plan, _ string) {
		p.Files[0].Data = append(p.Files[0].Data, ' ')
	}, []string{"unchecked sbx itself manifest $SBX_MANIFEST"}},
	{"filter", func(p *engine.Plan, _ string) { p.Confined.Filters = nil },
		[]string{"hole kernel *", "hole network *", "hole hidden connect $DIR/run/agent",
			"hole sockets ssh-agent $DIR/run/agent"}},
	{"network", func(p *engine.Plan, _ string) {
		p.Confined.Filters, p.Confined.Ruleset.Net, p.Confined.Ruleset.Scope = nil, 0, landlock.Signal
	}, []string{"hole network reach TCP 127.0.0.1", "hole network reach UDP 127.0.0.1",
		"hole network reach abstract socket", "hole network serve own loopback", "hole network *", "hole kernel *",
		"hole hidden connect $DIR/run/agent", "hole sockets ssh-agent $DIR/run/agent"}},
	{"control", func(p *engine.Plan, _ string) {
		p.Confined.Ruleset.Rules = slices.DeleteFunc(p.Confined.Ruleset.Rules,
			func(r landlock.Rule) bool { return r.Path == p.Session+"/tmp" })
	}, []string{"unchecked protected control $TMPDIR", "hole kernel set-user-id bit"}},
	// What git runs is put back after the run, and all else is as closed as ever.
	{"auto", func(p *engine.Plan, _ string) {}, nil},
	{"auto, hooks", allow(landlock.MakeReg, "proj/.git/hooks"), nil},
	{"auto, fifos", allow(landlock.MakeFifo, "proj"), []string{"hole protected make $DIR/proj", "hole residue left *"}},
	{"auto, hidden file", allow(landlock.ReadFile, "proj/.env"), []string{"hole hidden read $DIR/proj/.env"}},
	{"auto, protected file", allow(landlock.WriteFile|landlock.Truncate, "proj/.envrc"),
		[]string{"hole protected write, move, link $DIR/proj/.envrc"}},
	{"auto, everything in the project", allow(landlock.Write, "proj"),
		[]string{"hole hidden read *", "hole protected write, move, link *", "hole protected make *",
			"hole protected replace $DIR/proj/.mcp.json", "hole outside create $DIR/proj*"}},
}

func rule(p *engine.Plan, path string, allow landlock.FS) {
	p.Confined.Ruleset.Rules = append(p.Confined.Ruleset.Rules,
		landlock.Rule{Path: path, Allow: allow & p.Confined.Ruleset.FS})
}

func allow(right landlock.FS, path string) func(*engine.Plan, string) {
	return func(p *engine.Plan, dir string) { rule(p, dir+"/"+path, right) }
}

func leaveOpen(p *engine.Plan, _ string) {
	fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		panic(err)
	}
	p.Keep = append(p.Keep, fd)
}

// mark is a filter that refuses nothing and tells the probe where it is.
func mark() engine.Program {
	code, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_PRCTL, SkipTrue: 3},
		bpf.LoadAbsolute{Off: 16, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: seccomp.MarkOption, SkipTrue: 1},
		bpf.RetConstant{Val: 0x00050000 | seccomp.Mark},
		bpf.RetConstant{Val: 0x7fff0000},
	})
	if err != nil {
		panic(err)
	}
	var out []byte
	for _, op := range code {
		out = binary.LittleEndian.AppendUint16(out, op.Op)
		out = binary.LittleEndian.AppendUint32(append(out, op.Jt, op.Jf), op.K)
	}
	return engine.Program{Name: "mark", Code: out}
}

const mutantWord = "--mutant-of-sandbox"

// TestMain is also the program that is verified, and the probe in it: sbx
// executes itself, and here that is the test.
func TestMain(m *testing.M) {
	switch args := os.Args[1:]; {
	case IsProbe(args):
		os.Exit(Probe(args))
	case len(args) == 2 && args[0] == mutantWord:
		sub, err := subject(args[1])
		if err == nil {
			var p *engine.Plan
			if p, err = sub.Plan(); err == nil {
				i := 0
				for mutants[i].name != args[1] {
					i++
				}
				mutants[i].edit(p, os.Getenv("MUTANT_DIR"))
				p.Confined.Filters = append(p.Confined.Filters, mark())
				err = wrap.Exec(p, sub.Host)
			}
		}
		fmt.Fprintln(os.Stderr, "sbx: error:", err)
		os.Exit(125)
	}
	os.Exit(m.Run())
}

// subject is a run by the profile moderate in the working directory.
func subject(mutant string) (*Subject, error) {
	protect := "enforce"
	if strings.HasPrefix(mutant, "auto") {
		protect = "auto"
	}
	h, err := host.Detect()
	if err != nil {
		return nil, err
	}
	h.Homes = h.Homes[:1] // other tests may make their first file in the user's own
	cache := os.Getenv("XDG_CACHE_HOME") + "/sbx"
	chosen, err := wrap.Choose(h, cache, host.EngineLandlock, "")
	if err != nil {
		return nil, err
	}
	vars := policy.Vars{CWD: h.CWD, Root: h.CWD, Home: h.Homes[0], Cache: os.Getenv("XDG_CACHE_HOME")}
	h.Own = vars.Own()
	h.Links = vars.Links()
	pol, err := policy.Resolve(profiles.Builtin(), []string{"moderate"}, vars,
		&policy.Profile{Name: "flags", Layer: policy.Flag, Protected: protect,
			EnvPass: policy.List{Items: []policy.Item{{Text: "MUTANT_DIR", Source: "test", Layer: policy.Flag}}}})
	if err != nil {
		return nil, err
	}
	return &Subject{Host: h, Root: h.CWD, Cache: cache, Step: func(string) {}, Plan: func() (*engine.Plan, error) {
		return wrap.New(engine.Request{Engine: chosen, Policy: pol, Root: h.CWD, Self: ProbeWords(), Cache: cache}, h)
	}}, nil
}

// TestFindsHolesInWalls verifies sandboxes of the Landlock engine with a wall
// missing.
func TestFindsHolesInWalls(t *testing.T) {
	if landlock.ABI() == 0 {
		if strings.Contains(os.Getenv("SBX_TEST_REQUIRE"), "landlock") {
			t.Fatal("SBX_TEST_REQUIRE: the kernel has no Landlock")
		}
		t.Skip("the kernel has no Landlock")
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			dir := mutantWorld(t)
			sub, err := subject(m.name)
			if err != nil {
				t.Fatal(err)
			}
			for len(sub.Host.FDs) > 0 && sub.Host.FDs[0].Num <= 2 {
				sub.Host.FDs = sub.Host.FDs[1:]
			}
			sub.Flags = []string{mutantWord, m.name}
			if m.name == "signals as agreed" { // as on a kernel before 6.12
				plan := sub.Plan
				sub.Plan = func() (*engine.Plan, error) {
					p, err := plan()
					p.Gaps = append(p.Gaps, engine.GapSignals+" (Landlock here is version 5)")
					return p, err
				}
			}
			if os.Geteuid() != 0 { // whose bits are no danger
				m.want = slices.DeleteFunc(slices.Clone(m.want),
					func(w string) bool { return w == "hole kernel set-user-id bit" })
			}
			before := contents(t, dir+"/proj")
			r, err := Outside(sub)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			gaps := 0
			for _, res := range r.Results {
				switch res.Verdict {
				case gap:
					gaps++
				case hole, unchecked:
					got = append(got, strings.ReplaceAll(res.Verdict.String()+" "+strings.TrimSpace(res.Section+" "+res.Name+" "+res.Subject), dir, "$DIR")+": "+res.Detail)
				}
			}
			if d := cmp.Diff(m.want, collected(got, m.want)); d != "" {
				t.Errorf("(-want +got):\n%s\nall:\n%s", d, strings.Join(got, "\n"))
			}
			want := 7
			if other, ok := map[string]int{"signals as agreed": 10, "home directory": 6, "network": 6}[m.name]; ok {
				want = other
			}
			if r.OK() != (len(m.want) == 0) || gaps != want {
				t.Errorf("ok %v, %d gaps, want %d", r.OK(), gaps, want)
			}
			if d := cmp.Diff(before, contents(t, dir+"/proj")); d != "" {
				t.Errorf("changed (-before +after):\n%s", d)
			}
		})
	}
}

// collected gives what was found the names of what was wanted.
func collected(got, want []string) []string {
	var out []string
	for _, g := range got {
		i := slices.IndexFunc(want, func(w string) bool {
			prefix, star := strings.CutSuffix(w, "*")
			return star && strings.HasPrefix(g, prefix) || strings.HasPrefix(g, w+": ")
		})
		name := g
		if i >= 0 {
			name = want[i]
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return slices.Index(want, a) - slices.Index(want, b) })
	return out
}

func mutantWorld(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"proj/.env": "SECRET\n", "proj/.envrc": "x\n", "proj/file": "x\n", "proj/sub/f": "x\n",
		"proj/.git/HEAD": "ref: refs/heads/main\n", "proj/.git/config": "[core]\n",
		"proj/.git/hooks/pre-commit": "#!/bin/sh\n",
		"proj/.git/objects/info/x":   "", "proj/.git/refs/x": "", "home/.ssh/id_rsa": "SECRET\n", "home/.cache/x": "x",
		"home/.local/state/x": "x", "tmp/x": "x",
	} {
		full := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{unix.Mkfifo(dir+"/proj/server.key", 0o644), os.Symlink("file", dir+"/proj/.mcp.json"),
		os.Mkdir(dir+"/run", 0o700), os.MkdirAll(dir+"/home/.cache/sbx", 0o700),
		os.MkdirAll(dir+"/home/.local/state/sbx", 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	agent, err := net.Listen("unix", dir+"/run/agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { agent.Close() })
	t.Chdir(dir + "/proj")
	for name, value := range map[string]string{"HOME": dir + "/home", "XDG_CACHE_HOME": dir + "/home/.cache",
		"XDG_RUNTIME_DIR": "", "TMPDIR": dir + "/tmp", "GH_TOKEN": "x", "MUTANT_DIR": dir, "SSH_AUTH_SOCK": dir +
			"/run/agent", "PWD": dir + "/proj"} {
		t.Setenv(name, value)
	}
	return dir
}
