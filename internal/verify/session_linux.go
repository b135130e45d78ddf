package verify

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// patienceAll bounds a whole run of the probe.
const patienceAll = 60 * time.Second

// Outside verifies a run from outside of any sandbox. An error means that
// there was no sandbox to verify; it is a [*wrap.Error] or what the plan gave.
func Outside(sub *Subject) (*Report, error) {
	// Whoever interrupts this process must not keep it from putting things back.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT)
	defer signal.Stop(stop)
	planted, err := NewPlants()
	if err != nil {
		return nil, &host.Error{Status: host.StatusFailed, Text: "the controls cannot be set up: " + err.Error()}
	}
	defer planted.Close()
	sub.Host.Environ = append(slices.Clone(sub.Host.Environ), planted.Env...)
	plan, err := sub.Plan()
	if err != nil {
		return nil, err
	}
	for _, dir := range plan.Dirs {
		if dir != sub.Cache && policy.Within(dir, sub.Cache) {
			dir = sub.Cache // a directory of one run lies in it
		} else if !slices.Contains(sub.Host.Own, dir) {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil { // what any run makes is no residue of this one
			return nil, &host.Error{Status: host.StatusFailed, Text: "a directory of sbx's own: " + err.Error()}
		}
	}
	site := Survey(sub, plan, planted)
	checks := site.Checks()
	asked := Number(checks)
	trees := residueRoots(sub)
	before := snapshot(trees, sub.Cache, planted.Dir)
	answers, err := ask(sub, site, asked, stop)
	back := restore(site, asked)
	after := snapshot(trees, sub.Cache, planted.Dir)
	if err != nil {
		return nil, err
	}
	r := &Report{Profiles: plan.Report.Policy.Profiles, Place: sub.Host.CWD, Results: Evaluate(checks, answers)}
	r.Results = append(r.Results, sub.replaced(plan, planted.Nonce)...)
	r.Results = append(r.Results, back...)
	r.Results = append(r.Results, compare(before, after, site, touched(site, asked, answers))...)
	return r, nil
}

// ask runs the probe in the sandbox and returns its answers. The child is sbx
// with the same flags, so that it goes all the way that a run goes: it looks at
// its own environment and descriptors, plans, and executes.
func ask(sub *Subject, site *Site, asked []Question, stop <-chan os.Signal) (map[int]Answer, error) {
	data, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/proc/self/exe", sub.Flags...)
	cmd.Args[0] = "sbx"
	cmd.Env = sub.Host.Environ
	said := &head{}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, failed(err.Error())
	}
	over, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		var why error
		select {
		case <-over:
		case s := <-stop:
			sig, _ := s.(syscall.Signal)
			why = &InterruptedError{sig}
			_ = cmd.Process.Kill()
		case <-time.After(patienceAll):
			_ = cmd.Process.Kill()
		}
		ended <- why
	}()
	// A child that ends at once reads nothing; its answers tell.
	_, _ = in.Write(append(data, '\n'))
	answers := readAnswers(out)
	lookOutside(site, asked, answers)
	in.Close()
	_, _ = io.Copy(io.Discard, out)
	err = cmd.Wait()
	close(over)
	if why := <-ended; why != nil {
		return nil, why
	}
	if len(answers) > 0 {
		return answers, nil
	}
	return nil, childError(err, said.String())
}

func readAnswers(r io.Reader) map[int]Answer {
	answers := make(map[int]Answer)
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxAnswer)
	for lines.Scan() {
		var a Answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			continue // its question stays without an answer
		}
		if a.End {
			break
		}
		answers[a.ID] = a
	}
	return answers
}

// lookOutside says of each file that the probe made whether it is on the host.
// The probe still waits, so the file is still there.
func lookOutside(site *Site, asked []Question, answers map[int]Answer) {
	for _, q := range asked {
		a, ok := answers[q.ID]
		if q.Act != actCreate || !ok || a.Errno != 0 {
			continue
		}
		var st unix.Stat_t
		path := site.outsidePath(string(q.Path))
		if unix.Lstat(path, &st) == nil {
			a.Found = []string{path}
			answers[q.ID] = a
		}
	}
}

