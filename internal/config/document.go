package config

import (
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

var (
	fallbacks = []string{"block", "warn", "allow"} // from tight to wide
	tiers     = []string{"full", "reduced"}        // from tight to wide
	watches   = []string{"required", "auto"}       // from tight to wide
)

// document is one file, read and checked by itself.
type document struct {
	file     File
	d        decoder
	settings []setting
	locked   []word
	profiles []*profileDoc
	tools    []tool
	shells   shells
}

// setting is a single value at the top of a file.
type setting struct {
	key   string
	value any // bool or string
	at    int
}

// tool says which profile a shim uses.
type tool struct {
	name    string
	profile word
	at      int
}

// readDocument reads one file. The name's ending tells the format.
func readDocument(f File, data []byte) (*document, error) {
	read := readTOML
	switch {
	case strings.HasSuffix(f.Path, ".hcl"):
		read = readHCL
	case !strings.HasSuffix(f.Path, ".toml"):
		return nil, &policy.Error{Source: policy.Plain(f.Path), Text: "a config file is named *.toml or *.hcl"}
	}
	root, src, err := read(f.Path, data)
	if err != nil {
		return nil, err
	}
	doc := &document{file: f, d: decoder{src: src, layer: f.Layer, dir: f.dir()}}
	return doc, doc.decode(unwrap(root))
}

// unwrap returns the table execution.sandbox when the file holds nothing
// else: the requirement documents nest all keys there.
func unwrap(root *node) *node {
	inner := root
	for _, name := range []string{"execution", "sandbox"} {
		e := inner.get(name)
		if e == nil || len(inner.keys) != 1 || e.value.kind != isTable {
			return root
		}
		inner = e.value
	}
	return inner
}

// topField reads one key at the top of a file.
type topField struct {
	key  string
	read func(doc *document, e entry) error
}

var topFields = []topField{
	{"enabled", readBool},
	{"default_profile", readDefaultProfile},
	{"fallback_on_unavailable", readTopWord(fallbacks)},
	{"min_tier", readTopWord(tiers)},
	{"tripwire", readTopWord(watches)},
	{"shell", readShell},
	{"audit", readBool},
	{"hints", readBool},
	{"direct", readBool},
	{"shells", readShells},
	{"roots", readRoots},
	{"login_fallback", readBool},
	{"locked", readLocked},
	{"profiles", readProfiles},
	{"tools", readTools},
}

func topKeys() []string {
	keys := make([]string, len(topFields))
	for i, f := range topFields {
		keys[i] = f.key
	}
	return keys
}

func (doc *document) decode(root *node) error {
	for _, e := range root.keys {
		if err := doc.key(e); err != nil {
			return err
		}
	}
	return nil
}

func (doc *document) key(e entry) error {
	for _, f := range topFields {
		if f.key == e.key {
			return f.read(doc, e)
		}
	}
	if e.key == "execution" {
		return doc.d.src.errorf(e.at, "execution.sandbox has to be the only table of a file; write its keys at the top instead")
	}
	return doc.d.unknown(e, topKeys())
}

func (doc *document) set(e entry, value any, err error) error {
	doc.settings = append(doc.settings, setting{e.key, value, e.at})
	return err
}

func readBool(doc *document, e entry) error {
	yes, err := doc.d.bool(e)
	return doc.set(e, yes, err)
}

func readTopWord(words []string) func(*document, entry) error {
	return func(doc *document, e entry) error {
		s, err := doc.d.oneOf(e, words)
		return doc.set(e, s, err)
	}
}

func readDefaultProfile(doc *document, e entry) error {
	s, err := doc.d.text(e)
	if err != nil {
		return err
	}
	return doc.set(e, s, doc.d.profileName(e.key, s, e.at))
}

// readShell wants an absolute path: a name would be looked up in a PATH that
// the project may have changed.
func readShell(doc *document, e entry) error {
	s, err := doc.d.text(e)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(s, "/") || strings.IndexByte(s, 0) >= 0 || len(s) > maxPath {
		return doc.d.src.errorf(e.at, "shell: want an absolute path, got %s", short(s))
	}
	return doc.set(e, policy.Clean(s), nil)
}

func readLocked(doc *document, e entry) error {
	if doc.file.Layer != policy.System {
		return doc.d.src.errorf(e.at, "locked: only the administrator's file in /etc/sbx may lock keys")
	}
	names, err := doc.d.texts(e)
	if err != nil {
		return err
	}
	known := lockable()
	for _, w := range names {
		if err := doc.lockable(w, known); err != nil {
			return err
		}
	}
	doc.locked = names
	return nil
}

func readProfiles(doc *document, e entry) error {
	keys, err := doc.d.table(e)
	if err != nil {
		return err
	}
	for _, k := range keys {
		p, err := doc.d.profile(k, nil)
		if err != nil {
			return err
		}
		doc.profiles = append(doc.profiles, p)
	}
	return nil
}

func readTools(doc *document, e entry) error {
	keys, err := doc.d.table(e)
	if err != nil {
		return err
	}
	for _, k := range keys {
		t, err := doc.tool(k)
		if err != nil {
			return err
		}
		doc.tools = append(doc.tools, t)
	}
	return nil
}

func (doc *document) tool(e entry) (tool, error) {
	t := tool{name: e.key, at: e.at}
	if !validToolName(e.key) {
		return t, doc.d.src.errorf(e.at, "tools: %s is no name of a command", short(e.key))
	}
	keys, err := doc.d.table(e)
	if err != nil {
		return t, err
	}
	for _, k := range keys {
		if k.key != "profile" {
			return t, doc.d.unknown(k, []string{"profile"})
		}
		s, err := doc.d.text(k)
		if err != nil {
			return t, err
		}
		t.profile = word{s, k.at}
		if err := doc.d.profileName("tools."+t.name+".profile", s, k.at); err != nil {
			return t, err
		}
	}
	if t.profile.text == "" {
		return t, doc.d.src.errorf(e.at, "tools.%s: profile is missing", t.name)
	}
	return t, nil
}
