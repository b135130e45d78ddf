package wrap

import (
	"os"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/profiles"
)

// BenchmarkHints is what every run pays for the hint that it may need, on the
// files of this machine.
func BenchmarkHints(b *testing.B) {
	home := b.TempDir() + "/home"
	for _, dir := range []string{"/proj/src", "/proj/.git", "/proj/.vscode", "/.ssh", "/other"} {
		if err := os.MkdirAll(home+dir, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	for _, file := range []string{"/proj/.env", "/proj/src/main.go", "/.ssh/id", "/other/file"} {
		if err := os.WriteFile(home+file, nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	long := strings.Repeat("echo \"$HOME/x\" 'a b' && cp src/main.go ~/out/$i.go >> log.txt 2>&1; ", 16<<10/66)
	data := "x='" + strings.Repeat("0123456789abcde ", 1<<10) + "'; npm test"
	for name, words := range map[string][]string{
		"true":     {"true"},
		"npm test": {"npm", "test"},
		"usual":    {"bash", "-c", "cd src && go test -run 'TestX' ./... 2>&1 | tail -n 20"},
		"agent":    {"bash", "-c", "-l", "source ~/.claude/snapshot.sh 2>/dev/null || true && eval 'git status --short && npm run build -- --mode=test' < /dev/null && pwd -P >| /tmp/claude-1-cwd"},
		"hidden":   {"cat", home + "/.ssh/id"},
		"unseen":   {"cat", home + "/other/file"},
		"16 KiB":   {"bash", "-c", long[:16<<10]},
		"data":     {"bash", "-c", data},
	} {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			h := &host.Host{FS: host.OS{}, OS: "linux", Arch: "amd64", UID: os.Getuid(), Homes: []string{home}, CWD: home + "/proj", Config: home + "/.config/sbx",
				Environ: []string{"HOME=" + home, "PATH=" + home + "/bin:/usr/local/bin:/usr/bin:/bin"}, Self: "/bin/sh"}
			vars := policy.Vars{CWD: h.CWD, Root: h.CWD, Home: home}
			pol, err := policy.Resolve(profiles.Builtin(), []string{"moderate"}, vars)
			if err != nil {
				b.Fatal(err)
			}
			bwrap := engine.Chosen{Name: host.EngineBwrap, Bwrap: host.Bwrap{Path: "/usr/bin/bwrap", Version: bwrapargs.Version{Minor: 8}}}
			req := engine.Request{Engine: bwrap, Policy: pol, Root: h.CWD, Command: words, Hints: engine.Hints{On: true}}
			p, err := New(req, h)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				p.Report.Sight = nil
				hintsFor(p, req, h, p.Report.View, p.Report.Policy)
			}
		})
	}
}
