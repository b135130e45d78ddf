// SPDX-License-Identifier: Apache-2.0

package sbpltest

import "testing"

// real are decisions that Macs gave, as people published them. Paths are made
// plain where a source has its own; "op inferred" says that a source names no
// operation, "profile shortened" that it has more rules. Those of bazel, Homebrew
// and cplt PR 455 are taken from notes about them, all others from their text.
var real = []struct {
	source  string
	profile string
	act     Act
	want    bool
}{
	{"greywall PR 20: .env readable though file-read* is denied",
		`(deny default) (allow file-read-data (subpath "/")) (deny file-read* (literal "/p/.env"))`,
		Do("read", "/p/.env"), true},
	{"greywall PR 20: the same operation denied",
		`(deny default) (allow file-read-data (subpath "/")) (deny file-read-data (literal "/p/.env"))`,
		Do("read", "/p/.env"), false},
	{"nono PR 697: a wildcard allow loses to an earlier deny of one operation",
		`(deny default) (deny file-read-data (subpath "/Users/u/Library/Keychains")) (allow file-read* (literal "/Users/u/Library/Keychains/login.keychain-db"))`,
		Do("read", "/Users/u/Library/Keychains/login.keychain-db"), false},
	{"nono PR 697: an allow of that operation wins",
		`(deny default) (deny file-read-data (subpath "/Users/u/Library/Keychains")) (allow file-read-data (literal "/Users/u/Library/Keychains/login.keychain-db"))`,
		Do("read", "/Users/u/Library/Keychains/login.keychain-db"), true},
	{"nono 970: a later allow of everything undoes a deny",
		`(deny default) (deny file-write* (subpath "/private/tmp/protected")) (allow file-read* (subpath "/")) (allow file-write* (subpath "/"))`,
		Do("create", "/tmp/protected/foo"), true},
	{"nono PR 971: the deny after the allow",
		`(deny default) (allow file-read* (subpath "/")) (allow file-write* (subpath "/")) (deny file-write* (subpath "/private/tmp/protected"))`,
		Do("create", "/tmp/protected/foo"), false},
	{"nono PR 971: a deny of one operation without filter holds in any order",
		`(deny default) (deny file-write-unlink) (allow file-write* (subpath "/private/tmp"))`,
		Do("unlink", "/private/tmp/x"), false},
	{"nono PR 971: … the other order",
		`(deny default) (allow file-write* (subpath "/private/tmp")) (deny file-write-unlink)`,
		Do("unlink", "/private/tmp/x"), false},
	{"mxc PR 754: allow, then deny, same path",
		`(deny default) (allow network-outbound (subpath "/s")) (deny network-outbound (subpath "/s"))`,
		Do("connect", "/s/sock"), false},
	{"mxc PR 754: deny, then allow, same path",
		`(deny default) (deny network-outbound (subpath "/s")) (allow network-outbound (subpath "/s"))`,
		Do("connect", "/s/sock"), true},
	{"mxc PR 754: shallow deny, deeper allow",
		`(deny default) (deny network-outbound (subpath "/s")) (allow network-outbound (subpath "/s/in"))`,
		Do("connect", "/s/in/sock"), true},
	{"mxc PR 754: a deny with filter survives a later allow without",
		`(deny default) (deny network-outbound (subpath "/s")) (allow network-outbound)`,
		Do("connect", "/s/sock"), false},
	{"mxc PR 749: read-only below read-write, then a bare allow of the network",
		`(deny default) (allow file-read* file-write* network-bind network-outbound (subpath "/w")) (deny file-write* network-bind network-outbound (subpath "/w/ro")) (allow network-outbound)`,
		Do("connect", "/w/ro/sock"), false},
	{"mxc PR 749: a socket in a writable tree can be bound",
		`(deny default) (allow file-read* file-write* network-bind network-outbound (subpath "/w"))`,
		Do("bind", "/w/sock"), true},
	{"mxc PR 749: … and connected to",
		`(deny default) (allow file-read* file-write* network-bind network-outbound (subpath "/w"))`,
		Do("connect", "/w/sock"), true},
	{"mxc PR 749: … which binds no TCP port",
		`(deny default) (allow file-read* file-write* network-bind network-outbound (subpath "/w"))`,
		Do("listen-ip", "127.0.0.1:8080", "tcp"), false},
	{"mxc PR 749: … and connects nowhere",
		`(deny default) (allow file-read* file-write* network-bind network-outbound (subpath "/w"))`,
		Do("connect-ip", "127.0.0.1:80", "tcp"), false},
	{"mxc PR 749: file rules do not make sockets work",
		`(deny default) (allow file-read* file-write* (subpath "/w")) (allow network-inbound (local ip))`,
		Do("bind", "/w/x.pipe"), false},
	{"trailofbits/skills PR 218: a filtered file-read* is bounded",
		`(deny default) (allow file-read* (subpath "/usr"))`,
		Do("read", "/private/etc/hosts"), false},
	{"trailofbits/skills PR 218: a bare one is not",
		`(deny default) (allow file-read*)`,
		Do("read", "/etc/hosts"), true},
	{"trailofbits/skills PR 218: a deny above a broad allow enforces nothing (filter of the allow inferred)",
		`(deny default) (deny file-read* (literal "/p/secret")) (allow file-read* (subpath "/"))`,
		Do("read", "/p/secret"), true},
	{"cco PR 50: metadata allowed in a tree that file-read* closes",
		`(deny default) (allow file-read* (subpath "/")) (deny file-read* (subpath "/Users/u")) (allow file-read-metadata (subpath "/Users/u"))`,
		Do("stat", "/Users/u/.local/share/mise"), true},
	{"cco PR 50: … its contents stay closed",
		`(deny default) (allow file-read* (subpath "/")) (deny file-read* (subpath "/Users/u")) (allow file-read-metadata (subpath "/Users/u"))`,
		Do("read", "/Users/u/.local/share/mise"), false},
	{"cco PR 51 (why it was written): file-read* denied does not close what metadata opens",
		`(deny default) (allow file-read-metadata (subpath "/Users/u")) (deny file-read* (subpath "/Users/u/secret"))`,
		Do("stat", "/Users/u/secret/x"), true},
	{"cco PR 51: metadata denied by name does",
		`(deny default) (allow file-read-metadata (subpath "/Users/u")) (deny file-read-metadata (subpath "/Users/u/secret"))`,
		Do("stat", "/Users/u/secret/x"), false},
	{"cplt PR 321: subpath of a plain file is that file",
		`(deny default) (allow file-read* (subpath "/Users/u/.docker/config.json"))`,
		Do("read", "/Users/u/.docker/config.json"), true},
	{"cplt PR 455: an allow by node type beats a deny of the tree (op inferred)",
		`(deny default) (allow file-write-create (require-all (subpath "/w") (vnode-type SOCKET))) (deny file-write* (subpath "/w"))`,
		single(Request{Op: "file-write-create", Path: "/w/s", Kind: "SOCKET"}), true},
	{"bazel: allow default, bare deny of writes, then paths: inside",
		`(allow default) (deny file-write*) (allow file-write* (subpath "/private/var/tmp/_bazel"))`,
		Do("create", "/var/tmp/_bazel/x"), true},
	{"bazel: … and outside",
		`(allow default) (deny file-write*) (allow file-write* (subpath "/private/var/tmp/_bazel"))`,
		Do("create", "/Users/u/x"), false},
	{"Homebrew sandbox.rb: paths, then a bare deny, then allow default: inside",
		`(allow file-write* (subpath "/private/tmp")) (deny file-write*) (allow default)`,
		Do("create", "/private/tmp/x"), true},
	{"Homebrew sandbox.rb: … and outside",
		`(allow file-write* (subpath "/private/tmp")) (deny file-write*) (allow default)`,
		Do("create", "/Users/u/x"), false},
	{"retrace PR 720: declared writes after denied roots",
		`(allow default) (deny file-write* (subpath "/Users")) (allow file-write* (subpath "/Users/u/out"))`,
		Do("create", "/Users/u/out/x"), true},
	{"retrace PR 720: undeclared",
		`(allow default) (deny file-write* (subpath "/Users")) (allow file-write* (subpath "/Users/u/out"))`,
		Do("create", "/Users/u/x"), false},
	{"reyn PR 1930: fork allowed, then denied, both bare",
		`(deny default) (allow process-fork) (deny process-fork)`,
		single(Request{Op: "process-fork"}), false},
	{"synergy PR 1391: a nested project below a closed directory (profile shortened)",
		`(deny default) (allow file-read*) (deny file-read* (subpath "/Users/u/.ssh")) (allow file-read* (subpath "/Users/u/.ssh/proj"))`,
		Do("read", "/Users/u/.ssh/proj/x"), true},
	{"synergy PR 1391: … its sibling",
		`(deny default) (allow file-read*) (deny file-read* (subpath "/Users/u/.ssh")) (allow file-read* (subpath "/Users/u/.ssh/proj"))`,
		Do("read", "/Users/u/.ssh/id_rsa"), false},
	{"synergy PR 1440: deny, then the allow of a root around it",
		`(deny default) (deny file-read* (subpath "/Users/u/.ssh")) (allow file-read* (subpath "/Users/u"))`,
		Do("read", "/Users/u/.ssh/id_rsa"), true},
	{"srt 8: a file that cannot be read is moved to where it can",
		`(deny default) (allow file-read*) (allow file-write* (subpath "/Users/u")) (deny file-read* (subpath "/Users/u/.aws"))`,
		Do("rename", "/Users/u/.aws/credentials", "/Users/u/project/stolen.txt"), true},
	{"srt 8: … or the directory that holds it",
		`(deny default) (allow file-read*) (allow file-write* (subpath "/Users/u")) (deny file-read* (subpath "/Users/u/.aws"))`,
		Do("rename", "/Users/u/.aws", "/Users/u/moved"), true},
	{"orbit PR 494: subpath folds case",
		`(deny default) (allow file-read* (subpath "/w")) (deny file-read* (subpath "/w/.orbit"))`,
		Do("read", "/w/.ORBIT/db"), false},
	{"orbit PR 494: regex does not",
		`(deny default) (allow file-read* (subpath "/w")) (deny file-read* (regex #"^/w/.*\.env$"))`,
		Do("read", "/w/prod.ENV"), true},
	{"code-buddy PR 88: a rule about /var/folders matches nothing",
		`(deny default) (allow file-read-metadata (literal "/var")) (allow file-write* (subpath "/var/folders"))`,
		Do("create", "/var/folders/ab/T/x"), false},
	{"bendrucker/claude PR 1082: the allow of a path inside comes before the deny around it",
		`(deny default) (allow file-write* (subpath "/Users/b/.claude/plugins/data")) (deny file-write* (subpath "/Users/b/.claude/plugins"))`,
		Do("create", "/Users/b/.claude/plugins/data/x"), false},
	{"bendrucker/claude PR 1213: an anchored expression is one path, not a tree",
		`(deny default) (allow file-write* (regex #"^/private/var/folders/[^/]+/[^/]+/T$"))`,
		Do("create", "/private/var/folders/a/b/T/x"), false},
	{"unsloth PR 10526 (claimed in its review): a link to a file that is only readable, and a write through it",
		`(deny default) (allow file-read* (subpath "/lib")) (allow file-write* (subpath "/w"))`,
		Do("link", "/lib/site.py", "/w/alias"), true},
	{"claude-code 39635: a closed tree with trees in it allowed afterwards",
		`(deny default) (allow file-read* (subpath "/")) (deny file-read* (subpath "/Users/u")) (allow file-read* (subpath "/Users/u/.local"))`,
		Do("read", "/Users/u/.local/bin/x"), true},
}

// naiveIsWrong is for how many of them the plain reading gives the wrong answer.
const naiveIsWrong = 9

func TestRealDecisions(t *testing.T) {
	if len(real) < 20 {
		t.Errorf("%d decisions", len(real))
	}
	wrong := 0
	for _, r := range real {
		p := load(t, "(version 1) "+r.profile, nil)
		if got, why := p.Check(Observed, r.act); got != r.want {
			t.Errorf("%s: %s: %s by %s", r.source, r.act.Name, verdict(got), why)
		}
		if got, _ := p.Check(Naive, r.act); got != r.want {
			t.Logf("naive is wrong: %s", r.source)
			wrong++
		}
	}
	if wrong != naiveIsWrong {
		t.Errorf("the naive model is wrong %d times of %d, not %d", wrong, len(real), naiveIsWrong)
	}
	t.Logf("%d decisions, naive wrong in %d", len(real), wrong)
}

func load(t *testing.T, text string, params map[string]string) *Profile {
	t.Helper()
	p, err := Load(text, params)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}
