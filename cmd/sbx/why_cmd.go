// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// whyCmd answers for single paths, hosts and variables: outside from the plan
// of a run with the same flags, inside from the manifest and what is there.
type whyCmd struct {
	options `embed:""`

	Path  bool     `xor:"kind" help:"Take each word for a path."`
	Host  bool     `xor:"kind" help:"Take each word for a host."`
	Var   bool     `xor:"kind" help:"Take each word for the name of a variable."`
	Words wordList `arg:"" optional:"" name:"path|host|name" help:"What to ask about; after -- it may begin with a dash."`
}

// wordList takes the words up to the next flag byte for byte, and after -- all.
type wordList []string

// Decode implements kong.MapperValue.
func (l *wordList) Decode(ctx *kong.DecodeContext) error {
	for all := false; ; {
		t := ctx.Scan.Peek()
		switch {
		case t.IsEOL():
			return nil
		case !all && t.Type == kong.UntypedToken && t.Value == "--":
			all = true
			ctx.Scan.Pop()
			continue
		case !all && !t.IsValue() && t.Value != "-":
			return nil
		}
		s, ok := ctx.Scan.Pop().Value.(string)
		if !ok {
			return errors.New("not a text")
		}
		*l = append(*l, s)
	}
}

// answerJSON is one answer. Every key is always there; null is what the kind
// of question has no answer to.
type answerJSON struct {
	Word    string      `json:"word"`
	Kind    string      `json:"kind"`     // path, host, variable
	Name    string      `json:"name"`     // absolute path, host and port, or variable
	Inside  string      `json:"inside"`   // a path's name inside
	LeadsTo string      `json:"leads_to"` // where links in a path lead inside; "" without any
	Type    string      `json:"type"`     // of what a path is inside: directory, file, socket, fifo, device, absent; unknown when it may not be looked at
	Seen    *bool       `json:"seen"`
	Read    *bool       `json:"read"`
	Write   *bool       `json:"write"`
	Connect *bool       `json:"connect"`
	Reached *bool       `json:"reached"`
	Rule    *ruleJSON   `json:"rule"` // null when none decides
	Why     string      `json:"why"`
	Levers  []leverJSON `json:"levers"`
	NoLever string      `json:"no_lever"` // why no more is possible
}

type ruleJSON struct {
	Access  string `json:"access"`  // private, closed, write, read, protect, block; on, off; pass, drop, set, unset
	Path    string `json:"path"`    // as the rule has it: a pattern, or with links
	Setting string `json:"setting"` // of a host or a variable
	Layer   string `json:"layer"`
	Source  string `json:"source"`
}

type leverJSON struct {
	To    string   `json:"to"`    // read, write, connect, hide, reach, close, see, drop
	Flags []string `json:"flags"` // of a run; none when there is only a text
	Text  string   `json:"text"`
}

// insight is what answers are made from.
type insight struct {
	within    bool // this process is inside
	walled    bool // the engine is Landlock
	belted    bool // the engine is sandbox-exec
	cwd, home string
	exists    func(name string) bool // of a file in the working directory
	path      func(path string) access.Verdict
	network   bool
	netFrom   string
	scoped    []string // what Landlock keeps the command from
	variable  func(name string) variable
	locked    func(flags []string) string // why the administrator refuses flags, or ""
}

func (c *whyCmd) Run() error {
	c.aliases()
	if len(c.Words) == 0 {
		return app.Failed("nothing to ask about", "sbx why PATH, sbx why HOST or sbx why NAME")
	}
	in, err := c.insight()
	if err != nil {
		return err
	}
	answers := make([]answerJSON, 0, len(c.Words))
	for _, word := range c.Words {
		a, err := c.answer(in, word)
		if err != nil {
			return err
		}
		answers = append(answers, *a)
	}
	return show(c.JSON, answers, func() error { return printAnswers(answers, in.within) })
}

