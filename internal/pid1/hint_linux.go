package pid1

import "syscall"

// hint prints the first hint that holds, after a failure that was the command's
// own. Nothing of it is done for a command that succeeds.
func (s *stage) hint() {
	if len(s.order.Hints) == 0 || s.timedOut {
		return
	}
	exited, n := s.status.Exited(), s.status.ExitStatus()
	if !exited {
		n = int(s.status.Signal())
	}
	status, ok := ownFault(exited, n)
	if !ok {
		return
	}
	// Also what came together with the end.
	if (s.courier.passed|s.told|s.outer.state().pending&s.forward|s.own())&meddling != 0 {
		return
	}
	var net *netcount
	for i := range s.order.Hints {
		h := &s.order.Hints[i]
		if net == nil && (h.When == Cut || h.When == Unheard || h.When == Often) {
			net = countNet()
		}
		if h.holds(status, net) {
			say("hint: " + h.Text)
			return
		}
	}
}

func (h *Hint) holds(status int, net *netcount) bool {
	switch h.When {
	case Always:
		return true
	case Missing:
		var st syscall.Stat_t
		err := syscall.Lstat(h.Path, &st)
		return err == syscall.ENOENT || err == syscall.ENOTDIR
	case Full:
		var fs syscall.Statfs_t
		return syscall.Statfs(h.Path, &fs) == nil && fs.Blocks > 0 && fs.Bavail == 0
	case Cut:
		return net.cut()
	case Unheard:
		return net.cut() || net.unheard > 0
	case Often:
		return net.often()
	case NotFound:
		return status == statusNotFound
	case Trapped:
		return status == 128+sigSYS
	}
	return false
}

// countNet reads the counters of the network namespace that this process is in,
// which was made for this run.
func countNet() *netcount {
	c := new(netcount)
	c.read(readProc("/proc/self/net/snmp"), readProc("/proc/self/net/snmp6"))
	return c
}

// readProc reads a file that the kernel makes up, as far as its first 16 KiB.
func readProc(path string) []byte {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	buf := make([]byte, 16<<10)
	n := 0
	for n < len(buf) {
		k, err := syscall.Read(fd, buf[n:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil || k <= 0 {
			break
		}
		n += k
	}
	return buf[:n]
}

// meddling are pending signals by which somebody outside ends a command, or talks to it: what
// fails then does not fail by itself.
const meddling = ^uint64(1<<(sigCONT-1) | 1<<(sigWINCH-1) | 1<<(sigCHLD-1) | 1<<(marker-1))
