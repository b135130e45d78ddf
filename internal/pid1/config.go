package pid1

import (
	"errors"

	"github.com/sbx-sandbox/sbx/internal/landlock"
)

// InitName is the first argument by which sbx knows that it is to be process 1; the
// second is the number of the descriptor with the [InitConfig].
const InitName = "--stage-of-sandbox"

// InitConfig is all that process 1 is told. It arrives as a file in memory: of the
// process 1's own command line only the command is of use to those who read ps.
type InitConfig struct {
	Path     string    // of the file to execute, as the sandbox sees it
	Argv     []string  // of the command; nil when process 1's own words after the descriptor are it
	Group    Group     // how the command stands to the caller's process group
	Mask     uint64    // signals blocked in the caller, bit n-1 for signal n
	Limit    float64   // seconds; 0 is none
	Rlimits  []Rlimit  // for the command and all that it starts
	OOM      int       // descriptor of a file that counts out-of-memory kills (memory.events, memory.oom_control); -1 without one
	Memory   string    // the limit on memory as a person wrote it, "" without one that kills
	Parent   ParentFDs // to the parent process
	Expected []byte    // what has to be mounted, see mountsAsPlanned

	// Reopen are descriptors of files that the command may read and not write. The
	// process 1 opens them anew at [ReopenDir]: there they lie on read-only mounts, so that
	// nothing can be done to a file by its descriptor. The offset is the same, and no
	// longer shared with the caller, who may be a shell that reads its script there.
	Reopen []int

	// Wall is what Landlock denies the command, and nil nothing. It is opened by the
	// process 1, so its paths are those of the sandbox, and put around the command alone:
	// process 1 has to signal it. A path that is not there, or cannot be reached, is
	// an error: a rule that cannot be made would be a view that was not planned.
	Ruleset *landlock.Ruleset

	// Keep are the descriptors that the command gets beside 0, 1 and 2. What they and
	// those three lead to can be opened anew under a Wall about files, as far as the
	// descriptor itself goes.
	Keep []int

	// Masks are what process 1 watches while the command runs. One that is not in
	// place when the command is to be started is an error.
	Masks []Mask

	// Hints are words for the process that explains a failure (see [HintName]), which
	// is not started when there are none.
	Hints []string

	// Filter is a program of struct sock_filter, nil for none. It is loaded as the
	// last step before the command is executed, and may refuse all that process 1
	// needs.
	Filter []byte
}

// ReopenDir is the directory of the files that are opened anew, by their numbers.
const ReopenDir = "/run/sbx/fd"

// Group is how the command stands to the caller's process group.
type Group byte

const (
	NoInit     Group = iota // no process stays: look at the mounts, then become the command
	Shared                  // in it: what the terminal sends to the group reaches the command by itself
	Foreground              // a group of its own, which has the terminal
	NewSession              // a session of its own, without a terminal
)

// Rlimit is one limit of setrlimit(2), soft and hard.
type Rlimit struct {
	Resource int // RLIMIT_…
	Max      uint64
}

// ParentFDs are descriptors that the parent process opens about itself before it
// becomes bwrap, so that process 1 can see and signal it from inside, where it
// has no number. -1 is one that is not there.
type ParentFDs struct {
	Status        int // /proc/PID/status: pending signals, state
	Stat          int // /proc/PID/stat: is its group in the foreground
	Epoll         int // wakes when the parent process gets a signal
	Signal        int // the signalfd behind it
	Read          int // reading end of a pipe whose SIGIO goes to the parent process
	Write         int // writing end
	WatchdogRead  int // reading end of a pipe whose SIGIO, a SIGKILL, goes to the watchdog
	WatchdogWrite int // writing end
	Stderr        int // standard error of the caller: bwrap itself writes to a pipe that the watchdog reads
}

// SetupFDs are descriptors that bwrap is given where no process 1 of
// sbx stays: by them the watchdog sees how far it is. -1 is one that is not there.
type SetupFDs struct {
	Setup int // writing end of a pipe that bwrap closes when nearly everything is set up: its --block-fd
	Alive int // writing end of a pipe that process 1 has as long as it lives: its --sync-fd
	Info  int // file where bwrap writes its child's number before that goes on: its --info-fd. There it is the command
}

