// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/golden"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// form is a list of SBPL, or a word.
type form struct {
	word string
	in   []form
}

var sbplWord = regexp.MustCompile(`[()]|#?"[^"]*"|[^\s()]+`)

// readForms reads the text of a profile.
func readForms(text string) []form {
	words := sbplWord.FindAllString(text, -1)
	var list func() []form
	list = func() (out []form) {
		for len(words) > 0 {
			w := words[0]
			words = words[1:]
			switch w {
			case "(":
				out = append(out, form{in: list()})
			case ")":
				return out
			default:
				out = append(out, form{word: w})
			}
		}
		return out
	}
	return list()
}

// belt decides as a reading of a profile from top to bottom does: the last rule
// that matches wins.
type belt struct {
	forms  []form
	params map[string]string
}

func newBelt(p *engine.Plan) *belt {
	text, params := profileOf(p)
	return &belt{readForms(text), params}
}

func (b *belt) allows(op, path string) (yes bool) {
	for _, f := range b.forms {
		if f.in[0].word == "when" {
			f = f.in[2]
		}
		if verb := f.in[0].word; verb != "allow" && verb != "deny" {
			continue
		}
		about, filtered, matches := false, false, false
		for _, part := range f.in[1:] {
			if part.word != "" {
				group, ok := strings.CutSuffix(part.word, "*")
				about = about || part.word == op || part.word == "default" || ok && strings.HasPrefix(op, group)
				continue
			}
			filtered = true
			matches = matches || b.match(part, path)
		}
		if about && (matches || !filtered) {
			yes = f.in[0].word == "allow"
		}
	}
	return yes
}

func (b *belt) match(f form, path string) bool {
	value := func() string {
		if p := f.in[1]; p.word == "" {
			return b.params[strings.Trim(p.in[1].word, `"`)]
		}
		return strings.Trim(f.in[1].word, `"`)
	}
	is := func(g form) bool { return b.match(g, path) }
	switch f.in[0].word {
	case "literal":
		return path == value()
	case "subpath":
		return policy.Within(path, value())
	case "require-all":
		return !slices.ContainsFunc(f.in[1:], func(g form) bool { return !is(g) })
	case "require-any":
		return slices.ContainsFunc(f.in[1:], is)
	case "require-not":
		return !is(f.in[1])
	}
	return false // of addresses, terminals that were given, and what is no path
}

// strapped is what a command may do with a path by the profile and the
// permissions of the host.
func (b *belt) strapped(f *fakeFS, h *host.Host, path string) (v verdict, connect bool) {
	_, name, _, _ := f.namei(path, false)
	at, n, links, err := f.namei(path, true)
	v.Seen, v.There = name != nil, n != nil
	if err == errFakeLoop {
		return verdict{Seen: v.Seen}, false
	}
	for _, l := range links {
		if !b.allows("file-read-metadata", l) && !b.allows("file-read-metadata", h.OnMac(l)) {
			return v, false
		}
	}
	may := func(op, path string) bool { return b.allows(op, h.OnMac(path)) }
	if n == nil {
		dir := at
		for f.nodes[dir] == nil {
			if !may("file-write-create", dir) {
				return v, false
			}
			dir = policy.Dir(dir)
		}
		v.Write = f.nodes[dir].Kind == host.Dir && f.may(f.nodes[dir], 'w') && f.may(f.nodes[dir], 'x')
		return v, false
	}
	switch n.Kind {
	case host.Dir:
		v.Read = may("file-read-data", at) && f.may(n, 'r')
		v.Write = may("file-write-create", host.Join(at, "nobody names this")) && f.may(n, 'w') && f.may(n, 'x')
	case host.Socket:
		return v, may("network-outbound", at) && f.may(n, 'w')
	default:
		v.Read = may("file-read-data", at) && f.may(n, 'r')
		v.Write = may("file-write-data", at) && f.may(n, 'w')
	}
	return v, false
}

func compareBelted(t *testing.T, p *engine.Plan, f *fakeFS, h *host.Host, ask func(string) access.Verdict) (compared int) {
	t.Helper()
	b := newBelt(p)
	for _, path := range f.paths() {
		for _, path := range []string{path, host.Join(path, "absent"), host.Join(path, "absent/deeper")} {
			if own := func(dir string) bool { return policy.Within(path, dir) || policy.Within(dir, path) }; p.Session != "" && own(p.Session) || p.CacheDst != "" && own(p.CacheDst) {
				continue // made by the run
			}
			a := ask(path)
			compared++
			want, connect := b.strapped(f, h, path)
			if d := cmp.Diff(want, verdict{a.Seen, a.Kind != host.Absent, a.Read, a.Write}); d != "" || connect != a.Connect {
				t.Errorf("%s: connect %v, answered %v (-profile +answered):\n%s%+v, mark %+v", path, connect, a.Connect, d, a, a.Rule)
			}
			if a.Why == "" || strings.Contains(a.Why, "\n") {
				t.Errorf("%s: why is %q", path, a.Why)
			}
		}
	}
	return compared
}

