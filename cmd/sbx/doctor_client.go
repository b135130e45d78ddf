// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sbx-sandbox/sbx/internal/agents"
	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/ownfile"
	"github.com/sbx-sandbox/sbx/internal/session"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// clientReport is what sbx doctor says of a client.
type clientReport struct {
	OK      bool     `json:"ok"` // its commands land inside when it is started from here as it is
	Client  string   `json:"client"`
	Title   string   `json:"title"`
	Program string   `json:"program"` // "" when it is not installed
	Seen    string   `json:"seen"`    // how its rule is known
	Here    way      `json:"here"`
	Agent   way      `json:"agent"` // as sbx agent starts it
	Inside  []string `json:"inside"`
	Outside []string `json:"outside"`
	Whole   string   `json:"whole"` // the line that puts the whole client inside

	install string
}

// way is one way to start a client.
type way struct {
	Inside bool   `json:"inside"` // seen by the probe
	Shell  string `json:"shell"`
	Prefix string `json:"prefix,omitempty"`
	By     string `json:"by"`
	Probe  string `json:"probe"`
	Why    string `json:"why,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

// client asks where the commands of a client land: by the client's own rule,
// and then by a command in the form that the client gives it.
func (c *doctorCmd) client(p *progress) error {
	client, ok := agents.Find(c.Client)
	if !ok {
		return unknownAgent(c.Client)
	}
	r := &clientReport{Client: client.Name, Title: client.Title, Seen: client.Seen, Inside: orEmpty(client.Inside),
		Outside: orEmpty(client.Outside), Whole: wholeLine(client), install: client.Install}
	r.Program, _ = installed(client)
	if _, ok := engine.Inside(); ok {
		in := way{Inside: true, Probe: "this runs inside a sandbox, and so does what is started here"}
		r.OK, r.Here, r.Agent = true, in, in
	} else if err := r.ask(client, p.say); err != nil {
		return err
	}
	p.end()
	return tell(c.JSON, r, r.OK, host.StatusFailed)
}

func (r *clientReport) ask(client *agents.Client, step func(string)) error {
	step("trying a shell outside")
	s, err := app.Here("")
	if err != nil {
		return err
	}
	probe, err := newProbe(s)
	if err != nil {
		return err
	}
	defer probe.close()
	shells, err := shellsDir(s)
	if err != nil {
		return err
	}
	if client.Refused != "" {
		r.Here = way{Probe: "not made", Why: client.Refused, Fix: r.Whole}
		r.Agent = r.Here
		return nil
	}
	env := os.Environ()
	// What commands may write here is what sbx agent would let them.
	l := &launch{client: client}
	settled := l.policy(&agentCmd{Quiet: true})
	world := worldOf(s.Host, env)
	world.Writable = l.writable
	here := *l
	here.choice = client.Choose(world)
	if drop, bad, _ := agents.First(world); here.choice.Why == "" && (len(drop) > 0 || bad != "") {
		here.choice.Why = append(drop, bad)[0] +
			" is set: a shell or a loader that it starts outside would run what that names first"
	}
	here.place = agents.Place{Shells: shells, Tmp: probe.dir}
	if dir := os.Getenv(session.Var); dir != "" {
		if _, err := session.Open(dir, s.Host.UID); err != nil {
			return app.Failed(err.Error(), "unset "+session.Var+", or start the client with sbx agent")
		}
		here.place.Tmp, here.place.Line = session.Tmp(dir), dir+"/"+session.Line
		if shell, err := os.Readlink(here.place.Line); err == nil && filepath.Dir(shell) == shells {
			here.place.Target = shell
		}
	}
	step("trying a command as " + client.Name + " starts it")
	r.Here = here.way(env, probe)
	if r.OK = r.Here.Inside; !r.OK {
		r.Here.Fix = "start it with: sbx agent " + client.Name
	}
	step("trying a command as " + client.Name + " starts it under sbx agent")
	r.Agent = r.asAgent(l, settled, probe)
	return nil
}

// asAgent makes a session as sbx agent would, and forgets it.
func (r *clientReport) asAgent(l *launch, err error, probe *probe) way {
	if err == nil && r.Program != "" {
		err = l.trusts(r.Program)
	} else if err == nil {
		l.drop, _, _ = agents.First(l.world(os.Environ()))
	}
	if err == nil {
		err = l.open(session.Create)
	}
	defer l.close()
	if err != nil {
		return way{Probe: "not made", Why: err.Error()}
	}
	return l.way(l.environ(), probe)
}

// way is where a command lands that the client starts in an environment.
func (l *launch) way(env []string, probe *probe) way {
	c := l.choice
	w := way{Shell: c.Shell, Prefix: strings.Join(c.Prefix, " "), By: c.By}
	w.Why, w.Fix = lands(l.client, c, l.place, l.writable)
	switch {
	case c.Shell == "":
		w.Probe = "not made: there is no shell"
	case c.Why != "" || l.writable(c.Shell):
		// Not even to see it: what is wrong may run outside with the first shell.
		w.Probe = "not made"
	default:
		w.Inside, w.Probe = probe.run(c.Shell, l.client.Call(c, l.place, probe.command), env)
		// Both have to say so: the rule may be another tomorrow, and a probe that
		// ran inside says nothing of a client that would start another shell.
		w.Inside = w.Inside && w.Why == ""
	}
	return w
}

// probe is a file that can be read outside and in no sandbox, and a command
// that shows whether it can.
type probe struct {
	dir, word, secret string
	command           string
}

func newProbe(s *app.Caller) (*probe, error) {
	cacheDir := s.CacheDir()
	if cacheDir == "" {
		return nil, app.Failed("there is no home directory to put the file for the probe in", "")
	}
	if err := s.Kept(cacheDir, "there is no place for the file of the probe", ""); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cacheDir, 0o700); err != nil {
		return nil, err
	}
	// What one that was killed left.
	ownfile.Sweep(cacheDir, s.Host.UID, time.Second, func(name string, age func() time.Duration) bool {
		return strings.HasPrefix(name, "doctor-") && age() > time.Hour
	})
	dir, err := os.MkdirTemp(cacheDir, "doctor-")
	if err != nil {
		return nil, err
	}
	p := &probe{dir: dir, word: rand.Text(), secret: rand.Text()}
	file := filepath.Join(dir, "outside")
	if err := os.WriteFile(file, []byte(p.secret+"\n"), 0o600); err != nil {
		p.close()
		return nil, err
	}
	p.command = "echo ran-" + p.word + "; command cat " + text.ShellLine([]string{file}) + " 2>/dev/null; command ls -d " +
		host.ManifestDir + "/policy.json 2>/dev/null; true"
	// Whether the file tells inside from outside is seen first.
	if inside, text := p.run("/bin/sh", agents.Call{Args: []string{"-c", p.command}},
		[]string{"PATH=/usr/bin:/bin"}); inside || text != probeOutside {
		p.close()
		return nil, app.Failed("the probe proves nothing here: /bin/sh, which runs outside of any sandbox, was seen as: "+text, "")
	}
	return p, nil
}

func (p *probe) close() { _ = os.RemoveAll(p.dir) }

const (
	probeInside  = "ran inside"
	probeOutside = "ran, and read a file that no sandbox shows"
)

// run starts a shell as the client does and says where the command ran.
func (p *probe) run(shell string, c agents.Call, env []string) (inside bool, how string) {
	said, errs, err := runLimited(20*time.Second, env, c.Argv0, shell, c.Args...)
	switch {
	case strings.Contains(said, p.secret):
		return false, probeOutside
	case !strings.Contains(said, "ran-"+p.word):
		line, _, _ := strings.Cut(strings.TrimSpace(errs), "\n")
		if line == "" && err != nil {
			line = err.Error()
		}
		return false, "did not run: " + text.Plain(line)
	case strings.Contains(said, host.ManifestDir+"/policy.json"):
		return true, probeInside
	}
	return true, probeInside + " (by the file it could not read)"
}

func (r *clientReport) print() error {
	var checks []check
	line := func(status, name, text string, fixes ...string) {
		checks = append(checks, check{name, status, text,
			slices.DeleteFunc(fixes, func(f string) bool { return f == "" })})
	}
	if r.Program == "" {
		line("note", "client", r.Title+" is not on PATH; its rule is asked all the same ("+r.Seen+")",
			"to install it: "+r.install)
	} else {
		line("ok", "client", r.Title+", "+r.Program+" (its rule: "+r.Seen+")")
	}
	for _, x := range []struct {
		name string
		way
	}{{"as it is", r.Here}, {"sbx agent", r.Agent}} {
		text := x.Probe
		if x.By != "" {
			text = "commands go to " + cmp.Or(x.Prefix, x.Shell) + " (" + x.By + "): " + x.Probe
		}
		if x.Inside {
			line("ok", x.name, text)
		} else {
			line("bad", x.name, "NOT inside: "+cmp.Or(x.Why, text), x.Fix)
		}
	}
	if r.Here.Inside || r.Agent.Inside {
		for _, in := range r.Inside {
			line("ok", "inside", in)
		}
	}
	for _, o := range r.Outside {
		line("note", "outside", o)
	}
	line("note", "whole", "all of it inside: "+r.Whole)
	return printChecks(checks)
}
