// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"
)

// readAll reads a command that runs in /p.
func readAll(words ...string) *reader {
	r := &reader{home: "/home/u", cwd: "/p", live: true, last: true}
	r.command(words)
	return r
}

// shownUses writes uses as tests have them: r for read, w for written, c for
// changed, n for a bare name, - for what has no part in the status.
func shownUses(r *reader) string {
	var out []string
	for _, use := range r.uses {
		kind := "r "
		switch {
		case use.idle:
			kind = "- "
		case use.changed:
			kind = "c "
		case use.write:
			kind = "w "
		case use.bare:
			kind = "n "
		}
		out = append(out, kind+use.path)
	}
	return strings.Join(out, ", ")
}

func TestUses(t *testing.T) {
	for script, want := range map[string]string{
		"cat a ./b /c ~/d":                          "r /p/a, r /p/b, r /c, r /home/u/d",
		"echo ~/a; printf /b; export X=~/c; x=/y":   "",
		"X=/y cat /z":                               "r /z",
		"cat < /a > /b 2> /c 2>/dev/null":           "r /a, w /b, w /c",
		"cat /a 2>/dev/null; b":                     "",
		"cat /a 2>/dev/null":                        "r /a",
		"cat /a || true; b /c || exit 1":            "r /c",
		"touch a; mkdir -p /b; rm -rf c; tee -a /d": "w /p/a, w /b, w /p/c, w /d",
		"cp -r /a /b; mv /c d; ln -s /e /f; ln /g /h; install -m 755 /i /j": "r /a, w /b, c /c, w /p/d, w /f, r /g, w /h, r /i, w /j",
		"cp -t /a /b":                                                     "r /a",
		"chmod 755 /a; chown u:u b":                                       "c /a, c /p/b",
		"sed -i s,/x,/y, /a; sed /x/d /b":                                 "c /a, r /b",
		"dd if=/a of=/b bs=1":                                             "r /a, w /b",
		"grep -r /x /a; grep -e /x /b; awk /x/ /c":                        "r /a, r /x, r /b, r /c",
		"cc -o /a -I/b /c.c --sysroot=/d --output=/e -O /f":               "w /a, r /b, r /d, w /e, w /f, r /c.c",
		"cd /a && cat b/c && cd .. && cat d/e":                            "r /a, r /a/b/c, r /, r /d/e",
		"(cd /a && cat b/c); cat d/e /f":                                  "r /a, r /a/b/c, r /p/d/e, r /f",
		"cd - && cat a/b /c; cd $X; cat d/e":                              "r /c",
		"cat $PWD/a; cd /b; cat $PWD/c":                                   "r /p/a, r /b, r /b/c",
		"cat $PWD/a":                                                      "r /p/a",
		"sh -c 'cat ~/a'; bash -lc \"cat '$HOME/b'\"":                     "r /home/u/a, r /home/u/b",
		"eval 'cat ~/a' \\; cat /b; eval $X":                              "r /home/u/a, r /b",
		"sh -c \"sh -c \\\"sh -c 'sh -c \\\\\\\"cat /deep\\\\\\\"'\\\"\"": "",
		"timeout 5 nice -n 3 env A=b cat /a":                              "r /a",
		"if [ -f /a ]; then cat /b; fi":                                   "r /b",
		"test -f /a":                                                      "r /a",
		"[ -s ~/a ] && . ~/a; test -e b && cat b c":                       "r /p/c",
		"[ -d ~/a ] && b":                                                 "",
		"/opt/x/run /a; ./b":                                              "r /opt/x/run, r /a, r /p/b",
		"scp host:/a u@h:/b /c; curl -o /d file:///e http://x/y":          "r /c, w /d",
		"while read f; do cat /a; done < /b":                              "r /b, r /a",
		"for f in /a /b; do rm /c; done":                                  "c /c",
		"cat '/a\nb' \"/c d\"":                                            "r /c d",
		"git -C ~/a status; git commit -m '/x y/z'":                       "r /home/u/a",
	} {
		got := shownUses(readAll("sh", "-ec", script))
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
}

// The words of a command without a shell are what they are.
func TestUsesOfWords(t *testing.T) {
	for _, tt := range []struct{ words, want string }{
		{"cat ~/a $HOME/b /c", "r /p/~/a, r /p/$HOME/b, r /c"},
		{"touch x>y", "w /p/x>y"},
		{"env A=b cat /a", "r /a"},
		{"bash script /a", "r /p/script, r /a"},
		{"sudo cat /a", "n /p/cat, r /a"},
	} {
		if got := shownUses(readAll(strings.Split(tt.words, " ")...)); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.words, got, tt.want)
		}
	}
}

