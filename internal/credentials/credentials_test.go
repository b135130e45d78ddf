// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
)

func TestGit(t *testing.T) {
	for _, tt := range []struct{ name, in, want, names string }{
		{"nothing", "[a]\n\tb = c # d\n", "[a]\n\tb = c # d\n", ""},
		{"a URL with a password", "[remote \"origin\"]\n\turl = https://me:tok@h/x\n\tfetch = +r\n",
			"[remote \"origin\"]\n\tfetch = +r\n", "remote.origin.url"},
		{"a token for a user", "[remote \"o\"]\nurl=https://0123456789abcdef0123456789abcdef01234567@h/x\n", "",
			"remote.o.url"},
		{"a user is none", "[remote \"o\"]\n\turl = https://ada@h/x\n", "[remote \"o\"]\n\turl = https://ada@h/x\n",
			""},
		{"nor is one of ssh", "[remote \"o\"]\n\turl = ssh://a-very-long-user-name-of-theirs@h/x\n",
			"[remote \"o\"]\n\turl = ssh://a-very-long-user-name-of-theirs@h/x\n", ""},
		{"a password of ssh", "[remote \"o\"]\n\turl = ssh://a:b@h/x\n", "", "remote.o.url"},
		{"an at in a path", "[remote \"o\"]\n\turl = https://h/a:b@c\n", "[remote \"o\"]\n\turl = https://h/a:b@c\n",
			""},
		{"a subsection", "[url \"https://oauth2:tok@h/\"]\n\tinsteadOf = https://h/\n[a]\nb=c\n", "[a]\n\tb=c\n",
			"url.https://…@h/.insteadof"},
		{"a header", "[http \"https://h/\"]\n\textraheader = AUTHORIZATION: basic abc\n\tsslVerify = true\n",
			"[http \"https://h/\"]\n\tsslVerify = true\n", "http.https://h/.extraheader"},
		{"a value over two lines", "[a]\n\tpassword = ab\\\n  cd\n\tb = c\n", "[a]\n\tb = c\n", "a.password"},
		{"a comment", "[a]\n\tb = c # https://x:y@h\n# token = 1\n;https://x:y@h\n\td = \"#e\" ; f\n",
			"[a]\n\tb = c \n\td = \"#e\" \n", ""},
		{"one line", "[a] token = x\n[b] c = d\n", "[b]\n\tc = d\n", "a.token"},
		{"two headers", "[a][b]c=https://x:y@h\n", "", "b.c"},
		{"a bracket in quotes", "[a \"]\\\"[\"]\nc=d\ntoken=e\n", "[a \"]\\\"[\"]\n\tc=d\n", `a.]"[.token`},
		{"switches", "[http]\n\tsslCertPasswordProtected = true\n[credential]\n\thelper =\n",
			"[http]\n\tsslCertPasswordProtected = true\n[credential]\n\thelper =\n", ""},
		{"helpers", "[credential]\n\thelper = store\n\thelper = !gh auth git-credential\n\thelper = \"!f() { echo password=x; }; f\"\n\thelper = !x --token y\n", "[credential]\n\thelper = store\n\thelper = !gh auth git-credential\n", "credential.helper"},
		{"a proxy without a scheme", "[http]\nproxy = me:tok@proxy:3128\n", "", "http.proxy"},
		{"mail", "[sendemail]\n\tsmtpPass = x\n\tsmtpUser = y\n[imap]\n\tpass = z\n", "[sendemail]\n\tsmtpUser = y\n",
			"sendemail.smtppass imap.pass"},
		{"cookies", "[http]\n\tcookieFile = ~/c\n\tsaveCookies = 1\n", "[http]\n\tsaveCookies = 1\n",
			"http.cookiefile"},
		{"a token anywhere", "[alias]\n\tx = !curl -H 'Authorization: x' h\n\ty = !echo ghp_0123456789abcdef\n\tz = log\n", "[alias]\n\tz = log\n", "alias.x alias.y"},
		{"CR LF", "[a]\r\n\ttoken = x\r\n\tb = c\r\n", "[a]\n\tb = c\r\n", "a.token"},
		{"a mark of the byte order", "\xef\xbb\xbf[a]\n\ttoken = x\n\tb = c\n", "[a]\n\tb = c\n", "a.token"},
		{"odd passwords", "[remote \"o\"]\n\turl = http://ada:a,b@h/x\n\turl = \"http://ada:a;b@h\"\n\turl = http://ada:a'b@h/\n\turl = http://ada:$ab@h/\n\turl = http://ada:${ab}@h/\n\turl = http://ada:%ab%@h/\n\turl = http://ada:a b@h/\n\tx = y\n",
			"[remote \"o\"]\n\tx = y\n", "remote.o.url"},
		{"in other places", "[url \"https://ada:a'b@h/\"]\n\tinsteadOf = https://h/\n[http]\n\tproxy = ada:a,b@p\n[a]\n\tb = c\n", "[a]\n\tb = c\n", "url.https://…@h/.insteadof http.proxy"},
		{"comments", "[a]\n\tb = c\n# password = x\n", "[a]\n\tb = c\n", ""},
		{"a section that is switched off", "[a]\n\tb = c\n#[http]\n# extraHeader = Authorization: Basic aHVudGVyMg==\n",
			"[a]\n\tb = c\n", ""},
		{"a comment behind a setting", "[a]\n\tb = c ; token: x\n", "[a]\n\tb = c \n", ""},
		{"names", "[x]\n\tpwd = a\n\tcredentials = b\n\tcred = c\n\ty = z\n", "[x]\n\ty = z\n",
			"x.pwd x.credentials x.cred"},
		{"command lines", "[core]\n\tsshCommand = sshpass -p x ssh\n[remote \"o\"]\n\turl = ext::sh -c \"sshpass -px ssh h\"\n[alias]\n\tup = !curl -u ada:x https://h\n\tup = \"!curl -H \\\"PRIVATE-TOKEN: abc\\\" https://h\"\n\tup = !X_TOKEN=abc make\n\tup = !curl https://h/?private_token=abc\n" +
			"[filter \"e\"]\n\tclean = openssl enc -aes-256-cbc -k x\n\tsmudge = openssl enc -d -pass pass:x\n[sendemail]\n\tsmtpServerOption = --auth-pw=x\n", "", "core.sshcommand remote.o.url alias.up filter.e.clean filter.e.smudge sendemail.smtpserveroption"},
		{"command lines without", "[core]\n\tsshCommand = ssh -i ~/.ssh/id -p 2222\n[alias]\n\tup = push -u origin HEAD\n\tx = !curl -u \"$U:$P\" https://h\n\ty = !X_TOKEN=$(cat f) make\n\tz = log --format='%h %an: %s'\n\tw = !x --password-file f --no-token\n[remote \"o\"]\n\tfetch = +refs/heads/secret:refs/remotes/o/secret\n[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n",
			"[core]\n\tsshCommand = ssh -i ~/.ssh/id -p 2222\n[alias]\n\tup = push -u origin HEAD\n\tx = !curl -u \"$U:$P\" https://h\n\ty = !X_TOKEN=$(cat f) make\n\tz = log --format='%h %an: %s'\n\tw = !x --password-file f --no-token\n[remote \"o\"]\n\tfetch = +refs/heads/secret:refs/remotes/o/secret\n[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n", ""},
		{"helpers with a password", "[credential]\n\thelper = /opt/h --password x\n\thelper = foo --token x\n\thelper = \"!h -u ada -p x\"\n\tusername = 0123456789abcdefghij\n\tusername = ada@example.com.example\n\thelper = cache --timeout 60\n",
			"[credential]\n\tusername = ada@example.com.example\n\thelper = cache --timeout 60\n",
			"credential.helper credential.username"},
		{"more names", "[core]\n\tsshCommand = SSHPASS=x sshpass -e ssh\n\taskPass = /usr/bin/ask\n[alias]\n\ta = !DB_PASS=x b\n\tb = !MYSQL_PWD=x b\n[x]\n\tdbpass = x\n\toauth = x\n\tbearer = x\n\tjwt = x\n", "[core]\n\taskPass = /usr/bin/ask\n", "core.sshcommand alias.a alias.b x.dbpass x.oauth x.bearer x.jwt"},
		{"a command line in a comment", "[a]\n\tb = c\n# curl -u ada:x https://h\n", "[a]\n\tb = c\n", ""},
		{"no line feed at the end", "[a]\nb=c\ntoken=x", "[a]\n\tb=c\n", "a.token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, names, err := Git([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, string(got)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tt.names, strings.Join(names, " ")); d != "" {
				t.Error(d)
			}
		})
	}
	for _, bad := range []string{"[a", "[a]\nb = \"c", "[a]\n\tb c\n\ttoken = x\n"} {
		if copied, _, err := Git([]byte(bad)); err == nil {
			t.Errorf("%q became %q", bad, copied)
		}
	}
}

