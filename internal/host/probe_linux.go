// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/lookpath"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/procfs"
	"github.com/sbx-sandbox/sbx/internal/seccomp"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// binDirs are where bwrap is looked for first: only root can put files there.
var binDirs = []string{
	"/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin", "/run/current-system/profile/bin",
	"/nix/var/nix/profiles/default/bin",
}

// Find looks for a bwrap that works and says why when there is none; that
// error is an [*Unavailable]. That one works is kept in a file below dir ("" for
// nowhere), under a key that changes with the program, the kernel, its settings
// and what is around this process, so that a run normally starts no other
// process. A failure is never kept. A wrong verdict in that file can make a run
// fail; it never opens one: what an older version would leave out, the system
// call filter refuses as well. Beside it stands where sockets of the host were
// found, see [view.deafen]; h has them afterwards.
func Find(h *Host, dir string) (Bwrap, error) {
	path, kept, err := locate(h, dir)
	if err != nil {
		return Bwrap{}, err
	}
	b, seen, ok := kept.version()
	if !ok {
		if b, err = probe(path, append(h.Homes, "/")[0]); err != nil {
			return Bwrap{}, err
		}
	}
	if now := h.findSockets(seen); now != seen {
		kept.keep(h, b.verdict()+now.text())
	}
	b.Path = path
	return b, nil
}

// Forget removes a saved verdict that does not hold any more, and reports
// whether there was one that a run would have believed.
func Forget(h *Host, dir string) bool {
	_, kept, err := locate(h, dir)
	if err != nil {
		return false
	}
	_, _, ok := kept.version()
	return ok && kept.remove()
}

// RefreshSockets looks once more, whatever was kept, for runs by this bwrap to
// come.
func (h *Host) RefreshSockets(dir string, b Bwrap) {
	if _, kept, err := locate(h, dir); err == nil {
		kept.keep(h, b.verdict()+h.findSockets(nil).text())
	}
}

// locate returns the first bwrap that may be trusted, and where it is kept below dir
// that it works.
func locate(h *Host, dir string) (path string, kept *verdict, err error) {
	var refused *Unavailable
	look := func(in string, system bool) string {
		return lookpath.First(in, "bwrap", func(file string) bool {
			st, u := candidate(file, system, h.UID)
			if u != nil && refused == nil {
				refused = u
			}
			if st != nil {
				kept = &verdict{dir, h.UID, probeKey(file, st, h.UID)}
			}
			return st != nil
		})
	}
	path = look(strings.Join(binDirs, ":"), true)
	if path == "" && !h.Client { // npm puts node_modules/.bin there
		in, _ := LookupEnv(h.Environ, "PATH")
		path = look(in, false)
	}
	switch {
	case path != "":
		return path, kept, nil
	case refused != nil:
		return "", nil, refused
	}
	return "", nil, missing(GatherDiagnostics(h.Environ))
}

// BwrapVersion asks the bwrap that a run would take for its version. Both are "" where
// there is none, the second where it does not say.
func BwrapVersion(h *Host) (path, version string) {
	path, _, err := locate(h, "")
	if err != nil {
		return "", ""
	}
	out, _, err := output(nil, path, "--version")
	if v, ok := bwrapargs.ParseVersion(out); ok && err == nil {
		version = v.String()
	}
	return path, version
}

// candidate looks at one possible bwrap. Both results are nil when there is no
// such file. One from PATH must not be replaceable by another user.
func candidate(path string, system bool, uid int) (*syscall.Stat_t, *Unavailable) {
	var st syscall.Stat_t
	err := syscall.Stat(path, &st)
	kind := st.Mode & syscall.S_IFMT
	switch {
	case err != nil || kind == syscall.S_IFDIR:
		return nil, nil
	case system && st.Uid == overflowUID:
		return nil, because(causeUnsafe, "unmapped", path,
			" belongs to nobody here: this is a user namespace that does not map root")
	case !safe(&st, uid) || !system && !safeFile(path, uid):
		return nil, because(causeUnsafe, causeUnsafe, path, " could have been put there by another user")
	case st.Mode&syscall.S_ISUID != 0 && st.Uid == 0 && uid != 0:
		return nil, because(causeSetUID, causeSetUID, path, " is set-uid root, and then refuses what sbx asks of it")
	case kind != syscall.S_IFREG || unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS) != nil:
		return nil, because(causeNoExec, causeNoExec, path, " cannot be executed")
	}
	return &st, nil
}

// overflowUID is the owner of files whose owner a user namespace does not map
// (user_namespaces(7)).
const overflowUID = 65534

func safe(st *syscall.Stat_t, uid int) bool {
	return (st.Uid == 0 || int(st.Uid) == uid) && st.Mode&0o022 == 0
}