func (c *whyCmd) insight() (*insight, error) {
	if m, ok := app.Inside(); ok {
		if c.asksForRun() {
			return nil, app.Failed("inside a sandbox the policy is fixed: the flags of a run change nothing",
				"leave them out, or ask where the sandbox is started")
		}
		return inside(m)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.NoSandbox {
		return nil, app.Failed("with --no-sandbox everything is open to the command", "")
	}
	return outside(c.Flags)
}

// asksForRun reports whether flags of a run were given, and not only those
// about the output.
func (c *whyCmd) asksForRun() bool {
	o := c.options
	o.JSON, o.Verbose, o.Quiet, o.LogLevel = false, false, false, ""
	return !reflect.ValueOf(o).IsZero()
}

// outside makes the plan that a run with these flags would have.
func outside(flags app.Flags) (*insight, error) {
	s, err := app.Load(app.ForRun(flags, nil))
	if err != nil {
		return nil, err
	}
	s.TellNotices()
	if off := s.DisabledBy(); off != "" {
		app.Say("warning", off+": a run has no sandbox; this is what it would be")
	}
	if s.Host.Modelled && !flags.Quiet {
		app.Say("notice", "this is not a Mac: the files of the system are those that every Mac has, and paths are those of this machine")
	}
	plan, err := s.PlanAnywhere()
	if err != nil {
		return nil, err
	}
	pol := plan.Report.Policy
	return &insight{
		walled: plan.Engine == host.EngineLandlock, belted: plan.Engine == host.EngineSeatbelt,
		cwd: s.Vars.CWD, home: s.Vars.Home, exists: fileIn(s.Host),
		path:    plan.Report.Ask,
		network: pol.Network, netFrom: pol.Where["allow_network"], scoped: plan.Scoped(),
		variable: func(name string) variable { return planned(plan, name) },
		locked:   func(flags []string) string { return s.Locked(flags[0], flags[len(flags)-1]) },
	}, nil
}

// inside takes the rules from the manifest and looks at the rest.
func inside(m *app.Manifest) (*insight, error) {
	s, err := app.Here("")
	if err != nil {
		return nil, err
	}
	sight, err := m.Sight(s.Host, app.ManifestFile())
	if err != nil {
		return nil, err
	}
	return &insight{
		within: true, walled: m.Engine == host.EngineLandlock, belted: m.Engine == host.EngineSeatbelt,
		cwd: s.Vars.CWD, home: s.Vars.Home, exists: fileIn(s.Host),
		path:    sight.Ask,
		network: m.Network == "true", netFrom: m.Sources["allow_network"], scoped: m.Scoped,
		variable: func(name string) variable { return given(m, s.Host.Environ, name) },
		locked:   func([]string) string { return "" },
	}, nil
}

func fileIn(h *host.Host) func(string) bool {
	return func(name string) bool {
		if h.CWD == "" || len(name) > 255 {
			return false
		}
		info, err := h.FS.Lstat(strings.TrimSuffix(h.CWD, "/") + "/" + name)
		return err == nil && info.Kind != host.Absent
	}
}

// answer finds out what a word is, and answers for it.
func (c *whyCmd) answer(in *insight, word string) (*answerJSON, error) {
	kind, err := c.kind(in, word)
	if err != nil {
		return nil, err
	}
	var a *answerJSON
	switch kind {
	case "path":
		a, err = in.answerPath(word)
	case "host":
		a, err = in.answerHost(word)
	default:
		a, err = in.answerVariable(word)
	}
	if err != nil {
		return nil, err
	}
	a.Kind = kind
	in.dropLocked(a)
	for i := range a.Levers {
		if l := &a.Levers[i]; slices.ContainsFunc(l.Flags, func(f string) bool { return !utf8.ValidString(f) }) {
			l.Flags = []string{} // JSON cannot say it; the text, quoted for a shell, can
		}
	}
	return a, nil
}

// dropLocked takes out what the administrator does not let anyone have.
func (in *insight) dropLocked(a *answerJSON) {
	open := []leverJSON{}
	for _, l := range a.Levers {
		if len(l.Flags) > 0 {
			if why := in.locked(l.Flags); why != "" {
				a.NoLever = why
				continue
			}
		}
		open = append(open, l)
	}
	a.Levers = open
}

func (c *whyCmd) kind(in *insight, word string) (string, error) {
	scheme, _, url := strings.Cut(word, "://")
	switch {
	case word == "":
		return "", app.Failed("an empty word is neither a path nor a host nor a variable", "")
	case c.Path:
		return "path", nil
	case c.Host:
		return "host", nil
	case c.Var:
		return "variable", nil
	case url && (scheme == "unix" || scheme == "file"):
		return "path", nil
	case url && strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+.-") == "":
		return "host", nil
	case strings.Contains(word, "/") || word[0] == '~' || word[0] == '.':
		return "path", nil
	case in.exists(word):
		return "path", nil
	case word[0] == '@':
		return "host", nil
	case constant(word) || in.variable(word).known:
		return "variable", nil
	case strings.ContainsAny(word, ".:") || word == "localhost":
		return "host", nil
	}
	return "", app.Failed(text.Plain(word)+": neither a path nor a host nor a variable that is set",
		"say which it is: --path, --host or --var")
}

// constant reports whether a word is written as most variables are.
func constant(word string) bool {
	return policy.ValidName(word) && word == strings.ToUpper(word)
}

// answerPath asks for a path as the command line names paths.
func (in *insight) answerPath(word string) (*answerJSON, error) {
	path := word
	if scheme, rest, ok := strings.Cut(word, "://"); ok && (scheme == "unix" || scheme == "file") {
		path = rest
	}
	switch {
	case path == "":
		return nil, app.Failed(text.Plain(word)+": an empty path", "")
	case path == "~" || strings.HasPrefix(path, "~/"):
		if in.home == "" {
			return nil, app.Failed(text.Plain(word)+": there is no home directory", "")
		}
		path = in.home + path[1:]
	case path[0] != '/':
		if in.cwd == "" {
			return nil, app.Failed("the working directory no longer exists",
				"cd to a directory that exists, or name the whole path")
		}
		path = in.cwd + "/" + path
	}
	ans := in.path(path)
	a := &answerJSON{Word: word, Name: filepath.Clean(path), Inside: ans.Path, Type: kindName(ans.Kind),
		Seen: &ans.Seen, Read: &ans.Read, Write: &ans.Write, Connect: &ans.Connect, Why: ans.Why, NoLever: ans.Fixed}
	if ans.To != ans.Path {
		a.LeadsTo = ans.To
	}
	if m := ans.Rule; m != nil {
		a.Rule = &ruleJSON{Access: m.Word(), Path: m.Written, Layer: m.Layer.String(), Source: m.Source}
	}
	for _, l := range ans.Remedies {
		a.lever(l.To, l.Text, l.Flags...)
	}
	return a, nil
}

// lever adds a way to another answer: flags of a run, or a text.
func (a *answerJSON) lever(to, text string, flags ...string) {
	if len(flags) > 0 {
		if text != "" {
			text = " (" + text + ")"
		}
		text = "sbx " + shellLine(flags) + " -- …" + text
	}
	a.Levers = append(a.Levers, leverJSON{to, orEmpty(flags), text})
}

func kindName(k host.Kind) string {
	return [...]string{"absent", "directory", "file", "link", "socket", "fifo", "device", "unknown"}[k]
}