func TestLines(t *testing.T) {
	const npm, yarn, yarn1, bun = ".npmrc", ".yarnrc.yml", ".yarnrc", "bunfig.toml"
	for _, tt := range []struct{ name, file, in, want, names string }{
		{"nothing", npm, "registry=https://r/ ; x\n# c\n", "registry=https://r/ ; x\n# c\n", ""},
		{"npm", npm, "registry=https://r/\n//r/:_authToken=abc\n_auth = Zm9v\nalways-auth=true\n//r/:_password=\"eA==\"\n; a comment\nemail=a@b\n", "registry=https://r/\nalways-auth=true\nemail=a@b\n", "_authToken _auth _password"},
		{"a reference", npm, "//r/:_authToken=${NPM_TOKEN}\n//s/:_authToken=\"${T}\"\n_authToken=${X-}\nregistry=https://u:${P}@r/\n", "//r/:_authToken=${NPM_TOKEN}\n//s/:_authToken=\"${T}\"\n_authToken=${X-}\nregistry=https://u:${P}@r/\n", ""},
		{"a reference with a default", npm, "_authToken=${X-abc}\n", "", "_authToken"},
		{"references that npm does not know", npm,
			"_authToken=$X\n_password=%X%\n_auth=${X}abc\nregistry=https://u:$P@r/\nx=1\n", "x=1\n",
			"_authToken _password _auth a URL or token"},
		{"a switch is the whole value", npm, "//r/:_authToken=0,abc\n_auth=1;abc\n_password=no abc\nx=1\n", "x=1\n",
			"_authToken _auth _password"},
		{"a list", npm, "//r/:_authToken[]=abc\nx=1\n", "x=1\n", "_authToken"},
		{"an escaped letter", npm, "\"//r/:_auth\\u0054oken\"=abc\ncafile=C:\\usr\n", "cafile=C:\\usr\n",
			"an escaped letter"},
		{"a proxy without a scheme", npm, "proxy=me:abc@h:80\nhttps-proxy = me:a,b@h\nnoproxy=h\n", "noproxy=h\n",
			"proxy https-proxy"},
		{"a user in a URL", npm, "registry=https://u:p@r/\nregistry=https://u:a,b@r/\nx=1\n", "x=1\n",
			"a URL or token"},
		{"yarn", yarn, "npmRegistryServer: \"https://r/\"\nnpmAuthToken: abc\nnpmScopes:\n  acme:\n    npmAuthIdent: \"u:p\"\n    npmAlwaysAuth: true\nnpmAuthToken: >-\n  abc\n  def\nyarnPath: x\n",
			"npmRegistryServer: \"https://r/\"\nnpmScopes:\n  acme:\n    npmAlwaysAuth: true\nyarnPath: x\n",
			"npmAuthToken npmAuthIdent"},
		{"yarn, behind a comment", yarn, "npmAuthToken:\n# c\n  abc\n\n  def\nx: y\n", "x: y\n", "npmAuthToken"},
		{"yarn, a switch goes on", yarn, "npmAuthToken: 1\n  abc\nx: y\n", "npmAuthToken: 1\nx: y\n", "npmAuthToken"},
		{"yarn, a switch in a text", yarn, "npmAuthToken: \"1,abc\"\nx: y\n", "x: y\n", "npmAuthToken"},
		{"yarn, in braces", yarn, "npmScopes: {a: {npmAuthToken: \"${T}\"}, b: {x: y}}\n",
			"npmScopes: {a: {npmAuthToken: \"${T}\"}, b: {x: y}}\n", ""},
		{"yarn 1", yarn1, "registry \"https://r/\"\n\"//r/:_authToken\" abc\n", "registry \"https://r/\"\n",
			"_authToken"},
		{"bun", bun, "[install]\nregistry = { url = \"https://r/\", token = \"abc\" }\n[install.scopes]\n\"@a\" = { token = \"$T\", url = \"https://r/\" }\ntoken = \"\"\"\nabc\n\"\"\"\nx = 1\n", "[install]\n[install.scopes]\n\"@a\" = { token = \"$T\", url = \"https://r/\" }\nx = 1\n", "token"},
		{"a random text", npm, "x = 0123456789abcdef0123456789abcdef\ny = a-long-name-of-several-words-without-anything\n", "y = a-long-name-of-several-words-without-anything\n", "a random text"},
		{"a comment alone", npm, "a=b\n#_authToken=x\n", "a=b\n", ""},
		{"a private key", npm, "key=\"-----BEGIN RSA PRIVATE KEY-----\\nabc\"\nca=x\n", "ca=x\n", "a URL or token"},
		{"where to upload", ".pypirc", "[distutils]\nindex-servers =\n    pypi\n    own\n\n[own]\nrepository = https://r.example/simple/\nusername = __token__\n", "[distutils]\nindex-servers =\n    pypi\n    own\n\n[own]\nrepository = https://r.example/simple/\nusername = __token__\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, names, err := Lines(tt.file, []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, string(got)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tt.names, strings.Join(names, " ")); d != "" {
				t.Error(d)
			}
		})
	}
	for _, bad := range []struct{ file, in string }{
		{npm, "a\x00b"}, {npm, "a\xff"}, {npm, "_auth=1\rabc"}, {npm, strings.Repeat("x", maxLine+1)},
		{yarn, "? npmAuthToken\n: abc\n"}, {yarn, "npmScopes: {a: {npmAuthToken\n : abc}}\n"},
		{yarn, "npmScopes: {a: {\nnpmAuthToken:\nabc}}\n"}, {yarn, "\"npmAuth\\\n  Token\": abc\n"},
		{".pypirc", "[pypi]\nusername = a\npassword = abc\n"}, {".pypirc", "[pypi]\npassword = #abc\n"},
		{".pypirc", "[pypi]\npassword =\n# c\n  abc\n"}, {".pypirc", "[pypi]\npassword = 1\n  abc\n"},
		{".pypirc", "# abc\n"},
		{".pypirc", "[pypi]\nrepository = https://u:a,b@h/\n"}, {".pypirc", "[pypi]\nusername = a\n  abc\n"},
		{".pypirc", "[pypi]\nusername = 0123456789abcdef0123456789abcdef\n"},
		{".pypirc", "[pypi]\nPASSWORD: abc\n"}, {".pypirc", "[pypi]\nabc\n"},
	} {
		if got, _, err := Lines(bad.file, []byte(bad.in)); err == nil {
			t.Errorf("%s: of %q this is shown: %q", bad.file, bad.in, got)
		}
	}
}