// safeFile reports whether no one but root and the user can put another file
// in place of this one: at its own place, and at that of each link that
// leads to it.
func safeFile(path string, uid int) bool {
	real, err := NewResolver(OS{}).Resolve(path)
	if err != nil || real.Info.Kind != File || !safeDir(policy.Dir(real.Path), uid) {
		return false
	}
	return !slices.ContainsFunc(real.Links, func(l Hop) bool {
		return l.UID != 0 && l.UID != uid || !safeDir(policy.Dir(l.Path), uid)
	})
}

// safeDir reports whether a canonical directory and all above it belong to root
// or the user and cannot be written by others. The stores of Nix and Guix are
// their builders' to add to, and sticky: no other user's entry can be replaced.
func safeDir(dir string, uid int) bool {
	for d := dir; ; d = policy.Dir(d) {
		var st syscall.Stat_t
		if syscall.Lstat(d, &st) != nil {
			return false
		}
		if (d == "/nix/store" || d == "/gnu/store") && st.Uid == 0 && st.Mode&syscall.S_ISVTX != 0 {
			st.Mode &^= 0o020
		}
		if !safe(&st, uid) {
			return false
		}
		if d == "/" {
			return true
		}
	}
}

// sysctls decide whether namespaces can be made.
var sysctls = []string{
	"/proc/sys/kernel/random/boot_id", "/proc/sys/user/max_user_namespaces",
	"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "/proc/sys/kernel/unprivileged_userns_clone",
}

// probeKey is the text that a saved verdict stands under.
func probeKey(path string, st *syscall.Stat_t, uid int) string {
	var b strings.Builder
	b.WriteString("sbx probe 3\n" + strconv.Quote(path) + "\n")
	for _, n := range []int64{int64(uid), int64(st.Dev), int64(st.Ino), st.Size, st.Mtim.Nano(), st.Ctim.Nano(),
		int64(st.Mode)} {
		b.WriteString(strconv.FormatInt(n, 10) + " ")
	}
	b.WriteByte('\n')
	for _, name := range sysctls {
		b.WriteString(procfs.Line(name) + "\n")
	}
	b.WriteString(kernelState())
	return b.String()
}

// kernelState is what else decides: the same bwrap that works at a prompt may not
// in a service, a container or another sandbox of the same user.
func kernelState() string {
	var b strings.Builder
	number := func(n uint64) { b.WriteString(strconv.FormatUint(n, 10) + " ") }
	for _, path := range []string{"/", "/proc/self/ns/user", "/proc/self/ns/mnt"} {
		var st syscall.Stat_t
		_ = syscall.Stat(path, &st)
		number(uint64(st.Dev))
		number(st.Ino)
	}
	mode, _, _ := syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_GET_SECCOMP, 0, 0)
	number(uint64(mode))
	if mode != 0 {
		b.WriteString(procfs.Status("Seccomp_filters"))
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	_ = unix.Capget(&header, &caps[0])
	number(uint64(caps[1].Effective)<<32 | uint64(caps[0].Effective))
	b.WriteString(strconv.Quote(procfs.Line("/proc/self/attr/current")))
	if procfs.Line(sysctls[2]) == "1" { // each profile that is loaded or taken away counts
		b.WriteString(" " + strconv.Quote(procfs.Line("/sys/kernel/security/apparmor/revision")))
	}
	return b.String() + "\n"
}

// version is that of bwrap in a saved verdict, with what was seen of sockets. Only
// what Find would have kept counts.
func (kept *verdict) version() (b Bwrap, seen *socketCache, ok bool) {
	rest, _ := kept.read()
	line, text, _ := strings.Cut(rest, "\n")
	seen, err := parseSocketCache(text)
	b.Version, ok = bwrapargs.ParseVersion(line)
	b.Overlay = strings.HasSuffix(line, withOverlay)
	if !ok || err != nil || line+"\n" != b.verdict() || b.Version.Less(bwrapargs.Oldest) {
		return b, nil, false
	}
	return b, seen, true
}

const withOverlay = " overlay"

// verdict is the first line of a saved one.
func (b *Bwrap) verdict() string {
	if b.Overlay {
		return b.Version.String() + withOverlay + "\n"
	}
	return b.Version.String() + "\n"
}

