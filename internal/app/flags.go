// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Flags are the flags of a run, those in SBX_FLAGS first. The zero value says
// nothing. The tags are for kong: how each is written, and its help.
type Flags struct {
	Profile    []string `short:"p" placeholder:"NAME" help:"Profile: strict, moderate (default), permissive, or one of yours; again to add more." group:"Sandbox"`
	AllowWrite []string `short:"w" placeholder:"PATH" help:"Make PATH writable." group:"Files"`
	AllowRead  []string `short:"r" placeholder:"PATH" help:"Make PATH readable, a hidden secret too." group:"Files"`
	Block      []string `placeholder:"PATH" help:"Hide PATH." group:"Files"`
	Device     []string `placeholder:"NAME" help:"Open devices of the host: gpu, kvm, or a path in /dev that you may open." group:"Files"`
	Net        bool     `xor:"net" help:"Share the network." group:"Network"`
	NoNet      bool     `xor:"net" help:"No network, whatever the profile says." group:"Network"`
	Env        []string `placeholder:"NAME[=VALUE]" help:"Let variables through by name or pattern ('GH_*'), or set one." group:"Environment"`
	ReadOnly   bool     `help:"Make the project read-only." group:"Files"`
	Workspace  string   `placeholder:"PATH" help:"Show the project at PATH inside." group:"Files"`
	Git        string   `placeholder:"LEVEL" help:"How much of .git is writable: none, commit or full." group:"Files"`
	Cache      string   `placeholder:"KIND" help:"Where ~/.cache goes: none or private (to the project)." group:"Files"`
	Scope      string   `placeholder:"WHAT" help:"What is writable: project (the work tree or workspace around the working directory) or cwd." group:"Files"`
	Protect    string   `placeholder:"HOW" help:"Protected paths where the engine cannot make them read-only: auto (put back after the run) or enforce (nothing can be created beside them)." group:"Files"`
	Seccomp    string   `placeholder:"LEVEL|FILE" help:"System call filter: default, strict (only what is usual), dev (debuggers work) or off; or a file in the form of Docker and OCI." group:"Sandbox"`
	NewSession string   `placeholder:"WHEN" help:"Run in a new session, without the terminal: auto, yes or no." group:"Sandbox"`
	SharePID   bool     `name:"share-pid" help:"Share the processes of the host: they can be seen and, before Linux 6.12, signalled." group:"Sandbox"`
	KeepFD     []int    `name:"keep-fd" placeholder:"N" help:"Pass descriptor N on, whatever it refers to." group:"Sandbox"`
	Timeout    string   `placeholder:"DURATION" help:"End the command after this time (30s, 5m)." group:"Limits"`
	Memory     string   `placeholder:"SIZE" help:"Limit the memory of all processes together (512M, 2G)." group:"Limits"`
	CPUs       string   `name:"cpus" placeholder:"N" help:"Limit processor time to that of N processors (1, 0.5)." group:"Limits"`
	Procs      string   `placeholder:"N" help:"Limit the number of processes and threads." group:"Limits"`
	FileSize   string   `placeholder:"SIZE" help:"Limit the size of each file that is written (512K, 100M)." group:"Limits"`
	Engine     string   `placeholder:"NAME" help:"auto, bwrap, landlock (tier reduced, needs nothing installed), or sandbox-exec (macOS; with --dry-run anywhere)." group:"Sandbox"`
	MinTier    string   `placeholder:"TIER" help:"Refuse to run with less than this: full or reduced." group:"Sandbox"`
	Direct     bool     `help:"Run without sbx as process 1 of the sandbox: a millisecond faster, and bwrap handles signals." group:"Sandbox"`
	Argv0      string   `name:"argv0" placeholder:"NAME" help:"Call the command by this name (its argument 0)." group:"Command"`
	NoSandbox  bool     `help:"Run without a sandbox, with a warning." group:"Sandbox"`
	Command    []string `short:"c" placeholder:"STRING" help:"Run a string with the shell; words after -- are $0, $1, …" group:"Command"`
	DryRun     bool     `short:"n" help:"Print what would be executed, without doing it." group:"Command"`
	JSON       bool     `name:"json" help:"Print JSON (with --dry-run)." group:"Output"`
	Verbose    bool     `short:"v" xor:"loud" help:"List every restriction on standard error." group:"Output"`
	Quiet      bool     `short:"q" xor:"loud" help:"Print only errors." group:"Output"`
	Config     string   `placeholder:"FILE" help:"Read FILE instead of the user's config file." group:"Sandbox"`
	LogLevel   string   `placeholder:"LEVEL" help:"Log what is read and decided to standard error: error, warn, info or debug." group:"Output"`
}

