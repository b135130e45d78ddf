// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/credentials"
)

func TestMise(t *testing.T) {
	const file = "min_version = \"hunter2\"\n[env]\nA = \"hunter2\"\n[tools] # hunter2\nnode = \"20\" # hunter2\n" +
		"# hunter2\n\"npm:x#y\" = \"1\"\n[tools.python]\nversion = \"3.12\"\n[tasks.x]\nrun = \"hunter2\"\n[[tools2]]\nx = \"hunter2\"\n"
	const want = "[tools] \nnode = \"20\" \n\n\"npm:x#y\" = \"1\"\n[tools.python]\nversion = \"3.12\"\n"
	if got := credentials.Mise([]byte(file)); string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, file := range []string{"", "[env]\nA = \"hunter2\"\n", "[env]\nA = \"\"\"\n[tools]\nhunter2\n\"\"\"\n", "[env]\rA = 1\n[tools]\n",
		"[env]\nA = '''\n[tools]\nhunter2'''\n", "[tools]\nx = {url = \"https://u:hunter2@h/x\"}\n", "[\"tools\"]\nx = 1\n[env]\nB = [\n[\"tools\"],\n\"hunter2\"]\n"} {
		if got := credentials.Mise([]byte(file)); got != nil {
			t.Errorf("%q: %q", file, got)
		}
	}
	if got := credentials.Mise([]byte("[tools]\nx = \"1\"\n[env]\nB = [\n[\"tools\"],\n\"hunter2\"]\n")); strings.Contains(string(got), "hunter2") {
		t.Errorf("%q", got)
	}
}
