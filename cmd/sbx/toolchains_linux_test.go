// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"crypto/sha512"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/profiles"
)

// Toolchains do their usual work in a fresh clone, under moderate and without
// the network, when what they need was downloaded before. They find it where
// they keep it for everything, in the home directory, and leave that as it is.
//
// SBX_TEST_REQUIRE names those that have to be there: npm, go, cargo, pytest,
// mvn, make, ruby.
var toolchains = []struct {
	name string
	need []string
	fill func(t *testing.T, w *world) // what is downloaded elsewhere; without the network here
	tree map[string]string            // the project
	run  []string                     // each works without sbx, and inside
	kept string                       // below the home directory: what fill left there
}{
	{"npm", []string{"npm", "node"}, fillNpm, nil, []string{"npm ci --offline --no-audit --no-fund", "npm test"}, ".npm/_cacache/content-v2"},
	{"go", []string{"go"}, fillGo, map[string]string{
		"go.mod": "module t\n\ngo 1.21\n\nrequire example.com/dep v1.0.0\n", "dep_test.go": "package t\n\nimport (\n\t\"testing\"\n\n\t\"example.com/dep\"\n)\n\nfunc TestDep(t *testing.T) {\n\tif dep.N != 3 {\n\t\tt.Fatal()\n\t}\n}\n",
	}, []string{"go test ./..."}, "go/pkg/mod/example.com/dep@v1.0.0"},
	{"cargo", []string{"/usr/bin/cargo", "git"}, fillCargo, map[string]string{
		"src/main.rs": "fn main() { println!(\"{}\", dep::n()) }\n#[test]\nfn three() { assert_eq!(dep::n(), 3) }\n",
	}, []string{"cargo build --offline", "cargo test --offline"}, ".cargo/git/checkouts"},
	{"pytest", []string{"pytest"}, fillPython, map[string]string{
		"test_dep.py": "import dep\n\ndef test_dep(tmp_path):\n    (tmp_path / 'x').write_text('x')\n    assert dep.n == 3\n",
	}, []string{"pytest -q", "/usr/bin/python3 -m pytest -q"}, ".local/lib/dep/dep.py"},
	{"mvn", []string{"mvn", "javac"}, fillMaven, map[string]string{
		"src/test/java/DepTest.java": "public class DepTest {\n    @org.junit.Test public void three() { org.junit.Assert.assertEquals(3, 1 + 2); }\n}\n",
	}, []string{"mvn -o -q test"}, ".m2/repository/junit"},
	{"make", []string{"make"}, nil, map[string]string{
		"Makefile": "all: 1 2 3 4 5 6 7 8\n1 2 3 4 5 6 7 8:\n\t@sleep 0.05; echo $@ >made$@\n\t@$(MAKE) --no-print-directory sub\nsub:\n\t@true\n.PHONY: all sub 1 2 3 4 5 6 7 8\n",
	}, []string{"make -j8 && test -s made8"}, ""},
	{"ruby", []string{"ruby", "gem", "bundle"}, fillRuby, map[string]string{
		"Gemfile": "source 'https://rubygems.org'\ngem 'dep'\n", "test_dep.rb": "require 'dep'\nraise unless Dep::N == 3\n",
	}, []string{"bundle install --local --quiet", "bundle exec ruby test_dep.rb"}, ".local/share/gem/ruby"},
}

