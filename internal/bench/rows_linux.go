// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/session"
)

// row is one figure.
type row struct {
	Name     string    `json:"name"`
	Group    string    `json:"group"`
	Unit     string    `json:"unit"`
	Figure   float64   `json:"figure"` // the median of the sittings
	Sittings []float64 `json:"sittings"`
	Ceiling  float64   `json:"ceiling,omitempty"`
	AtLeast  bool      `json:"at_least,omitempty"` // the ceiling is a floor
	Goal     float64   `json:"goal,omitempty"`
	Verdict  string    `json:"verdict"`
	Base     *spread   `json:"base,omitempty"` // raw bwrap
	Sbx      *spread   `json:"sbx,omitempty"`
	Words    int       `json:"bwrap_words,omitempty"`

	share     int // of the rounds; 0 is all
	base, cmd *command
	few       []*command              // both, without what a row of scale has more
	samples   [2][]float64            // of both, in all sittings
	ask       func() (float64, error) // instead of rounds
	setting
}

// setting is how sbx is called.
type setting struct {
	sbx   string // the program
	flags string
	vars  []string
	files map[string]string // in the home directory
	trust bool              // the project's file
	repo  int               // files in a repository; 0 for none
	shell bool              // sbx under the name of a shell, in a session
	words int               // more of them
}

// The units in which a figure may be.
const (
	times = "x" // raw bwrap, median of paired ratios
	more  = "ms more"
	whole = "ms"
)

// startRows are the situations that have a ceiling. Each is held against the bwrap
// of its --direct run, since raw bwrap has no process 1.
func startRows() []*row {
	const withFile, withFileGoal = 1.75, 1.5
	toml := setting{flags: "-p work -w ../data --env CI=1", files: map[string]string{userConfig: userTOML}}
	hcl := setting{flags: "-w ../data -w gen -r ../.ssh -r ../.gitconfig --block ../tmp --env LC_* --no-net",
		files: map[string]string{".config/sbx/config.hcl": userHCL, "project/.sbx.hcl": projectHCL}}
	project := setting{files: map[string]string{"project/.sbx.toml": projectTOML}, trust: true}
	return []*row{
		{Name: "default", Ceiling: 1.65, Goal: 1.5},
		{Name: "--direct", Ceiling: 1.58, Goal: 1.45, setting: setting{flags: "--direct"}},
		{Name: "flags, one TOML file", Ceiling: withFile, Goal: withFileGoal, setting: toml},
		{Name: "flags, one TOML file, --direct", setting: toml.with("--direct")},
		{Name: "flags, two HCL files", Ceiling: withFile, Goal: withFileGoal, setting: hcl},
		{Name: "flags, two HCL files, --direct", setting: hcl.with("--direct")},
		{Name: "trusted project file", Ceiling: withFile, Goal: withFileGoal, setting: project},
		{Name: "--seccomp strict, --direct", setting: setting{flags: "--direct --seccomp strict"}},
		// A whole run against the bwrap of the default policy.
		{Name: "landlock, no parent", Ceiling: 0.8, Goal: 0.6, setting: setting{vars: landlock}},
		// In a repository a parent stays that puts back what git would run.
		{Name: "landlock, with a parent", setting: setting{vars: landlock, repo: 1}},
		// What stands between an agent and its shell all day. Without a session sbx
		// would ask getent(1) about this user, who is in no database.
		{Name: "sbx-sh -c, in a session", Ceiling: 1.75, Goal: 1.6, setting: setting{shell: true}},
	}
}

var landlock = []string{"SBX_ENGINE=landlock"}

const userConfig = ".config/sbx/config.toml"

// scaleRows say what a run costs more where there is much of something.
func scaleRows() []*row {
	var vars []string
	for i := range 1000 {
		vars = append(vars, fmt.Sprintf("SCALE_%03d=a value of a usual length", i))
	}
	rows := []*row{
		{Name: "1,000 variables", Unit: more, Ceiling: 1, share: 2, setting: setting{vars: vars}},
		{Name: "3,000 words", Unit: more, Ceiling: 1, share: 2, setting: setting{words: 3000}},
		{Name: "100,000 files in a repository, not 1", Unit: more, Ceiling: 0.3, share: 2,
			setting: setting{repo: 100_000}},
	}
	blocked := func(n int, beside string) *row {
		files, names := map[string]string{}, []string(nil)
		for i := range n {
			name := fmt.Sprintf("keys/%03d.key", i)
			files["project/"+name] = ""
			names = append(names, strconv.Quote("$CWD/"+name))
		}
		if beside != "" {
			files["project/keys/shown"] = ""
		}
		files[userConfig] = "[profiles.moderate]\nextends = [\"moderate\"]\nblocked_paths = [" + strings.Join(names, ", ") + "]\n"
		return &row{Name: fmt.Sprintf("blocked files: %d%s", n, beside), Unit: whole, share: 100,
			setting: setting{files: files}}
	}
	for _, n := range []int{1, 10, 100, 1000} {
		rows = append(rows, blocked(n, ""))
	}
	rows = append(rows, blocked(1000, ", one shown"))
	return rows
}

func (s setting) with(flag string) setting {
	s.flags = flag + " " + s.flags
	return s
}

// peers are other sandboxes with a policy that is roughly alike: no network, the
// project is writable, nothing else is. docs/performance.md says what differs.
var peers = []struct{ name, words string }{
	{"firejail", "firejail --quiet --noprofile --net=none --caps.drop=all --seccomp --read-only=/ --read-write=PROJECT --"},
	{"nsjail", "nsjail -Mo -Q --chroot / -B PROJECT --cwd PROJECT --disable_rlimits --"},
	{"landrun", "landrun --best-effort --rox /usr --ro /etc --ro /proc --rw /dev --rwx PROJECT --"},
}

