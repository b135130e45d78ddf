// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/agents"
	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/profiles"
)

// trustCmd agrees to the content of project files.
type trustCmd struct {
	Files []string `arg:"" optional:"" name:"file" help:"Project files; default: those that apply to the working directory."`
	Yes   bool     `short:"y" help:"Do not ask, as without a terminal."`
	List  bool     `short:"l" help:"List what is trusted."`
	JSON  bool     `name:"json" help:"Print JSON, and do not ask."`
}

// untrustCmd takes that back.
type untrustCmd struct {
	Files []string `arg:"" optional:"" name:"file" help:"Project files; default: those that apply to the working directory."`
}

type trustJSON struct {
	Path    string          `json:"path"`
	State   string          `json:"state" enum:"trusted"`
	Was     string          `json:"was" enum:"unknown,trusted,changed"`
	SHA256  string          `json:"sha256"`
	Asks    []string        `json:"asks"`
	Ignored []string        `json:"ignored"`
	Loosens []config.Looser `json:"loosens"`
	Filters []trustedJSON   `json:"filters"`
}

func (c *trustCmd) Run() error {
	s, err := callerOutside("trust", onlyUser)
	if err != nil {
		return err
	}
	if c.List {
		return listTrusted(s, c.Files, c.JSON)
	}
	paths, err := projectFiles(s, c.Files)
	if err != nil {
		return err
	}
	out, declined := []trustJSON{}, false
	for _, path := range paths {
		f, err := lookAt(path)
		if err != nil {
			return err
		}
		if !c.JSON {
			if err := f.print(); err != nil {
				return err
			}
		}
		if f.state != config.Trusted {
			ask := !c.JSON && !c.Yes && app.IsTerminal(0)
			if ask && !confirm("trust "+text.Plain(path)+"?") {
				fmt.Fprintln(stdout, "not trusted")
				declined = true
				continue
			}
			if err := f.agree(); err != nil {
				return err
			}
		}
		out = append(out, f.json())
		if !c.JSON {
			fmt.Fprintln(stdout, map[bool]string{true: "was trusted already",
				false: "trusted"}[f.state == config.Trusted])
		}
	}
	if c.JSON {
		return printJSON(listJSON{"files": out})
	}
	if declined {
		return exitError(1)
	}
	return nil
}

func (c *untrustCmd) Run() error {
	s, err := callerOutside("untrust", onlyUser)
	if err != nil {
		return err
	}
	paths, err := projectFiles(s, c.Files)
	if err != nil {
		return err
	}
	for _, path := range paths {
		forgetFilters(s.TrustStore(), policy.Dir(path))
		was, err := s.TrustStore().Remove(path)
		if err != nil {
			return err
		}
		fmt.Fprintln(stdout, text.Plain(path)+map[bool]string{true: ": no longer trusted",
			false: ": was not trusted"}[was])
	}
	return nil
}

// forgetFilters takes back what was agreed to of files of seccomp rules in a project.
func forgetFilters(store config.TrustStore, dir string) {
	records, _ := store.List()
	for _, r := range records {
		if policy.Within(r.Path, dir) && !config.IsProjectFile(r.Path) {
			_, _ = store.Remove(r.Path)
		}
	}
}

// onlyUser is why these commands are refused in a sandbox. The store is out of reach
// there anyway; this says so.
const onlyUser = "only the user can trust files, outside the sandbox"

// projectFiles returns the canonical paths of the files named or, without
// names, of those that count in the working directory.
func projectFiles(s *app.Caller, names []string) (paths []string, err error) {
	if len(names) > 0 {
		return canonical(s, names)
	}
	if s.Vars.CWD == "" {
		return nil, app.Gone()
	}
	files, err := config.Find(config.Files{CWD: s.Vars.CWD, Root: s.Boundary})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, app.Failed("there is no project file in "+text.Plain(s.Vars.CWD)+
			" or above it, up to the root of the work tree",
			strings.Join(append(s.NotRead(), "project files are called .sbx.toml or .sbx.hcl"), "; "))
	}
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	return paths, nil
}

