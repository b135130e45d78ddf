// SPDX-License-Identifier: Apache-2.0

package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/shims"
)

// document is one file, read and checked by itself.
type document struct {
	*source
	file     File
	settings []setting
	locked   []word
	profiles []*profileDoc

	collect bool // go on after a mistake, and keep it in errs
	errs    []error
}

func newDocument(f File) *document { return &document{file: f, source: newSource(f.Path, f.Data)} }

// setting is a single value of a file: one at the top, the program of a shell,
// the profile of a tool, or the list of roots.
type setting struct {
	path  []string // "shell", "tools" and its name, …
	value any      // bool, string or []string
	at    int      // of the key, or of the table that is about one tool
	from  int      // of the key
}

// name is the setting with a separator; [Settings.Where] has it with dots.
func (s *setting) name(separator string) string { return strings.Join(s.path, separator) }

// read returns the map that the file holds. The name's ending tells the format.
func (doc *document) read() (map[string]any, error) {
	var read func(root table) error
	switch filepath.Ext(doc.file.Path) {
	case ".hcl":
		read = (&hclReader{doc.source}).read
	case ".toml":
		read = (&tomlReader{source: doc.source}).read
	default:
		return nil, &policy.Error{Source: doc.source.name, Text: "a config file is named *.toml or *.hcl" +
			map[bool]string{true: "; docs/config.md has a table of what others call these settings"}[filepath.Ext(doc.file.Path) == ".json"]}
	}
	root := table{keys: make(map[string]any)}
	err := doc.scanText()
	if err == nil {
		err = doc.guard(func() error { return read(root) })
	}
	return root.keys, err
}

// guard turns a panic of a parser into an error. None is known; the file may
// be an attacker's.
func (s *source) guard(read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = s.errorf(0, "cannot be read: %v", p)
		}
	}()
	return read()
}

// decode checks the map of a file. That may be the table execution.sandbox when it
// holds nothing else: the requirement documents nest all keys there.
func (doc *document) decode(root map[string]any) error {
	all := entry{value: root}
	inner := all
	each := func(e entry) error {
		if err := doc.version(e); err != nil {
			return err
		}
		return doc.each(e, doc.key)
	}
	for _, name := range []string{"execution", "sandbox"} {
		keys, _ := inner.value.(map[string]any)
		if next, ok := keys[name].(map[string]any); ok && len(keys) == 1 {
			inner = entry{path: sub(inner.path, name), value: next}
		} else {
			return each(all)
		}
	}
	return each(inner)
}

// configVersion is the form of files that this sbx reads; docs/stability.md says what
// would make another.
const configVersion = 1

// version refuses a file of a later form before any other word of it: who wrote it counts
// on what its keys mean there.
func (doc *document) version(e entry) error {
	keys, err := doc.table(e)
	i := slices.IndexFunc(keys, func(k entry) bool { return k.key == "config_version" })
	if err != nil || i < 0 {
		return err
	}
	n, err := read[int64](doc.source, keys[i], "a whole number")
	if err == nil && n != configVersion {
		err = doc.errorf(keys[i].at, "config_version %d: this sbx reads files of version %d; "+
			"install a version of sbx that knows it", n, configVersion)
	}
	return err
}

// key reads one key at the top of a file.
func (doc *document) key(e entry) error {
	k := topKey(e.key)
	switch {
	case e.key == "execution":
		return doc.errorf(e.at, "execution.sandbox has to be the only table of a file; "+
			"write its keys at the top instead")
	case k == nil:
		return doc.unknownKey(e, topNames())
	}
	switch k.kind {
	case aVersion:
		return nil
	case someLocks:
		return doc.readLocked(e)
	case someProfiles:
		return doc.each(e, doc.readProfile)
	case someTools:
		return doc.each(e, doc.readTool)
	case someShells:
		return doc.each(e, doc.readShell)
	case someRoots:
		return doc.readRoots(e)
	}
	v, err := doc.single(k, e)
	switch {
	case err != nil || e.key != "audit":
		doc.set(e.at, v, e.key)
	case v == true:
		// Nothing writes a log of what commands do so far: who asks for one must
		// not believe that there is one.
		err = doc.errorf(e.at, "audit is not available yet")
	}
	return err
}