// prepare makes the rows that are asked for.
func (b *bench) prepare() error {
	var rows []*row
	add := func(group, suffix string, setting setting, list ...*row) {
		for _, r := range list {
			r.Group, r.sbx = group, setting.sbx
			r.Name += suffix
			if b.only.MatchString(r.Name) {
				rows = append(rows, r)
			}
		}
	}
	add("start", "", setting{sbx: b.sbx}, startRows()...)
	if b.before != "" {
		before := startRows()
		for _, r := range before {
			r.Ceiling, r.Goal = 0, 0
		}
		add("before", ", before", setting{sbx: b.before}, before...)
	}
	add("scale", "", setting{sbx: b.sbx}, scaleRows()...)
	for i, r := range rows {
		if err := b.prepareRow(r, "home"+strconv.Itoa(i)); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	b.Rows = rows
	if err := b.others(); err != nil {
		return err
	}
	b.Rows = append(b.Rows, b.facts()...)
	b.Rows = slices.DeleteFunc(b.Rows, func(r *row) bool { return !b.only.MatchString(r.Name) })
	return nil
}

func (b *bench) prepareRow(r *row, name string) (err error) {
	r.Unit = cmp.Or(r.Unit, times)
	if r.base, r.cmd, err = b.pair(r.setting, name); err != nil {
		return err
	}
	r.Words = r.base.words()
	if r.Unit == more {
		without := r.setting
		without.words, without.vars, without.repo = 0, nil, min(without.repo, 1)
		r.few = make([]*command, 2)
		r.few[0], r.few[1], err = b.pair(without, name+"few")
	}
	return err
}

// pair is sbx in a home directory of its own, and the bwrap of its direct run.
func (b *bench) pair(set setting, name string) (base, sbx *command, err error) {
	s, err := newSite(b.dir, name)
	if err != nil {
		return nil, nil, err
	}
	if sbx, err = b.command(s, set); err != nil {
		return nil, nil, err
	}
	if base, err = b.bwrap(s, set, sbx); err != nil {
		return nil, nil, err
	}
	return base, sbx, base.check()
}

// command is sbx in front of /bin/true, tried once: the first run makes its
// directories and fills its cache.
func (b *bench) command(s site, set setting) (*command, error) {
	for name, text := range set.files {
		if err := s.write(name, text); err != nil {
			return nil, err
		}
	}
	if set.repo > 0 {
		if err := s.fill(set.repo); err != nil {
			return nil, err
		}
	}
	c := &command{path: set.sbx, env: append(s.env(), set.vars...), dir: s.project,
		front: slices.Concat([]string{"sbx"}, strings.Fields(set.flags), []string{"--"}), inner: []string{"/bin/true"}}
	for i := range set.words {
		c.inner = append(c.inner, "word"+strconv.Itoa(i))
	}
	if set.trust {
		trust := *c
		trust.front, trust.inner = []string{"sbx", "trust", "--yes"}, nil
		if err := trust.runs(); err != nil {
			return nil, err
		}
	}
	if set.shell {
		if err := b.asShell(c, s); err != nil {
			return nil, err
		}
	}
	return c, c.check()
}

// asShell starts sbx as the shell of a client.
func (b *bench) asShell(c *command, s site) error {
	link := filepath.Join(s.home, "sbx-sh")
	if err := os.Symlink(c.path, link); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	dir, err := session.Create(os.Geteuid(), s.session())
	if err != nil {
		return err
	}
	b.made = append(b.made, dir)
	c.path, c.front, c.inner = link, []string{"sbx-sh"}, []string{"-c", "true"}
	c.env = append(c.env, session.Var+"="+dir, "TMPDIR="+session.Tmp(dir))
	return nil
}

func (s site) session(files ...string) session.Session {
	return session.Session{Client: "bench", Root: s.project, CWD: s.project, Home: s.home, Files: files}
}

// bwrap is the one that sbx becomes without a process 1.
func (b *bench) bwrap(s site, set setting, sbx *command) (*command, error) {
	if !set.shell {
		set.files, set.repo = nil, 0 // they are there
		if slices.Equal(set.vars, landlock) {
			set.vars = nil
		}
		c, err := b.command(s, set.with("--direct"))
		if err != nil {
			return nil, err
		}
		return c.handed()
	}
	// A client has no flags. A file says it for the time of one run, and the session
	// that this was agreed to.
	const direct = "direct = true\n"
	path, agreed := filepath.Join(s.home, userConfig), filepath.Join(b.made[len(b.made)-1], "session.json")
	before, err := os.ReadFile(agreed)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(s.session(fmt.Sprintf("+ %x %s", sha256.Sum256([]byte(direct)), path)))
	if err == nil {
		err = errors.Join(s.write(userConfig, direct), os.WriteFile(agreed, after, 0o600))
	}
	if err != nil {
		return nil, err
	}
	got, err := sbx.handed()
	return got, errors.Join(err, os.Remove(path), os.WriteFile(agreed, before, 0o600), sbx.check())
}

// words is how many bwrap gets with what stands in --args descriptors: more
// words are more mounts, and the ratio looks better the more there are.
func (c *command) words() int {
	argv := c.argv()
	n := len(argv)
	for i, w := range argv {
		if fd, err := strconv.Atoi(argv[min(i+1, len(argv)-1)]); w == "--args" && err == nil {
			n += strings.Count(string(c.fds[fd]), "\x00")
		}
	}
	return n
}
