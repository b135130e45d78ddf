// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// flag is a flag that may stand on a line. Those of a run are read without kong, whose
// grammar takes longer to build than a run to plan; both go by the tags of [app.Flags].
type flag struct {
	name, placeholder string
	help              string // of a command's
	short             rune
	bool, hidden      bool
	known             []string // the words that it takes; none is any
	xor               string   // flags with the same text exclude each other
	field             []int    // of runCLI
}

type flagSet []*flag

// runFlags are the flags of a run.
var runFlags = sync.OnceValue(func() flagSet {
	set := append(make(flagSet, 0, 48), &flag{name: "help", short: 'h', bool: true})
	var fields func(reflect.Type, []int)
	fields = func(t reflect.Type, above []int) {
		for i := range t.NumField() {
			f, at := t.Field(i), append(above[:len(above):len(above)], i)
			if f.Anonymous {
				fields(f.Type, at)
				continue
			}
			short, _ := utf8.DecodeRuneInString(f.Tag.Get("short") + "\x00")
			_, hidden := f.Tag.Lookup("hidden")
			set = append(set, &flag{name: cmp.Or(f.Tag.Get("name"), kebab(f.Name)), placeholder: f.Tag.Get("placeholder"),
				short: short, xor: f.Tag.Get("xor"), field: at, bool: f.Type.Kind() == reflect.Bool, hidden: hidden})
		}
	}
	fields(reflect.TypeFor[runCLI](), nil)
	return set
})