func TestToolchains(t *testing.T) {
	needEveryday(t)
	needBwrap(t)
	t.Parallel()
	for _, tc := range toolchains {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.env = toolEnv(t, w)
			for _, name := range tc.need {
				needTool(t, w, name)
			}
			for name, text := range tc.tree {
				w.write(t, filepath.Join("proj", name), text)
			}
			if tc.fill != nil {
				tc.fill(t, w)
			}
			kept := filepath.Join(w.dir, "home", tc.kept)
			if _, err := os.Stat(kept); err != nil {
				t.Fatal(err)
			}
			must(t, os.MkdirAll(filepath.Join(w.dir, "home/.local/state/sbx"), 0o700)) // sbx's own
			ways := [][]string{nil, {"sbx", "-q", "--"}, {"sbx", "-q", "--engine", "landlock", "--"}}
			if tc.name == "mvn" { // a slow one
				ways = ways[:2]
			}
			cache, _ := exec.Command("go", "env", "GOCACHE").Output()
			shared := strings.TrimSpace(string(cache))
			for _, way := range ways {
				clone := filepath.Join(w.dir, "clone")
				must(t, os.RemoveAll(clone))
				must(t, os.CopyFS(clone, os.DirFS(w.proj)))
				before := homeTree(t, w.dir+"/home")
				for _, script := range tc.run {
					if way == nil && shared != "" { // not everything anew
						script = "export GOCACHE=" + shared + "; " + script
					}
					if out, said, status := w.run(clone, slices.Concat(way, []string{"sh", "-c", script})...); status != 0 {
						t.Fatalf("%v: %s: status %d\n%s%s", way, script, status, out, said)
					}
				}
				if after := homeTree(t, w.dir+"/home"); way != nil && before != after {
					t.Errorf("%v changed the home directory:\n%s", way, newLines(before, after))
				}
			}
			// What others will use cannot be changed inside, and outside it can.
			// Landlock has no say about modes, which docs/tiers.md tells.
			if tc.kept == "" {
				return
			}
			spoil := `rm -rf "$1" 2>/dev/null; mv "$1" "$1.old" 2>/dev/null; find "$1" -type f -exec sh -c 'echo x >>"$0"' {} \; 2>/dev/null; touch "$1/planted" 2>/dev/null`
			before := homeTree(t, w.dir+"/home")
			for _, way := range [][]string{{"--engine", "bwrap"}, {"--net"}, {"--engine", "landlock"}, {"-p", "strict", "-p", tc.name}} {
				if way[0] == "-p" && !profiles.Builtin().Module(tc.name) {
					continue
				}
				w.run(w.proj, slices.Concat([]string{"sbx", "-q"}, way, []string{"--", "sh", "-c", spoil, "sh", kept})...)
				if after := homeTree(t, w.dir+"/home"); after != before {
					t.Errorf("%v: %s", way, newLines(before, after))
				}
			}
			w.run(w.proj, "sh", "-c", "chmod -R u+w $1;"+spoil, "sh", kept)
			if homeTree(t, w.dir+"/home") == before {
				t.Error("nothing can be spoiled outside either")
			}
		})
	}
}

// needTool skips a test, or fails it, where a program is not in the world's PATH.
func needTool(t *testing.T, w *world, name string) {
	t.Helper()
	if _, said, status := w.run(w.dir, "sh", "-c", `command -v "$1"`, "sh", name); status != 0 {
		if required(filepath.Base(name)) {
			t.Fatalf("SBX_TEST_REQUIRE: %s: not found %s", name, said)
		}
		t.Skipf("%s: not found", name)
	}
}

// toolEnv is the environment of the world less the toolchains of whoever runs
// the tests, and without anything that could be fetched.
func toolEnv(t *testing.T, w *world) []string {
	t.Helper()
	path := filepath.Join(w.dir, "home/bin") + ":" + filepath.Dir(sbxPath)
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		path += ":" + strings.TrimSpace(string(out)) + "/bin"
	}
	env := slices.DeleteFunc(slices.Clone(w.env), func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
	return append(env, "PATH="+path+":/usr/local/bin:/usr/bin:/bin", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0",
		// Java takes the home directory from passwd.
		"MAVEN_OPTS=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Duser.home="+w.dir+"/home", "npm_config_update_notifier=false")
}

// do runs a script outside, in a directory of the world.
func (w *world) do(t *testing.T, dir, script string, args ...string) string {
	t.Helper()
	out, said, status := w.run(filepath.Join(w.dir, dir), append([]string{"sh", "-ec", script, "sh"}, args...)...)
	if status != 0 {
		t.Fatalf("status %d\n%s%s", status, out, said)
	}
	return out
}

