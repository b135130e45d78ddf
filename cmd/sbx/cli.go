// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/mattn/go-shellwords"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// options are what a run, explain, why and verify take.
type options struct {
	app.Flags `embed:""`

	// Flags of the requirement documents, for people who come from there.
	Sandbox      bool     `hidden:""`
	SandboxProf  []string `hidden:"" name:"sandbox-profile"`
	SandboxWrite []string `hidden:"" name:"sandbox-allow-write"`
	SandboxNet   bool     `hidden:"" name:"sandbox-allow-network"`
	SandboxDry   bool     `hidden:"" name:"sandbox-dry-run"`
}

// raw takes texts byte for byte: kong's own mappers know escapes and turn what is not
// UTF-8 into U+FFFD. A list that is no flag takes all words up to the next flag.
var raw = kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
	for first := true; first || target.Kind() == reflect.Slice && ctx.Value.Flag == nil &&
		ctx.Scan.Peek().IsValue(); first = false {
		token, err := ctx.Scan.PopValue("value")
		if err != nil {
			return err
		}
		s, ok := token.Value.(string)
		switch {
		case !ok:
			return errors.New("not a text")
		case target.Kind() == reflect.Slice:
			target.Set(reflect.Append(target, reflect.ValueOf(s)))
		default:
			target.SetString(s)
		}
	}
	return nil
})

// newParser reads the grammar of a struct.
func newParser(cli any, options ...kong.Option) (*kong.Kong, error) {
	parser, err := kong.New(cli, append(options, kong.Name("sbx"), kong.Writers(stdout, os.Stderr), kong.Exit(exitHelp), kong.Help(printHelp),
		kong.TypeMapper(reflect.TypeFor[string](), raw), kong.TypeMapper(reflect.TypeFor[[]string](), raw))...)
	if err == nil && parser.Model.HelpFlag != nil {
		parser.Model.HelpFlag.Help = "Show help."
	}
	return parser, err
}

// runCLI is the grammar of a run: flags only.
type runCLI struct {
	options
	colorFlag
	Version bool `help:"Print the version, and what sbx found here."`
}

// colorFlag is known before the flags are parsed, which may fail: see setColor.
type colorFlag struct {
	Color string `placeholder:"WHEN" help:"Colour what sbx prints: auto (on a terminal), always or never." group:"Output"`
}

// setColor looks for --color among flags. The last one counts.
func setColor(args []string) error {
	for i, w := range args {
		if v, ok := strings.CutPrefix(w, "--color="); ok {
			app.Color = v
		} else if w == "--color" && i+1 < len(args) {
			app.Color = args[i+1]
		}
	}
	if app.Color != "" && !slices.Contains(words("color"), app.Color) {
		return app.Failed("--color: "+text.Plain(app.Color)+" is not one of "+strings.Join(words("color"), ", "), "")
	}
	return nil
}

// commandCLI is the grammar of the commands.
type commandCLI struct {
	colorFlag
	Explain    explainCmd    `cmd:"" help:"Show the policy of a run, rule by rule, with the layer of each."`
	Why        whyCmd        `cmd:"" help:"Say whether a file, a program, a host, a port or a variable is open to a command, by which rule, and what changes that."`
	Verify     verifyCmd     `cmd:"" help:"Try to break out of the sandbox of a run, and prove that it holds."`
	Doctor     doctorCmd     `cmd:"" help:"Show what this machine can enforce, why not more, and how to fix it."`
	Agent      agentCmd      `cmd:"" help:"Start a coding agent so that its commands run in sandboxes."`
	Profiles   profilesCmd   `cmd:"" help:"List, show and compare profiles."`
	Status     statusCmd     `cmd:"" help:"Show where you are: project, profile, config files, and what needs attention."`
	Tripwire   tripwireCmd   `cmd:"" help:"Show what earlier runs left that your tools may run, and accept or remove it."`
	Cache      cacheCmd      `cmd:"" help:"Show what the private caches of projects take, and remove them."`
	Init       initCmd       `cmd:"" help:"Write a commented config file."`
	Config     configCmd     `cmd:"" help:"Show what the config files come to, and check them."`
	Schema     schemaCmd     `cmd:"" help:"Print the JSON Schema of config files, for editors."`
	Trust      trustCmd      `cmd:"" help:"Trust project files (.sbx.toml, .sbx.hcl), so that they may loosen the policy."`
	Untrust    untrustCmd    `cmd:"" help:"Stop trusting project files."`
	Shim       shimCmd       `cmd:"" help:"Put sbx in front of tools, so that npm means sbx -- npm."`
	Activate   activateCmd   `cmd:"" help:"Print the shell code that puts the shims first in PATH, for eval in a start-up file."`
	Alias      aliasCmd      `cmd:"" help:"Print aliases that do the same for one shell."`
	Completion completionCmd `cmd:"" help:"Print the completion script of a shell."`
	Man        manCmd        `cmd:"" help:"Show a manual page."`
	Help       helpCmd       `cmd:"" help:"Show the help of sbx, or of one of its commands."`
	Version    versionCmd    `cmd:"" help:"Print the version of sbx, and what it found here."`
}