// single reads a single value.
func (doc *document) single(k *key, e entry) (any, error) {
	switch k.kind {
	case aBool:
		return doc.bool(e)
	case aWord:
		return doc.oneOf(e, k.rank)
	case aFile:
		return doc.source.file(e, e.key)
	}
	name, err := doc.text(e)
	if err != nil {
		return nil, err
	}
	return name, doc.profileName(e.key, name, e.at)
}

func (doc *document) set(at int, value any, path ...string) {
	doc.settings = append(doc.settings, setting{path, value, at, at})
}

// each reads the keys of a table.
func (doc *document) each(e entry, read func(entry) error) error {
	keys, err := doc.table(e)
	for _, k := range keys {
		if err == nil {
			err = doc.note(read(k))
		}
	}
	return err
}

// maxMistakes bounds what is kept of a file that is wrong throughout.
const maxMistakes = 100

// note returns an error, or keeps it where all are asked for.
func (doc *document) note(err error) error {
	if err == nil || !doc.collect || len(doc.errs) == maxMistakes {
		return err
	}
	doc.errs = append(doc.errs, err)
	return nil
}

func (doc *document) readLocked(e entry) error {
	if doc.file.Layer != policy.System {
		return doc.errorf(e.at, "locked: only the administrator's file in /etc/sbx may lock keys")
	}
	names, err := doc.texts(e)
	known := lockable()
	for _, w := range names {
		if !slices.Contains(known, w.text) {
			if err := doc.note(doc.unknown(w.at, w.text, known, "locked: %s is not a key that can be locked",
				short(w.text))); err != nil {
				return err
			}
		}
	}
	doc.locked = names
	return err
}

func (doc *document) readProfile(e entry) error {
	p, err := doc.profile(e)
	if err == nil {
		doc.profiles = append(doc.profiles, p)
	}
	return err
}

// readTool reads which profile a shim uses.
func (doc *document) readTool(e entry) error {
	if !text.ValidName(e.key, shims.NameSigns) {
		return doc.errorf(e.at, "tools: %s is not a command name", short(e.key))
	}
	found := false
	err := doc.each(e, func(k entry) error {
		if k.key != "profile" {
			return doc.unknownKey(k, []string{"profile"})
		}
		name, err := doc.text(k)
		if err != nil {
			return err
		}
		found = true
		doc.settings = append(doc.settings, setting{[]string{"tools", e.key}, name, e.at, k.at})
		return doc.profileName("tools."+e.key+".profile", name, k.at)
	})
	if err == nil && !found {
		err = doc.errorf(e.at, "tools.%s: profile is missing", e.key)
	}
	return err
}

// readShell reads which program stands for one of the shells that sbx can be
// called as. Only the user and the administrator say it: the files of a project
// are the work of those who run behind it.
func (doc *document) readShell(e entry) error {
	if !slices.Contains(shims.Dialects, e.key) {
		return doc.unknownKey(e, shims.Dialects)
	}
	path, err := doc.source.file(e, "shells."+e.key)
	doc.set(e.at, path, "shells", e.key)
	return err
}

// readRoots reads the trees that commands of sbx-sh may write. The last element
// may be "*": each directory there is a tree of its own.
func (doc *document) readRoots(e entry) error {
	words, err := doc.texts(e)
	if err != nil {
		return err
	}
	roots := make([]string, len(words))
	for i, w := range words {
		path, _, err := sampleVars.Expand(strings.TrimSuffix(w.text, "/*"))
		if err != nil || strings.ContainsAny(path, "*?") || strings.Contains(w.text, "$CWD") ||
			strings.Contains(w.text, "$ROOT") || strings.Contains(w.text, "$PROJECT") {
			return doc.errorf(w.at, "roots: want absolute paths, or with ~/ or $HOME, "+
				"the last element of which may be *; got %s", short(w.text))
		}
		roots[i] = w.text
	}
	doc.set(e.at, roots, "roots")
	return nil
}
