// SPDX-License-Identifier: Apache-2.0

// Package profiles holds the built-in profiles as data: one TOML file each, in
// the format of a profile in a config file, for people to print and extend.
// Adding a profile is adding a file and running go generate. The directory
// darwin holds what a profile of the same name adds on macOS.
//
// Start with [Builtin].
package profiles

import (
	"embed"
	"io/fs"
	"runtime"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

//go:generate go run ../internal/tools/genprofiles

//go:embed *.toml darwin/*.toml
var files embed.FS

// Builtin returns the built-in profiles as they are on this system. The
// profiles themselves are shared and must not be changed.
func Builtin() policy.Set { return For(runtime.GOOS) }

// For returns the built-in profiles as they are on another system, by Go's name
// of it. Only darwin's differ from linux's.
func For(goos string) policy.Set {
	set, all := make(policy.Set, len(builtin)), make([]*policy.Profile, len(builtin))
	for i := range builtin {
		all[i] = &builtin[i]
		set[builtin[i].Name] = all[i : i+1 : i+1]
	}
	if goos == "darwin" {
		for i := range darwin {
			d := &darwin[i]
			set[d.name] = []*policy.Profile{d.apply(set[d.name][0])}
		}
	}
	return set
}

// Text returns a built-in profile as it is written for this system, and false
// when there is none of that name.
func Text(name string) (string, bool) { return TextFor(runtime.GOOS, name) }

// TextFor is [Text] for another system, by Go's name of it.
func TextFor(goos, name string) (string, bool) {
	if strings.ContainsAny(name, "/.") {
		return "", false
	}
	data, err := fs.ReadFile(files, name+".toml")
	if err != nil {
		return "", false
	}
	text := string(data)
	if goos == "darwin" {
		if added, err := fs.ReadFile(files, "darwin/"+name+".toml"); err == nil {
			text = merge(text, string(added))
		}
	}
	return text, true
}

// Summary returns the comment at the head of a built-in profile, on one line.
func Summary(name string) string {
	text, _ := TextFor("linux", name)
	return strings.TrimPrefix(summary(text), name+": ")
}

func summary(text string) string {
	var words []string
	for _, line := range strings.Split(text, "\n") {
		c, ok := strings.CutPrefix(line, "# ")
		if !ok {
			break
		}
		words = append(words, c)
	}
	return strings.Join(words, " ")
}
