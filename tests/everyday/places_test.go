// SPDX-License-Identifier: Apache-2.0

//go:build linux

package everyday

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// place is a line "= NAME: TITLE [root]" of places.txt; root makes what only it can.
type place struct {
	name, title, project, run string
	root                      bool
	want                      map[string]string // by way, why it does not work
}

func readPlaces(file string) (out []place, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	last := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if head, ok := strings.CutPrefix(line, "= "); ok {
			name, title, _ := strings.Cut(head, ": ")
			title, root := strings.CutSuffix(title, " [root]")
			out = append(out, place{name: name, title: title, project: "project", run: `cd "$P" && std && exec "$@"`, root: root, want: map[string]string{}})
			continue
		}
		if len(out) == 0 || line == "" {
			continue
		}
		p := &out[len(out)-1]
		key, value, _ := strings.Cut(strings.TrimPrefix(line, "  "), ": ")
		switch {
		case !strings.HasPrefix(line, "  ") && last == "run":
			p.run += "\n" + line
			continue
		case key == "project":
			p.project = value
		case key == "run":
			p.run = value
		case key == "moderate" || key == "landlock":
			p.want[key] = value
		default:
			return nil, fmt.Errorf("%s: %q", file, line)
		}
		last = key
	}
	return out, nil
}

func (p *place) verdict(way string) string {
	if why := p.want[way]; why != "" {
		return why
	}
	return "ok"
}

// std makes a project.
const std = `set -e
printf 'all: out\nout:\n\t@echo built >$@\ntest: out\n\t@grep -q built out\n' >Makefile
printf '#!/bin/sh\necho run\n' >run.sh
chmod +x run.sh
mkdir -p sub
echo one >sub/a
git init -q
git add .
git commit -qm first
`

// work is an hour's work in it. What it prints is compared, whatever its status.
const work = `set -e
echo new >new
./run.sh
make -s test
t=$(mktemp)
echo x >"$t"
rm "$t"
mkdir d
mv new d/
ln d/new sub/linked
if [ -z "$NOGIT" ]; then
	git add -A
	git commit -qm second
	git checkout -q -b topic
	echo more >>sub/a
	git commit -qam third
	git checkout -q -
	git merge -q topic
	git status --short
	git log --oneline | wc -l
fi
rm -r d
ls | tr '\n' ' '
`

// TestPlaces works in places that are not like others, without sbx and with it.
func TestPlaces(t *testing.T) {
	places, err := readPlaces("testdata/places.txt")
	must(t, err)
	for _, p := range places {
		if p.root && os.Geteuid() != 0 || !all && p.name != "plain" && p.name != "newline" && p.name != "link" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			bare := p.try(t, nil)
			if bare.status == 125 || bare.status == 127 || bare.stdout == "" && bare.stderr == "" {
				t.Fatalf("without sbx: status %d: %s", bare.status, bare.stderr)
			}
			for _, way := range ways {
				if way.name != "moderate" && way.name != "landlock" || !all && !slices.Contains(quickWays, way.name) {
					continue
				}
				t.Run(way.name, func(t *testing.T) {
					needEngine(t, way.flags[1])
					got := p.try(t, way.flags)
					switch diff, why := bare.diff(got), p.want[way.name]; {
					case diff != "" && why == "":
						t.Errorf("%s\n%s\nwithout sbx: %s", diff, got.stderr, bare.stderr)
					case diff == "" && why != "":
						t.Errorf("works, and the table says that it does not (%s)", why)
					}
				})
			}
		})
	}
}

func (p *place) try(t *testing.T, flags []string) outcome {
	t.Helper()
	dir, err := os.MkdirTemp("", "places")
	must(t, err)
	t.Cleanup(func() { remove(dir) })
	l := &lane{dir: dir, home: dir + "/home"}
	project := filepath.Join(dir, p.project)
	must(t, os.MkdirAll(project, 0o755))
	must(t, os.MkdirAll(l.home, 0o755))
	must(t, os.Chmod(dir, 0o755))
	config := "[user]\nname = Ada\nemail = ada@example.com\n[init]\ndefaultBranch = main\n"
	for name, text := range map[string]string{"std": std, "work": work, "gitconfig": config, "home/.gitconfig": config} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	l.env = append(environment(l), "L="+dir, "P="+project)
	head := `std() { sh "$L/std"; }
as() { if [ "$(id -u)" = 0 ]; then chown -R 54321:54321 "$L"; exec setpriv --reuid 54321 --regid 54321 --clear-groups "$@"; fi; exec "$@"; }
`
	words := []string{"sh", "-c", head + p.run, "sh"}
	if flags != nil {
		words = slices.Concat(words, []string{sbxPath}, flags, []string{"--"})
	}
	return l.run(dir, nil, nil, append(words, "sh", "-c", work))
}
