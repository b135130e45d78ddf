// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestField(t *testing.T) {
	const text = "Name:\tsbx\nSeccomp_filters:\t3\nSeccomp:\t2\nGroups:\t \nLast:\t1 2"
	for key, want := range map[string]string{"Seccomp": "2", "Name": "sbx", "Groups": "", "Last": "1 2", "eccomp": "",
		"None": ""} {
		if got := Field(text, key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}

func TestStartTime(t *testing.T) {
	rest := " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20\n"
	for text, want := range map[string]string{"12 (sh)" + rest: "4711", "12 (a) S 1 (b)" + rest: "4711",
		"12 (sh) S 1 2": "", "": "", "12": ""} {
		if got := startTime(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestMounts(t *testing.T) {
	const text = `22 28 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw
36 35 98:0 /mnt1 /a\040b\134c ro,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue

40 22 0:30 /../.. /sys/fs/cgroup rw - cgroup2 cgroup rw
41 22 0:31 /x \04
42 22 0:32 / /last rw -`
	want := []Mount{
		{"22", "0:20", "/", "/sys", "rw,nosuid", "sysfs", "rw"},
		{"36", "98:0", "/mnt1", `/a b\c`, "ro,noatime", "ext3", "rw,errors=continue"},
		{"40", "0:30", "/../..", "/sys/fs/cgroup", "rw", "cgroup2", "rw"},
		{"41", "0:31", "/x", `\04`, "", "", ""},
		{"42", "0:32", "/", "/last", "rw", "", ""},
	}
	var got []Mount
	for m := range Mounts(text) {
		got = append(got, m)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for m := range Mounts(text) {
		if m.ID != "22" {
			t.Error("goes on after break")
		}
		break
	}
}

func TestCgroups(t *testing.T) {
	got := Cgroups("4:cpu,cpuacct:/a:b\n1:name=systemd:/\n0::/user.slice\nbad\n")
	want := []Cgroup{{[]string{"cpu", "cpuacct"}, "/a:b"}, {[]string{"name=systemd"}, "/"}, {nil, "/user.slice"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// FuzzMounts: any text is read without a panic, and nothing is made up.
func FuzzMounts(f *testing.F) {
	f.Add("36 35 98:0 /m /a\\040b ro master:1 - ext3 /dev/root rw\n")
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		for m := range Mounts(text) {
			if n++; m.Point == "" {
				t.Error("a mount without a point")
			}
		}
		if n > strings.Count(text, "\n")+1 {
			t.Errorf("%d mounts", n)
		}
	})
}

// TestImports: process 1 of a sandbox, which imports these itself, runs before packages
// with more imports are initialised.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{join .Imports \" \"}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(string(out)); !slices.Equal(got, []string{"strconv", "syscall"}) {
		t.Errorf("it imports %q", got)
	}
}
