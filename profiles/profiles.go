// Package profiles holds the built-in profiles as data: one TOML file each, in
// the format of a profile in a config file, for people to print and extend.
// Adding a profile is adding a file and running go generate.
//
// Start with [Builtin].
package profiles

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/sbx-sandbox/sbx/policy"
)

//go:generate go run ../internal/genprofiles

//go:embed *.toml
var files embed.FS

// Builtin returns the built-in profiles. The profiles themselves are shared
// and must not be changed.
func Builtin() policy.Set {
	set := make(policy.Set, len(builtin))
	for i := range builtin {
		set[builtin[i].Name] = []*policy.Profile{&builtin[i]}
	}
	return set
}

// Module reports whether a built-in profile only adds to others, such as node.
func Module(name string) bool {
	for i := range builtin {
		if builtin[i].Name == name {
			return builtin[i].Module
		}
	}
	return false
}

// Text returns a built-in profile as it was written, and false when there is
// none of that name.
func Text(name string) (string, bool) {
	data, err := fs.ReadFile(files, name+".toml")
	return string(data), err == nil && !strings.ContainsAny(name, "/.")
}

// Summary returns the comment at the head of a built-in profile, on one line.
func Summary(name string) string {
	text, _ := Text(name)
	var words []string
	for _, line := range strings.Split(text, "\n") {
		c, ok := strings.CutPrefix(line, "# ")
		if !ok {
			break
		}
		words = append(words, c)
	}
	return strings.TrimPrefix(strings.Join(words, " "), name+": ")
}
