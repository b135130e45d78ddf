// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

type options struct {
	sbx, before string
	n, sittings int
	only        *regexp.Regexp
	peers       []string
}

// The statuses besides 0; 3 is an error.
const (
	statusAbove = 1
	statusNoisy = 2
	statusError = 3
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == underFilter {
		end(timeUnder(os.Args[2]))
	}
	var o options
	flag.StringVar(&o.sbx, "sbx", "bin/sbx", "the program to measure")
	flag.StringVar(&o.before, "before", "", "an older `program`, to be measured in the same rounds")
	flag.IntVar(&o.n, "n", 300, "rounds in a sitting")
	flag.IntVar(&o.sittings, "sittings", 3, "sittings; the verdict is about their median")
	quick := flag.Bool("quick", false, "one sitting of 40 rounds")
	only := flag.String("run", "", "measure the rows whose names match a `regexp`; peers and process 1 need the row default")
	flag.Func("peer", "another sandbox: `NAME=PROGRAM WORDS`…, PROJECT stands for the directory to be writable",
		func(s string) error { o.peers = append(o.peers, s); return nil })
	asJSON := flag.Bool("json", false, "print JSON")
	onlyReport := flag.Bool("report", false, "print the verdict, and end with status 0 whatever it is")
	plot := flag.String("plot", "", "measure nothing: write the plot of results.json, the one argument, to an SVG `file`")
	table := flag.String("table", "", "measure nothing: print results.json into a Markdown `file`")
	flag.Parse()
	if *quick {
		o.n, o.sittings = 40, 1
	}
	if *plot != "" || *table != "" {
		end(document(flag.Arg(0), *plot, *table))
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		end(err)
	}
	// bwrap asks to die with its parent, and for the kernel that is the thread
	// that started it; so it is with who is traced by whom.
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	rep, err := run(o)
	if err != nil {
		end(err)
	}
	if *asJSON {
		err = rep.encode(os.Stdout)
	} else {
		rep.print(os.Stdout)
	}
	if err != nil || *onlyReport {
		end(err)
	}
	os.Exit(map[string]int{above: statusAbove, tooNoisy: statusNoisy}[rep.Verdict])
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(statusError)
	}
	os.Exit(0)
}

type bench struct {
	options
	self  string // this program
	floor string // beside this program: one that only executes its words
	dir   string
	made  []string // sessions
	report
}

func run(o options) (*report, error) {
	b := &bench{options: o}
	own()
	fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	null = uintptr(fd)
	for _, path := range []*string{&b.sbx, &b.before} {
		if *path != "" {
			if *path, err = filepath.Abs(*path); err != nil {
				return nil, err
			}
		}
	}
	if b.dir, err = os.MkdirTemp("", "sbx-bench"); err != nil {
		return nil, err
	}
	defer b.tidyUp()
	go func() { // also when someone loses patience
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
		<-stop
		b.tidyUp()
		os.Exit(130)
	}()
	// Paths in a plan are canonical.
	if b.dir, err = filepath.EvalSymlinks(b.dir); err != nil {
		return nil, err
	}
	for _, step := range []func() error{b.standIn, b.prepare} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	b.Version, b.Rounds, b.Machine = 1, b.n, here(b.sbx)
	for range b.sittings {
		if err := b.sit(); err != nil {
			return nil, err
		}
	}
	b.judge()
	return &b.report, nil
}

// own keeps what this process was given from what it measures.
func own() { _ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) }

// sit is one sitting: it adds a figure to each row.
func (b *bench) sit() error {
	byShare := map[int][]*row{}
	for _, r := range b.Rows {
		if r.ask == nil {
			byShare[r.share] = append(byShare[r.share], r)
			continue
		}
		v, err := r.ask()
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		r.Sittings = append(r.Sittings, round(v))
	}
	for share, rows := range byShare {
		var cmds []*command
		for _, r := range rows {
			cmds = append(append(cmds, r.base, r.cmd), r.few...)
		}
		got, err := rounds(max(2, b.n/max(1, share)), cmds)
		if err != nil {
			return err
		}
		if share == slices.Min(slices.Collect(maps.Keys(byShare))) {
			b.Noise = append(b.Noise, round(noise(got[0])))
		}
		for _, r := range rows {
			of := 2 + len(r.few)
			r.add(got[:of])
			got = got[of:]
		}
	}
	return nil
}

