// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"math"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// tool is a program that downloads, as far as the variables that it goes by are
// sbx's to set: nothing is that the user has set, in the environment or in a file that
// the tool reads inside.
type tool struct {
	name    string
	dir     string // in the private cache; "" for none
	filled  string // what is in there once it has downloaded something
	outside string // its cache without a sandbox, below the home directory; | stands between several
	one     bool   // it reads one cache, and needs to write it
	files   []string
	set     []setting
}

// setting is a variable. In its value $CACHE is the tool's directory in the private
// cache, $DEFAULT its cache without a sandbox, $OUTSIDE the same where that can be seen
// (elsewhere a word with it is left out), $URL that as a file: address, and $OLD what the variable says without sbx.
type setting struct {
	name, value string
	when        when
	old         string   // what the tool takes where the variable is not set
	keys        []string // by which its files say the same; "" is any content
}

type when uint8

const (
	kept     when = iota // there is a private cache
	instead              // so, and the tool cannot read two: offline one that was never filled does not replace the other
	fallback             // so, and the other can be read
	unfed                // as instead, the other can be read, and the network is off
	offline              // the network is off
	onMac                // as instead, with sandbox-exec: elsewhere the tool goes by XDG_CACHE_HOME
	closed               // as kept, with the network, where the home directory is closed and not empty
)

// reasons are what explain says.
var reasons = [...]string{kept: "private cache", instead: "private cache", onMac: "private cache",
	closed: "private cache", fallback: "the host's cache, read-only", unfed: "the host's cache, read-only", offline: "the network is off"}

var (
	npmrc    = []string{"./.npmrc", "~/.npmrc", "/etc/npmrc", "/usr/etc/npmrc"}
	mavenrc  = []string{"./.mvn/maven.config", "./.mvn/jvm.config", "~/.m2/settings.xml"}
	pipConf  = []string{"~/.config/pip/pip.conf", "~/.pip/pip.conf", "/etc/pip.conf"}
	nugetrc  = []string{"./nuget.config", "./NuGet.Config", "~/.nuget/NuGet/NuGet.Config"}
	mavenSet = []string{"-Dmaven.repo.local", "<localRepository>"}
)

// mavenRepo is what Maven 3.9 understands, and of which 3.8 ignores the second half.
const mavenRepo = "$OLD -Dmaven.repo.local=$CACHE -Dmaven.repo.local.tail=$OUTSIDE"