// canonical makes paths as a run in their directory has them: links in the
// directory are resolved, the file's own name stays. A directory that is gone
// is taken as it is written, so that what was trusted in it can be forgotten.
func canonical(s *app.Caller, names []string) (paths []string, err error) {
	for _, name := range names {
		full := name
		if !strings.HasPrefix(full, "/") {
			if s.Vars.CWD == "" {
				return nil, app.Gone()
			}
			full = s.Vars.CWD + "/" + full
		}
		// Not filepath.Dir: ".." after a link is for the system to follow.
		slash := strings.LastIndexByte(full, '/')
		dir, base := full[:slash+1], full[slash+1:]
		if !config.IsProjectFile(base) {
			return nil, app.Failed(text.Plain(name)+" is not a project file",
				"project files are called .sbx.toml or .sbx.hcl")
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if path := filepath.Join(dir, base); !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// candidate is a project file that may be trusted.
type candidate struct {
	config.File
	caller *app.Caller
	state  config.TrustState
	agreed []byte // what was agreed to before
	trial  *config.Preview

	filters []config.TrustRecord // what lies in the files of seccomp rules that it names
	differ  []string             // those of them that are not agreed to
}

// lookAt reads a project file as a run in its directory does, with all the
// other files of such a run.
func lookAt(path string) (*candidate, error) {
	s, err := app.Here(policy.Dir(path))
	if err != nil {
		return nil, err
	}
	files, _, err := s.Files()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(files, func(f config.File) bool { return f.Layer == policy.Project && f.Path == path })
	if i < 0 {
		return nil, &config.FileError{Path: path, Text: "no such file"}
	}
	f := &candidate{File: files[i], caller: s}
	if f.state, f.agreed, err = s.TrustStore().Check(path, f.Data); err != nil {
		app.Say("warning", err.Error()) // trusting it makes a new record
	}
	if f.trial, err = config.PreviewTrust(profiles.Builtin(), files, i, s.Vars); err != nil {
		return nil, err
	}
	for _, path := range f.trial.Filters {
		data, err := config.ReadFilter(path)
		if err != nil {
			return nil, err
		}
		f.filters = append(f.filters, config.TrustRecord{Path: path, Data: data})
		if state, _, _ := s.TrustStore().Check(path, data); state != config.Trusted {
			f.differ = append(f.differ, path)
		}
	}
	if len(f.differ) > 0 && f.state == config.Trusted {
		f.state = config.Changed
	}
	return f, nil
}

// agree records the bytes that were shown, whatever lies there by now.
func (f *candidate) agree() error {
	store := f.caller.TrustStore()
	if err := f.caller.Kept(policy.Dir(store.Dir), "what you agree to cannot be saved",
		"set HOME, or XDG_STATE_HOME to a directory that exists"); err != nil {
		return err
	}
	for _, r := range f.filters {
		if err := store.Add(r.Path, r.Data); err != nil {
			return err
		}
	}
	return store.Add(f.Path, f.Data)
}

// digest is the SHA-256 of a file's content.
func digest(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

func (f *candidate) json() trustJSON {
	filters := []trustedJSON{}
	for _, r := range f.filters {
		filters = append(filters, trustedJSON{r.Path, config.Trusted.String(), digest(r.Data)})
	}
	return trustJSON{Filters: filters, Path: f.Path, State: config.Trusted.String(), Was: f.state.String(), SHA256: digest(f.Data),
		Asks: orEmpty(f.trial.Asks), Ignored: orEmpty(f.trial.Never), Loosens: orEmpty(f.trial.Loosens)}
}

// print shows what trusting the file means: all of it, since what is cut off
// would be where to hide.
func (f *candidate) print() error {
	w := table()
	head := func(text string) { w.Flush(); fmt.Fprintln(stdout, text) }
	head(colour("1", text.Plain(f.Path)))
	if f.state == config.Changed {
		head("changed since it was trusted:")
		for _, line := range text.Diff(f.agreed, f.Data) {
			head("  " + line)
		}
	}
	if len(f.trial.Asks)+len(f.trial.Loosens) == 0 {
		head("loosens nothing: it only tightens")
	}
	if len(f.trial.Loosens) > 0 {
		head("loosens, compared with what it does untrusted:")
		for _, l := range f.trial.Loosens {
			fmt.Fprintf(w, "  %s\t%s\t%s -> %s\t%s\n", l.Key, text.Plain(l.What), text.Plain(l.From), text.Plain(l.To),
				selections(l.Profiles))
		}
	}
	if len(f.trial.Asks) > 0 {
		head("counts only when trusted: " + strings.Join(f.trial.Asks, ", "))
	}
	for _, path := range f.differ {
		head("the system calls of its runs are filtered by " + text.Plain(path) + ", as that file is now")
	}
	if len(f.trial.Never) > 0 {
		head("never counts in a project file: " + strings.Join(f.trial.Never, ", "))
	}
	return w.Flush()
}

// selections names the profiles that a line is about, as far as that is
// readable: --json has them all. Those for one client come last.
func selections(names []string) string {
	var out, clients []string
	for _, n := range names {
		if _, ok := agents.Find(n); ok {
			clients = append(clients, n)
		} else {
			out = append(out, n)
		}
	}
	return text.Few(append(out, clients...), 4, ", ")
}

// confirm asks a person at the terminal.
func confirm(question string) bool {
	fmt.Fprint(os.Stderr, app.Harmless(question)+" [y/N] ")
	var answer []byte
	for buf := make([]byte, 1); len(answer) < 64; {
		if n, err := os.Stdin.Read(buf); n == 0 || err != nil || buf[0] == '\n' {
			break
		}
		answer = append(answer, buf[0])
	}
	said := strings.ToLower(strings.TrimSpace(string(answer)))
	return said == "y" || said == "yes"
}

type trustedJSON struct {
	Path   string `json:"path"`
	State  string `json:"state" enum:"trusted,changed,gone"`
	SHA256 string `json:"sha256"`
}

// listTrusted prints all that is trusted and what became of it.
func listTrusted(s *app.Caller, names []string, asJSON bool) error {
	if len(names) > 0 {
		return app.Failed("sbx trust --list takes no file", "sbx trust --list")
	}
	records, bad := s.TrustStore().List()
	for _, err := range bad {
		app.Say("warning", err.Error())
	}
	out := []trustedJSON{}
	for _, r := range records {
		state := config.Trusted.String()
		if now, err := os.ReadFile(r.Path); err != nil {
			state = "gone"
		} else if string(now) != string(r.Data) {
			state = config.Changed.String()
		}
		out = append(out, trustedJSON{r.Path, state, digest(r.Data)})
	}
	if asJSON {
		return printJSON(listJSON{"files": out})
	}
	if len(out) == 0 && onTerminal() {
		fmt.Fprintln(stdout, "no project file is trusted")
	}
	for _, r := range out {
		fmt.Fprintf(stdout, "%-7s  %s\n", r.State, text.Plain(r.Path))
	}
	return nil
}