// add takes the samples of a sitting: of bwrap and of sbx, then of both without.
func (r *row) add(got [][]float64) {
	var figure float64
	switch r.Unit {
	case times:
		figure = median(pair(got[1], got[0], over))
	case whole:
		figure = median(got[1])
	case more:
		added := pair(got[1], got[0], minus)
		if len(got) > 2 {
			added = pair(added, pair(got[3], got[2], minus), minus)
		}
		figure = median(added)
	}
	r.Sittings = append(r.Sittings, round(figure))
	for i := range r.samples {
		r.samples[i] = append(r.samples[i], got[i]...)
	}
}

func (b *bench) tidyUp() {
	_ = os.RemoveAll(b.dir)
	for _, dir := range b.made {
		_ = os.RemoveAll(dir)
		_ = os.Remove(filepath.Dir(dir))
	}
}

// standIn goes on as a user whose home directory is the one in HOME, as a run
// has it: root's is another one than the site's, and what is hidden in a home
// would be looked for in both. A user without a passwd entry has HOME alone.
func (b *bench) standIn() (err error) {
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.floor = filepath.Join(filepath.Dir(b.self), "floor"); os.Geteuid() != 0 {
		return nil
	}
	const id = 54321
	for name, path := range map[string]*string{"sbx": &b.sbx, "sbx-before": &b.before, "bench": &b.self, "floor": &b.floor} {
		if *path == "" {
			continue
		}
		data, err := os.ReadFile(*path)
		if err != nil {
			return err
		}
		*path = filepath.Join(b.dir, name)
		if err := os.WriteFile(*path, data, 0o755); err != nil {
			return err
		}
	}
	for _, step := range []func() error{
		func() error { return os.Chown(b.dir, id, id) },
		func() error { return syscall.Setgroups(nil) },
		func() error { return syscall.Setgid(id) },
		func() error { return syscall.Setuid(id) },
		func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// here is the machine.
func here(sbx string) machine {
	said := func(program string) string {
		out, _ := exec.Command(program, "--version").Output()
		first, _, _ := strings.Cut(string(out), "\n")
		return first
	}
	var name unix.Utsname
	_ = unix.Uname(&name)
	release, _, _ := bytes.Cut(name.Release[:], []byte{0})
	cpus, _ := os.ReadFile("/proc/cpuinfo")
	model := ""
	for l := range strings.Lines(string(cpus)) {
		if key, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(key) == "model name" {
			model = strings.TrimSpace(v)
			break
		}
	}
	return machine{Kernel: "Linux " + string(release), CPU: model, CPUs: runtime.NumCPU(), Bwrap: said("bwrap"), Sbx: said(sbx), UID: os.Getuid()}
}

// document writes the plot and the table of a measurement.
func document(results, plot, table string) error {
	data, err := os.ReadFile(results)
	if err != nil {
		return err
	}
	rep, err := decode(data)
	if err != nil {
		return fmt.Errorf("%s: %w", results, err)
	}
	if plot != "" {
		err = os.WriteFile(plot, rep.svg(), 0o644)
	}
	if table == "" || err != nil {
		return err
	}
	text, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	begin, end := bytes.Index(text, []byte(tableBegin)), bytes.Index(text, []byte(tableEnd))
	if begin < 0 || end < begin {
		return errors.New(table + " has no " + tableBegin + " … " + tableEnd)
	}
	var printed bytes.Buffer
	rep.brief(&printed)
	text = slices.Concat(text[:begin+len(tableBegin)], []byte("\n\n```text\n"), printed.Bytes(), []byte("```\n\n"), text[end:])
	return os.WriteFile(table, text, 0o644)
}

// Between these stands in a document what -table writes.
const (
	tableBegin = "<!-- written by make bench-docs -->"
	tableEnd   = "<!-- end -->"
)
