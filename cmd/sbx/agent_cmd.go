// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/agents"
	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/wrap"
)

// agentCmd starts a client that runs commands for a model, so that its commands
// run in sandboxes. The client itself runs outside of any, in place of sbx.
type agentCmd struct {
	Profile    []string `short:"p" placeholder:"NAME" help:"Profile for the commands. Again to add more."`
	AllowWrite []string `short:"w" placeholder:"PATH" help:"Make PATH writable for the commands."`
	AllowRead  []string `short:"r" placeholder:"PATH" help:"Make PATH readable."`
	Block      []string `placeholder:"PATH" help:"Hide PATH."`
	Device     []string `placeholder:"NAME" help:"Open devices of the host: gpu, kvm, or a path in /dev that you may open."`
	Net        bool     `xor:"net" help:"Share the network."`
	NoNet      bool     `xor:"net" help:"No network, whatever the profile says."`
	Env        []string `placeholder:"NAME[=VALUE]" help:"Let variables through by name or pattern, or set one."`
	List       bool     `help:"List the clients, and which of their commands run inside."`
	JSON       bool     `name:"json" help:"With --list: print JSON."`
	PrintEnv   bool     `name:"print-env" help:"Print the variables for a client that is started in another way, for eval in a shell."`
	DryRun     bool     `short:"n" help:"Print what would be set and executed, without doing it."`
	Quiet      bool     `short:"q" help:"Print only errors."`
	Name       string   `arg:"" optional:"" name:"client" help:"The client: claude, gemini, opencode, …; all words after it are passed to it."`

	words []string // for the client
}

// agentFlags are the flags of sbx agent that take a word, by all their names.
var agentFlags = []string{"-p", "--profile", "-w", "--allow-write", "-r", "--allow-read", "--block", "--device", "--env",
	"--color"}

// agentWords cuts the arguments behind the name of the client: what follows
// belongs to that, flags and "--" included.
func agentWords(args []string) (own, words []string) {
	if len(args) == 0 || args[0] != "agent" {
		return args, nil
	}
	for i := 1; i < len(args); i++ {
		switch w := args[i]; {
		case slices.Contains(agentFlags, w):
			i++
		case !strings.HasPrefix(w, "-"):
			return args[:i+1], args[i+1:]
		}
	}
	return args, nil
}

// Help says where flags stand.
func (c *agentCmd) Help() string {
	return "Flags come before the client; all words after it are passed to it."
}

func (c *agentCmd) Run() (err error) {
	defer func() {
		if err != nil && c.PrintEnv {
			fmt.Fprintln(exact, "false") // for the eval, so that what comes after && does not start
		}
	}()
	if c.List || c.Name == "" {
		if c.List && c.Name != "" || !c.List && (c.DryRun || c.PrintEnv || c.JSON) {
			return app.Failed("sbx agent: --list takes no client; everything else needs one",
				"sbx agent --list, or sbx agent claude")
		}
		return show(c.JSON, listJSON{"agents": agentList()}, listAgents)
	}
	if c.JSON {
		return app.Failed("--json goes with --list", "sbx agent --list --json")
	}
	client, ok := agents.Find(c.Name)
	if !ok {
		return unknownAgent(c.Name)
	}
	if _, ok := engine.Inside(); ok {
		return c.within(client)
	}
	if client.Refused != "" {
		return app.Failed(client.Title+" is not started, since its commands would not be sandboxed: "+client.Refused,
			whole(client))
	}
	l, err := c.prepare(client)
	if err != nil {
		return err
	}
	switch {
	case c.DryRun:
		return l.show()
	case c.PrintEnv:
		return l.export()
	}
	// What earlier commands left is told before the client could run it.
	if err := l.run.Watch(l.sample); err != nil {
		l.close()
		return err
	}
	if len(l.drop) > 0 && !c.Quiet {
		app.Say("notice", l.client.Title+" does not get "+strings.Join(l.drop,
			", ")+": a shell that it starts outside would run that file first")
	}
	if app.IsTerminal(2) && !c.Quiet {
		app.Say("", l.status())
	}
	return wrap.Become(&engine.Plan{Path: l.argv[0], Argv: l.argv, Env: l.environ()})
}