// What an answer says of every path is what the text of the profile says.
func TestAnswersAgreeWithProfile(t *testing.T) {
	compared, sockets := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 21))
		w := randomWorld(t, r)
		w.mac = true
		for _, path := range w.fs.paths() {
			if n := w.fs.nodes[path]; n.Kind == host.File && !strings.HasPrefix(path, "/x") && r.IntN(3) == 0 {
				n.Kind, n.Mode = host.Socket, 0o777
				sockets++
			}
		}
		p, err := w.plan()
		if err != nil {
			continue
		}
		compared += compareBelted(t, p, w.fs, p.Report.View.Host, p.Report.Ask)
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, w)
		}
	}
	if compared < 20000 || sockets < 500 {
		t.Errorf("only %d paths were compared, with %d sockets", compared, sockets)
	}
	machines := macCases()
	shut := mac("")
	shut.profiles, shut.over.Block = []string{"permissive"}, flagPaths("--block", "/private/var/run")
	machines["no-names"] = shut // with the network, and without the socket that looks up names
	linked := mac("/.hidden/x\n/late-link -> /Users/u/src/app\n/private/tmp/l -> /Users/u/src/other\n/Users/u/src/other/x\n/private/tmp/l2 -> /Users/u/src/other\n")
	linked.profiles, linked.over.Read = []string{"permissive"}, flagPaths("--allow-read", "/private/tmp/l")
	machines["linked"] = linked // a link in a closed place in an open one
	for name, m := range machines {
		p, f, err := m.plan(t)
		if err != nil {
			t.Fatal(name, err)
		}
		if n := compareBelted(t, p, f, p.Report.View.Host, p.Report.Ask); n < 300 {
			t.Errorf("%s: only %d paths were compared", name, n)
		}
	}
}

// told is an answer in a few words: what is there and may be done with it, why,
// and the remedies.
func told(a access.Verdict) []string {
	can := []byte("---")
	for i, yes := range []bool{a.Read, a.Write, a.Connect} {
		if yes {
			can[i] = "rwc"[i]
		}
	}
	var remedies []string
	for _, l := range a.Remedies {
		remedies = append(remedies, l.To+": "+strings.Join(l.Flags, " ")+l.Text)
	}
	if a.Fixed != "" {
		remedies = append(remedies, "no: "+a.Fixed)
	}
	return []string{string("-df?spcu"[a.Kind]) + " " + string(can), a.Why, strings.Join(remedies, "; ")}
}

// Files besides those that any developer has on a Mac.
const beltMore = `
/Users/u/src/app/key -> /Users/u/.ssh/id_rsa
/Users/u/src/app/.zshrc -> sub/zshrc
/Users/u/src/app/sub/zshrc
/Users/u/src/app/dangling -> nowhere
/Users/u/src/app/closed uid=0 mode=600
/Users/u/src/app/an\sodd("name")é
/Users/u/app -> src/app
/Users/u/.docker/run/docker.sock socket mode=777
/Users/u/src/app/agent.sock socket mode=777
/dev/ttys003 device mode=620 uid=501
/dev/ttys009 device mode=620 uid=501
/dev/random device mode=666
`

// beltPaths are what is asked about in each profile.
var beltPaths = []string{
	"/Users/u/src/app", "/Users/u/src/app/main.go", "/Users/u/src/app/.env", "/Users/u/src/app/.netrc", "/Users/u/src/app/.env.test", "/Users/u/src/app/.envrc", "/Users/u/src/app/.bashrc", "/Users/u/src/app/.zshrc",
	"/Users/u/src/app/.git", "/Users/u/src/app/.git/hooks", "/Users/u/src/app/.git/hooks/new", "/Users/u/src/app/.git/config", "/Users/u/src/app/.git/config.worktree", "/Users/u/src/app/.git/info/attributes", "/Users/u/src/app/.git/info/exclude",
	"/Users/u/src/app/.swiftpm", "/Users/u/src/app/.swiftpm/configuration", "/Users/u/src/app/.vscode/new/er",
	"/Users/u/src/app/key", "/Users/u/src/app/dangling", "/Users/u/src/app/closed", "/Users/u/src/app/an odd(\"name\")é", "/Users/u/src/app/line\nbreak", "/Users/u/app/main.go", "/Users/u/src/app/agent.sock",
	"/Users/u", "/Users/u/.ssh", "/Users/u/.ssh/id_rsa", "/Users/u/Library/Keychains/login.keychain-db", "/Users/u/Library/Application Support/Google", "/Users/u/Documents/plan.txt", "/Users/u/.docker/run/docker.sock", "/var/run/docker.sock",
	"/tmp", "/tmp/other", "/tmp/new", "/private/var/folders/zz/one/T", "/private/var/folders/zz/one/T/x", "/var/tmp",
	"/etc/passwd", "/etc/sudoers", "/usr/bin/git", "/usr/bin/none", "/usr/bin/sandbox-exec", "/private/var/run/mDNSResponder",
	"/dev", "/dev/null", "/dev/random", "/dev/rdisk0", "/dev/none", "/dev/fd", "/dev/ttys003", "/dev/ttys009",
	"/System/Volumes/Data/Users", "/System/Library/CoreServices/SystemVersion.plist", "/Volumes/Backup", "/", "/.vol", "/proc/1", "/Users/Shared",
}