// homeTree lists all of a tree but caches, with sizes and times, so that any
// change shows.
func homeTree(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	must(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if path == filepath.Join(dir, ".cache") || path == filepath.Join(dir, ".local/state/sbx") {
			return filepath.SkipDir
		}
		at := info.ModTime().String()
		if parent := filepath.Join(dir, ".local/state"); path == dir || path == filepath.Dir(parent) || path == parent {
			at = "" // sbx keeps its own below
		}
		lines = append(lines, strings.Join([]string{path, info.Mode().String(), at}, " "))
		return nil
	}))
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// newLines are the lines of b that a has not.
func newLines(a, b string) string {
	had := strings.Split(a, "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(b, "\n"), func(l string) bool { return slices.Contains(had, l) }), "\n")
}

// fillNpm puts a package into npm's cache and into a lock file, which says that
// it came from the registry.
func fillNpm(t *testing.T, w *world) {
	w.write(t, "dep/package.json", `{"name": "dep", "version": "1.0.0"}`)
	w.write(t, "dep/index.js", "module.exports = 3\n")
	w.do(t, "dep", `npm pack --silent && npm cache add ./dep-1.0.0.tgz`)
	data, err := os.ReadFile(filepath.Join(w.dir, "dep/dep-1.0.0.tgz"))
	must(t, err)
	sum := sha512.Sum512(data)
	w.write(t, "proj/package.json", `{"name": "t", "version": "1.0.0", "scripts": {"test": "node -e \"if (require('dep') !== 3) process.exit(1)\""}, "dependencies": {"dep": "1.0.0"}}`)
	w.write(t, "proj/package-lock.json", `{"name": "t", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {"name": "t", "version": "1.0.0", "dependencies": {"dep": "1.0.0"}},
		"node_modules/dep": {"version": "1.0.0", "resolved": "https://registry.invalid/dep/-/dep-1.0.0.tgz", "integrity": "sha512-`+base64.StdEncoding.EncodeToString(sum[:])+`"}}}`)
}

// fillGo downloads a module from a proxy that is a directory.
func fillGo(t *testing.T, w *world) {
	const at, mod = "proxy/example.com/dep/@v/v1.0.0", "module example.com/dep\n"
	w.write(t, at+".mod", mod)
	w.write(t, at+".info", `{"Version": "v1.0.0"}`)
	f, err := os.Create(filepath.Join(w.dir, at+".zip"))
	must(t, err)
	z := zip.NewWriter(f)
	for name, text := range map[string]string{"go.mod": mod, "dep.go": "package dep\n\nconst N = 3\n"} {
		part, err := z.Create("example.com/dep@v1.0.0/" + name)
		must(t, err)
		_, err = part.Write([]byte(text))
		must(t, err)
	}
	must(t, z.Close())
	must(t, f.Close())
	w.do(t, "proj", `GOPROXY=file://$WORK/proxy go mod tidy`)
	t.Cleanup(func() { w.do(t, "home", `chmod -R u+w go`) }) // Go makes it read-only
}

// fillCargo fetches a crate from a repository of git's: crates.io is not asked.
func fillCargo(t *testing.T, w *world) {
	w.write(t, "dep/Cargo.toml", "[package]\nname = \"dep\"\nversion = \"1.0.0\"\nedition = \"2021\"\n")
	w.write(t, "dep/src/lib.rs", "pub fn n() -> u8 { 3 }\n")
	w.write(t, "proj/Cargo.toml", "[package]\nname = \"t\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[dependencies]\ndep = { git = \"file://"+w.dir+"/dep\" }\n")
	w.do(t, "dep", `git init -q; git add .; git -c user.name=x -c user.email=x@example.com commit -qm x; cd ../proj; cargo fetch -q`)
}

// fillPython puts a package where a virtual environment would have it.
func fillPython(t *testing.T, w *world) {
	w.write(t, "home/.local/lib/dep/dep.py", "n = 3\n")
	w.env = append(w.env, "PYTHONPATH="+w.dir+"/home/.local/lib/dep", "PYTHONDONTWRITEBYTECODE=1")
}

// fillMaven downloads what a test with JUnit needs from Debian's repository,
// which is a directory.
func fillMaven(t *testing.T, w *world) {
	const repo = "/usr/share/maven-repo"
	newest := func(path string) string {
		entries, err := os.ReadDir(filepath.Join(repo, path))
		must(t, err)
		best := ""
		for _, e := range entries {
			if regexp.MustCompile(`^[0-9.]+$`).MatchString(e.Name()) {
				best = max(best, e.Name())
			}
		}
		return best
	}
	plugins := ""
	for _, name := range []string{"maven-resources-plugin", "maven-compiler-plugin", "maven-surefire-plugin"} {
		plugins += "<plugin><artifactId>" + name + "</artifactId><version>" + newest("org/apache/maven/plugins/"+name) + "</version></plugin>"
	}
	w.write(t, "proj/pom.xml", `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>t</groupId><artifactId>t</artifactId><version>1</version>
<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>`+newest("junit/junit")+`</version><scope>test</scope></dependency></dependencies>
<build><plugins>`+plugins+`</plugins></build></project>
`)
	w.write(t, "settings.xml", `<settings><mirrors><mirror><id>central</id><mirrorOf>*</mirrorOf><url>file://`+repo+`</url></mirror></mirrors></settings>`)
	w.do(t, "proj", `mvn -q -s $WORK/settings.xml test; rm -rf target`)
}

// fillRuby installs a gem for the user.
func fillRuby(t *testing.T, w *world) {
	w.write(t, "dep/lib/dep.rb", "module Dep; N = 3; end\n")
	w.write(t, "dep/dep.gemspec", "Gem::Specification.new { |s| s.name = 'dep'; s.version = '1.0.0'; s.summary = 'x'; s.authors = ['x']; s.files = ['lib/dep.rb'] }\n")
	w.do(t, "dep", `gem build -q dep.gemspec && gem install -q --local --user-install --no-document dep-1.0.0.gem`)
}

// needEveryday skips a minute of compilers and virtual machines, which .ci/run has
// beside tests/everyday.
func needEveryday(t *testing.T) {
	t.Helper()
	if os.Getenv("SBX_TEST_EVERYDAY") != "all" {
		t.Skip("takes a minute: SBX_TEST_EVERYDAY=all runs it")
	}
}
