// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

type options struct {
	sbx   string
	n     int
	slack float64
	json  bool
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == underFilter {
		if err := timeUnder(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	var o options
	quick := flag.Bool("quick", false, "few rounds: -n 40")
	flag.StringVar(&o.sbx, "sbx", "bin/sbx", "the program to measure")
	flag.IntVar(&o.n, "n", 200, "rounds per measurement")
	flag.Float64Var(&o.slack, "slack", 1, "multiply the ceilings, for machines that other people use, too")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	if *quick {
		o.n = 40
	}
	// bwrap asks to die with its parent, and for the kernel that is the thread
	// that started it.
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	ok, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// report is everything that was measured; times are in milliseconds.
type report struct {
	Rounds int    `json:"rounds"`
	Rows   []*row `json:"rows"`
	Facts  []fact `json:"facts"`
	Failed int    `json:"failed"`
}

// row is sbx against the bwrap that it executes.
type row struct {
	Name       string  `json:"name"`
	Rounds     int     `json:"rounds"`
	Bwrap      float64 `json:"bwrap_ms"`
	Floor      float64 `json:"floor_added_ms"` // a program that only executes bwrap
	Sbx        float64 `json:"sbx_ms"`
	P95        float64 `json:"sbx_p95_ms"`
	Added      float64 `json:"added_ms"`
	Allowed    float64 `json:"allowed_ms"` // the ceiling, scaled to this machine by the floor
	Ratio      float64 `json:"ratio"`
	AddedCeil  float64 `json:"added_ceiling_ms"`
	RatioCeil  float64 `json:"ratio_ceiling"`
	Words      int     `json:"bwrap_words"`
	Failed     bool    `json:"failed"`
	Again      bool    `json:"measured_again"`
	bwrap, sbx *command
	floor      *command
	flags      string            // of sbx
	files      map[string]string // in the home directory
	landlock   bool              // the engine of sbx
	shell      bool              // sbx under the name of a shell, in a session
}

// fact is one figure; without a ceiling it is information.
type fact struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	Ceiling float64 `json:"ceiling,omitempty"`
	Failed  bool    `json:"failed"`
	Again   bool    `json:"measured_again,omitempty"`
}

type bench struct {
	options
	sbx   string // absolute
	self  string // this program
	floor string
	dir   string
	report

	sessions []string // made for the measurement
}

func run(o options) (bool, error) {
	b := &bench{options: o}
	fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	null = uintptr(fd)
	if b.sbx, err = filepath.Abs(o.sbx); err != nil {
		return false, err
	}
	if b.dir, err = os.MkdirTemp("", "sbx-bench"); err != nil {
		return false, err
	}
	defer os.RemoveAll(b.dir)
	defer func() {
		for _, dir := range b.sessions {
			_ = os.RemoveAll(dir)
			_ = os.Remove(filepath.Dir(dir))
		}
	}()
	go tidyUp(b.dir)
	// Paths in a plan are canonical.
	if b.dir, err = filepath.EvalSymlinks(b.dir); err != nil {
		return false, err
	}
	for _, step := range []func() error{b.buildFloor, b.standIn, b.measureRows, b.measureInit, b.measureFilters,
		b.measureProject, b.measureSize} {
		if err := step(); err != nil {
			return false, err
		}
	}
	return b.Failed == 0, b.print()
}

// tidyUp removes the directory also when someone loses patience.
func tidyUp(dir string) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	<-stop
	_ = os.RemoveAll(dir)
	os.Exit(130)
}

func (b *bench) buildFloor() error {
	b.floor = filepath.Join(b.dir, "floor")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", b.floor,
		"github.com/sbx-sandbox/sbx/internal/bench/floor")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build internal/bench/floor: %w\n%s", err, out)
	}
	return nil
}