// What is said of each path, in words: see testdata/mac-why-*.golden.
func TestGoldenMacAnswers(t *testing.T) {
	for _, profile := range []string{"strict", "moderate", "permissive"} {
		m := mac(beltMore)
		m.profiles = []string{profile}
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, path := range beltPaths {
			a := p.Report.Ask(path)
			rule := "none"
			if a.Rule != nil {
				rule = a.Rule.Word() + " " + a.Rule.Written + " (" + a.Rule.Source + ")"
			}
			words := told(a)
			fmt.Fprintf(&b, "%s\n  may  %s\n  to   %s\n  rule %s\n  why  %s\n  to do %s\n", strconv.Quote(path), words[0], strconv.Quote(a.To), rule, words[1], words[2])
		}
		golden.Check(t, "mac-why-"+profile, b.String())
	}
}

// What may be done in each profile: what is there, read, written, connected to.
func TestAskBelted(t *testing.T) {
	const app = "/Users/u/src/app"
	rows := []struct{ path, strict, moderate, permissive string }{
		{app, "d r--", "d rw-", "d rw-"},
		{app + "/main.go", "f r--", "f rw-", "f rw-"},
		{app + "/.env", "f ---", "f ---", "f ---"},
		{app + "/.netrc", "- ---", "- ---", "- ---"},
		{app + "/.env.test", "- ---", "- -w-", "- -w-"}, // a pattern is about what was there
		{app + "/.env.example", "f r--", "f rw-", "f rw-"},
		{app + "/.envrc", "f r--", "f r--", "f r--"},
		{app + "/.bashrc", "- ---", "- ---", "- ---"},
		{app + "/.zshrc", "f r--", "f r--", "f r--"},
		{app + "/.git/hooks", "d r--", "d r--", "d r--"},
		{app + "/.git/config", "f r--", "f r--", "f r--"},
		{app + "/.git/HEAD", "f r--", "f rw-", "f rw-"},
		{app + "/.git/info/exclude", "- ---", "- ---", "- ---"},
		{app + "/.git/objects/new", "- ---", "- -w-", "- -w-"},
		{app + "/key", "f ---", "f ---", "f ---"},
		{app + "/an odd(\"name\")é", "f r--", "f rw-", "f rw-"},
		{app + "/agent.sock", "s ---", "s --c", "s --c"},
		{"/Users/u/app/main.go", "f ---", "f ---", "f rw-"}, // a link in a closed place
		{"/Users/u", "d ---", "d ---", "d r--"},
		{"/Users/u/.ssh/id_rsa", "f ---", "f ---", "f ---"},
		{"/Users/u/Library/Keychains/login.keychain-db", "f ---", "f ---", "f ---"},
		{"/Users/u/Documents/plan.txt", "f ---", "f ---", "f r--"},
		{"/Users/u/.docker/run/docker.sock", "s ---", "s ---", "s ---"},
		{"/var/run/docker.sock", "s ---", "s ---", "s ---"},
		{"/tmp", "d ---", "d ---", "d ---"},
		{"/tmp/new", "- ---", "- ---", "- ---"},
		{"/var/folders/zz/one/T", "d ---", "d ---", "d ---"},
		{"/var/folders/zz/one/T/sbx/77.1234.0.0.6ed6f14b/tmp", "d rw-", "d rw-", "d rw-"},
		{"/etc/passwd", "f r--", "f r--", "f r--"},
		{"/etc/sudoers", "f ---", "f ---", "f ---"},
		{"/usr/bin/git", "f r--", "f r--", "f r--"},
		{"/private/var/run/mDNSResponder", "s ---", "s ---", "s --c"}, // with the network
		{"/dev", "d ---", "d ---", "d ---"},
		{"/dev/null", "c rw-", "c rw-", "c rw-"},
		{"/dev/rdisk0", "c ---", "c ---", "c ---"},
		{"/dev/ttys003", "c rw-", "c rw-", "c rw-"},
		{"/dev/ttys009", "c ---", "c ---", "c ---"},
		{"/System/Volumes/Data/Users", "d ---", "d ---", "d ---"},
		{"/", "d r--", "d r--", "d r--"},
	}
	for i, profile := range []string{"strict", "moderate", "permissive"} {
		m := mac(beltMore)
		m.profiles = []string{profile}
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if got, want := told(p.Report.Ask(row.path))[0], []string{row.strict, row.moderate, row.permissive}[i]; got != want {
				t.Errorf("%s: %s: %s, want %s", profile, row.path, got, want)
			}
		}
	}
}