// tools are those whose downloads last, in the order of docs/profiles.md.
var tools = [...]tool{
	{"npm", "npm", "_cacache/content-v2", ".npm/_cacache", true, npmrc, []setting{
		{name: "npm_config_cache", value: "$CACHE", when: instead, keys: []string{"cache"}},
		{name: "npm_config_logs_max", value: "0", keys: []string{"logs-max"}}, // no one finds them outside
		// It would fill the cache with news of npm alone.
		{name: "npm_config_update_notifier", value: "false", keys: []string{"update-notifier"}},
		{name: "npm_config_fetch_retries", value: "0", when: offline, keys: []string{"fetch-retries"}}}},
	{"pnpm", "pnpm", "store", ".local/share/pnpm/store", true, append(npmrc, "./pnpm-workspace.yaml"), []setting{
		{name: "PNPM_HOME", value: "$CACHE", when: instead},
		{name: "pnpm_config_store_dir", value: "$CACHE/store", when: instead, keys: []string{"store-dir", "storeDir"}},
		{name: "pnpm_config_fetch_retries", value: "0", when: offline, keys: []string{"fetch-retries", "fetchRetries"}}}},
	{"yarn", "yarn", "cache", ".yarn/berry", true, []string{"./.yarnrc.yml", "~/.yarnrc.yml"}, []setting{
		{name: "YARN_GLOBAL_FOLDER", value: "$CACHE", when: instead, keys: []string{"globalFolder"}},
		{name: "YARN_CACHE_FOLDER", value: "$CACHE/v1", when: onMac, keys: []string{"cacheFolder"}},
		{name: "YARN_HTTP_RETRY", value: "0", when: offline, keys: []string{"httpRetry"}}}},
	{"go", "go-mod", "cache/download", "go/pkg/mod", true, []string{"~/.config/go/env"}, []setting{
		// Not always: what was looked up in the checksum database lies with the modules.
		{name: "GOMODCACHE", value: "$CACHE", when: instead, keys: []string{"GOMODCACHE"}},
		{name: "GOFLAGS", value: "$OLD -modcacherw", when: instead, keys: []string{"GOFLAGS"}}, // rm -r ends it
		{name: "GOPROXY", value: "$URL/cache/download,$OLD", when: unfed,
			old: "https://proxy.golang.org,direct", keys: []string{"GOPROXY"}},
		// What GOPRIVATE names is not asked of others either way: there is no network.
		{name: "GONOPROXY", value: "none", when: unfed, keys: []string{"GONOPROXY", "GOPROXY"}},
		{name: "GOCACHE", value: "$CACHE/../go-build", when: onMac, keys: []string{"GOCACHE"}},
		// In there go notes how far it knows the checksum database.
		{name: "GOPATH", value: "$CACHE/../go", when: closed, keys: []string{"GOPATH"}},
		// What go installs does not follow: no one would find it there.
		{name: "GOBIN", value: "$DEFAULT/../../bin", when: closed, keys: []string{"GOBIN"}}}},
	{"pip", "pip", "http-v2", "Library/Caches/pip", false, pipConf, []setting{
		{name: "PIP_CACHE_DIR", value: "$CACHE", when: onMac, keys: []string{"cache-dir"}},
		{name: "PIP_RETRIES", value: "0", when: offline, keys: []string{"retries"}}}},
	{"uv", "", "", "", false, nil, []setting{{name: "UV_HTTP_RETRIES", value: "0", when: offline}}},
	{"cargo", "cargo", "registry|git", ".cargo/registry|.cargo/git", true, []string{"~/.cargo/config.toml", "~/.cargo/config"}, []setting{
		{name: "CARGO_HOME", value: "$CACHE", when: instead, keys: []string{""}}}},
	{"cargo", "", "", "", false, []string{"./.cargo/config.toml", "~/.cargo/config.toml"}, []setting{
		{name: "CARGO_NET_RETRY", value: "0", when: offline, keys: []string{"retry"}}}},
	{"maven", "maven", "", ".m2/repository", false, mavenrc, []setting{
		{name: "MAVEN_ARGS", value: mavenRepo, keys: mavenSet},
		{name: "MAVEN_OPTS", value: mavenRepo, when: instead, keys: mavenSet}}}, // Maven before 3.9
	{"gradle", "gradle", "", ".gradle/caches/modules-2", false, []string{"~/.gradle/gradle.properties"}, []setting{
		{name: "GRADLE_USER_HOME", value: "$CACHE", keys: []string{""}},
		{name: "GRADLE_RO_DEP_CACHE", value: "$OUTSIDE/..", when: fallback, keys: []string{""}}}},
	{"bundler", "gem", "", "", false, []string{"./.bundle/config", "~/.bundle/config"}, []setting{
		{name: "GEM_HOME", value: "$CACHE", keys: []string{"BUNDLE_PATH"}},
		{name: "BUNDLE_USER_CACHE", value: "$CACHE/../bundler", keys: []string{"BUNDLE_USER_CACHE"}},
		{name: "BUNDLE_RETRY", value: "0", when: offline, keys: []string{"BUNDLE_RETRY"}}}},
	{"composer", "composer", "repo", "Library/Caches/composer", false, nil, []setting{
		{name: "COMPOSER_CACHE_DIR", value: "$CACHE", when: onMac}}},
	{"nuget", "nuget", "", ".nuget/packages", false, nugetrc, []setting{
		{name: "NUGET_PACKAGES", value: "$CACHE", keys: []string{`<add key="globalPackagesFolder"`}},
		{name: "NUGET_FALLBACK_PACKAGES", value: "$OLD;$OUTSIDE", when: fallback,
			keys: []string{"<fallbackPackageFolders"}}}},
	{"poetry", "poetry", "cache", "Library/Caches/pypoetry", false, nil, []setting{
		{name: "POETRY_CACHE_DIR", value: "$CACHE", when: onMac}}},
	{"golangci-lint", "golangci-lint", "", "", false, nil, []setting{
		{name: "GOLANGCI_LINT_CACHE", value: "$CACHE", when: onMac}}},
	{"ccache", "ccache", "", "", false, nil, []setting{{name: "CCACHE_DIR", value: "$CACHE", when: onMac}}},
	{"sccache", "sccache", "", "", false, nil, []setting{{name: "SCCACHE_DIR", value: "$CACHE", when: onMac}}},
	{"clang", "clang", "", "", false, nil, []setting{{name: "CLANG_MODULE_CACHE_PATH", value: "$CACHE", when: onMac}}},
}

