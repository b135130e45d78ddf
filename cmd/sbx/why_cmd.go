// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/lookpath"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
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

type answersJSON struct {
	Answers []answerJSON `json:"answers"`
}

// answerJSON is one answer. Every key is always there; null is what the kind
// of question has no answer to.
type answerJSON struct {
	Word     string       `json:"word"`
	Kind     string       `json:"kind"`     // path, program, host, port, variable
	Name     string       `json:"name"`     // absolute path, host and port, or variable
	Inside   string       `json:"inside"`   // a path's name inside
	LeadsTo  string       `json:"leads_to"` // where links in a path lead inside; "" without any
	Type     string       `json:"type"`     // of what a path is inside: directory, file, socket, fifo, device, absent; unknown when it may not be looked at
	Seen     *bool        `json:"seen"`
	Read     *bool        `json:"read"`
	Write    *bool        `json:"write"`
	Execute  *bool        `json:"execute"` // of a program
	Connect  *bool        `json:"connect"`
	Reached  *bool        `json:"reached"`
	Found    string       `json:"found"`     // a program's file outside, "" inside
	Listens  *bool        `json:"listening"` // a server of the host at a port; null inside
	Rule     *ruleJSON    `json:"rule"`      // null when none decides
	Why      string       `json:"why"`
	Remedies []remedyJSON `json:"remedies"`
	NoRemedy string       `json:"no_remedy"` // why no more is possible
}

type ruleJSON struct {
	Access  string `json:"access"`  // private, closed, write, read, protect, block; on, off; pass, drop, set, unset
	Path    string `json:"path"`    // as the rule has it: a pattern, or with links
	Setting string `json:"setting"` // of a host or a variable
	Layer   string `json:"layer"`
	Source  string `json:"source"`
}

type remedyJSON struct {
	To    string   `json:"to"`    // read, write, connect, hide, reach, close, see, drop
	Flags []string `json:"flags"` // of a run; none when there is only a text
	Text  string   `json:"text"`
	Note  string   `json:"-"` // of the text, beside the flags
}

// insight is what answers are made from.
type insight struct {
	within    bool   // this process is inside
	engine    string // host.EngineBwrap and so on
	cwd, home string
	files     host.FS
	exists    func(name string) bool // of a file in the working directory
	path      func(path string) access.Verdict
	network   bool
	netFrom   string
	scoped    []string // what Landlock keeps the command from
	variable  func(name string) variable
	program   func(name string) (outside, within string, err error) // its files in PATH, and why it does not run
	locked    func(flag, value string) string                       // why the administrator refuses a flag, or ""
}

func (c *whyCmd) Run() error {
	c.aliases()
	if len(c.Words) == 0 {
		if flags := c.typed(); len(flags) > 0 {
			return app.Failed("nothing to ask about", "name something: sbx why "+text.ShellLine(flags)+" .env")
		}
		_, err := stdout.WriteString(whyTeaches)
		return err
	}
	in, err := c.insight()
	if err != nil {
		return err
	}
	var answers []answerJSON
	for _, word := range c.Words {
		kinds, err := c.kinds(in, word)
		if err != nil {
			return err
		}
		for _, kind := range kinds {
			a := answerJSON{Word: word, Kind: kind, Name: strings.Trim(word, "${}")}
			if kind != "variable" {
				a.Name = word
			}
			if err := in.answer(&a); err != nil {
				return err
			}
			answers = append(answers, a)
		}
	}
	return show(c.JSON, answersJSON{answers}, func() error { return in.print(answers, c.typed()) })
}

func (c *whyCmd) insight() (*insight, error) {
	m, ok := engine.Inside()
	if !ok {
		return c.outside()
	}
	o := c.options // less what is about the output
	o.JSON, o.Verbose, o.Quiet, o.LogLevel = false, false, false, ""
	if !reflect.ValueOf(o).IsZero() {
		return nil, app.Failed("inside a sandbox the policy is fixed: the flags of a run change nothing",
			"leave them out, or ask where the sandbox is started")
	}
	return inside(m)
}