// touched are the directories of the host in which the probe could change
// something.
func touched(site *Site, asked []Question, answers map[int]Answer) map[string]bool {
	out := make(map[string]bool)
	for _, q := range asked {
		if a, ok := answers[q.ID]; ok && a.Errno == 0 {
			switch q.Act {
			case actCreate, actRename, actMake:
				out[policy.Dir(site.outsidePath(string(q.Path)))] = true
			case actLink:
				out[policy.Dir(site.outsidePath(string(q.To)))] = true
			}
		}
	}
	return out
}

// head keeps the beginning of what a child says.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	if room := 8<<10 - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func failed(reason string) error {
	return &host.Error{Status: host.StatusFailed, Text: "Failed to initialize sandbox: " + reason}
}

// childError is why there was no answer at all, in the child's own words.
func childError(err error, said string) error {
	var text, hint string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		switch rest, ok := strings.CutPrefix(line, "sbx: error: "); {
		case ok && text == "":
			text = rest
		case strings.HasPrefix(line, "sbx: hint: ") && hint == "":
			hint = strings.TrimPrefix(line, "sbx: hint: ")
		}
	}
	if text != "" {
		return &host.Error{Status: host.StatusFailed, Text: text, Hint: hint}
	}
	if last := strings.TrimSpace(said); last != "" {
		return failed(last[strings.LastIndexByte(last, '\n')+1:])
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return failed("the probe ended without an answer (" + exit.String() + ")")
	}
	return failed("the probe ended without an answer")
}

// restore puts back what the probe moved and removes what it made, should it
// have died before it could. Only names that were given out are touched.
func restore(site *Site, asked []Question) []Result {
	var out []Result
	for _, q := range asked {
		path, to := site.outsidePath(string(q.Path)), site.outsidePath(string(q.To))
		if strings.HasPrefix(path, runDir) {
			continue // it goes with the run
		}
		switch q.Act {
		case actRename:
			var st unix.Stat_t
			if unix.Lstat(to, &st) != nil {
				continue
			}
			detail := "it had been moved away, and was put back from outside"
			if err := move(to, path); err != nil {
				detail = fmt.Sprintf("it has been moved away to %s and cannot be put back: %v", policy.Plain(to), err)
			}
			out = append(out, Result{Section: secResidue, Name: "moved", Subject: path, Verdict: Hole, Detail: detail})
		case actCreate:
			out = append(out, removeLeft(path, "")...)
		case actLink:
			out = append(out, removeLeft(to, path)...)
		case actMake:
			out = append(out, removeMade(path)...)
		case actAble:
			for _, name := range []string{"/f", "/g", "/l"} {
				out = append(out, removeLeft(path+name, "")...)
			}
			removeAble(path)
		}
	}
	return out
}

// removeLeft removes a file that the probe has left on the host: an empty one,
// or a second name of a file.
func removeLeft(path, of string) []Result {
	var st, first unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return nil
	}
	second := of != "" && unix.Lstat(of, &first) == nil && first.Ino == st.Ino && first.Dev == st.Dev && st.Nlink > 1
	if second || st.Size == 0 && st.Mode&unix.S_IFMT == unix.S_IFREG {
		_ = unix.Unlink(path)
	}
	return []Result{{Section: secResidue, Name: "left", Subject: path, Verdict: Hole, Detail: "the probe could make it on the host"}}
}

// removeMade removes something of a random name that the probe has left on the
// host, of whatever kind; a directory has to be empty, and so has a file.
func removeMade(path string) []Result {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return nil
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		_ = unix.Rmdir(path)
	case unix.S_IFLNK, unix.S_IFIFO, unix.S_IFSOCK:
		_ = unix.Unlink(path)
	default:
		return removeLeft(path, "")
	}
	return []Result{{Section: secResidue, Name: "left", Subject: path, Verdict: Hole, Detail: "the probe could make it on the host"}}
}

func removeAble(dir string) {
	var st unix.Stat_t
	if unix.Lstat(dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return
	}
	if to, err := os.Readlink(dir + "/s"); err == nil && to == "f" {
		_ = unix.Unlink(dir + "/s")
	}
	_ = unix.Rmdir(dir + "/d")
	_ = unix.Rmdir(dir + "/e")
	_ = unix.Rmdir(dir)
}
