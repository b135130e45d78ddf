package config

import (
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/shims"
)

// shells is what a file says of sbx-sh: which program stands for which name,
// and which trees its commands may write. Only the user and the administrator
// say it: the files of a project are the work of those who run behind it.
type shells struct {
	paths []shellPath
	roots []word
	said  bool // roots was there
	at    int  // of roots
}

type shellPath struct {
	name, path string
	at         int
}

// readShells reads the table of shells by name.
func readShells(doc *document, e entry) error {
	keys, err := doc.d.table(e)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if !known(shims.Dialects, k.key) {
			return doc.d.unknown(k, shims.Dialects)
		}
		s, err := doc.d.text(k)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(s, "/") || strings.IndexByte(s, 0) >= 0 || len(s) > maxPath {
			return doc.d.src.errorf(k.at, "shells.%s: want an absolute path, got %s", k.key, short(s))
		}
		doc.shells.paths = append(doc.shells.paths, shellPath{k.key, policy.Clean(s), k.at})
	}
	return nil
}

func known(words []string, s string) bool {
	for _, w := range words {
		if w == s {
			return true
		}
	}
	return false
}

// readRoots reads the trees that commands of sbx-sh may write. The last element
// may be "*": each directory there is a tree of its own.
func readRoots(doc *document, e entry) error {
	words, err := doc.d.texts(e)
	if err != nil {
		return err
	}
	for _, w := range words {
		path, _, err := sampleVars.Expand(strings.TrimSuffix(w.text, "/*"))
		if err != nil || strings.ContainsAny(path, "*?") || strings.Contains(w.text, "$CWD") || strings.Contains(w.text, "$ROOT") {
			return doc.d.src.errorf(w.at, "roots: want absolute paths, or with ~/ or $HOME, the last element of which may be *; got %s", short(w.text))
		}
	}
	doc.shells.roots, doc.shells.said, doc.shells.at = words, true, e.at
	return nil
}

// addShells lays what a file says of sbx-sh over the layers before.
func (l *loader) addShells(doc *document) {
	for _, p := range doc.shells.paths {
		if l.shells == nil {
			l.shells = make(map[string]string)
		}
		l.shells[p.name] = p.path
		l.where["shells."+p.name] = doc.d.src.place(p.at)
	}
	if doc.shells.said {
		l.roots = []string{}
		for _, w := range doc.shells.roots {
			l.roots = append(l.roots, w.text)
		}
		l.where["roots"] = doc.d.src.place(doc.shells.at)
	}
}

// dropShells takes out what no project file may say.
func (t *tightener) dropShells() {
	for _, p := range t.doc.shells.paths {
		t.ignore("shells."+p.name, p.at)
	}
	if t.doc.shells.said {
		t.ignore("roots", t.doc.shells.at)
	}
	t.doc.shells = shells{}
}