// outside makes the plan that a run with these flags would have.
func (c *whyCmd) outside() (*insight, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.NoSandbox {
		return nil, app.Failed("with --no-sandbox everything is open to the command", "")
	}
	s, err := app.Load(app.ForRun(c.Flags, nil))
	if err != nil {
		return nil, err
	}
	s.TellNotices()
	if off := s.DisabledBy(); off != "" {
		app.Say("warning", off+": a run has no sandbox; this is what it would be")
	}
	if s.Host.Modelled && !c.Quiet {
		app.Say("notice", "this is not a Mac: the files of the system are those that every Mac has, and paths are those of this machine")
	}
	plan, err := s.PlanAnywhere()
	if err != nil {
		return nil, err
	}
	pol, in := plan.Report.Policy, about(&s.Caller, plan.Engine)
	in.path, in.locked = plan.Report.Ask, s.Locked
	in.network, in.netFrom, in.scoped = pol.Network, pol.Where["allow_network"], plan.Scoped()
	in.variable = func(name string) variable { return planned(plan, name) }
	in.program = func(name string) (outside, within string, err error) {
		path, _ := host.LookupEnv(plan.Env, "PATH")
		outside, _ = s.Host.Tool(name, s.Host.Path())
		within, err = plan.Report.View.LookCommand(name, path)
		return outside, within, err
	}
	return in, nil
}

// inside takes the rules from the manifest and looks at the rest.
func inside(m *engine.Manifest) (*insight, error) {
	s, err := app.Here("")
	if err != nil {
		return nil, err
	}
	sight, err := m.Sight(s.Host, engine.ManifestFile())
	if err != nil {
		return nil, err
	}
	in := about(s, m.Engine)
	in.within, in.path = true, sight.Ask
	in.locked = func(string, string) string { return "" }
	in.network, in.netFrom, in.scoped = m.Network == "true", m.Sources["allow_network"], m.Scoped
	in.variable = func(name string) variable { return given(m, s.Host.Environ, name) }
	in.program = func(name string) (string, string, error) {
		file := lookpath.First(s.Host.Path(), name, app.Runs)
		if file == "" {
			return "", "", &host.Error{Text: "no directory of PATH here has it; whether the host has is not known inside"}
		}
		return "", file, nil
	}
	return in, nil
}

// about is what is known before the rules are.
func about(c *app.Caller, engine string) *insight {
	h := c.Host
	return &insight{engine: engine, cwd: c.Vars.CWD, home: c.Vars.Home, files: h.FS, exists: func(name string) bool {
		if h.CWD == "" || len(name) > 255 {
			return false
		}
		info, err := h.FS.Lstat(strings.TrimSuffix(h.CWD, "/") + "/" + name)
		return err == nil && info.Kind != host.Absent
	}}
}

// answer answers for a word of a kind.
func (in *insight) answer(a *answerJSON) (err error) {
	switch a.Kind {
	case "path":
		err = in.answerPath(a)
	case "program":
		in.answerProgram(a)
	case "port":
		a.Name = "localhost:" + strings.TrimPrefix(a.Word, ":")
		err = in.answerHost(a)
	case "host":
		err = in.answerHost(a)
	default:
		err = in.answerVariable(a)
	}
	open := []remedyJSON{}
	for _, l := range a.Remedies {
		n := len(l.Flags)
		if n > 0 {
			if why := in.locked(l.Flags[0], l.Flags[n-1]); why != "" { // the administrator lets no one have it
				a.NoRemedy = why
				continue
			}
		}
		if slices.ContainsFunc(l.Flags, func(f string) bool { return !utf8.ValidString(f) }) {
			l.Flags = []string{} // JSON cannot say it; the text, quoted for a shell, can
		}
		open = append(open, l)
	}
	a.Remedies = open
	return err
}