// pieces are what random config files are made of.
var pieces = []string{
	"[a]", "[remote \"origin\"]", "[url \"https://u:p@h/\"]", "[a \"\\\"]\"]", "[A.B]", "[http \"https://h/\"]",
	"[credential]", "[", "]", "\"", "\\", "\\\n", "\n", "\r\n", "\n\t", " ", "\t", "#", ";", "=", " = ",
	"url", "token", "b", "extraheader", "helper", "password", "insteadOf", "https://u:p@h/x", "https://h/x", "SECRET",
	"\\\"", "\\n", "!f() { echo password=x; }", "store", "\xef\xbb\xbf", "\xff", "\x0b", "\x00", "[a]\nb = c\n",
	"[remote \"o\"]\n\turl = https://u:p@h/x\n\tfetch = y\n",
}

// parts are lines that git reads.
var parts = []string{"[remote \"origin\"]\n", "[url \"https://u:p@h/\"]\n", "[A.B]\n", "[http \"https://h/\"] # c\n",
	"[credential]", "[a \"\\\"]\"]\n", "\ttoken = x\n", "x=y;z\n", "\turl = https://u:p@h/x # d\n",
	"insteadOf = \"a # b\" c\n",
	"extraHeader = A: \\\n b\n", "\tb\n", "\tb = c\\td \\\"e\\\\ \n", "password =\n",
	"helper = \"!f() { echo password=x; }; f\"\n", "# https://u:p@h\n", "; x\r\n", "y = z\r\n", "\n"}