// NoParentFDs has none.
var NoParentFDs = ParentFDs{-1, -1, -1, -1, -1, -1, -1, -1, -1}

var errConfig = errors.New("the order is damaged")

// Encode gives the bytes that [decode] reads: records of a key and a value,
// each ended by NUL, which neither a path nor a word can hold.
func (cfg *InitConfig) Encode() []byte {
	b := make([]byte, 0, 512+len(cfg.Expected))
	put := func(key, value string) { b = append(append(append(append(b, key...), '='), value...), 0) }
	put("sbx", "1")
	put("path", cfg.Path)
	put("group", utoa(uint64(cfg.Group)))
	put("mask", utoa(cfg.Mask))
	if cfg.Limit > 0 {
		put("limit", utoa(uint64(cfg.Limit*1e9)))
	}
	for _, l := range cfg.Rlimits {
		put("rlimit", utoa(uint64(l.Resource))+" "+utoa(l.Max))
	}
	if cfg.OOM >= 0 {
		put("oom", utoa(uint64(cfg.OOM)))
	}
	put("memory", cfg.Memory)
	for _, n := range cfg.Reopen {
		put("reopen", utoa(uint64(n)))
	}
	if w := cfg.Ruleset; w != nil {
		put("wall", utoa(uint64(w.FS))+" "+utoa(uint64(w.Net))+" "+utoa(uint64(w.Scope)))
		for i := range w.Rules {
			r := &w.Rules[i]
			put("beneath", utoa(uint64(r.Allow))+" "+utoa(r.Dev)+" "+utoa(r.Ino)+" "+r.Path)
		}
	}
	for _, n := range cfg.Keep {
		put("keep", utoa(uint64(n)))
	}
	for i := range cfg.Masks {
		put("watch", cfg.Masks[i].encode())
	}
	for _, word := range cfg.Hints {
		put("hint", word)
	}
	if cfg.Filter != nil {
		put("filter", toHex(cfg.Filter))
	}
	for _, w := range cfg.Parent.fields() {
		if *w.fd >= 0 {
			put(w.key, utoa(uint64(*w.fd)))
		}
	}
	if cfg.Argv != nil {
		for _, word := range cfg.Argv {
			put("argv", word)
		}
	}
	return append(append(b, "look=\x00"...), cfg.Expected...)
}

type wire struct {
	key string
	fd  *int
}

func (w *ParentFDs) fields() [9]wire {
	return [9]wire{{"status", &w.Status}, {"stat", &w.Stat}, {"epoll", &w.Epoll}, {"signal", &w.Signal}, {"read", &w.Read}, {"write", &w.Write}, {"guard", &w.WatchdogRead}, {"relief", &w.WatchdogWrite}, {"stderr", &w.Stderr}}
}

// decode reads what [InitConfig.Encode] wrote. What is not exactly that is an error:
// nothing is guessed where walls are at stake.
func decode(b []byte) (*InitConfig, error) {
	cfg := &InitConfig{OOM: -1, Parent: NoParentFDs}
	first := true
	for len(b) > 0 {
		end := index(b, 0)
		eq := index(b, '=')
		if end < 0 || eq < 0 || eq > end {
			return nil, errConfig
		}
		key, value := string(b[:eq]), string(b[eq+1:end])
		b = b[end+1:]
		if first != (key == "sbx") {
			return nil, errConfig
		}
		first = false
		if key == "look" {
			cfg.Expected = b
			return cfg, nil
		}
		if !cfg.field(key, value) {
			return nil, errConfig
		}
	}
	return nil, errConfig
}

