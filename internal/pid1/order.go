package pid1

import (
	"errors"

	"github.com/sbx-sandbox/sbx/internal/landlock"
)

// Name is the first argument by which sbx knows that it is to be the stage; the
// second is the number of the descriptor with the [Order].
const Name = "--stage-of-sandbox"

// Order is all that the stage is told. It arrives as a file in memory: of the
// stage's own command line only the command is of use to those who read ps.
type Order struct {
	Path     string   // of the file to execute, as the sandbox sees it
	Argv     []string // of the command; nil when the stage's own words after the descriptor are it
	Group    Group    // how the command stands to the caller's process group
	Mask     uint64   // signals blocked in the caller, bit n-1 for signal n
	Limit    float64  // seconds; 0 is none
	Rlimits  []Rlimit // for the command and all that it starts
	OOM      int      // descriptor of a file that counts out-of-memory kills (memory.events, memory.oom_control); -1 without one
	Memory   string   // the limit on memory as a person wrote it, "" without one that kills
	Wires    Wires    // to the outer process
	Expected []byte   // what has to be mounted, see [Look]

	// Reopen are descriptors of files that the command may read and not write. The
	// stage opens them anew at [Files]: there they lie on read-only mounts, so that
	// nothing can be done to a file by its descriptor. The offset is the same, and no
	// longer shared with the caller, who may be a shell that reads its script there.
	Reopen []int

	// Wall is what Landlock denies the command, and nil nothing. It is opened by the
	// stage, so its paths are those of the sandbox, and put around the command alone:
	// the stage has to signal it. A path that is not there, or cannot be reached, is
	// an error: a rule that cannot be made would be a view that was not planned.
	Wall *landlock.Ruleset

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
	// last step before the command is executed, and may refuse all that the stage
	// needs.
	Filter []byte
}

// Files is the directory of the files that are opened anew, by their numbers.
const Files = "/run/sbx/fd"

// Group is how the command stands to the caller's process group.
type Group byte

const (
	Look   Group = iota // no process stays: look at the mounts, then become the command
	Shared              // in it: what the terminal sends to the group reaches the command by itself
	Front               // a group of its own, which has the terminal
	Apart               // a session of its own, without a terminal
)

// Rlimit is one limit of setrlimit(2), soft and hard.
type Rlimit struct {
	Resource int // RLIMIT_…
	Max      uint64
}

// Wires are descriptors that the outer process opens about itself before it
// becomes bwrap, so that the stage can see and signal it from inside, where it
// has no number. -1 is one that is not there.
type Wires struct {
	Status int // /proc/PID/status: pending signals, state
	Stat   int // /proc/PID/stat: is its group in the foreground
	Epoll  int // wakes when the outer process gets a signal
	Signal int // the signalfd behind it
	Read   int // reading end of a pipe whose SIGIO goes to the outer process
	Write  int // writing end
	Guard  int // reading end of a pipe whose SIGIO, a SIGKILL, goes to the guard
	Relief int // writing end
	Stderr int // standard error of the caller: bwrap itself writes to a pipe that the guard reads
}

// Ends are descriptors that bwrap is given where no stage stays: by them the
// guard sees how far it is. -1 is one that is not there.
type Ends struct {
	Setup int // writing end of a pipe that bwrap closes when nearly everything is set up: its --block-fd
	Alive int // writing end of a pipe that process 1 has as long as it lives: its --sync-fd
	Info  int // file where bwrap writes its child's number before that goes on: its --info-fd. There it is the command
}

// NoWires has none.
var NoWires = Wires{-1, -1, -1, -1, -1, -1, -1, -1, -1}

var errOrder = errors.New("the order is damaged")

