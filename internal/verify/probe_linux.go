package verify

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/host"
)

// maxAsk and maxAnswer bound, in bytes, what goes through the pipes.
const (
	maxAsk    = 32 << 20
	maxAnswer = 4 << 20 // one line
)

// Probe is the process inside: it reads questions, one line of JSON, from
// standard input, writes a line for each answer to standard output, and waits
// for the end of its input before it removes what it made, so that it can be
// looked for outside. It returns the exit status. Outside of a sandbox it does
// nothing.
func Probe(args []string) int {
	if args[1] == wordIdle {
		return idle()
	}
	if args[1] != wordAnswer || !host.Inside() && !host.InLandlock() {
		fmt.Fprintln(os.Stderr, "sbx: error: the probe runs inside a sandbox only; to verify one: sbx verify")
		return host.StatusFailed
	}
	p := &prober{fds: openFDs()}
	in := bufio.NewReader(io.LimitReader(os.Stdin, maxAsk))
	var asked []Question
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &asked)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbx: error: the questions cannot be read: "+err.Error())
		return host.StatusFailed
	}
	out := json.NewEncoder(os.Stdout)
	for _, q := range asked {
		if out.Encode(p.answer(q)) != nil {
			break // who asked is gone
		}
	}
	_ = out.Encode(Answer{End: true})
	_, _ = io.Copy(io.Discard, in)
	p.clean()
	return 0
}

// AnswerHere answers questions in this process, for a verification from
// inside.
func AnswerHere(asked []Question) map[int]Answer {
	p := &prober{fds: openFDs()}
	defer p.clean()
	out := make(map[int]Answer, len(asked))
	for _, q := range asked {
		out[q.ID] = p.answer(q)
	}
	return out
}

// idle is a process outside, whose command line holds a word: the probe must
// neither see nor signal it. It ends with its input, and writes a byte for
// each signal.
func idle() int {
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGUSR1)
	go func() {
		for range got {
			_, _ = os.Stdout.Write([]byte{'!'})
		}
	}()
	_, _ = os.Stdout.Write([]byte{'.'})
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// prober makes the attempts.
type prober struct {
	fds  []FD   // open when it started
	made []made // files to remove
	self *Self
}

// made is a file that the probe made, by which it knows it again.
type made struct {
	path     string
	dev, ino uint64
}

// answer makes one attempt. No input makes it panic.
func (p *prober) answer(q Question) (a Answer) {
	a.ID = q.ID
	defer func() {
		if r := recover(); r != nil {
			a = Answer{ID: q.ID, Errno: int(einval), Step: "panic"}
		}
	}()
	path, to := ofRun(q.Path), ofRun(q.To)
	switch q.Act {
	case actLook:
		look(path, &a)
	case actOpen:
		if q.Text == textOwn {
			_ = os.Chmod(path, 0o600)
		}
		openForWriting(path, &a)
	case actRead:
		openForReading(path, &a)
	case actMake:
		makeOf(q.Text, path, &a)
	case actRemove:
		removeNot(path, &a)
	case actMode:
		a.fail("", sameMode(path))
	case actPair:
		a.fail("", pair(first(q.Args)))
	case actTrace:
		a.fail("", lookInto(first(q.Args), q.Text))
	case actCreate:
		p.create(path, &a)
	case actRename:
		rename(path, to, &a)
	case actLink:
		link(path, to, &a)
	case actAble:
		able(path, &a)
	case actConnect:
		a.fail("", connectUnix(path))
	case actTCP:
		a.fail("", sendTCP(q.Text == "6", first(q.Args), q.Path))
	case actUDP:
		a.fail("", sendUDP(q.Text == "6", first(q.Args), q.Path))
	case actLocal:
		talk(&a)
	case actSocket:
		a.fail("", trySocket(q.Args))
	case actCall:
		call(q.Text, path, &a)
	case actSelf:
		if p.self == nil {
			p.self = aboutSelf(p.fds)
		}
		a.Self = p.self
	case actSearch:
		search(q.Text, &a)
	case actSignal:
		a.fail("", signalOther(first(q.Args), q.Text, to))
	default:
		a.Errno, a.Step = int(enosys), "no such act"
	}
	return a
}

// ofRun puts the directory of a run with Landlock in the place of its name.
func ofRun(path []byte) string {
	rest, ok := strings.CutPrefix(string(path), runDir)
	if !ok {
		return string(path)
	}
	return filepath.Dir(os.Getenv("SBX_MANIFEST")) + rest
}

func first(args []int) int {
	if len(args) == 0 {
		return 0
	}
	return args[0]
}

// fail notes at which step an act ended; err may be nil.
func (a *Answer) fail(step string, err error) {
	if err != nil {
		a.Errno, a.Step = errnoOf(err), step
	}
}
