// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"testing"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// A secret is hidden, and a hook protected, under each name that a mount gives
// it in a tree the command sees.
func TestAliasesAreMasked(t *testing.T) {
	const app = "/home/u/src/app"
	m := user(debian + home("/home/u", "1000") + repo(app) + app + "/keys/id_rsa = KEY\n/srv/copy/.git/hooks/\n/srv/copy/.env = SECRET\n/srv/copy/.git/HEAD\n")
	h, fs := m.host(t)
	fs.mounts = []host.Mount{{Dev: "8:1", Root: "/", Point: "/"}, {Dev: "8:1", Root: "/home/u/.ssh", Point: app + "/keys"}, {Dev: "8:1", Root: app, Point: "/srv/copy"}}
	m.over.Write = flagPaths("-w", "/srv/copy")
	pol, err := m.policy(h)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(engine.Request{Engine: m.engine(), Policy: pol, Root: app, Command: []string{"sh"}}, h)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]policy.Access{}
	for _, m := range p.Report.Mounts() {
		got[m.Path] = m.Access
	}
	for path, want := range map[string]policy.Access{app + "/keys": policy.Block, "/srv/copy/.env": policy.Block, "/srv/copy/.git/hooks": policy.Protect} {
		if got[path] != want {
			t.Errorf("%s: %s, want %s", path, got[path], want)
		}
	}
}
