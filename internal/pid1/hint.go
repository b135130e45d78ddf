package pid1

// Hint is one line for people and models, prepared before the command starts and
// printed when it has failed and When is the case. What could be the policy's
// doing is known from the plan; whether it was, the stage sees at the end.
type Hint struct {
	When When
	Path string // as seen inside, of the conditions that are about one
	Text string // without a line feed, at most MaxHint bytes
}

// When is what has to be the case for a hint, besides the failure.
type When byte

const (
	Always   When = iota
	Missing       // nothing is at Path
	Full          // there is no room left in the file system of Path
	Cut           // packets had no way out of the network namespace
	Unheard       // or found nobody on its loopback, where names are looked up on many hosts
	Often         // as Cut, more often than by a program that looks whether it is the newest
	NotFound      // the status is a shell's for a command that is not there
	Trapped       // a filter ended the command
	whens
)

// MaxHint bounds a hint, in bytes: a line that a pipe takes whole.
const MaxHint = 1024

func (h *Hint) encode() string {
	return utoa(uint64(h.When)) + " " + utoa(uint64(len(h.Path))) + " " + h.Path + h.Text
}

func decodeHint(value string) (h Hint, ok bool) {
	when, value, ok1 := number(value)
	n, value, ok2 := number(value)
	if !ok1 || !ok2 || when >= uint64(whens) || n >= uint64(len(value)) || uint64(len(value))-n > MaxHint {
		return h, false
	}
	h = Hint{When(when), value[:n], value[n:]}
	about := h.When == Missing || h.When == Full
	return h, about == (h.Path != "") && (!about || h.Path[0] == '/')
}

// byOthers are the signals that end a command because somebody wants it ended,
// or nobody reads what it writes. The rest are faults of its own.
const byOthers = uint64(1<<(sigHUP-1) | 1<<(sigINT-1) | 1<<(sigQUIT-1) | 1<<(sigKILL-1) | 1<<(sigUSR1-1) | 1<<(sigUSR2-1) | 1<<(sigPIPE-1) | 1<<(sigALRM-1) | 1<<(sigTERM-1))

const (
	sigPIPE = 13
	sigSYS  = 31
)

// ownFault reads how a command ended: the status that a shell would have for it.
// ok is false for success, and where the end was not the command's own doing.
func ownFault(exited bool, n int) (status int, ok bool) {
	status = n
	if !exited {
		status += 128
	}
	if by := status - 128; by > 0 && by < firstRT {
		return status, byOthers&bit(by) == 0
	}
	return status, status != 0
}

// netcount is what a network namespace has counted since it was made.
type netcount struct {
	unrouted  uint64 // packets for which there was no way, of both versions of IP
	unheard   uint64 // datagrams to a port on which nobody listens
	heard     uint64 // datagrams to one where somebody does
	sent      uint64 // datagrams
	discarded uint64 // packets that were not sent, for an error that was still to be told
}

// cut reports whether something tried to reach beyond the loopback. In a
// namespace that has no other interface, nothing on it is ever unrouted.
//
// Where the system's resolver is on the loopback (systemd-resolved's
// 127.0.0.53, or no resolv.conf at all) a lookup looks like any datagram that
// nobody takes, but for how the C library asks: it sends two, for both families
// of addresses, by one call; the first one comes back before the second is sent,
// which is discarded with that error and sent once more; and then all of it
// again. A program that sends metrics to nobody, connected or not, does not come
// to these numbers.
func (c *netcount) cut() bool {
	return c.unrouted > 0 || c.unheard >= 4 && c.heard == 0 && c.sent == c.unheard && c.unheard == 2*c.discarded
}

// often reports whether that was more than the one lookup with which npm and others
// look for a newer version of theirs, whatever they are told to do: two packets
// for each name server, of which there are up to three, and once more for a
// domain to be searched. On a loopback each packet takes two.
func (c *netcount) often() bool {
	const lookup = 2 * 3 * 2
	return c.cut() && (c.unrouted > lookup || c.unheard > 2*lookup)
}

// read takes the counters from /proc/net/snmp and /proc/net/snmp6.
func (c *netcount) read(snmp, snmp6 []byte) {
	c.unrouted = column(snmp, "Ip:", "OutNoRoutes") + entry(snmp6, "Ip6OutNoRoutes")
	c.discarded = column(snmp, "Ip:", "OutDiscards") + entry(snmp6, "Ip6OutDiscards")
	c.unheard = column(snmp, "Udp:", "NoPorts") + entry(snmp6, "Udp6NoPorts")
	c.heard = column(snmp, "Udp:", "InDatagrams") + entry(snmp6, "Udp6InDatagrams")
	c.sent = column(snmp, "Udp:", "OutDatagrams") + entry(snmp6, "Udp6OutDatagrams")
}

// column finds a counter in a table of two lines, the first of which has the
// names: "Udp: InDatagrams NoPorts …", "Udp: 0 4 …".
func column(data []byte, table, name string) uint64 {
	at := -1
	for len(data) > 0 {
		var line []byte
		line, data = cutLine(data)
		word, line := cutWord(line)
		if string(word) != table {
			continue
		}
		for i := 0; len(line) > 0; i++ {
			word, line = cutWord(line)
			if at < 0 && string(word) == name {
				at = i
				break
			}
			if i == at {
				n, _ := atou(string(word))
				return n
			}
		}
		if at < 0 {
			return 0
		}
	}
	return 0
}

// entry finds a counter in a list of names and numbers.
func entry(data []byte, name string) uint64 {
	for len(data) > 0 {
		var line []byte
		line, data = cutLine(data)
		word, rest := cutWord(line)
		if string(word) == name {
			value, _ := cutWord(rest)
			n, _ := atou(string(value))
			return n
		}
	}
	return 0
}

func cutLine(b []byte) (line, rest []byte) {
	if i := index(b, '\n'); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

func cutWord(b []byte) (word, rest []byte) {
	blank := func(c byte) bool { return c == ' ' || c == '\t' }
	i := 0
	for i < len(b) && blank(b[i]) {
		i++
	}
	j := i
	for j < len(b) && !blank(b[j]) {
		j++
	}
	k := j
	for k < len(b) && blank(b[k]) {
		k++
	}
	return b[i:j], b[k:]
}