// toolVar is a variable that sbx sets for a tool.
type toolVar struct {
	policy.Var
	own, why string // what of the value is not the caller's; for explain
}

// toolVariables are those of all tools.
func (r *Run) toolVariables() []toolVar {
	var out []toolVar
	for i := range tools {
		t := toolRun{Run: r, tool: &tools[i]}
		t.find()
		for j := range t.set {
			if s := &t.set[j]; t.counts(s) {
				if v, ok := t.variable(s); ok {
					if t.seeded && s.when == instead {
						r.SeedFrom, r.SeedTo = t.real[0], r.cacheSrc
					}
					out = append(out, v)
				}
			}
		}
	}
	return out
}

// keepLinked are the variables by which git gc, which git commit and others start by
// themselves, spares linked work trees that are not visible: it takes them for removed.
func (r *Run) keepLinked(files []string) []toolVar {
	const count, why = "GIT_CONFIG_COUNT", "git gc would forget linked work trees that are not visible"
	set := func(o policy.Var) bool { return o.Name == count }
	if !slices.ContainsFunc(files, func(file string) bool { _, ok := r.View.Visible(file); return !ok }) ||
		slices.ContainsFunc(r.Policy.EnvSet, set) {
		return nil
	}
	n := 0
	if value, ok := host.LookupEnv(r.Host.Environ, count); ok && value != "" && r.Policy.Env(count).Pass {
		var err error
		if n, err = strconv.Atoi(value); err != nil || n < 0 || n == math.MaxInt {
			return nil // git refuses that
		}
	}
	var out []toolVar
	for _, v := range []policy.Var{{Name: count, Value: strconv.Itoa(n + 1)},
		{Name: "GIT_CONFIG_KEY_" + strconv.Itoa(n), Value: "gc.worktreePruneExpire"},
		{Name: "GIT_CONFIG_VALUE_" + strconv.Itoa(n), Value: "never"}} {
		out = append(out, toolVar{Var: v, own: v.Value, why: why})
	}
	return out
}

// toolRun is a tool in a run.
type toolRun struct {
	*Run
	*tool
	at     string   // its cache without a sandbox, seen or not
	there  string   // that, "" where it cannot be seen
	real   []string // all of it, by canonical paths
	theirs bool     // which the command may write: it is all that the tool needs
	has    bool     // the private cache has something for it
	seeded bool     // with what the host's has

	texts        []string // of its files, see readFiles
	read, unread bool     // they were read; one could not be
}

// Overlay lets the command write over what it sees of the host's caches, where a tool
// reads one cache and that is the host's: it fails if it cannot make a file there. What
// is downloaded and has to last goes to the private cache.
func (r *Run) Overlay() {
	if r.Policy.Network && r.CacheDst != "" || len(r.Host.Homes) == 0 {
		return
	}
	home, _ := r.Host.FS.Lstat(r.Host.Homes[0])
	for i := range tools {
		if t := (toolRun{Run: r, tool: &tools[i]}); t.one {
			for t.find(); len(t.real) > 0 && !t.has && !t.theirs; t.real = t.real[1:] {
				r.View.Overlay(t.real[0], home.Dev)
			}
		}
	}
}

