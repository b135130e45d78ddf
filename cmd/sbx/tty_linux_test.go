// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/ptytest"
)

// At a terminal, a command under sbx behaves as it does without. Each scene is
// played twice by each caller, with the bare command and with sbx, in a session
// and on a terminal of its own. What both have to show stands in the scene; the
// exit statuses in the caller's prompt have to be the same.
//
// SBX_TEST_REQUIRE names callers and programs that have to be there.

// scene is something that someone does at a terminal.
type scene struct {
	name  string
	needs []string // programs
	only  []string // callers, when not all
	play  func(s *seat)
}

// caller is who starts the command: a shell that someone sits at, or no one.
type caller struct {
	name   string
	words  []string
	prompt string // as PS1
	loop   string // repeats a command for ever
	each   string // repeats it three times
}

var callers = []caller{
	{"bash", []string{"bash", "--norc", "--noprofile", "-i"}, "[$?]> ", "while true; do %s; done", "for i in 1 2 3; do %s; done"},
	{"zsh", []string{"zsh", "-f", "-i", "-o", "nopromptsp"}, "[%?]> ", "while true; do %s; done", "for i in 1 2 3; do %s; done"},
	{"fish", []string{"fish", "--no-config", "-i", "-C", fishPrompt("[%s]> ")}, "", "while true; %s; end", "for i in 1 2 3; %s; end"},
	{"dash", []string{"dash", "-i"}, "[$?]> ", "while true; do %s; done", "for i in 1 2 3; do %s; done"},
	{name: leader}, // the command itself leads the session, as in a new window of tmux
}

const leader = "leader"

var shells = []string{"bash", "zsh", "fish", "dash"}

func fishPrompt(format string) string {
	return "set -g fish_greeting; set -g fish_autosuggestion_enabled 0; function fish_title; end; function fish_prompt; printf '" + format + "' $status; end"
}

// TestTTY plays all scenes. They wait more than they work, so that more of them
// run at once than there are processors.
func TestTTY(t *testing.T) {
	needBwrap(t)
	t.Parallel()
	var scenes []scene
	for _, s := range [][]scene{keyScenes, jobScenes, groupScenes, windowScenes, programScenes, hangupScenes} {
		scenes = append(scenes, s...)
	}
	slots := make(chan bool, 6)
	var all sync.WaitGroup
	for _, sc := range scenes {
		for _, c := range callers {
			if sc.only != nil && !slices.Contains(sc.only, c.name) {
				continue
			}
			slots <- true
			all.Go(func() {
				defer func() { <-slots }()
				t.Run(c.name+"/"+sc.name, func(t *testing.T) { playBoth(t, &sc, &c) })
			})
		}
	}
	all.Wait()
}

func playBoth(t *testing.T, sc *scene, c *caller) {
	if c.words != nil {
		needProgram(t, c.words[0])
	}
	for _, name := range sc.needs {
		needProgram(t, name)
	}
	w := newWorld(t)
	for name, text := range ttyFiles {
		w.write(t, "proj/"+name, text)
	}
	bare, ran1 := play(t, "bare", w, sc, c, "")
	// What is wrong without sbx is no finding about sbx.
	if t.Failed() {
		return
	}
	sbx, ran2 := play(t, "sbx", w, sc, c, "sbx -- ")
	if diff := cmp.Diff(bare, sbx); ran1 && ran2 && diff != "" {
		t.Errorf("exit statuses, - bare + sbx:\n%s", diff)
	}
}

// play plays a scene once. It returns the exit statuses, and whether all of it
// was played.
func play(t *testing.T, column string, w *world, sc *scene, c *caller, prefix string) (statuses []int, whole bool) {
	t.Run(column, func(t *testing.T) {
		s := &seat{t: t, w: w, caller: c, prefix: prefix, mark: strconv.FormatInt(7e9+int64(os.Getpid())*1000+marks.Add(1), 10)}
		t.Cleanup(func() { s.sweep() })
		s.sit()
		sc.play(s)
		s.leave()
		statuses, whole = s.statuses, true
	})
	return statuses, whole
}

// seat is a user's place at a terminal, in front of a caller.
type seat struct {
	*ptytest.Terminal
	t        *testing.T
	w        *world
	caller   *caller
	prefix   string // before a command: "" or "sbx -- "
	mark     string // a word on the command line of each process of the scene, and of no other
	statuses []int
	first    unix.Termios // as the terminal was before
	gone     bool         // the terminal was hung up
}

// sit starts the shell. Its core limit is 0, lest the bare command leaves a
// core dump where Ctrl-\ ends it.
func (s *seat) sit() {
	if s.caller.name == leader {
		return
	}
	s.start(append([]string{"sh", "-c", `ulimit -S -c 0; exec "$@"`, "sh"}, s.caller.words...))
	s.status()
	s.statuses, s.first = nil, s.Modes()
}

func (s *seat) start(words []string) {
	s.t.Helper()
	path, err := exec.LookPath(words[0])
	if err != nil {
		s.t.Fatal(err)
	}
	env := append(slices.Clone(s.w.env), "PWD="+s.w.proj, "TERM=xterm", "PS1="+s.caller.prompt, "SHELL=/bin/sh")
	s.Terminal = ptytest.Start(s.t, &exec.Cmd{Path: path, Args: words, Dir: s.w.proj, Env: env})
}

// run runs a command in the foreground, with the prefix of the column.
func (s *seat) run(command string) {
	s.t.Helper()
	if s.Terminal != nil {
		s.line(s.prefix + command)
		return
	}
	// Held until its terminal was looked at.
	s.start([]string{"sh", "-c", `ulimit -S -c 0; read go; exec ` + s.prefix + command})
	s.first = s.Modes()
	s.line("")
}

