// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// What is set for tools, in place of nothing that the user has set: in the
// environment, by env_set, or in a file that the tool reads inside.
func TestToolVariables(t *testing.T) {
	base := user(debian + home("/home/u", "1000"))
	project := "/home/u/.cache/sbx/" + view.CacheName("/home/u/src/app", 1000)
	const (
		repo      = " -Dmaven.repo.local=/home/u/.cache/maven"
		tail      = " -Dmaven.repo.local.tail=/home/u/.m2/repository"
		outsideGo = "/home/u/go/pkg/mod/cache/download/\n"
	)
	net := func(m *machine) { m.over.AllowNetwork = policy.Yes }
	writable := func(path string) func(m *machine) {
		return func(m *machine) {
			m.over.Write = policy.List{Items: []policy.Item{{Text: path, Layer: policy.Flag}}}
			m.over.Layer = policy.Flag
		}
	}
	for _, c := range []struct {
		name, files string
		change      func(m *machine)
		env         []string
		want        []string // NAME=value; NAME alone is not set by sbx
	}{
		{"nothing there", "", nil, nil, []string{"npm_config_cache=/home/u/.cache/npm", "npm_config_fetch_retries=0",
			"GOMODCACHE=/home/u/.cache/go-mod", "GOPROXY", "GONOPROXY", "CARGO_HOME", // there is ~/.cargo/registry
			"MAVEN_OPTS=" + repo[1:], "GRADLE_RO_DEP_CACHE", "PIP_RETRIES=0", "PIP_CACHE_DIR", "GOCACHE",
			"GOFLAGS=-modcacherw", "GOPATH", "GOBIN"}},
		{"the network", "", net, nil, []string{"npm_config_cache=/home/u/.cache/npm", "npm_config_fetch_retries",
			"PIP_RETRIES", "CARGO_NET_RETRY", "CARGO_HOME=/home/u/.cache/cargo", "GOMODCACHE=/home/u/.cache/go-mod", "GOPROXY"}},
		// What there is outside is used as it is until the project has its own.
		{"go outside", outsideGo, nil, nil, []string{"GOMODCACHE", "GOPROXY", "GONOPROXY"}},
		{"go outside, online", outsideGo, net, nil, []string{"GOMODCACHE=/home/u/.cache/go-mod", "GOPROXY", "GONOPROXY"}},
		{"both", outsideGo + project + "/go-mod/cache/download/ uid=1000\n", nil, nil, []string{"GOMODCACHE=/home/u/.cache/go-mod",
			"GOPROXY=file:///home/u/go/pkg/mod/cache/download,https://proxy.golang.org,direct", "GONOPROXY=none"}},
		{"a link in its place", outsideGo + project + "/go-mod/cache/download -> /etc\n", nil, nil, []string{"GOMODCACHE", "GOPROXY"}},
		{"appended", outsideGo + project + "/go-mod/cache/download/ uid=1000\n", nil, []string{"GOPROXY=off", "GONOPROXY=x.org", "GOFLAGS=-mod=mod"}, []string{
			"GOPROXY=file:///home/u/go/pkg/mod/cache/download,off", "GONOPROXY", "GOFLAGS=-mod=mod -modcacherw"}},
		{"go, the home directory closed", "", func(m *machine) { m.landlock = 5; net(m) }, nil, []string{
			"GOPATH=" + project + "/go", "GOBIN=/home/u/go/bin"}},
		{"npm outside", "/home/u/.npm/_cacache/\n", nil, nil, []string{"npm_config_cache", "npm_config_logs_max=0"}},
		{"npm outside, online", "/home/u/.npm/_cacache/\n", net, nil, []string{"npm_config_cache=/home/u/.cache/npm"}},
		{"Maven outside", "/home/u/.m2/repository/\n", nil, []string{"MAVEN_ARGS=-q"}, []string{"MAVEN_OPTS", "MAVEN_ARGS=-q" + repo + tail}},
		{"Maven outside, online", "/home/u/.m2/repository/\n", net, []string{"MAVEN_OPTS=-Xmx1g"}, []string{"MAVEN_OPTS=-Xmx1g" + repo + tail}},
		{"Gradle outside", "/home/u/.gradle/caches/modules-2/\n", net, nil, []string{"GRADLE_USER_HOME=/home/u/.cache/gradle",
			"GRADLE_RO_DEP_CACHE=/home/u/.gradle/caches"}},
		{"NuGet outside", "/home/u/.nuget/packages/\n", nil, []string{"NUGET_FALLBACK_PACKAGES=/opt/x"}, []string{
			"NUGET_PACKAGES=/home/u/.cache/nuget", "NUGET_FALLBACK_PACKAGES=/opt/x;/home/u/.nuget/packages"}},
		// The user's own.
		{"variables", "", nil, []string{"npm_config_cache=/x", "NPM_CONFIG_FETCH_RETRIES=9", "GOMODCACHE=/y", "PIP_RETRIES=", "MAVEN_OPTS=-Dmaven.repo.local=/z"},
			[]string{"npm_config_cache", "npm_config_fetch_retries", "GOMODCACHE", "PIP_RETRIES", "MAVEN_OPTS"}},
		{"what npm tells its scripts", "", nil, []string{"npm_config_cache=/home/u/.npm"}, []string{"npm_config_cache=/home/u/.cache/npm"}},
		{"the home directory", "", nil, []string{"npm_config_cache=/home/u"}, []string{"npm_config_cache"}},
		{"env_set", "", func(m *machine) {
			m.over.EnvSet = []policy.Var{{Name: "CARGO_HOME", Value: "/x"}, {Name: "MAVEN_OPTS", Value: "-X"}}
		}, nil,
			[]string{"CARGO_HOME", "MAVEN_OPTS"}},
		{".npmrc", "/home/u/src/app/.npmrc = fund=false\\n cache = .npm\n", nil, nil, []string{"npm_config_cache", "npm_config_fetch_retries=0"}},
		{".npmrc of other things", "/home/u/src/app/.npmrc = cache-min=3\\n#cache=x\n", nil, nil, []string{"npm_config_cache=/home/u/.cache/npm"}},
		{"a hidden .npmrc", "/home/u/.npmrc = cache=/x\n", nil, nil, []string{"npm_config_cache=/home/u/.cache/npm"}},
		{"pip.conf", "/etc/pip.conf = [global]\\nretries = 3\n", nil, nil, []string{"PIP_RETRIES"}},
		{"maven.config", "/home/u/src/app/.mvn/maven.config = -Dmaven.repo.local=x\n", nil, nil, []string{"MAVEN_OPTS", "MAVEN_ARGS"}},
		{"a visible config.toml", "/home/u/.cargo/config.toml = [build]\n", func(m *machine) {
			m.over.Read = policy.List{Items: []policy.Item{{Text: "/home/u/.cargo/config.toml"}}}
			m.over.AllowNetwork = policy.Yes
		}, nil, []string{"CARGO_HOME"}},
		// Whoever may write the other cache needs none.
		{"-w", outsideGo, writable("/home/u/go"), nil, []string{"GOMODCACHE", "GOPROXY"}},
		{"strict", outsideGo, func(m *machine) { m.profiles = []string{"strict"} }, nil, []string{"GOMODCACHE", "npm_config_cache", "npm_config_fetch_retries=0"}},
		{"no cache", "", func(m *machine) { m.over.Cache = "none" }, nil, []string{"GOMODCACHE", "npm_config_cache", "PIP_RETRIES=0"}},
		// Maven's script takes words apart.
		{"odd names", "", func(m *machine) { m.home = "/home/o'x" }, nil, []string{"MAVEN_OPTS", "GRADLE_USER_HOME=/home/o'x/.cache/gradle"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := base
			m.more = c.files
			if c.change != nil {
				c.change(&m)
			}
			if m.home != "" {
				m.files = debian + home(m.home, "1000")
			}
			m.env, m.command = append([]string{"PATH=/usr/bin"}, c.env...), []string{"/usr/bin/env"}
			p, _, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			var got, want []string
			for _, w := range c.want {
				name, _, set := strings.Cut(w, "=")
				if set {
					want = append(want, w)
				}
				at := slices.IndexFunc(p.Report.Env, func(c view.EnvChange) bool { return c.Name == name && c.Value != "" })
				if at < 0 {
					continue
				}
				got = append(got, p.Env[slices.IndexFunc(p.Env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })])
				for _, kv := range c.env {
					if _, value, _ := strings.Cut(kv, "="); len(value) > 1 && strings.HasPrefix(kv, name) &&
						!strings.HasPrefix(value, "/home/u") && strings.Contains(p.Report.Env[at].Value, value) {
						t.Error("the report holds the caller's value: ", p.Report.Env[at])
					}
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// A tool that reads one cache can write over the host's where bwrap can hold that apart:
// offline, as long as the project has none of its own and no one opened the host's.
func TestOverlays(t *testing.T) {
	const npm = "/home/u/.npm/_cacache"
	for _, c := range []struct {
		name   string
		change func(m *machine)
		want   bool
	}{
		{"offline", func(*machine) {}, true},
		{"a bwrap that cannot", func(m *machine) { m.overlay = false }, false},
		{"the network", func(m *machine) { m.over.AllowNetwork = policy.Yes }, false},
		{"one of the project's own", func(m *machine) {
			m.more += "/home/u/.cache/sbx/" + view.CacheName("/home/u/src/app", 1000) + "/npm/_cacache/content-v2/ uid=1000\n"
		}, false},
		{"strict", func(m *machine) { m.profiles = []string{"strict"} }, false},
		{"permissive", func(m *machine) { m.profiles = []string{"permissive"} }, true},
		{"-w", func(m *machine) {
			m.over.Write = policy.List{Items: []policy.Item{{Text: npm, Layer: policy.Flag}}}
			m.over.Layer = policy.Flag
		}, false},
		{"a secret", func(m *machine) {
			m.over.Block = policy.List{Items: []policy.Item{{Text: npm, Layer: policy.Flag}}}
			m.over.Layer = policy.Flag
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := user(debian + home("/home/u", "1000"))
			m.more, m.overlay = npm+"/\n", true
			c.change(&m)
			m.env, m.command = []string{"PATH=/usr/bin"}, []string{"/usr/bin/env"}
			p, _, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			words := strings.Join(options(p), " ")
			if got := strings.Contains(words, "--overlay-src "+npm+" --tmp-overlay "+npm); got != c.want {
				t.Errorf("overlay: %t in %s", got, words)
			}
		})
	}
}