// commandNames are the first words that are commands of sbx when no -- follows.
var commandNames = []string{"explain", "why", "verify", "doctor", "agent", "profiles", "status", "tripwire", "cache", "init",
	"config", "schema", "trust", "untrust", "shim", "activate", "alias", "completion", "man", "help", "version"}

// complete folds hidden flags into the others, and checks all of them.
func (o *options) complete() error {
	o.aliases()
	return o.check()
}

// exitHelp ends sbx after --help.
func exitHelp(status int) {
	if err := finish(nil); err != nil {
		status = report(err, false)
	}
	os.Exit(status)
}

// aliases folds the hidden flags into the ones they stand for.
func (o *options) aliases() {
	o.Profile = append(o.Profile, o.SandboxProf...)
	o.AllowWrite = append(o.AllowWrite, o.SandboxWrite...)
	o.Net = o.Net || o.SandboxNet
	o.DryRun = o.DryRun || o.SandboxDry
	o.Profile = splitNames(o.Profile)
}

// splitNames are names that were written with commas between them.
func splitNames(words []string) (names []string) {
	for _, w := range words {
		names = append(names, strings.Split(w, ",")...)
	}
	return names
}

// fixed are flags, each with the words that it takes.
var fixed = [...][]string{
	{"git", "none", "commit", "full"}, {"cache", "none", "private"}, {"protect", "auto", "enforce"}, {"scope", "cwd", "project"},
	{"seccomp", "default", "strict", "dev", "off"},
	{"new-session", "auto", "yes", "no"}, {"engine", "auto", "bwrap", "landlock", host.EngineSeatbelt},
	{"min-tier", "full", "reduced"}, {"log-level", "error", "warn", "info", "debug"}, {"color", "auto", "always", "never"},
}

// words are the values of a flag that takes fixed words, nil for another.
func words(flag string) []string {
	for _, f := range fixed {
		if f[0] == flag {
			return f[1:]
		}
	}
	return nil
}

func (o *options) check() error {
	engine := "--engine"
	if env := os.Getenv("SBX_ENGINE"); o.Engine == "" && env != "" {
		engine, o.Engine = "SBX_ENGINE", env
	}
	for _, f := range []struct{ name, value string }{
		{"git", o.Git}, {"cache", o.Cache}, {"protect", o.Protect}, {"scope", o.Scope}, {"seccomp", o.Seccomp},
		{"new-session", o.NewSession},
		{"engine", o.Engine}, {"min-tier", o.MinTier}, {"log-level", o.LogLevel},
	} {
		if f.value == "" || slices.Contains(words(f.name), f.value) || f.name == "seccomp" &&
			policy.SeccompFile(f.value) {
			continue
		}
		hint, flag := meant(f.value, words(f.name), ""), "--"+f.name
		if f.name == "engine" {
			flag = engine
			if policy.Bare(f.value) {
				hint = "to run without a sandbox, use --no-sandbox"
			}
		}
		return app.Failed(flag+": "+text.Plain(f.value)+" is not one of "+strings.Join(words(f.name), ", "),
			hint)
	}
	if o.Direct && o.Timeout != "" {
		return app.Failed("--direct and --timeout contradict each other: a time limit needs sbx as process 1 of the sandbox",
			"")
	}
	if o.Sandbox && o.NoSandbox {
		return app.Failed("--sandbox and --no-sandbox contradict each other", "")
	}
	if o.Net && o.NoNet {
		return app.Failed("--net and --no-net contradict each other", "")
	}
	return nil
}