// find looks at the caches of the tool.
func (t *toolRun) find() {
	if t.outside == "" || len(t.Host.Homes) == 0 {
		return
	}
	for outside := range strings.SplitSeq(t.outside, "|") {
		at := host.Join(t.Host.Homes[0], outside)
		if gopath, _, _ := strings.Cut(t.caller("GOPATH"), ":"); t.name == "go" && strings.HasPrefix(gopath, "/") {
			at = path.Join(gopath, "pkg/mod")
		}
		t.at = cmp.Or(t.at, at)
		if to, ok := t.View.Visible(at); ok && to.Info.Kind == host.Dir {
			t.there, t.real = cmp.Or(t.there, at), append(t.real, to.Path)
			t.theirs = t.theirs || t.View.Access(to.Path) == policy.Write
		}
	}
	for filled := range strings.SplitSeq(t.filled, "|") {
		if t.cacheSrc != "" && !t.has {
			info, err := t.Host.FS.Lstat(path.Join(t.cacheSrc, t.dir, filled))
			t.has = err == nil && info.Kind == host.Dir
		}
	}
	t.seeded = t.name == "npm" && t.there != "" && t.cacheSrc != "" && t.View.Access(t.real[0]) == policy.Read && t.seeds()
	t.has = t.has || t.seeded
}

// maxSeed bounds the host's npm cache that a private one is filled from: directories with
// a file each, or few.
const maxSeed = 20_000

// seeds reports whether npm's private cache gets what the host's has: where the command
// names npm, and all of it can be read inside.
func (t *toolRun) seeds() bool {
	from, n := t.real[0], 0
	if !slices.ContainsFunc(t.Request.Command, namesNpm) ||
		slices.ContainsFunc(t.View.Entries, func(m view.Entry) bool { return m.Path != from && policy.Within(m.Path, from) }) {
		return false
	}
	for _, dir := range []string{"/index-v5", "/content-v2/sha512"} {
		list, _ := t.Host.FS.ReadDir(from + dir)
		for _, e := range list[:min(len(list), 256)] {
			below, _ := t.Host.FS.ReadDir(from + dir + "/" + e.Name)
			n += len(below)
		}
	}
	return 0 < n && n <= maxSeed
}

// namesNpm reports whether a word is npm, or a shell's text that may run it.
func namesNpm(word string) bool {
	base := host.Base(word)
	return base == "npm" || base == "npx" ||
		strings.ContainsAny(word, " \n;") && (strings.Contains(word, "npm") || strings.Contains(word, "npx"))
}

// counts reports whether a setting is for this run.
func (t *toolRun) counts(s *setting) bool {
	if s.when == offline {
		return !t.Policy.Network
	}
	if t.CacheDst == "" || t.theirs {
		return false
	}
	private := t.Policy.Network || t.has || t.there == ""
	switch s.when {
	case instead:
		return private
	case fallback:
		return t.there != ""
	case unfed:
		return t.there != "" && t.has && !t.Policy.Network
	case closed:
		return t.View.NoMounts && t.Policy.Network
	case onMac:
		return t.Engine == host.EngineSeatbelt && (private || t.outside == "")
	}
	return true
}

// caller is what a variable says without sbx.
func (t *toolRun) caller(name string) string {
	value, _ := host.LookupEnv(t.Host.Environ, name)
	return value
}

