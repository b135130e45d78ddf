// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// narrow are the profiles as if there were no $PROJECT: the working directory is
// writable, and secrets hide in that and at the root of the work tree.
func narrow(t *testing.T) policy.Set {
	t.Helper()
	set := policy.Set{}
	for name, stack := range Builtin() {
		p := *stack[0]
		p.Sorted = nil
		p.Write.Items = slices.Clone(p.Write.Items)
		for i := range p.Write.Items {
			p.Write.Items[i].Text = strings.Replace(p.Write.Items[i].Text, "$PROJECT", "$CWD", 1)
		}
		p.Block.Items = slices.Clone(p.Block.Items)
		for _, it := range p.Block.Items {
			if strings.Contains(it.Text, "$CWD/") {
				it.Text = strings.Replace(it.Text, "$CWD/", "$ROOT/", 1)
				p.Block.Items = append(p.Block.Items, it)
			}
		}
		set[name] = []*policy.Profile{&p}
	}
	return set
}

// A run from a subdirectory shows nothing, and lets nothing be written, that was
// hidden or protected when the working directory alone was writable. What a user
// wrote counts as well, wherever in the tree it is about.
func TestProjectOpensNothingHidden(t *testing.T) {
	const root = "/home/u/p"
	r := rand.New(rand.NewPCG(1, 2))
	old := narrow(t)
	cwds := []string{root, root + "/a", root + "/a/b", root + "/a/b/c"}
	names := []string{".env", ".env.local", "k.pem", "id_rsa", ".envrc", ".vscode", ".claude/x", ".kube/config", "config/master.key", "main.go", ".sbx.toml", "x.tfstate", "own", "out/x", "m"}
	var paths []string
	for _, dir := range append(cwds, root+"/m", "/home/u", "/home/u/other") {
		paths = append(paths, dir)
		for _, n := range names {
			paths = append(paths, dir+"/"+n)
		}
	}
	places := []string{"$CWD", "$CWD/own", "$CWD/out", "$ROOT/own", root, root + "/a", root + "/a/b", root + "/a/own", root + "/a/b/c", "/home/u/other", "$CWD/*.go"}
	for range 40 {
		mine := policy.Profile{Name: "mine", Layer: policy.User, Extends: []string{[]string{"strict", "moderate", "permissive"}[r.IntN(3)]}}
		for range r.IntN(4) {
			list := []*policy.List{&mine.Write, &mine.Read, &mine.Protect, &mine.Block, &mine.Private}[r.IntN(5)]
			if at := places[r.IntN(len(places))]; !strings.Contains(at, "*") || list == &mine.Protect || list == &mine.Block {
				list.Items = append(list.Items, policy.Item{Text: at, Source: "mine", Layer: policy.User})
			}
		}
		for i, cwd := range cwds {
			vars := policy.Vars{CWD: cwd, Root: root, Home: "/home/u"}
			was := resolved(t, old, mine, vars)
			vars.Project, vars.Members = root, []policy.Member{{Dir: root + "/m"}}
			for _, up := range slices.Backward(cwds[:i]) {
				vars.Dirs = append(vars.Dirs, up)
			}
			is := resolved(t, Builtin(), mine, vars)
			for _, path := range paths {
				a, b := was.Access(path), is.Access(path)
				rule, _ := was.Decide(path)
				if (a == policy.Block || a == policy.Unseen || a == policy.Private) && (b == policy.Read || b == policy.Protect || b == policy.Write) && path != cwd ||
					rule.Access == policy.Protect && b == policy.Write || rule.Access == policy.Read && rule.Layer > policy.Builtin && b == policy.Write {
					t.Fatalf("in %s with %+v: %s was %v, is %v", cwd, mine, path, a, b)
				}
			}
		}
	}
	// The control: a file of the project is writable now, and was not.
	vars := policy.Vars{CWD: root + "/a", Root: root, Home: "/home/u"}
	mine := policy.Profile{Name: "mine", Extends: []string{"moderate"}}
	if a := resolved(t, old, mine, vars).Access(root + "/f"); a != policy.Read {
		t.Error(a)
	}
	vars.Project = root
	if a := resolved(t, Builtin(), mine, vars).Access(root + "/f"); a != policy.Write {
		t.Error(a)
	}
}

func resolved(t *testing.T, set policy.Set, mine policy.Profile, vars policy.Vars) *policy.Policy {
	t.Helper()
	set = maps.Clone(set)
	set["mine"] = []*policy.Profile{&mine}
	pol, err := policy.Resolve(set, []string{"mine"}, vars)
	if err != nil {
		t.Fatal(err)
	}
	return pol
}