// envFlags are the flags in SBX_FLAGS, split like a shell's words.
func envFlags() ([]string, error) {
	line := os.Getenv("SBX_FLAGS")
	if line == "" {
		return nil, nil
	}
	p := shellwords.NewParser()
	flags, err := p.Parse(line)
	if err != nil {
		return nil, app.Failed("SBX_FLAGS: "+err.Error(), "")
	}
	// The library stops without a word at |, ;, && and >.
	if p.Position != -1 {
		return nil, app.Failed("SBX_FLAGS: "+strconv.Quote(line)+" holds a character that ends a command",
			"quote it, or take it out")
	}
	return flags, onlyFlags(flags)
}

// withEnvFlags puts the flags of SBX_FLAGS before the words of a command that takes
// those of a run. Inside a sandbox the policy is fixed, and why takes none.
func withEnvFlags(args []string) ([]string, error) {
	if !slices.Contains([]string{"explain", "why", "verify"}, args[0]) {
		return args, nil
	}
	if _, inside := engine.Inside(); inside && args[0] == "why" {
		return args, nil
	}
	flags, err := envFlags()
	if err != nil || len(flags) == 0 {
		return args, err
	}
	os.Unsetenv("SBX_FLAGS")
	os.Args = slices.Concat(os.Args[:1], args[:1], flags, args[1:]) // what verify starts gets these words
	return os.Args[1:], nil
}

// onlyFlags refuses in SBX_FLAGS what decides about the command itself.
func onlyFlags(flags []string) error {
	set := slices.DeleteFunc(slices.Clone(runFlags()), func(f *flag) bool { return f.name == "help" })
	n, bad := set.first(flags)
	switch {
	case bad != nil:
		fixed, _, _ := set.repair(flags, false)
		if bad.text = "SBX_FLAGS: " + bad.text; fixed != nil {
			bad.hint = "export " + text.ShellLine([]string{"SBX_FLAGS=" + text.ShellLine(fixed)})
		}
		return bad.error("")
	case n < len(flags) && flags[n] != "--":
		return app.Failed("SBX_FLAGS: "+strconv.Quote(flags[n])+" is no flag", "")
	}
	cli, err := set.read(flags[:n])
	if err != nil {
		return app.Failed("SBX_FLAGS: "+err.Error(), "")
	}
	if n < len(flags) || len(cli.Command) > 0 || cli.Version {
		return app.Failed("SBX_FLAGS: it holds flags for every run: no --, no --command, no --version", "")
	}
	return nil
}

// blank refuses a flag with an empty value: most often a variable of a script
// that is not set, which must not mean that nothing was asked for. A command may
// have an empty name.
func blank(ctx *kong.Context) error {
	for _, p := range ctx.Path {
		if p.Flag == nil || p.Flag.Name == "argv0" {
			continue
		}
		if v := p.Flag.Target; (v.Kind() == reflect.String || v.Kind() == reflect.Slice) && v.Len() == 0 {
			return emptyValue(p.Flag.Name)
		}
	}
	return nil
}

// callerOutside is the caller of a command that is for the user alone.
func callerOutside(command, why string) (*app.Caller, error) {
	if outer, ok := engine.Inside(); ok {
		return nil, app.Refuses(outer, command, why)
	}
	return app.Here("")
}

// load is the context of a command without flags of a run.
func load() (*app.Context, error) { return app.Load(app.ForRun(app.Flags{}, nil)) }

// runCommand parses and runs one of sbx's own commands.
func runCommand(args []string) error {
	var cli commandCLI
	args, err := withEnvFlags(args)
	if err != nil {
		return err
	}
	given := args
	args, cli.Agent.words = agentWords(args)
	if err := setColor(args); err != nil {
		return err
	}
	parser, err := newParser(&cli,
		kong.BindToProvider(load),
		kong.BindToProvider(loadShims))
	if err != nil {
		return err
	}
	node := child(parser.Model.Node, args[0])
	if bad := wrongCommand(node, args, given); bad != nil {
		return bad
	}
	ctx, err := parser.Parse(flagsOf(node.Flags).joined(args))
	if err != nil {
		return contradiction(err)
	}
	if err := blank(ctx); err != nil {
		return err
	}
	return ctx.Run()
}
