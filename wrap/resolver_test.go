// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/host"
)

func TestResolve(t *testing.T) {
	const files = `
/ uid=0
/usr/bin/sh x
/bin -> usr/bin
/abs -> /usr/bin/sh
/dir/up -> ../usr/./bin//sh
/dir/top -> ../../../usr
/far -> dir/top/bin
/dangling -> nowhere/else
/back -> nowhere/at/all/../x
/gone -> nowhere/at/all/deep
/loop -> loop
/ping -> pong
/pong -> ping
/file
/through -> file/x
/slash -> /
/dot -> .
/deep/a/ uid=7
/deep/l -> a uid=7
`
	type want struct {
		Path  string
		Kind  host.Kind
		Links []string
		Loop  bool
	}
	for _, c := range []struct {
		path string
		want want
	}{
		{"/", want{Path: "/", Kind: host.Dir}},
		{"/usr/bin/sh", want{Path: "/usr/bin/sh", Kind: host.File}},
		{"/bin/sh", want{Path: "/usr/bin/sh", Kind: host.File, Links: []string{"/bin"}}},
		{"/abs", want{Path: "/usr/bin/sh", Kind: host.File, Links: []string{"/abs"}}},
		{"/dir/up", want{Path: "/usr/bin/sh", Kind: host.File, Links: []string{"/dir/up"}}},
		{"/dir/top", want{Path: "/usr", Kind: host.Dir, Links: []string{"/dir/top"}}},
		{"/far/sh", want{Path: "/usr/bin/sh", Kind: host.File, Links: []string{"/far", "/dir/top"}}},
		{"/dangling", want{Path: "/nowhere/else", Links: []string{"/dangling"}}},
		{"/dangling/more", want{Path: "/nowhere/else/more", Links: []string{"/dangling"}}},
		{"/gone/more", want{Path: "/nowhere/at/all/deep/more", Links: []string{"/gone"}}},
		{"/back", want{Path: "/nowhere/at/all/..", Links: []string{"/back"}}},
		{"/loop", want{Loop: true}},
		{"/loop/x", want{Loop: true}},
		{"/ping", want{Loop: true}},
		{"/through", want{Path: "/file/x", Links: []string{"/through"}}},
		{"/file/x", want{Path: "/file/x"}},
		{"/slash/usr", want{Path: "/usr", Kind: host.Dir, Links: []string{"/slash"}}},
		{"/dot/dot/file", want{Path: "/file", Kind: host.File, Links: []string{"/dot", "/dot"}}},
		{"/no/such/thing", want{Path: "/no/such/thing"}},
	} {
		t.Run(c.path, func(t *testing.T) {
			res, err := host.NewResolver(newFS(t, 0, files)).Resolve(c.path)
			got := want{Path: res.Path, Kind: res.Info.Kind, Loop: errors.As(err, new(host.LoopError))}
			for _, l := range res.Links {
				got.Links = append(got.Links, l.Path)
			}
			if d := cmp.Diff(c.want, got); d != "" || err != nil && !got.Loop {
				t.Error(d, err)
			}
		})
	}
	res, err := host.NewResolver(newFS(t, 0, files)).Resolve("/deep/l")
	if d := cmp.Diff([]host.Hop{{Path: "/deep/l", Text: "a", UID: 7}}, res.Links); d != "" || err != nil {
		t.Error(d, err)
	}
}

// chain is n links in a row that end at to.
func chain(dir, name string, n int, to string) string {
	var b strings.Builder
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "%s/%s%02d -> %s%02d\n", dir, name, i, name, i+1)
	}
	fmt.Fprintf(&b, "%s/%s%02d -> %s\n", dir, name, n, to)
	return b.String()
}

func TestResolveCountsLinksAsTheKernelDoes(t *testing.T) {
	for _, n := range []int{1, 39, 40, 41, 80} {
		res, err := host.NewResolver(newFS(t, 0, chain("/d", "l", n, "/end")+"/end")).Resolve("/d/l01")
		if n <= 40 && (err != nil || res.Path != "/end" || len(res.Links) != n) {
			t.Errorf("%d links: %v, %v", n, res, err)
		}
		if n > 40 && !errors.As(err, new(host.LoopError)) {
			t.Errorf("%d links: %v, want an error", n, err)
		}
	}
}

// Every path of a random machine leads where the kernel would say, also when
// one resolver is asked for all of them.
func TestResolveLikeTheKernel(t *testing.T) {
	for seed := range uint64(2000) {
		w := randomWorld(t, rand.New(rand.NewPCG(seed, 3)))
		r := host.NewResolver(w.fs)
		for _, p := range append(w.fs.paths(), "/w/p/a/b", "/h/c/c", "/s/b/a/c", "/a/b") {
			path, n, links, want := w.fs.namei(p, true)
			got, err := r.Resolve(p)
			switch {
			case (want == errFakeLoop) != (err != nil):
				t.Fatalf("%s: %v, want %v\n%s", p, err, want, w.fs)
			case want == errFakeLoop:
			case (n == nil) != (got.Info.Kind == host.Absent), n != nil && (got.Path != path || p != "/" && path != "/" && got.Info.Ino != n.Ino || len(got.Links) != len(links)):
				t.Fatalf("%s: %+v, want %s, links %q\n%s", p, got, path, links, w.fs)
			}
		}
	}
}
