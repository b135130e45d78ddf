// SPDX-License-Identifier: Apache-2.0

package host

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// listeningSockets lists the paths, absolute and cleaned, that sockets of this network
// namespace were bound to, but for those that lie where no profile shows
// anything. The text is what bind(2) was given: it may lead elsewhere now.
func listeningSockets() []string {
	names, err := askSockets()
	if err != nil {
		names = readSockets()
	}
	var out []string
	for _, n := range names {
		if rest, ok := strings.CutPrefix(n, "/var/run/"); ok {
			n = "/run/" + rest
		}
		if strings.HasPrefix(n, "/") {
			out = append(out, filepath.Clean(n))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// maxBound is how many bytes are read of what the kernel says about sockets.
const maxBound = 1 << 20

// askSockets asks the kernel for the names of the sockets that can be connected
// or sent to (sock_diag(7), unix_diag): those that listen and those that are not
// connected. Most of a desktop's are, and are not even looked at for their names.
func askSockets() ([]string, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	tv := unix.NsecToTimeval(time.Second.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return nil, err
	}
	const (
		header, request = unix.NLMSG_HDRLEN, 24 // struct unix_diag_req
		byFamily        = 20                    // SOCK_DIAG_BY_FAMILY
		listens, closed = 1 << 10, 1 << 7       // TCP_LISTEN, TCP_CLOSE
		showName        = 1                     // UDIAG_SHOW_NAME
		nameAttr        = 0                     // UNIX_DIAG_NAME
		answer          = 16                    // struct unix_diag_msg
	)
	ne := binary.NativeEndian
	req := make([]byte, header+request)
	ne.PutUint32(req, uint32(len(req)))
	ne.PutUint16(req[4:], byFamily)
	ne.PutUint16(req[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	req[header] = unix.AF_UNIX
	ne.PutUint32(req[header+4:], listens|closed)
	ne.PutUint32(req[header+12:], showName)
	if err := unix.Sendto(fd, req, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	var names []string
	buf := make([]byte, 32<<10)
	for read := 0; read < maxBound; {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		read += n
		messages, err := syscall.ParseNetlinkMessage(buf[:n])
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			switch m.Header.Type {
			case unix.NLMSG_DONE:
				return names, nil
			case unix.NLMSG_ERROR:
				return nil, unix.EOPNOTSUPP
			}
			for a := m.Data[min(answer, len(m.Data)):]; len(a) >= unix.SizeofRtAttr; {
				length := int(ne.Uint16(a))
				if length < unix.SizeofRtAttr || length > len(a) {
					break
				}
				if text := a[unix.SizeofRtAttr:length]; ne.Uint16(a[2:]) == nameAttr && len(text) > 0 && text[0] != 0 {
					names = append(names, strings.TrimRight(string(text), "\x00"))
				}
				a = a[min((length+3)&^3, len(a)):]
			}
		}
	}
	return names, nil
}

// readSockets reads the same from /proc/net/unix, where a filter keeps the
// kernel from being asked.
func readSockets() []string {
	data, err := OS{}.Head("/proc/net/unix", maxBound)
	if err != nil {
		return nil
	}
	var names []string
	for _, line := range strings.Split(string(data), "\n") {
		// Num RefCount Protocol Flags Type St Inode Path
		if i := strings.Index(line, " /"); i >= 0 {
			names = append(names, line[i+1:])
		}
	}
	return names
}

// searchSockets looks for sockets where services put them that did not come with the
// system: in directories two levels down, a few hundred names in each place. It opens nothing on
// a file system of another machine or of a program, which might not answer.
func searchSockets(far *remotes, now int64) *socketCache {
	l := &socketCache{when: now}
	for _, path := range knownSockets {
		var st syscall.Stat_t
		if !far.shows(path) && syscall.Lstat(path, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFSOCK {
			l.sockets = append(l.sockets, path)
		}
	}
	for i, top := range SocketTops {
		to, err := NewResolver(OS{}).Resolve(top)
		if err != nil || far.shows(to.Path) {
			continue
		}
		left := maxLook
		for level, dirs := 0, []string{to.Path}; level <= lookDepth && len(dirs) > 0; level++ {
			var below []string
			for _, dir := range dirs {
				if far.shows(dir) {
					continue
				}
				if (level == 0 || i < deepTops) && len(l.dirs) < maxStamped {
					l.stamp(dir)
				}
				below = append(below, l.into(dir, &left)...)
			}
			dirs = below
		}
	}
	slices.Sort(l.sockets)
	l.sockets = slices.Compact(l.sockets)
	return l
}

// maxLook bounds the names that are looked at in each of socketTops, lookDepth the
// levels of directories below it, and maxStamped the directories that each start
// asks for their times.
const (
	maxLook    = 500
	lookDepth  = 2
	maxStamped = 32
)

// into notes the sockets and named pipes in a directory, and returns the directories in it.
func (l *socketCache) into(dir string, left *int) (dirs []string) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil || *left <= 0 {
		return nil
	}
	defer syscall.Close(fd)
	_ = procfs.EachEntry(fd, func(name string, kind byte) bool {
		*left--
		switch kinds[kind&15] {
		case Socket, Fifo:
			l.sockets = append(l.sockets, Join(dir, name))
		case Dir:
			dirs = append(dirs, Join(dir, name))
		}
		return *left > 0
	})
	return dirs
}

func (l *socketCache) stamp(dir string) { l.dirs = append(l.dirs, stamped{dir, changed(dir)}) }

// changed is when the entries of a directory were last changed, 0 for one that is
// not there.
func changed(dir string) int64 {
	var st syscall.Stat_t
	if syscall.Lstat(dir, &st) != nil {
		return 0
	}
	return st.Mtim.Nano()
}

// valid reports whether what was found then is what there is now, as far as that
// can be told cheaply.
func (l *socketCache) valid(now int64) bool {
	if now < l.when || now-l.when > aged {
		return false
	}
	return !slices.ContainsFunc(l.dirs, func(d stamped) bool { return changed(d.path) != d.nanos })
}

// shows reports whether such a mount other than the root shows a path.
func (r *remotes) shows(path string) bool {
	i := r.on(path)
	return i >= 0 && r.table[i].Point != "/"
}

// findSockets notes the sockets of the host: those that the kernel names now, and
// those that were seen by looking around. It returns what was kept of that, or
// where it does not hold any more what there is now.
func (h *Host) findSockets(kept *socketCache) *socketCache {
	if now := time.Now().Unix(); kept == nil || !kept.valid(now) {
		kept = searchSockets(h.remotes(), now)
	}
	h.Sockets = append(listeningSockets(), kept.sockets...)
	return kept
}

// Sockets looks for the sockets of the host that lie in a directory and below it,
// as far as the number of names goes.
func Sockets(dir string, names int) (found []string) {
	far, l := newRemotes(), &socketCache{}
	for dirs := []string{dir}; len(dirs) > 0 && names > 0; dirs = dirs[1:] {
		if !far.shows(dirs[0]) && !policy.WithinAny(dirs[0], "/proc", "/sys", "/dev") {
			dirs = append(dirs, l.into(dirs[0], &names)...)
		}
	}
	return l.sockets
}

// deepTops is how many of them, from the first, are asked for changes below, too.
const deepTops = 2

// knownSockets are looked for besides.
var knownSockets = [...]string{
	"/opt/lampp/var/mysql/mysql.sock", "/opt/bitnami/mysql/tmp/mysql.sock", "/opt/bitnami/mariadb/tmp/mysql.sock",
	"/opt/zabbix/run/zabbix.sock", "/usr/local/var/run/watchman/sock", "/var/lib/mysql/mysql.sock",
	"/var/lib/mysql/mysqlx.sock", "/var/agentx/master", "/var/lib/incus/unix.socket", "/var/lib/lxd/unix.socket",
}

// aged is when a look is made anew, whatever the times of directories say, in
// seconds: not all that were looked into are asked again.
const aged = 24 * 60 * 60

// socketCache is what was found when someone looked for sockets, and by what it can
// be told that there may be others now.
type socketCache struct {
	when    int64 // seconds since 1970
	dirs    []stamped
	sockets []string
}

// stamped is a directory with the time at which its entries were last changed.
type stamped struct {
	path  string
	nanos int64
}

// text is what was found as it is kept: lines of a word, a number and a quoted path.
func (l *socketCache) text() string {
	var b strings.Builder
	line := func(word string, number int64, path string) {
		b.WriteString(word + " " + strconv.FormatInt(number, 10) + " " + strconv.Quote(path) + "\n")
	}
	line("looked", l.when, "")
	for _, d := range l.dirs {
		line("dir", d.nanos, d.path)
	}
	for _, s := range l.sockets {
		line("socket", 0, s)
	}
	return b.String() + "end\n"
}

var errSocketCache = errors.New("not what a look for sockets is kept as")

// parseSocketCache reads what text wrote, and nothing else.
func parseSocketCache(text string) (*socketCache, error) {
	text, ok := strings.CutSuffix(text, "end\n")
	l := &socketCache{}
	for first := true; first || text != ""; first = false {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		word, rest, _ := strings.Cut(line, " ")
		digits, quoted, _ := strings.Cut(rest, " ")
		number, err := strconv.ParseInt(digits, 10, 64)
		path, unquoted := strconv.Unquote(quoted)
		if !ok || err != nil || unquoted != nil || first != (word == "looked") {
			return nil, errSocketCache
		}
		switch word {
		case "looked":
			l.when = number
		case "dir":
			l.dirs = append(l.dirs, stamped{path, number})
		case "socket":
			l.sockets = append(l.sockets, path)
		default:
			return nil, errSocketCache
		}
	}
	return l, nil
}