func unknownAgent(name string) error {
	return app.Failed(strconv.Quote(name)+" is not a client that sbx knows", meant(name, agents.Names(),
		"sbx agent --list; any program runs inside as a whole: sbx -- "+text.ShellLine([]string{name})))
}

func whole(c *agents.Client) string { return "put the whole client inside: " + wholeLine(c) }

func wholeLine(c *agents.Client) string { return "sbx -p " + c.Whole + " -- " + c.Programs[0] }

// within starts the client where a sandbox is around everything already.
func (c *agentCmd) within(client *agents.Client) error {
	if len(c.AllowRead)+len(c.AllowWrite)+len(c.Block)+len(c.Device)+len(c.Env)+len(c.Profile) > 0 || c.Net || c.NoNet {
		return app.Already(": the rights of its commands are fixed")
	}
	h, err := host.Detect()
	if err != nil {
		return err
	}
	program, err := installed(client)
	if err != nil {
		return err
	}
	if !c.Quiet {
		app.Say("notice", "this runs inside a sandbox already: "+client.Title+" runs in the same one, with its commands")
	}
	plan, err := wrap.Bare(append([]string{program}, c.words...), h)
	if err != nil {
		return err
	}
	if c.DryRun || c.PrintEnv {
		return printPlan(plan, false)
	}
	return wrap.Become(plan)
}

// status says in a line what is in force.
func (l *launch) status() string {
	pol := l.run.Policy
	return l.client.Name + ": commands in " + strings.Join(pol.Profiles, "+") + " · net " + app.OnOff(pol.Network) +
		" · rw " + text.Plain(l.session.Root) + " · not inside: " + strings.Join(l.client.Outside, "; ")
}

func (l *launch) show() error {
	for _, v := range l.set {
		fmt.Fprintln(exact, v.Name+"="+text.ShellLine([]string{v.Value}))
	}
	fmt.Fprintln(exact, text.ShellLine(l.argv))
	to := text.Plain(l.choice.Shell)
	if len(l.choice.Prefix) > 0 {
		to = text.ShellLine(l.choice.Prefix)
	}
	pol := l.run.Policy
	fmt.Fprintln(exact, "# its commands go to "+to+" ("+l.choice.By+"), profile "+strings.Join(pol.Profiles,
		"+")+", net "+app.OnOff(pol.Network)+", writable "+text.Plain(l.session.Root))
	return nil
}

// export prints the variables for a POSIX shell.
func (l *launch) export() error {
	for _, n := range append(slices.Clone(settled), l.drop...) {
		fmt.Fprintln(exact, "unset "+n)
	}
	for _, v := range l.set {
		value := text.SingleQuoted(v.Value)
		if onTerminal() { // for a person to read and paste
			value = text.ShellLine([]string{v.Value})
		}
		fmt.Fprintln(exact, "export "+v.Name+"="+value)
	}
	return nil
}

type agentJSON struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Program string   `json:"program"` // "" when it is not installed
	Install string   `json:"install"` // how it is
	Refused string   `json:"refused"` // why sbx agent does not start it; "" when it does
	Inside  []string `json:"inside"`
	Outside []string `json:"outside"`
	Whole   string   `json:"whole"` // the line that puts the whole client inside
}

func agentList() (out []agentJSON) {
	for _, c := range agents.All() {
		program, _ := installed(c)
		out = append(out, agentJSON{c.Name, c.Title, program, c.Install, c.Refused, orEmpty(c.Inside),
			orEmpty(c.Outside), wholeLine(c)})
	}
	return out
}

func listAgents() error {
	w := table()
	for _, c := range agents.All() {
		if c.Refused != "" {
			fmt.Fprintf(w, "%s\t%s\n\tthe whole client; commands alone cannot be: %s\n", c.Name, wholeLine(c), c.Refused)
			continue
		}
		fmt.Fprintf(w, "%s\tsbx agent %s\n\tinside: %s\n", c.Name, c.Name, strings.Join(c.Inside, "; "))
		fmt.Fprintf(w, "\tnot inside: %s\n", strings.Join(c.Outside, "; "))
	}
	return w.Flush()
}