func (cfg *InitConfig) field(key, value string) bool {
	switch key {
	case "path":
		cfg.Path = value
		return value != ""
	case "memory":
		cfg.Memory = value
		return true
	case "argv":
		cfg.Argv = append(cfg.Argv, value)
		return true
	case "wall":
		fs, value, ok1 := number(value)
		net, value, ok2 := number(value)
		scope, ok3 := atou(value)
		again := cfg.Ruleset != nil
		cfg.Ruleset = &landlock.Ruleset{FS: landlock.FS(fs), Net: landlock.Net(net), Scope: landlock.Scope(scope)}
		return ok1 && ok2 && ok3 && !again
	case "beneath":
		allow, value, ok1 := number(value)
		dev, value, ok2 := number(value)
		ino, path, ok3 := number(value)
		if !ok1 || !ok2 || !ok3 || cfg.Ruleset == nil || path == "" || path[0] != '/' {
			return false
		}
		cfg.Ruleset.Rules = append(cfg.Ruleset.Rules, landlock.Rule{Path: path, Allow: landlock.FS(allow), Dev: dev, Ino: ino})
		return true
	case "watch":
		m, ok := decodeMask(value)
		cfg.Masks = append(cfg.Masks, m)
		return ok
	case "hint":
		cfg.Hints = append(cfg.Hints, value)
		return true
	case "filter":
		again := cfg.Filter != nil
		cfg.Filter = fromHex(value)
		return validFilter(cfg.Filter) && !again
	case "rlimit":
		i := index([]byte(value), ' ')
		if i < 0 {
			return false
		}
		res, ok1 := atou(value[:i])
		limit, ok2 := atou(value[i+1:])
		cfg.Rlimits = append(cfg.Rlimits, Rlimit{int(res), limit})
		return ok1 && ok2 && res < 64
	}
	n, ok := atou(value)
	if !ok {
		return false
	}
	switch key {
	case "sbx":
		return n == 1
	case "group":
		cfg.Group = Group(n)
		return n <= uint64(NewSession)
	case "mask":
		cfg.Mask = n
		return true
	case "limit":
		cfg.Limit = float64(n) / 1e9
		return true
	case "oom":
		cfg.OOM = int(n)
		return n < maxFD
	case "reopen":
		cfg.Reopen = append(cfg.Reopen, int(n))
		return n < maxFD
	case "keep":
		cfg.Keep = append(cfg.Keep, int(n))
		return n < maxFD
	}
	for _, w := range cfg.Parent.fields() {
		if w.key == key {
			*w.fd = int(n)
			return n < maxFD
		}
	}
	return false
}

// maxFD is more than a process can have (fs.nr_open).
const maxFD = 1 << 30

// validFilter reports whether b can be a program of struct sock_filter, which
// has eight bytes and at most BPF_MAXINSNS instructions.
func validFilter(b []byte) bool {
	return len(b) > 0 && len(b)%8 == 0 && len(b)/8 <= 4096
}

// number cuts a number and the space after it.
func number(s string) (n uint64, rest string, ok bool) {
	i := index([]byte(s), ' ')
	if i < 0 {
		return 0, s, false
	}
	n, ok = atou(s[:i])
	return n, s[i+1:], ok
}

func index(b []byte, c byte) int {
	for i, x := range b {
		if x == c {
			return i
		}
	}
	return -1
}

// utoa and atou stand in for strconv, which would have to be initialised before
// process 1: see init_linux.go.
func utoa(n uint64) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}

func atou(s string) (uint64, bool) {
	var n uint64
	for i := 0; i < len(s); i++ {
		c := uint64(s[i] - '0')
		if c > 9 || n > (1<<64-1-c)/10 {
			return 0, false
		}
		n = n*10 + c
	}
	return n, s != ""
}

func toHex(b []byte) string {
	const digits = "0123456789abcdef"
	out := make([]byte, 0, 2*len(b))
	for _, c := range b {
		out = append(out, digits[c>>4], digits[c&15])
	}
	return string(out)
}

// fromHex reads what toHex wrote, and is nil for anything else.
func fromHex(s string) []byte {
	if len(s)%2 != 0 {
		return nil
	}
	out := make([]byte, 0, len(s)/2)
	for i := 0; i < len(s); i += 2 {
		hi, lo := digit(s[i]), digit(s[i+1])
		if hi > 15 || lo > 15 {
			return nil
		}
		out = append(out, hi<<4|lo)
	}
	return out
}

func digit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 0xff
}