// named reports whether an engine was asked for by its name: then there is no
// other.
func (f *Flags) named() bool { return f.Engine != "" && f.Engine != "auto" }

// limited is the first flag that sets a limit: one that was asked for on the
// command line is never dropped without a word.
func (f *Flags) limited() string {
	return cmp.Or(given("--timeout", f.Timeout), given("--memory", f.Memory), given("--cpus", f.CPUs),
		given("--procs", f.Procs), given("--file-size", f.FileSize))
}

// beyondPolicy is the first flag that decides about more than the policy.
func (f *Flags) beyondPolicy() string {
	return cmp.Or(given("--no-sandbox", f.NoSandbox), given("--keep-fd", len(f.KeepFD)),
		given("--workspace", f.Workspace), given("--engine", f.Engine), given("--direct", f.Direct),
		given("--argv0", f.Argv0), given("--dry-run", f.DryRun), given("--config", f.Config),
		given("--protect", f.Protect), given("--log-level", f.LogLevel))
}

// given is the name of a flag that has a value.
func given[T comparable](flag string, value T) string {
	var none T
	if value == none {
		return ""
	}
	return flag
}

// profile are the flags as a profile on top of all others.
func (f *Flags) profile(c *Caller) (*policy.Profile, error) {
	p := &policy.Profile{
		Name: "flags", Layer: policy.Flag, Source: "flags", NewSession: f.NewSession, Seccomp: f.Seccomp,
		Git: f.Git, Cache: f.Cache, Workspace: f.Workspace, Scope: f.Scope, Protected: f.Protect, MinTier: f.MinTier, Where: map[string]string{},
	}
	if f.Net || f.NoNet {
		p.AllowNetwork = policy.SwitchOf(f.Net)
	}
	if f.ReadOnly {
		p.ReadOnly = policy.Yes
	}
	if f.SharePID {
		p.SharePID = policy.Yes
	}
	for _, l := range []struct {
		flag  string
		paths []string
		to    *policy.List
	}{{"--allow-write", f.AllowWrite, &p.Write}, {"--allow-read", f.AllowRead, &p.Read},
		{"--block", f.Block, &p.Block}} {
		for _, path := range l.paths {
			full, err := c.FlagPath(l.flag, path)
			if err != nil {
				return nil, err
			}
			l.to.Items = append(l.to.Items, policy.Item{Text: full, Source: l.flag, Layer: policy.Flag, Must: true})
		}
	}
	for _, b := range p.Block.Items {
		for _, open := range slices.Concat(p.Write.Items, p.Read.Items) {
			if open.Text == b.Text {
				return nil, Failed("--block and "+open.Source+" name the same path, "+text.Plain(b.Text), "leave out one of them")
			}
		}
	}
	for _, name := range f.Device {
		if !policy.ValidDevice(name) {
			return nil, Failed("--device: "+text.Plain(name)+" is not gpu, kvm or a path in /dev", "")
		}
		p.Devices.Items = append(p.Devices.Items, policy.Item{Text: name, Source: "--device", Layer: policy.Flag})
	}
	if policy.SeccompFile(f.Seccomp) {
		full, err := c.FlagPath("--seccomp", f.Seccomp)
		if err != nil {
			return nil, err
		}
		p.Seccomp = strings.ReplaceAll(full, "$", "$$")
	}
	if err := f.limits(p); err != nil {
		return nil, err
	}
	for _, s := range p.Scalars() {
		p.Where[s.Key] = f.flagOf(s.Key)
	}
	return p, f.env(p)
}

// flagOf is the flag by which a setting of a profile was made.
func (f *Flags) flagOf(key string) string {
	if key == "allow_network" && f.NoNet {
		return "--no-net"
	}
	flags := map[string]string{"allow_network": "--net", "timeout_seconds": "--timeout", "memory_limit_mb": "--memory",
		"file_size_limit_mb": "--file-size"}
	return cmp.Or(flags[key], "--"+strings.ReplaceAll(key, "_", "-"))
}