// kinds are what a word may mean: a file and a program of that name are both answered for.
func (c *whyCmd) kinds(in *insight, word string) (kinds []string, err error) {
	first, err := c.kind(in, word)
	if kinds = append(kinds, first); err != nil || c.Path || c.Host || c.Var || strings.Contains(word, "/") || word[0] == '.' {
		return kinds, err
	}
	if first == "path" && port(word) {
		kinds = append(kinds, "port")
	}
	if first != "program" && in.runs(word) {
		kinds = append(kinds, "program")
	}
	return kinds, nil
}

func (c *whyCmd) kind(in *insight, word string) (string, error) {
	scheme, _, url := strings.Cut(word, "://")
	switch {
	case word == "":
		return "", app.Failed("an empty word", "")
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
	case port(word):
		return "port", nil
	case word[0] == '$' && policy.ValidName(strings.Trim(word, "${}")):
		return "variable", nil
	case word[0] == '@':
		return "host", nil
	case policy.ValidName(word) && word == strings.ToUpper(word) || in.variable(word).known:
		return "variable", nil
	case in.runs(word) || slices.Contains(engine.Builtins, word):
		return "program", nil
	case strings.ContainsAny(word, ".:") || word == "localhost":
		return "host", nil
	}
	return "", app.Failed(text.Plain(word)+": no file here, no program in PATH, no host and no variable that is set",
		"say which it is: --path, --host or --var")
}

// answerPath asks for a path as the command line names paths.
func (in *insight) answerPath(a *answerJSON) error {
	path := a.Word
	if scheme, rest, ok := strings.Cut(path, "://"); ok && (scheme == "unix" || scheme == "file") {
		path = rest
	}
	switch {
	case path == "":
		return app.Failed(text.Plain(a.Word)+": an empty path", "")
	case path == "~" || strings.HasPrefix(path, "~/"):
		if in.home == "" {
			return app.Failed(text.Plain(a.Word)+": there is no home directory", "")
		}
		path = in.home + path[1:]
	case path[0] != '/':
		if in.cwd == "" {
			return app.Failed("the working directory no longer exists",
				"cd to a directory that exists, or name the whole path")
		}
		path = in.cwd + "/" + path
	}
	v := in.path(path)
	a.Name, a.Inside, a.Type = filepath.Clean(path), v.Path, kindNames[v.Kind]
	a.Seen, a.Read, a.Write, a.Connect, a.Why, a.NoRemedy = &v.Seen, &v.Read, &v.Write, &v.Connect, v.Why, v.Fixed
	a.decides(&v)
	if _, _, err := in.program(path); v.Kind == host.File && v.Read && err != nil && strings.Contains(err.Error(), "interpreter") {
		_, why, _ := strings.Cut(err.Error(), ": ")
		a.Why += "; as a program it does not run: " + why
		a.opens(err)
	}
	for _, l := range v.Remedies {
		a.remedy(l.To, l.Text, l.Flags...)
	}
	return nil
}

// decides takes over where links in a path lead, and the rule about it.
func (a *answerJSON) decides(v *access.Verdict) {
	if v.To != v.Path {
		a.LeadsTo = v.To
	}
	if m := v.Rule; m != nil {
		a.Rule = &ruleJSON{Access: m.Word(), Path: m.Written, Layer: m.Layer.String(), Source: m.Source}
	}
}

// kindNames are the words for each [host.Kind].
var kindNames = [...]string{"absent", "directory", "file", "link", "socket", "fifo", "device", "unknown"}

// remedy adds a way to another answer: flags of a run, or a text.
func (a *answerJSON) remedy(to, note string, flags ...string) {
	line := note
	if len(flags) > 0 {
		line = "sbx " + text.ShellLine(flags)
		if note != "" {
			line += " (" + note + ")"
		}
	}
	a.Remedies = append(a.Remedies, remedyJSON{to, orEmpty(flags), line, note})
}

// variable is what becomes of an environment variable; never its value.
type variable struct {
	known  bool   // the caller has it, or sbx sets it
	seen   bool   // the command has it
	action string // pass, drop, set; unset when no one has it
	source string // of the rule
	note   string
}