func TestOutward(t *testing.T) {
	for line, want := range map[string]bool{
		"curl http://x": true, "curl http://localhost:8/x": false, "curl http://127.0.0.1": false, "curl x": true, "wget https://[::1]/": false,
		"git fetch": true, "git -C /x pull": true, "git status": false, "npm ci": true, "npm test": false, "npm run update": false, "npx jest": false, "npm --prefix x install": true, "go test ./...": false, "go get x": true,
		"python3 get.py http://x": true, "make": false, "cat file:///x": false, "pip install x": true, "env A=b ssh h": true,
		"npm view x": true, "npm search x": true, "npm create vite": true, "npm init vite": true, "npm init": false, "npm init -y": false, "npm init ''": true, "pnpm dlx x": true, "yarn dlx x": true, "npm run view": false, "npm outdated": true, "yarn build show": false,
		"pip download x": true, "cargo add x": true, "cargo install x": true, "go install x.y/z@latest": true, "go run .": false, "gem install x": true, "bundle install": true, "composer require x": true, "apt-get update": true, "git ls-remote": true, "git clone x": true, "git push": true, "docker pull x": true, "bun add x": true, "uv sync": true, "uvx x": true, "poetry add x": true, "npx -p x y": true,
	} {
		if got := readAll(strings.Fields(line)...).outward; got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// The programs whose failure can be that of the whole, by the status of a shell.
func TestDeciding(t *testing.T) {
	for script, want := range map[string]string{
		"a":                                  "a",
		"a; b":                               "b",
		"a\nb\n":                             "b",
		"a & b":                              "b",
		"a && b":                             "a b",
		"a &&\n b":                           "a b",
		"a || b; c":                          "c",
		"a || b":                             "a b",
		"a || exit 1; b":                     "a b",
		"a | b":                              "a b",
		"a | b && c":                         "b c",
		"a | b; c":                           "c",
		"a || true; b && c":                  "b c",
		"set -e; a; b":                       "a b",
		"set -eu\na\nb | c":                  "a b c",
		"(a; b); c":                          "c",
		"a && (b; c) && d":                   "a c d",
		"(a && b)":                           "a b",
		"if a; then b; c; fi":                "c",
		"if a; then b; else c; fi":           "b c",
		"if a; then b; elif c; then d; fi":   "b d",
		"if a; then b; fi; c":                "c",
		"x && if a; then b; fi":              "b x",
		"while a; do b; c; done":             "c",
		"while a; do if b; then c; fi; done": "c",
		"x; { a; b; }":                       "b",
		"for f in 1; do a; done && b":        "a b",
	} {
		got := readAll("sh", "-c", script).programs
		slices.Sort(got)
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
}

func TestScriptOfAShell(t *testing.T) {
	for args, want := range map[string]string{
		"-c|X": "X", "-lc|X|-l": "X", "-c|-l|X": "X", "-l|-c|X": "X", "-o|pipefail|-c|X": "X", "-eo|pipefail|-c|X": "X", "+O|extglob|-c|X": "X",
		"-c|--|X": "X", "--login|-c|X": "X", "--rcfile|f|-c|X": "X", "--norc|-ic|X": "X", "file": "", "-l": "", "": "", "-c": "", "-s|x": "",
	} {
		words := strings.Split(args, "|")
		if args == "" {
			words = nil
		}
		if got, ok := script(words); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v", args, got, ok)
		}
	}
}

// What a shell makes of words; "" is what only the shell knows.
func TestWords(t *testing.T) {
	for text, want := range map[string][][]string{
		"a;b&&c||d|e&f\ng":                                      {{"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}, {"g"}},
		`cat 'a b' "c d" e\ f g"h"'i'`:                          {{"cat", "a b", "c d", "e f", "ghi"}},
		`cat "a\"b\$c\d"`:                                       {{"cat", `a"b$c\d`}},
		"cat ~ ~/x '~/x' \"~/x\" ~root/x a~b":                   {{"cat", "/home/u", "/home/u/x", "~/x", "~/x", "", "a~b"}},
		"cat $HOME/x ${HOME}/x \"$HOME/x\" '$HOME/x' $PWD":      {{"cat", "/home/u/x", "/home/u/x", "/home/u/x", "$HOME/x", "/p"}},
		"cat $SECRET/x ${HOME:-/y}/x ${HOME%u} ${#HOME} $'\\n'": {{"cat", "", "", "", "", ""}},
		"cat $1 $? $@ $$ $(ls ')' \"(\") `ls x` b":              {{"cat", "", "", "", "", "", "", "b"}, {"ls", ")", "("}, {"ls", "x"}},
		"cat a* ~/.ssh/* /etc/*.d/x [ab] /x/{a,b}":              {{"cat", "", "/home/u/.ssh", "/etc", "", "/x"}},
		"a <<< ~/x; b < <(c /y)":                                {{"a"}, {"b"}, {"c", "/y"}},
		"cat <<E >o\n~/x '\nE\nb":                               {{"cat"}, {"b"}},
		"a # ~/x 'b\nc#d":                                       {{"a"}, {"c#d"}},
		"a \\\n b\\\nc":                                         {{"a", "bc"}},
		"a 'open":                                               nil,
		"a \"open":                                              nil,
	} {
		var got [][]string
		r := &reader{home: "/home/u", cwd: "/p"}
		if file := parse(text); file != nil {
			syntax.Walk(file, func(n syntax.Node) bool {
				if c, ok := n.(*syntax.CallExpr); ok {
					got = append(got, r.words(c.Args))
				}
				return true
			})
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q:\n%s", text, d)
		}
	}
}

func TestReadingIsBounded(t *testing.T) {
	if r := readAll("sh", "-c", strings.Repeat("cat /a b c\n", 1000)); len(r.uses) != maxUses {
		t.Errorf("%d uses, want %d", len(r.uses), maxUses)
	}
	if r := readAll("sh", "-c", "cat /a;"+strings.Repeat(" ", maxScript)); len(r.uses) != 0 {
		t.Errorf("a script of more than %d bytes is read", maxScript)
	}
}
