// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// others are held against the bwrap of the first row: the least that a Go program
// in front of it costs, no sandbox at all, and other sandboxes.
func (b *bench) others() error {
	first := b.first()
	if first == nil {
		return nil
	}
	floor := *first.base
	floor.path, floor.front = b.floor, append([]string{"floor", floor.path}, floor.front...)
	plain := *first.cmd
	plain.path, plain.front = "/bin/true", nil
	list := []*row{
		{Name: "a Go program that only executes bwrap", cmd: &floor},
		{Name: "no sandbox", cmd: &plain},
	}
	named := b.peers
	for _, p := range peers {
		named = append(named, p.name+"="+p.words)
	}
	for _, p := range named {
		name, words, _ := strings.Cut(p, "=")
		if !b.only.MatchString(name) {
			continue
		}
		c := *first.cmd
		c.front = strings.Fields(strings.ReplaceAll(words, "PROJECT", c.dir))
		if len(c.front) == 0 {
			return fmt.Errorf("-peer %s: NAME=PROGRAM WORDS…", p)
		}
		path, err := exec.LookPath(c.front[0])
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s is not installed\n", name)
			continue
		}
		c.path = path
		if err := c.check(); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s is left out: %.300v\n", name, err)
			continue
		}
		list = append(list, &row{Name: name, cmd: &c})
	}
	for _, r := range list {
		r.Group, r.Unit, r.base, r.share = "others", times, first.base, 4
	}
	b.Rows = append(append(b.Rows, b.parts(&floor)...), list...)
	return nil
}

// parts are what the rows of the table differ by, measured in pairs.
func (b *bench) parts(floor *command) (list []*row) {
	commands := map[string]*command{"floor": floor}
	for _, r := range b.Rows {
		commands[r.Name], commands["bwrap of "+r.Name] = r.cmd, r.base
	}
	for _, p := range []struct{ name, without, with string }{
		{"a Go program that executes bwrap", "bwrap of --direct", "floor"},
		{"the rest of sbx before bwrap", "floor", "--direct"},
		{"process 1", "--direct", "default"},
		{"flags and a TOML file, mounts included", "default", "flags, one TOML file"},
		{"a session, mounts included", "default", "sbx-sh -c, in a session"},
	} {
		r := &row{Name: p.name, Group: "parts", Unit: more, share: 2, base: commands[p.without], cmd: commands[p.with]}
		if r.base != nil && r.cmd != nil {
			list = append(list, r)
		}
	}
	return list
}

// first is the row of a plain run, nil where it is not measured.
func (b *bench) first() *row {
	for _, r := range b.Rows {
		if r.Name == "default" {
			return r
		}
	}
	return nil
}

// facts are the figures that are not the time of a start.
func (b *bench) facts() []*row {
	list := []*row{
		{Name: "package init", Group: "program", Unit: whole, Ceiling: 0.3, ask: b.initTime},
		{Name: "size of the program", Group: "program", Unit: "MB", ask: b.size},
		{Name: "a system call under seccomp = default", Group: "inside", Unit: "ns more", Ceiling: 60, ask: b.filter("default")},
		{Name: "a system call under seccomp = strict", Group: "inside", Unit: "ns more", Ceiling: 60, ask: b.filter("strict")},
	}
	if first := b.first(); first != nil {
		many := &row{Name: "100 parallel starts", Group: "parallel", Unit: "starts per second", Ceiling: 0.65, Goal: 0.75, AtLeast: true}
		many.ask = func() (float64, error) { return many.throughput(first.base, first.cmd) }
		list = append([]*row{
			many,
			{Name: "threads of process 1", Group: "process 1", Unit: "threads", Ceiling: 1, ask: first.cmd.status("Threads:")},
			{Name: "memory of process 1", Group: "process 1", Unit: "kB RSS", Ceiling: 600, ask: first.cmd.status("VmRSS:")},
		}, list...)
	}
	return list
}

// throughput is how many starts sbx manages while bwrap manages one, 100 at a time.
func (r *row) throughput(cmds ...*command) (float64, error) {
	var rates [2]float64
	for i, c := range cmds {
		var err error
		if rates[i], err = c.parallel(400, 100); err != nil {
			return 0, err
		}
		r.samples[i] = append(r.samples[i], rates[i])
	}
	return rates[1] / rates[0], nil
}

// parallel starts the command a number of times, so many at once, and returns how
// many that are per second.
func (c *command) parallel(n, at int) (float64, error) {
	argv := c.argv()
	all := make([][]uintptr, n)
	for i := range all {
		files, err := c.files()
		if err != nil {
			return 0, err
		}
		defer closeAll(files)
		all[i] = files
	}
	begin := time.Now()
	for i := range n + at {
		if i >= at {
			status, err := wait(-1)
			if err := c.failed(status, err); err != nil {
				return 0, err
			}
		}
		if i < n {
			if _, err := c.start(argv, all[i]); err != nil {
				return 0, err
			}
		}
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}

// status asks for a line of /proc/PID/status of process 1 in a running sandbox.
func (c *command) status(line string) func() (float64, error) {
	return func() (float64, error) {
		var got [3]float64
		for i := range got {
			var err error
			if got[i], err = c.processOne(line); err != nil {
				return 0, err
			}
		}
		return median(got[:]), nil
	}
}

func (c *command) processOne(line string) (float64, error) {
	cmd := exec.Cmd{Path: c.path, Args: append(c.front[:len(c.front):len(c.front)], "/bin/sh", "-c", "echo; exec sleep 10"),
		Env: c.env, Dir: c.dir}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil { // the command runs
		return 0, err
	}
	time.Sleep(300 * time.Millisecond) // and process 1 has given back what it needs no more
	all, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, path := range all {
		text, err := os.ReadFile(path)
		ids := field(string(text), "NSpid:") // the last is its own view
		if err == nil && slices.Equal(field(string(text), "PPid:"), []string{strconv.Itoa(cmd.Process.Pid)}) && ids[len(ids)-1] == "1" {
			return strconv.ParseFloat(field(string(text), line)[0], 64)
		}
	}
	return 0, fmt.Errorf("process 1 of %s was not found", c.path)
}

// field are the words after a name at the beginning of a line.
func field(text, name string) []string {
	for l := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(l, name); ok {
			return strings.Fields(rest)
		}
	}
	return nil
}

// initTime is what the runtime says of the start of all packages together: paid by
// every run, also for what it never uses.
func (b *bench) initTime() (float64, error) {
	var sums []float64
	for range 41 {
		cmd := exec.Command(b.sbx, "--version")
		cmd.Env = []string{"GODEBUG=inittrace=1", "HOME=" + b.dir}
		out, err := cmd.CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("sbx --version: %w\n%s", err, out)
		}
		sums = append(sums, sumInit(string(out)))
	}
	return median(sums), nil
}

// sumInit adds up lines such as
// "init internal/bytealg @0.008 ms, 0 ms clock, 0 bytes, 0 allocs".
func sumInit(trace string) float64 {
	var sum float64
	for line := range strings.Lines(trace) {
		f := strings.Fields(line)
		if len(f) < 7 || f[0] != "init" || f[6] != "clock," {
			continue
		}
		ms, err := strconv.ParseFloat(f[4], 64)
		if err == nil {
			sum += ms
		}
	}
	return sum
}

func (b *bench) size() (float64, error) {
	info, err := os.Stat(b.sbx)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / 1e6, nil
}