// kebab is "dry-run" for "DryRun".
func kebab(field string) string {
	var b strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// flagsOf are the flags of a command.
func flagsOf(flags []*kong.Flag) (set flagSet) {
	for _, f := range flags {
		set = append(set, &flag{name: f.Name, placeholder: f.PlaceHolder, help: f.Help, short: f.Short, bool: f.IsBool(), hidden: f.Hidden,
			known: oneOf(f.Value)})
	}
	return set
}

func (s flagSet) long(name string) *flag {
	return s.find(func(f *flag) bool { return f.name == name })
}

func (s flagSet) find(is func(*flag) bool) *flag {
	i := slices.IndexFunc(s, is)
	if i < 0 {
		return nil
	}
	return s[i]
}

// at reads the flag that some words begin with: how many of them it is, 0 when the first
// is none.
func (s flagSet) at(words []string) (int, *wrong) { return s.each(words, func(*flag, string) {}) }

// each reads as at does, and calls do for the flag, or for each letter, with its value:
// "" is that of a flag which takes none.
func (s flagSet) each(words []string, do func(f *flag, value string)) (int, *wrong) {
	w := words[0]
	name, value, set := strings.Cut(strings.TrimLeft(w, "-"), "=")
	plain := strings.TrimLeft(w, "-"+dashes)
	switch first, _ := utf8.DecodeRuneInString(strings.TrimLeft(w, "-")); {
	case w != "" && strings.ContainsRune(dashes, first):
		fix := "--" + plain
		if name, _, _ := strings.Cut(plain, "="); len(name) == 1 {
			fix = "-" + plain
		}
		return 1, &wrong{text: strconv.Quote(w) + " begins with a dash that is not -", take: 1, fix: []string{fix}}
	case len(w) < 2 || w[0] != '-':
		return 0, nil
	case len(w) > 2 && w[1] != '-' && s.long(name) != nil: // its first letter may be a flag that takes the rest
		return 1, &wrong{text: w + ": a flag of more than one letter begins with --", take: 1, fix: []string{"-" + w}}
	case w[1] != '-':
		return s.letters(words, do)
	}
	f := s.long(name)
	switch {
	case f == nil || strings.HasPrefix(w, "---"):
		return 1, s.unknown(w)
	case f.bool && set && !slices.Contains([]string{"true", "1", "yes", "false", "0", "no"}, strings.ToLower(value)):
		fix := []string{"--" + name}
		if value == "off" || value == "never" {
			fix = []string{}
		}
		return 1, &wrong{text: "--" + name + " takes no value", take: 1, fix: fix}
	case f.bool:
		do(f, value)
		return 1, nil
	}
	return s.value(words, f, value, set, do)
}

// letters reads flags of one letter each, the last perhaps with its value.
func (s flagSet) letters(words []string, do func(*flag, string)) (int, *wrong) {
	for i, r := range words[0][1:] {
		f := s.find(func(f *flag) bool { return f.short == r })
		if f == nil || r == utf8.RuneError || r == 0 {
			return 1, s.unknown(words[0])
		}
		if rest := words[0][1+i+utf8.RuneLen(r):]; !f.bool {
			return s.value(words, f, rest, rest != "", do)
		}
		do(f, "")
	}
	return 1, nil
}

// value reads the value of a flag that takes one, which may be the next word.
func (s flagSet) value(words []string, f *flag, value string, set bool, do func(*flag, string)) (int, *wrong) {
	n := 1
	if !set {
		if len(words) < 2 || len(words[1]) > 1 && words[1][0] == '-' && !negative(words[1]) {
			return 1, missingValue(words[0], f)
		}
		n, value = 2, words[1]
	}
	if len(f.known) > 0 && value != "" && !slices.Contains(f.known, value) {
		return n, &wrong{text: "--" + f.name + ": " + text.Plain(value) + " is not one of " + strings.Join(f.known, ", "),
			take: n, hint: meant(value, f.known, "write --"+f.name+" "+f.known[0])}
	}
	if i, err := strconv.Atoi(value); f.name == "keep-fd" && value != "" && (err != nil || i < 0) {
		return n, &wrong{text: "--keep-fd: " + text.Plain(value) + " is not a descriptor", take: n, hint: "write 3 or more"}
	}
	do(f, value)
	return n, nil
}

// read gives the values of words that are flags of a run, and nothing else.
func (s flagSet) read(words []string) (*runCLI, error) {
	cli, given := &runCLI{}, map[string]*flag{}
	var err error
	put := func(f *flag, value string) {
		given[f.name] = f
		if f.xor != "" {
			group := "xor " + f.xor
			if before := given[group]; before != nil && before != f && err == nil {
				if slices.Index(s, f) < slices.Index(s, before) {
					f, before = before, f
				}
				err = contradict("--"+before.name, "--"+f.name)
			}
			given[group] = f
		}
		if f.field == nil || err != nil {
			return
		}
		switch v := reflect.ValueOf(cli).Elem().FieldByIndex(f.field).Addr().Interface().(type) {
		case *bool:
			*v = !slices.Contains([]string{"false", "0", "no"}, strings.ToLower(value))
		case *[]int:
			n, e := strconv.Atoi(value) // which is a number, or nothing
			if *v = append(*v, n); e != nil {
				err = emptyValue(f.name)
			}
		case *[]string:
			*v = append(*v, value)
		case *string:
			if *v = value; value == "" && f.name != "argv0" {
				err = emptyValue(f.name)
			}
		}
	}
	for i := 0; i < len(words); {
		n, bad := s.each(words[i:], put)
		if bad != nil {
			return nil, bad.error("")
		}
		if n == 0 {
			return nil, app.Failed(strconv.Quote(words[i])+" is no flag", "")
		}
		i += n
	}
	if given["help"] != nil {
		parser, err := newParser(&runCLI{})
		if err == nil {
			_, err = parser.Parse([]string{"--help"})
		}
		return nil, err
	}
	return cli, err
}

// parseRun reads the flags of a run, those in SBX_FLAGS first.
func parseRun(left []string) (*options, error) {
	args, err := envFlags()
	if err != nil {
		return nil, err
	}
	return parseFlags(append(args, left...))
}

// parseFlags reads the flags of a run.
func parseFlags(args []string) (*options, error) {
	if err := setColor(args); err != nil {
		return nil, err
	}
	cli, err := runFlags().read(args)
	if err != nil {
		return nil, err
	}
	if cli.Version {
		if err := (&versionCmd{}).Run(); err != nil {
			return nil, err
		}
		return nil, exitError(0)
	}
	o := &cli.options
	o.aliases()
	if o.JSON && !o.DryRun {
		return nil, app.Failed("--json goes with --dry-run", "the command's own output is untouched")
	}
	return o, o.check()
}