// variable gives a setting its value, unless that is the user's.
func (t *toolRun) variable(s *setting) (v toolVar, ok bool) {
	old, named := s.old, false
	if slices.ContainsFunc(t.Policy.EnvSet, func(o policy.Var) bool { return strings.EqualFold(o.Name, s.name) }) {
		return v, false
	}
	for _, kv := range t.Host.Environ {
		if len(kv) <= len(s.name) || kv[len(s.name)] != '=' || !strings.EqualFold(kv[:len(s.name)], s.name) {
			continue
		}
		value := kv[len(s.name)+1:]
		appends := strings.Contains(s.value, "$OLD") && t.Policy.Env(kv[:len(s.name)]).Pass &&
			!strings.Contains(value, "maven.repo.local")
		if !appends && !t.usual(value) {
			return v, false
		}
		old, named = value, true
	}
	if t.settled(s.keys) {
		return v, false
	}
	home := path.Join(t.CacheDst, t.dir)
	var words []string
	for word := range strings.SplitSeq(s.value, " ") {
		if t.there == "" && (strings.Contains(word, "$OUTSIDE") || strings.Contains(word, "$URL")) {
			continue
		}
		word = os.Expand(word, func(name string) string {
			switch name {
			case "CACHE":
				return home
			case "OUTSIDE":
				return t.there
			case "URL":
				return fileURL(t.there)
			case "DEFAULT":
				return t.at
			}
			return "$" + name
		})
		if strings.HasPrefix(word, "/") {
			word = path.Clean(word)
		}
		words = append(words, word)
	}
	v.Name, v.why = s.name, reasons[s.when]+" ("+t.name+")"
	v.own = strings.Join(words, " ")
	if t.name == "maven" && strings.ContainsAny(home+t.there, " \t\n\"'\\*?[$`") {
		return v, false // its script takes words apart at blanks
	}
	v.Value = strings.Trim(strings.Replace(v.own, "$OLD", old, 1), " ;")
	shown := "" // the rest is what the tool would take without
	if !named {
		shown = s.old
	}
	v.own = strings.Trim(strings.Replace(v.own, "$OLD", shown, 1), " ,;")
	return v, true
}

// usual reports whether a value of the caller's only says what the tool would do
// without it, as npm tells its scripts.
func (t *toolRun) usual(value string) bool {
	if len(t.Host.Homes) == 0 || t.outside == "" {
		return false
	}
	home := t.Host.Homes[0]
	outside, _, _ := strings.Cut(t.outside, "|")
	return value != home && policy.Within(value, home) && policy.Within(host.Join(home, outside), path.Clean(value))
}

// maxSettings bounds what is read of a tool's file.
const maxSettings = 64 << 10

// settled reports whether a file that the tool reads inside has one of the keys.
func (t *toolRun) settled(keys []string) bool {
	if len(keys) == 0 {
		return false
	}
	if !t.read {
		t.read = true
		t.readFiles()
	}
	return t.unread || slices.ContainsFunc(t.texts, func(text string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return hasKey(text, key) })
	})
}

// readFiles reads the files that the tool reads inside.
func (t *toolRun) readFiles() {
	for _, file := range t.files {
		for _, at := range t.places(file) {
			to, ok := t.View.Visible(at)
			if !ok || to.Info.Kind != host.File {
				continue
			}
			data, err := t.Host.FS.Head(to.Path, maxSettings)
			t.texts, t.unread = append(t.texts, string(data)), t.unread || err != nil
		}
	}
}

// places are where a file of a tool may be.
func (t *toolRun) places(file string) []string {
	switch {
	case file[0] == '/':
		return []string{file}
	case file[0] == '.':
		out := []string{host.Join(t.Host.CWD, file[2:])}
		if root := t.Request.Root; root != "" && root != t.Host.CWD {
			out = append(out, host.Join(root, file[2:]))
		}
		return out
	case len(t.Host.Homes) > 0:
		return []string{host.Join(t.Host.Homes[0], file[2:])}
	}
	return nil
}

// hasKey reports whether a line of settings begins with a key.
func hasKey(text, key string) bool {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), key)
		if ok && (key == "" || rest == "" || strings.ContainsAny(rest[:1], " \t=:>") || strings.HasPrefix(key, "<")) {
			return true
		}
	}
	return false
}

// fileURL is a path as an element of GOPROXY.
func fileURL(path string) string {
	u := url.URL{Scheme: "file", Path: path}
	return strings.NewReplacer(",", "%2C", "|", "%7C").Replace(u.String())
}

// describe says in the report what sbx set for tools, and why.
func describe(changes []view.EnvChange, vars []toolVar) {
	for _, v := range vars {
		for i := range changes {
			if c := &changes[i]; c.Name == v.Name && c.Action == "set" {
				c.Source, c.Value = v.why, v.own
			}
		}
	}
}