// standIn goes on as a user whose home directory is the one in HOME, as a run
// has it: root's is another one than the site's, and what is hidden in a home
// would be looked for in both. A user without a passwd entry has HOME alone.
func (b *bench) standIn() (err error) {
	if b.self, err = os.Executable(); err != nil || os.Geteuid() != 0 {
		return err
	}
	const id = 54321
	for name, path := range map[string]*string{"sbx": &b.sbx, "bench": &b.self} {
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

// rows makes the situations that have a ceiling. Each is held against the
// bwrap of its --direct run, since raw bwrap has no init.
func (b *bench) rows() ([]*row, error) {
	rows := []*row{
		{Name: "no flags, no file", AddedCeil: 3.1, RatioCeil: 1.7},
		{Name: "no file, --direct", AddedCeil: 1.8, RatioCeil: 1.45, flags: "--direct"},
		{Name: "flags, one TOML file, --direct", AddedCeil: 2.6, RatioCeil: 1.62,
			flags: "--direct -p work -w ../data --env CI=1",
			files: map[string]string{".config/sbx/config.toml": userTOML}},
		{Name: "flags, two HCL files, --direct", AddedCeil: 3.5, RatioCeil: 1.8,
			flags: "--direct -w ../data -w gen -r ../.ssh -r ../.gitconfig --block ../tmp --env LC_* --no-net",
			files: map[string]string{".config/sbx/config.hcl": userHCL, "project/.sbx.hcl": projectHCL}},
		{Name: "flags, seccomp = strict, --direct", AddedCeil: 2.6, RatioCeil: 1.62, flags: "--direct --seccomp strict"},
		// The ratio decides: a whole run against the bwrap of the first row's policy.
		{Name: "no file, engine landlock", AddedCeil: 2, RatioCeil: 1, landlock: true},
		// What stands between an agent and its shell all day. Without a session sbx
		// would ask getent(1) about this user, who is in no database. There are three
		// mounts more than in the first row: the session's directory under its two
		// names, and sbx under the client's.
		{Name: "sbx-sh -c true, in a session", AddedCeil: 3.5, RatioCeil: 1.8, shell: true},
	}
	for i, r := range rows {
		s, err := newSite(b.dir, "home"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		for name, text := range r.files {
			if err := s.write(name, text); err != nil {
				return nil, err
			}
		}
		if err := b.prepare(r, s); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (b *bench) prepare(r *row, s site) (err error) {
	r.sbx = b.sbxCommand(s, strings.Fields(r.flags)...)
	if r.shell {
		r.sbx.argv = []string{"sbx", "--", "/bin/sh", "-c", "true"}
	}
	if r.bwrap, err = b.bwrapCommand(r.sbx); err != nil {
		return err
	}
	if r.landlock {
		r.sbx.env = append(r.sbx.env, "SBX_ENGINE=landlock")
		err = r.sbx.check()
	}
	if r.shell {
		err = b.asShell(r, s)
	}
	r.floor = b.floorCommand(r.bwrap)
	r.Words = r.bwrap.words()
	r.AddedCeil *= b.slack
	r.RatioCeil *= b.slack
	return err
}

func (b *bench) measureRows() error {
	rows, err := b.rows()
	if err != nil {
		return err
	}
	b.Rounds = b.n
	plain := &command{path: "/bin/true", argv: []string{"true"}, env: rows[0].sbx.env, dir: b.dir}
	cmds := []*command{plain}
	for _, r := range rows {
		cmds = append(cmds, r.bwrap, r.floor, r.sbx)
	}
	samples, err := rounds(b.n, cmds)
	if err != nil {
		return err
	}
	for i, r := range rows {
		r.set(samples[1+3*i:])
		if err := r.again(b.n); err != nil {
			return err
		}
		if r.Failed {
			b.Failed++
		}
	}
	b.Rows = rows
	b.Facts = append(b.Facts,
		fact{Name: "/bin/true alone", Value: median(samples[0]), Unit: "ms"},
		fact{Name: "added by a Go program that only executes bwrap", Value: rows[0].Floor, Unit: "ms"})
	return nil
}

// set takes the samples of bwrap, the floor and sbx.
func (r *row) set(s [][]float64) {
	r.Rounds = len(s[0])
	r.Bwrap, r.Sbx, r.P95 = median(s[0]), median(s[2]), quantile(s[2], 0.95)
	r.Floor = median(pair(s[1], s[0], minus))
	r.Added, r.Ratio = median(pair(s[2], s[0], minus)), median(pair(s[2], s[0], over))
	// The ceiling in milliseconds was set where the floor was 1.4; on a machine
	// that is slower than that one, all of it is.
	r.Allowed = r.AddedCeil * max(1, r.Floor/floorThere)
	r.Failed = r.Added > r.Allowed || r.Ratio > r.RatioCeil
}

// slower is how much slower than the machine on which the ceilings were set
// this one is now: those in milliseconds are scaled by it, as in the rows.
func (b *bench) slower() float64 {
	worst := 1.0
	for _, r := range b.Rows {
		worst = max(worst, r.Floor/floorThere)
	}
	return worst
}

// floorThere is what a Go program that only executes bwrap added, in
// milliseconds, on the machine on which the ceilings were set.
const floorThere = 1.4

func (r *row) again(n int) error {
	if !r.Failed {
		return nil
	}
	samples, err := rounds(2*n, []*command{r.bwrap, r.floor, r.sbx})
	if err != nil {
		return err
	}
	r.set(samples)
	r.Again = true
	return nil
}

// gate measures a figure with a ceiling that is scaled to this machine, above it
// once more.
func (b *bench) gate(f fact, measure func(n int) (float64, error)) error {
	f.Ceiling *= b.slack * b.slower()
	for n := b.n; ; n *= 2 {
		var err error
		if f.Value, err = measure(n); err != nil {
			return err
		}
		if f.Failed = f.Value > f.Ceiling; !f.Failed || f.Again {
			break
		}
		f.Again = true
	}
	if f.Failed {
		b.Failed++
	}
	b.Facts = append(b.Facts, f)
	return nil
}

// measureInit sums what the runtime says of the start of each package: paid by
// every run, also for what it never uses.
func (b *bench) measureInit() error {
	return b.gate(fact{Name: "package init", Unit: "ms", Ceiling: 0.3}, func(int) (float64, error) {
		var sums []float64
		for range 41 {
			cmd := exec.Command(b.sbx, "--version")
			cmd.Env = []string{"GODEBUG=inittrace=1", "HOME=" + b.dir}
			out, err := cmd.CombinedOutput()
			if err != nil {
				return 0, fmt.Errorf("sbx --version: %w\n%s", err, out)
			}
			sums = append(sums, initTime(string(out)))
		}
		return median(sums), nil
	})
}

// initTime adds up lines such as
// "init internal/bytealg @0.008 ms, 0 ms clock, 0 bytes, 0 allocs".
func initTime(trace string) float64 {
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

// measureProject compares the planning of a run in a repository of 50,000 files
// with that in an empty directory: nothing may grow with the project. Only the
// planning, since the times of two whole runs differ by more than what is
// looked for here.
func (b *bench) measureProject() error {
	if _, err := exec.LookPath("git"); err != nil {
		return fmt.Errorf("git is needed to make a repository: %w", err)
	}
	var cmds []*command
	for _, files := range []int{0, 50_000} {
		s, err := newSite(b.dir, "files"+strconv.Itoa(files))
		if err != nil {
			return err
		}
		if files > 0 {
			if err := s.fill(files); err != nil {
				return err
			}
		}
		sbx := b.sbxCommand(s, "--dry-run")
		if err := sbx.check(); err != nil {
			return err
		}
		cmds = append(cmds, sbx)
	}
	const name = "planning in a repository of 50,000 files, less in an empty directory"
	return b.gate(fact{Name: name, Unit: "ms", Ceiling: 0.3}, func(n int) (float64, error) {
		s, err := rounds(n, cmds)
		if err != nil {
			return 0, err
		}
		return median(pair(s[1], s[0], minus)), nil
	})
}

func (b *bench) measureSize() error {
	info, err := os.Stat(b.sbx)
	if err != nil {
		return err
	}
	b.Facts = append(b.Facts, fact{Name: "size of the program", Value: float64(info.Size()) / 1e6, Unit: "MB"})
	return nil
}

func (b *bench) print() error {
	if b.options.json {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(b.report)
	}
	fmt.Printf("%d rounds, medians, ms\n\n", b.Rounds)
	const line = "%-6s %-22s %7s %7s %7s   %-14s %-14s %s\n"
	fmt.Printf(line, "", "/bin/true in", "bwrap", "sbx", "p95", "added (max)", "ratio (max)", "words")
	for _, r := range b.Rows {
		fmt.Printf(line, verdict(r.Failed), r.Name, ms(r.Bwrap), ms(r.Sbx), ms(r.P95),
			ms(r.Added)+" ("+ms(r.Allowed)+")", ms(r.Ratio)+" ("+ms(r.RatioCeil)+")",
			strconv.Itoa(r.Words)+again(r.Again))
	}
	fmt.Println()
	for _, f := range b.Facts {
		v, ceiling := "", ""
		if f.Ceiling > 0 {
			v, ceiling = verdict(f.Failed), " ("+ms(f.Ceiling)+")"
		}
		fmt.Printf("%-6s %-69s %s %s%s%s\n", v, f.Name, ms(f.Value), f.Unit, ceiling, again(f.Again))
	}
	fmt.Println()
	if b.Failed > 0 {
		fmt.Printf("%d above the ceiling.\n", b.Failed)
		return nil
	}
	fmt.Println("All below the ceilings.")
	return nil
}

func verdict(failed bool) string {
	if failed {
		return "FAIL"
	}
	return "ok"
}

func again(again bool) string {
	if again {
		return "  measured again"
	}
	return ""
}

func ms(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