// planned is what a plan does with a variable, or would do.
func planned(p *engine.Plan, name string) variable {
	for _, c := range p.Report.Env {
		if c.Name == name {
			return variable{known: true, seen: c.Action != "drop", action: c.Action, source: c.Source}
		}
	}
	v := p.Report.Policy.Env(name)
	would := "would be dropped"
	if v.Pass {
		would = "would be passed"
	}
	return variable{action: "unset", source: v.Source, note: "it is not set; if it were, it " + would}
}

// given is what the manifest and the environment say inside. What the
// command itself has changed since cannot be told from what it was given.
func given(m *engine.Manifest, environ []string, name string) variable {
	v := variable{action: "unset", note: "it is not set here"}
	v.seen = slices.ContainsFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	v.known = v.seen
	if i := slices.IndexFunc(m.Env, func(e view.EnvChange) bool { return e.Name == name }); i >= 0 {
		v.known, v.action, v.source, v.note = true, m.Env[i].Action, m.Env[i].Source, ""
		switch {
		case v.seen && v.action == "drop":
			v.note = "it was dropped, and has been set inside since"
		case !v.seen && v.action != "drop":
			v.note = "it was given, and has been unset inside since"
		}
		return v
	}
	switch {
	case v.seen && m.Environment == "list":
		v.action, v.source, v.note = "set", "", "it has been set inside"
	case v.seen:
		v.action, v.source, v.note = "pass", policy.Inherited, ""
	case m.Environment == "list":
		v.source = policy.Unlisted
	}
	return v
}

func (in *insight) answerVariable(a *answerJSON) error {
	if strings.ContainsAny(a.Name, "=\x00") {
		word, _, _ := strings.Cut(a.Name, "=")
		return app.Failed(text.Plain(word)+"=…: a name of a variable holds no =", "ask for the name alone")
	}
	v := in.variable(a.Name)
	a.Seen, a.Rule, a.Why = &v.seen, &ruleJSON{Access: v.action, Source: v.source}, v.note
	if i := strings.LastIndex(v.source, " drops "); i >= 0 {
		a.Rule.Source, a.Rule.Setting = v.source[:i], "env_drop "+v.source[i+len(" drops "):]
	}
	if a.Why == "" {
		a.Why = whyVariable(a.Name, v, a.Rule)
	}
	own := []string{"SBX_PROFILE", "SBX_TIER"}
	if (in.engine == host.EngineLandlock || in.engine == host.EngineSeatbelt) && v.source == "sbx" {
		own = append(own, "SBX_MANIFEST", "TMPDIR")
	}
	switch {
	case slices.Contains(own, a.Name):
		a.NoRemedy = "sbx sets it itself"
	case v.action == "drop" || v.action == "unset" && v.source != policy.Inherited && v.source != "":
		if policy.ValidName(a.Name) {
			a.remedy("see", "", "--env", a.Name)
		} else {
			a.NoRemedy = "--env takes names of letters, digits and _"
		}
	case v.action == "pass":
		a.remedy("drop", "env_drop = ["+strconv.Quote(a.Name)+"] in a config file")
	}
	return nil
}

func whyVariable(name string, v variable, r *ruleJSON) string {
	switch v.action {
	case "set":
		if v.source == "sbx" {
			return "sbx sets it"
		}
		return "set by " + v.source
	case "drop":
		switch {
		case r.Setting != "":
			return "dropped by " + strings.TrimPrefix(r.Setting, "env_drop ") + " of " + r.Source
		case v.source == policy.Unlisted:
			return "dropped: only what a rule names is let through"
		}
		return "dropped: " + v.source
	}
	why := "passed by a rule of " + v.source
	if v.source == policy.Inherited {
		why = "passed: no rule drops it"
	}
	switch name {
	case "PATH":
		why += "; directories that are not inside are taken out of it"
	case "SHELL":
		why += "; it is /bin/sh when the shell is not inside"
	}
	return why
}