// config is what git reads from a file.
func config(t testing.TB, data []byte) (all []entry, ok bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "config", "-f", file, "--no-includes", "-l", "-z")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.Output()
	if err != nil {
		return nil, false
	}
	for text := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if text == "" {
			continue
		}
		name, value, _ := strings.Cut(text, "\n")
		section, rest, found := strings.Cut(name, ".")
		if !found { // before any section
			section, rest = "", name
		}
		s := gitdir.Setting{Section: section, Key: rest, Value: value}
		if i := strings.LastIndexByte(rest, '.'); i >= 0 {
			s.Sub, s.Key = rest[:i], rest[i+1:]
		}
		all = append(all, entry{text, s})
	}
	return all, true
}

type entry struct {
	text string // as git prints it; a key without a value has no line feed
	set  gitdir.Setting
}

// likeGit compares a copy with what git makes of the file and of the copy.
func likeGit(t testing.TB, data []byte) (cut bool) {
	copied, names, err := Git(data)
	if err != nil {
		return false
	}
	before, ok := config(t, data)
	if !ok {
		return false // nothing that git would show
	}
	want := slices.DeleteFunc(slices.Clone(before), func(e entry) bool { return secret(&e.set) })
	after, ok := config(t, copied)
	if !ok || !slices.EqualFunc(want, after, func(a, b entry) bool { return a.text == b.text }) {
		t.Errorf("git reads %q\nof %q,\nof the copy %q\nit reads %q, wanted %q", before, data, copied, after, want)
	}
	if len(names) == 0 != (len(want) == len(before)) {
		t.Errorf("%q: named %q, %d of %d settings", data, names, len(want), len(before))
	}
	return len(names) > 0
}