// ready runs one of ttyFiles or the actor in the foreground and waits until it
// is ready.
func (s *seat) ready(words string) {
	s.t.Helper()
	s.run(words + " " + s.mark)
	s.Expect("ready")
}

// line types a line, without a prefix.
func (s *seat) line(text string) {
	s.t.Helper()
	s.Type(text + ptytest.Enter)
}

// status waits until the command has ended, or was stopped, and returns its
// exit status: the one in the next prompt.
func (s *seat) status() int {
	s.t.Helper()
	n := -1
	if s.caller.name == leader {
		n = shellStatus(&exec.ExitError{ProcessState: s.Wait()})
	} else {
		n, _ = strconv.Atoi(s.ExpectMatch(`\[(\d+)\]> `)[1])
	}
	s.statuses = append(s.statuses, n)
	return n
}

// ends wants a particular exit status.
func (s *seat) ends(want int) {
	s.t.Helper()
	if got := s.status(); got != want {
		s.t.Fatalf("exit status %d, want %d\non the screen:\n%s", got, want, s.Screen())
	}
}

// endsAfterFg wants one of a job that fg brought back. In fish that is the
// status of fg.
func (s *seat) endsAfterFg(want int) {
	s.t.Helper()
	if s.caller.name == "fish" {
		want = 0
	}
	s.ends(want)
}

// leave looks whether all is as it was, and ends the shell.
func (s *seat) leave() {
	s.t.Helper()
	if s.gone {
		return
	}
	s.Eventually(ptytest.Patience, "the terminal is as it was before", func() (bool, string) {
		now := s.Modes()
		return now == s.first, cmp.Diff(s.first, now)
	})
	if s.caller.name != leader {
		s.Eventually(ptytest.Patience, "the shell has the terminal", func() (bool, string) {
			return s.Foreground() == s.PID(), fmt.Sprintf("group %d, want %d", s.Foreground(), s.PID())
		})
		// It stays once when it has not yet noticed the end of a job.
		for range 3 {
			s.line("exit 0")
			if s.EndsWithin(time.Second) {
				break
			}
		}
		s.Wait()
	}
	s.noneLeft()
}

// noneLeft wants no process of the scene to be there.
func (s *seat) noneLeft() {
	s.t.Helper()
	s.Eventually(2*time.Second, "no process is left", func() (bool, string) {
		left := s.marked()
		return len(left) == 0, fmt.Sprint(left)
	})
}

// marked returns the processes that have the mark on their command line.
func (s *seat) marked() map[int]string {
	found := map[int]string{}
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err == nil && bytes.Contains(data, []byte(s.mark)) {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			found[pid] = strings.TrimSpace(string(bytes.ReplaceAll(data, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// sweep ends what a failed scene, or a bare command, has left.
func (s *seat) sweep() {
	for pid := range s.marked() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// bare reports whether this is the control, without sbx.
func (s *seat) bare() bool { return s.prefix == "" }

// file returns what the command has written to a file of the project.
func (s *seat) file(name string) string {
	data, err := os.ReadFile(filepath.Join(s.w.proj, name))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// remove takes away what an earlier command may have written.
func (s *seat) remove(name string) {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.w.proj, name)); err != nil {
		s.t.Fatal(err)
	}
}

func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if required(filepath.Base(name)) {
			t.Fatal("SBX_TEST_REQUIRE: ", err)
		}
		t.Skip(err)
	}
}

// ttyFiles are the programs of the scenes. Each says that it is ready with a
// word that no one has typed; the last argument is the mark.
var ttyFiles = map[string]string{
	"wait.sh": `echo ready
exec sleep "100.$1"
`,
	"copy.sh": `echo ready
exec cat - /dev/null
`,
	"size.sh": `stty size
exec "$@"
`,
	// ask.sh asks as sudo does, whatever its standard input and output are.
	"ask.sh": `old=$(stty -g </dev/tty)
stty -echo </dev/tty
printf 'Password: ' >/dev/tty
read -r word </dev/tty
stty "$old" </dev/tty
echo >/dev/tty
cat
echo "word: $word"
`,
	"given.txt": "from a file\n",
	// tree.sh has children of every kind: in its group, in a group and a session
	// of their own, and one that does not heed SIGHUP.
	"tree.sh": `sleep "100.$1" &
setsid sleep "101.$1" &
(trap '' HUP INT TERM; exec sleep "102.$1") &
echo ready
exec sleep "103.$1"
`,
	// twice.sh runs two commands, then reads from the terminal itself.
	"twice.sh": `trap 'echo sh got INT' INT
$1 cat given.txt
$1 sh -c 'exit 5'
echo "status $?"
printf 'And now? '
read -r line && echo "read: $line"
`,
	// group.sh leads a group with a brother of the command in it.
	"group.sh": `sleep "100.$2" &
echo ready
read -r go
exec $1 sh -c 'kill 0; sleep 1' "$2"
`,
	"inner.sh": `case $1 in
bash) PS1='in:$?> ' exec bash --norc --noprofile -i ;;
zsh) PS1='in:%?> ' exec zsh -f -i -o nopromptsp ;;
fish) exec fish --no-config -i -C "` + strings.ReplaceAll(fishPrompt("in:%s> "), "$", `\$`) + `" ;;
esac
`,
	"text.txt": numbered(100),
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d.\n", i+1)
	}
	return b.String()
}
