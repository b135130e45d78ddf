// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"slices"
	"testing"
)

// TestRunFlags compares the flags of a run as they are read here with kong's grammar of
// the same struct, which help, completion and the manual go by.
func TestRunFlags(t *testing.T) {
	want := flagsOf(grammar(t, &runCLI{}).Flags)
	got := runFlags()
	if len(got) != len(want) || len(got) < 40 {
		t.Fatalf("%d flags, kong has %d", len(got), len(want))
	}
	for _, w := range want {
		f := got.long(w.name)
		if f == nil {
			t.Errorf("--%s is not read", w.name)
			continue
		}
		if f.short != w.short || f.bool != w.bool || f.hidden != w.hidden || !slices.Equal(f.known, w.known) ||
			w.name != "help" && f.placeholder != w.placeholder && f.placeholder != "" {
			t.Errorf("--%s: %+v, kong has %+v", w.name, *f, *w)
		}
	}
}

// TestReadFlags gives each flag of a run a value, in each way to write it.
func TestReadFlags(t *testing.T) {
	for _, f := range runFlags() {
		if f.field == nil {
			continue
		}
		lines := [][]string{{"--" + f.name + "=7"}, {"--" + f.name, "7"}}
		if f.short > 0 {
			lines = append(lines, []string{"-" + string(f.short), "7"}, []string{"-" + string(f.short) + "7"})
		}
		want := "7"
		if f.bool {
			lines, want = [][]string{{"--" + f.name}, {"--" + f.name + "=yes"}, {"--" + f.name + "=No", "--" + f.name}}, "true"
		}
		for _, line := range lines {
			cli, err := runFlags().read(line)
			if err != nil {
				t.Errorf("%q: %v", line, err)
				continue
			}
			for _, other := range runFlags() {
				if other.field == nil {
					continue
				}
				v := reflect.ValueOf(cli).Elem().FieldByIndex(other.field)
				if v.IsZero() == (other.name == f.name) {
					t.Errorf("%q: --%s is %v", line, other.name, v)
				}
				if v.Kind() == reflect.Slice && v.Len() == 1 {
					v = v.Index(0)
				}
				if other.name == f.name && plainValue(v) != want {
					t.Errorf("%q: %v, want %s", line, v, want)
				}
			}
		}
	}
	if cli, err := runFlags().read([]string{"--net=no", "-nvc", "x"}); err != nil || cli.Net || !cli.DryRun || !cli.Verbose ||
		!slices.Equal(cli.Command, []string{"x"}) {
		t.Errorf("%+v, %v", cli, err)
	}
}

// TestUnknownLetters: what is no flag is told, in whatever bytes.
func TestUnknownLetters(t *testing.T) {
	for _, word := range []string{"-Z", "-\xff", "-v\xff", "-v\xc3", "-\x00", "-é", "-\uFFFD", "-\U0010ffff", "--\xff", "-v=\xff", "---",
		"---net", "----quiet", "---block=x"} {
		if _, err := runFlags().read([]string{word, "x"}); err == nil {
			t.Errorf("%q was read", word)
		}
	}
}

func plainValue(v reflect.Value) string {
	if v.Kind() == reflect.Int {
		return string(rune('0' + v.Int()))
	}
	if v.Kind() == reflect.Bool && v.Bool() {
		return "true"
	}
	return v.String()
}