func FuzzGit(f *testing.F) {
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("no git")
	}
	f.Add([]byte("[a]\n\ttoken = x # y\n[url \"https://u:p@h/\"]\ninsteadOf = z\n"))
	f.Add([]byte(strings.Join(pieces, "")))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 4096 {
			likeGit(t, data)
		}
	})
}

// Random files of what matters: git reads the copy as it reads the file, less
// the credentials.
func TestGitLikeGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		if strings.Contains(os.Getenv("SBX_TEST_REQUIRE"), "git") {
			t.Fatal("no git")
		}
		t.Skip("no git")
	}
	rounds, cut := 400, 0
	if n := os.Getenv("SBX_TEST_ROUNDS"); n != "" {
		fmt.Sscan(n, &rounds)
	}
	next := uint32(1)
	random := func(n int) int {
		next = next*1664525 + 1013904223
		return int(next>>8) % n
	}
	for range rounds {
		text := "[a]\n"
		for range 1 + random(6) {
			text += parts[random(len(parts))]
		}
		for range random(3) { // most of what is put in anywhere is still read
			at := random(len(text))
			text = text[:at] + pieces[random(len(pieces))] + text[at:]
		}
		if likeGit(t, []byte(text)) {
			cut++
		}
	}
	t.Logf("%d of %d files had something to leave out", cut, rounds)
	if cut < rounds/20 {
		t.Error("too few files that git reads")
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("//r/:_authToken=abc\nx=1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, file := range []string{".npmrc", ".yarnrc.yml", "bunfig.toml", ".pypirc"} {
			copied, _, err := Lines(file, data)
			if err != nil {
				continue
			}
			if again, names, err := Lines(file, copied); err == nil && (len(names) > 0 || !bytes.Equal(again, copied)) {
				t.Errorf("%s: %q: the copy %q still has %q", file, data, copied, names)
			}
		}
	})
}