// FlagPath makes a path from the command line absolute. Most shells leave the
// "~" in "--allow-write=~/x" to the program.
func (c *Caller) FlagPath(flag, path string) (string, error) {
	switch {
	case path == "":
		return "", Failed(flag+": an empty path", "")
	case path == "~" || strings.HasPrefix(path, "~/"):
		if c.Vars.Home == "" {
			return "", Failed(flag+": "+text.Plain(path)+": there is no home directory", "")
		}
		path = c.Vars.Home + path[1:]
	case path[0] != '/':
		if c.Host.CWD == "" {
			return "", Gone()
		}
		path = c.Host.CWD + "/" + path
	}
	return filepath.Clean(path), nil
}

func (f *Flags) limits(p *policy.Profile) error {
	for _, l := range []struct {
		flag, value, what, hint string
		set                     func(value string) bool
	}{
		{"--timeout", f.Timeout, "a duration", "write 30s, 5m or 1h30m; the least is 1ms", func(v string) bool {
			d, err := time.ParseDuration(v)
			if n, nerr := strconv.ParseFloat(v, 64); nerr == nil {
				d, err = time.Duration(n*float64(time.Second)), nil
			}
			p.TimeoutSeconds = d.Seconds()
			return err == nil && policy.KeyOf("timeout_seconds").Bounds(d.Seconds())
		}},
		{"--memory", f.Memory, "a size in whole mebibytes", "write 512M or 2G; the least is 1M", func(v string) bool {
			mb, ok := size(v)
			p.MemoryLimitMB = int(mb)
			return ok && mb == float64(int(mb))
		}},
		{"--file-size", f.FileSize, "a size", "write 512K, 100M or 2G; the least is 1K", func(v string) (ok bool) {
			p.FileSizeMB, ok = size(v)
			return ok
		}},
		{"--cpus", f.CPUs, "a number of processors", "write 2, or 0.5 for half of one; the least is 0.01 of a processor", func(v string) bool {
			n, err := strconv.ParseFloat(v, 64)
			p.CPUs = n
			return err == nil && policy.KeyOf("cpus").Bounds(n)
		}},
		{"--procs", f.Procs, "a number of processes", "write 64; the least is 1 process", func(v string) bool {
			n, err := strconv.Atoi(v)
			p.Procs = n
			return err == nil && policy.KeyOf("procs").Bounds(float64(n))
		}},
	} {
		if l.value != "" && !l.set(l.value) {
			return Failed(l.flag+": "+text.Plain(l.value)+" is not "+l.what, l.hint)
		}
	}
	return nil
}

// size reads "512K", "512M", "2G" or "1T", with iB or B after it, as mebibytes.
func size(s string) (mb float64, ok bool) {
	upper := strings.ToUpper(s)
	digits := strings.TrimRight(upper, "KMGTIB")
	units := map[string]float64{"K": 1. / 1024, "M": 1, "G": 1 << 10, "T": 1 << 20}
	unit, ok := units[strings.TrimSuffix(strings.TrimSuffix(upper[len(digits):], "B"), "I")]
	n, err := strconv.ParseUint(digits, 10, 63)
	mb = float64(n) * unit
	return mb, ok && err == nil && policy.KeyOf("file_size_limit_mb").Bounds(mb)
}

func (f *Flags) env(p *policy.Profile) error {
	for _, e := range f.Env {
		name, value, set := strings.Cut(e, "=")
		switch {
		case set && !policy.ValidName(name):
			return Failed("--env: "+strconv.Quote(name)+" is not a variable name", "write NAME=VALUE")
		case set:
			// A flag's value is taken as it is.
			value = strings.ReplaceAll(value, "$", "$$")
			p.EnvSet = append(p.EnvSet, policy.Var{Name: name, Value: value})
			p.Where["env_set."+name] = "--env"
		case !policy.ValidName(strings.ReplaceAll(name, "*", "_")):
			return Failed("--env: "+strconv.Quote(name)+" is not a variable name or a pattern of names",
				"write NAME, NAME=VALUE or 'GH_*'")
		default:
			p.EnvPass.Items = append(p.EnvPass.Items, policy.Item{Text: name, Source: "--env", Layer: policy.Flag})
		}
	}
	return nil
}
