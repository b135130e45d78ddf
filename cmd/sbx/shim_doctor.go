// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/lookpath"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/shims"
)

// shimDoctorCmd says for each way in which programs are started whether a shim
// answers. It exits 0 when all do in the shell that called it.
type shimDoctorCmd struct {
	Tools []string `arg:"" optional:"" name:"tool" help:"Names of programs; default: those that have shims."`
	JSON  bool     `name:"json" help:"Print JSON."`
}

type shimReport struct {
	OK       bool             `json:"ok"`
	Dir      string           `json:"dir"`
	InPath   bool             `json:"in_path"` // of the shell that called
	Problems []string         `json:"problems"`
	Notes    []string         `json:"notes"`
	Tools    []shimToolReport `json:"tools"`
}

type shimToolReport struct {
	shimJSON
	Added   bool         `json:"added"` // there is a shim
	Answers []shimAnswer `json:"answers"`
}

type shimAnswer struct {
	Context string `json:"context"` // shell, login, interactive, sh, cron, session, absolute
	How     string `json:"how"`     // for people
	Answer  string `json:"answer" enum:"shim,program,alias,function,builtin,none,unknown"`
	Path    string `json:"path,omitempty"`
	title   string
}

func (c *shimDoctorCmd) Run(s *shimming) error {
	tools, err := s.asked(unique(c.Tools))
	if err != nil {
		return err
	}
	r := &shimReport{OK: true, Dir: string(s.dir), InPath: inPath(&s.Caller, string(s.dir)), Problems: []string{},
		Notes: []string{}, Tools: tools}
	r.diagnose(s)
	r.notes()
	return tell(c.JSON, r, r.OK, 1)
}

// asked are the shims that were named, or all.
func (s *shimming) asked(names []string) ([]shimToolReport, error) {
	out := []shimToolReport{}
	for _, name := range names {
		if err := shims.CheckName(name); err != nil {
			return nil, err
		}
		out = append(out, shimToolReport{shimJSON: s.tool(name)})
	}
	for _, j := range s.list {
		switch i := slices.Index(names, j.Name); {
		case i >= 0:
			out[i] = shimToolReport{shimJSON: j, Added: true}
		case len(names) == 0:
			out = append(out, shimToolReport{shimJSON: j, Added: true})
		}
	}
	return out, nil
}

func (r *shimReport) diagnose(s *shimming) {
	problem := func(text string) { r.Problems, r.OK = append(r.Problems, text), false }
	if err := s.dir.Check(); err != nil {
		problem(err.Error())
	}
	if len(r.Tools) == 0 {
		return
	}
	if !r.InPath {
		problem(text.Plain(r.Dir) + " is not in PATH of this shell: " + activateLine(ownShell()))
	}
	names := make([]string, len(r.Tools))
	for i := range r.Tools {
		names[i] = r.Tools[i].Name
	}
	ways := starts(&s.Caller)
	found := make([]map[string]shims.Answer, len(ways)) // nil: no answer
	var all sync.WaitGroup
	for n, w := range ways {
		all.Go(func() { found[n] = w.ask(names) })
	}
	all.Wait()
	for i := range r.Tools {
		t := &r.Tools[i]
		for n, w := range ways {
			a := shimAnswer{Context: w.name, How: w.how, Answer: "unknown", title: w.title}
			if found[n] != nil {
				a.Answer, a.Path = verdict(&s.Caller, t.Name, found[n][t.Name])
			}
			t.Answers = append(t.Answers, a)
		}
		absolute := shimAnswer{Context: "absolute", How: "its path", Answer: "none", Path: t.Program,
			title: "absolute path"}
		if t.Program != "" {
			absolute.Answer = "program"
		}
		t.Answers = append(t.Answers, absolute)
		switch {
		case !t.Added:
			problem(t.Name + " has no shim: sbx shim add " + t.Name)
		case t.Broken:
			problem("the shim of " + t.Name + " leads to " + text.Plain(t.Target) + ", which is gone: sbx shim add " +
				t.Name)
		case t.Answers[0].Answer != "shim" && r.InPath:
			problem(text.Plain(t.Answers[0].Path) + " comes before the shim of " + t.Name + " in PATH: " +
				activateLine(ownShell()) + " after what put it there")
		}
	}
}

// notes says what to do for shells that are still to be started.
func (r *shimReport) notes() {
	for _, t := range r.Tools {
		for _, a := range t.Answers {
			if t.Added && a.Context == "interactive" && (a.Answer == "program" || a.Answer == "none") {
				shell := shims.ShellOf(strings.Fields(a.How)[0])
				r.Notes = append(r.Notes, "a new shell will not find the shims first: write "+activateLine(shell)+" into "+startFile(shell)+", after what else changes PATH there")
				return
			}
		}
	}
}

// verdict turns what a shell said into what that means.
func verdict(s *app.Caller, name string, a shims.Answer) (answer, path string) {
	switch {
	case a.Kind == "" || a.Kind == "none" || a.Kind == "file" && a.Path == "":
		return "none", ""
	case a.Kind != "file":
		return a.Kind, a.Path
	case isShim(s, a.Path, name):
		return "shim", a.Path
	}
	return "program", a.Path
}