// Encode gives the bytes that [decode] reads: records of a key and a value,
// each ended by NUL, which neither a path nor a word can hold.
func (o *Order) Encode() []byte {
	b := make([]byte, 0, 512+len(o.Expected))
	put := func(key, value string) { b = append(append(append(append(b, key...), '='), value...), 0) }
	put("sbx", "1")
	put("path", o.Path)
	put("group", utoa(uint64(o.Group)))
	put("mask", utoa(o.Mask))
	if o.Limit > 0 {
		put("limit", utoa(uint64(o.Limit*1e9)))
	}
	for _, l := range o.Rlimits {
		put("rlimit", utoa(uint64(l.Resource))+" "+utoa(l.Max))
	}
	if o.OOM >= 0 {
		put("oom", utoa(uint64(o.OOM)))
	}
	put("memory", o.Memory)
	for _, n := range o.Reopen {
		put("reopen", utoa(uint64(n)))
	}
	if w := o.Wall; w != nil {
		put("wall", utoa(uint64(w.FS))+" "+utoa(uint64(w.Net))+" "+utoa(uint64(w.Scope)))
		for i := range w.Rules {
			r := &w.Rules[i]
			put("beneath", utoa(uint64(r.Allow))+" "+utoa(r.Dev)+" "+utoa(r.Ino)+" "+r.Path)
		}
	}
	for _, n := range o.Keep {
		put("keep", utoa(uint64(n)))
	}
	for i := range o.Masks {
		put("watch", o.Masks[i].encode())
	}
	for _, word := range o.Hints {
		put("hint", word)
	}
	if o.Filter != nil {
		put("filter", toHex(o.Filter))
	}
	for _, w := range o.Wires.fields() {
		if *w.fd >= 0 {
			put(w.key, utoa(uint64(*w.fd)))
		}
	}
	if o.Argv != nil {
		for _, word := range o.Argv {
			put("argv", word)
		}
	}
	return append(append(b, "look=\x00"...), o.Expected...)
}

type wire struct {
	key string
	fd  *int
}

func (w *Wires) fields() [9]wire {
	return [9]wire{{"status", &w.Status}, {"stat", &w.Stat}, {"epoll", &w.Epoll}, {"signal", &w.Signal}, {"read", &w.Read}, {"write", &w.Write}, {"guard", &w.Guard}, {"relief", &w.Relief}, {"stderr", &w.Stderr}}
}

// decode reads what [Order.Encode] wrote. What is not exactly that is an error:
// nothing is guessed where walls are at stake.
func decode(b []byte) (*Order, error) {
	o := &Order{OOM: -1, Wires: NoWires}
	first := true
	for len(b) > 0 {
		end := index(b, 0)
		eq := index(b, '=')
		if end < 0 || eq < 0 || eq > end {
			return nil, errOrder
		}
		key, value := string(b[:eq]), string(b[eq+1:end])
		b = b[end+1:]
		if first != (key == "sbx") {
			return nil, errOrder
		}
		first = false
		if key == "look" {
			o.Expected = b
			return o, nil
		}
		if !o.field(key, value) {
			return nil, errOrder
		}
	}
	return nil, errOrder
}

func (o *Order) field(key, value string) bool {
	switch key {
	case "path":
		o.Path = value
		return value != ""
	case "memory":
		o.Memory = value
		return true
	case "argv":
		o.Argv = append(o.Argv, value)
		return true
	case "wall":
		fs, value, ok1 := number(value)
		net, value, ok2 := number(value)
		scope, ok3 := atou(value)
		again := o.Wall != nil
		o.Wall = &landlock.Ruleset{FS: landlock.FS(fs), Net: landlock.Net(net), Scope: landlock.Scope(scope)}
		return ok1 && ok2 && ok3 && !again
	case "beneath":
		allow, value, ok1 := number(value)
		dev, value, ok2 := number(value)
		ino, path, ok3 := number(value)
		if !ok1 || !ok2 || !ok3 || o.Wall == nil || path == "" || path[0] != '/' {
			return false
		}
		o.Wall.Rules = append(o.Wall.Rules, landlock.Rule{Path: path, Allow: landlock.FS(allow), Dev: dev, Ino: ino})
		return true
	case "watch":
		m, ok := decodeMask(value)
		o.Masks = append(o.Masks, m)
		return ok
	case "hint":
		o.Hints = append(o.Hints, value)
		return true
	case "filter":
		again := o.Filter != nil
		o.Filter = fromHex(value)
		return validFilter(o.Filter) && !again
	case "rlimit":
		i := index([]byte(value), ' ')
		if i < 0 {
			return false
		}
		res, ok1 := atou(value[:i])
		limit, ok2 := atou(value[i+1:])
		o.Rlimits = append(o.Rlimits, Rlimit{int(res), limit})
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
		o.Group = Group(n)
		return n <= uint64(Apart)
	case "mask":
		o.Mask = n
		return true
	case "limit":
		o.Limit = float64(n) / 1e9
		return true
	case "oom":
		o.OOM = int(n)
		return n < maxFD
	case "reopen":
		o.Reopen = append(o.Reopen, int(n))
		return n < maxFD
	case "keep":
		o.Keep = append(o.Keep, int(n))
		return n < maxFD
	}
	for _, w := range o.Wires.fields() {
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
// the stage: see init_linux.go.
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