// A remedy that is named gives what it says.
func TestBeltRemediesWork(t *testing.T) {
	tried := 0
	for _, profile := range []string{"strict", "moderate", "permissive"} {
		m := mac(beltMore)
		m.profiles = []string{profile}
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range beltPaths {
			a := p.Report.Ask(path)
			for _, l := range a.Remedies {
				if len(l.Flags) == 0 {
					continue
				}
				tried++
				n, value := m, l.Flags[1]
				switch l.Flags[0] {
				case "-r":
					n.over = policy.Profile{Read: flagPaths("-r", value)}
				case "-w":
					n.over = policy.Profile{Write: flagPaths("-w", value)}
				case "--block":
					n.over = policy.Profile{Block: flagPaths("--block", value)}
				case "--git":
					n.over = policy.Profile{Git: value}
				default:
					t.Fatal(l.Flags)
				}
				p, _, err := n.plan(t)
				if err != nil {
					t.Errorf("%s: %s: %q is refused: %v", profile, path, l.Flags, err)
					continue
				}
				if l.Text != "" { // "and call it by that name"
					path = a.To
				}
				b := p.Report.Ask(path)
				if got := map[string]bool{"read": b.Read, "write": b.Write, "connect": b.Connect, "hide": !b.Read && !b.Connect}[l.To]; !got {
					t.Errorf("%s: %s: %q is no way to %s: %+v, mark %+v", profile, path, l.Flags, l.To, b, b.Rule)
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d remedies were tried", tried)
	}
}

// refusing is what a command finds: what may not be looked at is refused.
type refusing struct {
	*fakeFS
	b *belt
}

func (r refusing) Lstat(path string) (host.Info, error) {
	i, err := r.fakeFS.Lstat(path)
	if err == nil && i.Kind != host.Absent && path != "/" && !r.b.allows("file-read-metadata", path) {
		return host.Info{}, &fs.PathError{Op: "lstat", Path: path, Err: syscall.EPERM}
	}
	return i, err
}

func (r refusing) Access(path string, rwx byte) bool {
	op := map[byte]string{'r': "file-read-data", 'w': "file-write-data", 'x': "file-read-metadata"}[rwx]
	if n := r.nodes[path]; n != nil && n.Kind == host.Socket {
		op = "network-outbound"
	}
	return r.fakeFS.Access(path, rwx) && r.b.allows(op, path)
}

// Inside, the manifest and what is there say as much as the plan does outside.
func TestBeltedManifestSaysTheSame(t *testing.T) {
	for _, profile := range []string{"strict", "moderate", "permissive"} {
		m := mac(beltMore)
		m.profiles = []string{profile}
		p, f, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		s := marked(t, p.Files[0].Data, &host.Host{
			Facts:  host.Facts{FS: f},
			Caller: host.Caller{UID: 501, Homes: []string{"/Users/u"}, CWD: "/Users/u/src/app", FDs: m.fds},
		})
		s.Ruleset, s.Seatbelt, s.Network, s.FS = nil, true, p.Report.Policy.Network, refusing{f, newBelt(p)}
		n := 0
		for _, path := range slices.Concat(beltPaths, f.paths()) {
			if own := p.Session; policy.Within(path, own) || policy.Within(own, path) || p.CacheDst != "" && (policy.Within(path, p.CacheDst) || policy.Within(p.CacheDst, path)) {
				continue // there by then
			}
			in, out := s.Ask(path), p.Report.Ask(path)
			n++
			if in.Read != out.Read || in.Write != out.Write || in.Connect != out.Connect || in.Seen != out.Seen || in.Kind != out.Kind && in.Kind != host.Unknown {
				t.Errorf("%s: %s: inside %+v\noutside %+v", profile, path, in, out)
			}
			if in.Kind == host.Unknown && (out.Read || out.Write || out.Connect) {
				t.Errorf("%s: %s may be used, and not be looked at", profile, path)
			}
			if in.Why == "" || in.Kind == out.Kind && in.To == out.To && in.Why != out.Why && !strings.Contains(out.Why, "the next run would") {
				t.Errorf("%s: %s: inside %q, outside %q", profile, path, in.Why, out.Why)
			}
		}
		if n < 150 {
			t.Errorf("%s: only %d paths", profile, n)
		}
	}
}