// start is a way in which programs are started: names are looked up in a PATH, or
// by a shell that is asked, since start-up files decide and no one can tell what
// they do but a shell that reads them.
type start struct {
	name, title, how string
	path             string
	shell, flag      string // "" for none to be asked
	env              []string
}

func starts(s *app.Caller) []start {
	shell := os.Getenv("SHELL")
	if !strings.HasPrefix(shell, "/") {
		shell = host.PasswdShell(s.Host.UID)
	}
	base := text.Plain(filepath.Base(shell))
	login, session := loginPath(s.Host.UID), sessionPath()
	inherits := "PATH as systemd --user has it"
	if session == "" {
		session, inherits = login, "PATH as after a login"
	}
	return []start{
		{name: "shell", title: "this shell", how: "PATH of this shell", path: s.Host.Path()},
		{name: "login", title: "login shell", how: base + " -lc", shell: shell, flag: "-lc",
			env: loginEnv(login, shell)},
		{name: "interactive", title: "at a prompt", how: base + " -ic", shell: shell, flag: "-ic",
			env: loginEnv(session, shell)},
		{name: "sh", title: "sh -c", how: "sh -c", shell: "/bin/sh", flag: "-c", env: s.Host.Environ},
		{name: "cron", title: "cron", how: "PATH=/usr/bin:/bin", path: "/usr/bin:/bin"},
		{name: "session", title: "desktop, editor", how: inherits, path: session},
	}
}

// ask is what is found for names, nil when there was no answer.
func (w *start) ask(names []string) map[string]shims.Answer {
	found := make(map[string]shims.Answer)
	if w.flag == "" {
		for _, n := range names {
			found[n] = shims.Answer{Kind: "file", Path: lookpath.First(w.path, n, app.Runs)}
		}
		return found
	}
	mark := "sbx" + rand.Text()
	code, ok := shims.Question(filepath.Base(w.shell), names, mark)
	if !ok {
		return nil
	}
	// The output counts, not the status: start-up files fail in many ways.
	out, _, _ := runLimited(5*time.Second, w.env, "", w.shell, w.flag, code)
	if found = shims.Answers(out, mark); len(found) != len(names) {
		return nil
	}
	return found
}

// loginPath is PATH before any start-up file was read: login.defs(5), or what
// most systems have.
func loginPath(uid int) string {
	key, path := "ENV_PATH", "/usr/local/bin:/usr/bin:/bin"
	if uid == 0 {
		key, path = "ENV_SUPATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	data, _ := os.ReadFile("/etc/login.defs")
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == key {
			path = strings.TrimPrefix(f[1], "PATH=")
		}
	}
	return path
}

// loginEnv is what a login gives a shell, and what says where its files are.
func loginEnv(path, shell string) []string {
	env := []string{"PATH=" + path, "SHELL=" + shell, "TERM=dumb"}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "ZDOTDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
			"XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR":
			env = append(env, kv)
		}
	}
	return env
}

// sessionPath is what programs of the desktop inherit, "" when there is no
// manager of the user's to ask.
func sessionPath() string {
	for _, program := range []string{"/usr/bin/systemctl", "/bin/systemctl"} {
		if _, err := os.Stat(program); err != nil {
			continue
		}
		out, _, err := runLimited(2*time.Second, os.Environ(), "", program, "--user", "show-environment")
		if err != nil {
			return ""
		}
		for line := range strings.Lines(out) {
			if path, ok := strings.CutPrefix(strings.TrimSpace(line), "PATH="); ok && strings.HasPrefix(path, "/") {
				return path
			}
		}
	}
	return ""
}

func (r *shimReport) print() error {
	if len(r.Tools) == 0 && len(r.Problems) == 0 {
		fmt.Fprintln(stdout, "no shims; sbx shim add npm pip cargo makes some")
		return nil
	}
	w := table()
	for _, t := range r.Tools {
		fmt.Fprintf(w, "%s (profile %s)\n", t.Name, t.Profile)
		for _, a := range t.Answers {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", a.title, a.Answer, a.How, a.text())
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, p := range r.Problems {
		fmt.Fprintln(stdout, "problem: "+p)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(stdout, "note: "+n)
	}
	if r.OK {
		fmt.Fprintln(stdout, "all shims answer in this shell")
	}
	return nil
}

func (a *shimAnswer) text() string {
	switch {
	case a.Context == "absolute" && a.Path != "":
		return text.Plain(a.Path) + " is never caught"
	case a.Answer == "none":
		return "nothing of that name"
	case a.Answer == "unknown":
		return "gave no answer within 5 seconds, or is a shell that sbx cannot ask"
	case a.Answer == "alias" || a.Answer == "function" || a.Answer == "builtin":
		return "the shell's own " + a.Answer + ", which comes before any file"
	}
	return text.Plain(a.Path)
}