// probe runs bwrap for real, with every kind of wall that a run uses, and then with an
// overlay of a directory, which not every kernel, file system or security module allows.
func probe(path, lower string) (b Bwrap, err error) {
	facts := func() Diagnostics { return GatherDiagnostics(os.Environ()) }
	out, said, err := output(nil, path, "--version")
	if err != nil {
		return b, failure(facts(), path, said, err)
	}
	v, ok := bwrapargs.ParseVersion(out)
	if !ok || !strings.HasPrefix(out, "bubblewrap ") {
		return b, notBwrap(facts(), path, "it says "+strconv.Quote(lastLine(out)))
	}
	if b.Version = v; v.Less(bwrapargs.Oldest) {
		return b, tooOld(facts(), v, path)
	}
	self, err := os.Executable()
	if err != nil {
		self = "/bin/true"
	}
	a := bwrapargs.Args{Version: v, Ops: []bwrapargs.Op{
		{Kind: bwrapargs.ROBind, Src: "/", Dst: "/"}, {Kind: bwrapargs.Proc, Dst: "/proc"},
		{Kind: bwrapargs.Dev, Dst: "/dev"},
		{Kind: bwrapargs.Tmpfs, Dst: "/tmp", Size: 1 << 20, Perm: 0o1777},
		{Kind: bwrapargs.ROBind, Src: self, Dst: "/tmp/sbx"},
	}}
	// That it cannot be written for this machine is the plan's to say.
	a.Seccomp, _ = seccomp.Filter(seccomp.Options{Arch: runtime.GOARCH, Level: "default"})
	try := func(command ...string) (out, said string, err error) {
		words, fds := a.Words(func() int { return 3 })
		var filter []byte
		if len(fds) > 0 {
			filter = fds[0].Data
		}
		return output(filter, path, append(append(words, "--"), command...)...)
	}
	if out, said, err = try("/tmp/sbx", "--version"); err != nil {
		return b, failure(facts(), path, said, err)
	}
	if !strings.HasPrefix(out, "sbx ") && self != "/bin/true" {
		return b, notBwrap(facts(), path, "it does not run what it is told")
	}
	if !v.Less(bwrapargs.HasOverlay) {
		a.Ops = append(a.Ops, bwrapargs.Op{Kind: bwrapargs.Overlay, Src: lower, Dst: "/tmp/over"})
		_, _, err = try("/bin/mkdir", "/tmp/over/sbx-probe") // what is not writable is mounted read-only
		b.Overlay = err == nil
	}
	return b, nil
}

// failure is the diagnosis of a bwrap that ended with an error, by what it
// wrote; when it wrote nothing, by the error.
func failure(f Diagnostics, path, said string, err error) *Unavailable {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return because(CauseHangs, CauseHangs, path, " gives no answer")
	}
	if why := transient(said, err); why != "" {
		return because(CauseBusy, CauseBusy, path, " could not be tried: "+OneLine(why))
	}
	if strings.TrimSpace(said) == "" {
		said = err.Error()
	}
	return diagnose(f, path, said)
}

// transient returns what says that it is this moment that bwrap failed for: a limit
// on processes, memory or files was reached, or someone ended it. "" is none.
func transient(said string, err error) string {
	all := strings.ToLower(said + "\n" + err.Error())
	for _, s := range []string{
		"resource temporarily unavailable", "cannot allocate memory", "out of memory", "failed to reserve",
		"too many open files", "too many users", "newosproc", "failed to create new os thread",
		"interrupted system call", "text file busy", "input/output error", "file too large",
		"can't find source path", // sbx itself has gone, as in an upgrade
	} {
		if strings.Contains(all, s) {
			return s
		}
	}
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		lasting := []error{syscall.ENOENT, syscall.EACCES, syscall.EPERM, syscall.ENOEXEC, syscall.ENOTDIR,
			syscall.ELOOP, syscall.EINVAL, syscall.ENOSYS}
		if slices.ContainsFunc(lasting, func(e error) bool { return errors.Is(err, e) }) {
			return "" // it is about the program
		}
		return err.Error()
	}
	signal := endedBy(ended)
	if code := ended.ExitCode(); code > 128 { // of bwrap's child
		signal = code - 128
	}
	if signal == 0 {
		return ""
	}
	// A fault, too, may come of a limit: that of the stack.
	return "it was ended by signal " + strconv.Itoa(signal)
}

// output runs a program, with a descriptor 3 that reads as data when there is
// any.
func output(data []byte, path string, args ...string) (stdout, stderr string, err error) {
	if data == nil {
		return runProbe(nil, path, args...)
	}
	fd, err := Memfd(data)
	if err != nil {
		return "", "", err
	}
	file := os.NewFile(uintptr(fd), "filter")
	defer file.Close()
	return runProbe([]*os.File{file}, path, args...)
}

// notBwrap is the diagnosis for a program that answers, and is something else.
func notBwrap(f Diagnostics, path, why string) *Unavailable {
	return f.unavailable(causeNotBwrap, path, text.Plain(path)+" is not bubblewrap: "+why)
}
