package wrap

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/policy"
)

// binDirs are where bwrap is looked for first: only root can put files there.
var binDirs = []string{"/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin", "/nix/var/nix/profiles/default/bin"}

// Find looks for a bwrap that works and says why when there is none; that
// error is an [*Unavailable]. The verdict is kept in a file below dir ("" for
// nowhere), under a key that changes with the program, the kernel and its
// settings, so that a run normally starts no other process. A wrong verdict in
// that file can make a run fail; it never opens one: what an older version
// would leave out, the system call filter refuses as well.
func Find(h *Host, dir string) (Bwrap, error) {
	path, st, err := locate(h)
	if err != nil {
		return Bwrap{}, err
	}
	key := probeKey(path, st, h.UID)
	file := dir + "/probe-" + strconv.Itoa(h.UID)
	if dir != "" {
		if v, ok := cached(file, key, h.UID); ok {
			return Bwrap{path, v}, nil
		}
	}
	v, err := probe(path)
	if err != nil {
		return Bwrap{}, err
	}
	if dir != "" {
		remember(dir, file, key+v.String()+"\n", h.UID)
	}
	return Bwrap{path, v}, nil
}

// locate returns the first bwrap that may be trusted.
func locate(h *Host) (string, *syscall.Stat_t, error) {
	var refused *Unavailable
	try := func(dir string, system bool) (string, *syscall.Stat_t) {
		path := join(dir, "bwrap")
		st, u := candidate(path, dir, system, h.UID)
		if u != nil && refused == nil {
			refused = u
		}
		return path, st
	}
	for _, dir := range binDirs {
		if path, st := try(dir, true); st != nil {
			return path, st, nil
		}
	}
	path, _ := lookupEnv(h.Environ, "PATH")
	for _, dir := range strings.Split(path, ":") {
		if !strings.HasPrefix(dir, "/") {
			continue
		}
		if path, st := try(policy.Clean(dir), false); st != nil {
			return path, st, nil
		}
	}
	if refused != nil {
		return "", nil, refused
	}
	return "", nil, missing(GatherFacts(h))
}

// candidate looks at one possible bwrap. Both results are nil when there is no
// such file. One from PATH must not be replaceable by another user.
func candidate(path, dir string, system bool, uid int) (*syscall.Stat_t, *Unavailable) {
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil || st.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		return nil, nil
	}
	if system && st.Uid == overflowUID {
		return nil, &Unavailable{CauseUnsafe, policy.Plain(path) + " belongs to nobody here: this is a user namespace that does not map root", []string{"inside another sandbox there is no second one; run sbx outside of it"}}
	}
	if !safe(&st, uid) || !system && !safePath(dir, uid) {
		return nil, &Unavailable{CauseUnsafe, policy.Plain(path) + " could have been put there by another user",
			[]string{"install bubblewrap in /usr/bin, or: chown root " + policy.Plain(path) + " && chmod go-w " + policy.Plain(path) + " " + policy.Plain(dir)}}
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG || unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS) != nil {
		return nil, &Unavailable{CauseNoExec, policy.Plain(path) + " cannot be executed", []string{"install bubblewrap anew"}}
	}
	return &st, nil
}

// overflowUID is the owner of files whose owner a user namespace does not map
// (user_namespaces(7)).
const overflowUID = 65534

func safe(st *syscall.Stat_t, uid int) bool {
	return (st.Uid == 0 || int(st.Uid) == uid) && st.Mode&0o022 == 0
}

// safePath reports whether a directory and all above it belong to root or the
// user and cannot be written by others.
func safePath(dir string, uid int) bool {
	real, err := newResolver(OS{}).resolve(dir)
	if err != nil || real.Info.Kind != Dir {
		return false
	}
	for d := real.Path; ; d = policy.Dir(d) {
		var st syscall.Stat_t
		if syscall.Lstat(d, &st) != nil || !safe(&st, uid) {
			return false
		}
		if d == "/" {
			return true
		}
	}
}

// sysctls decide whether user namespaces can be made.
var sysctls = []string{
	"/proc/sys/kernel/random/boot_id", "/proc/sys/user/max_user_namespaces",
	"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "/proc/sys/kernel/unprivileged_userns_clone",
}

// probeKey is the text that a kept verdict stands under.
func probeKey(path string, st *syscall.Stat_t, uid int) string {
	var b strings.Builder
	b.WriteString("sbx probe 1\n" + policy.Quote(path) + "\n")
	for _, n := range []int64{int64(uid), int64(st.Dev), int64(st.Ino), st.Size, st.Mtim.Nano(), st.Ctim.Nano(), int64(st.Mode)} {
		b.WriteString(strconv.FormatInt(n, 10) + " ")
	}
	b.WriteByte('\n')
	for _, name := range sysctls {
		b.WriteString(sysctl(name) + "\n")
	}
	return b.String()
}

func sysctl(name string) string {
	data, err := OS{}.Head(name, 64)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func cached(file, key string, uid int) (bwrapargs.Version, bool) {
	fd, err := syscall.Open(file, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return bwrapargs.Version{}, false
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if syscall.Fstat(fd, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG || int(st.Uid) != uid || st.Mode&0o022 != 0 {
		return bwrapargs.Version{}, false
	}
	buf := make([]byte, 4096)
	n, err := syscall.Read(fd, buf)
	if err != nil || n <= 0 {
		return bwrapargs.Version{}, false
	}
	rest, ok := strings.CutPrefix(string(buf[:n]), key)
	if !ok || !strings.HasSuffix(rest, "\n") {
		return bwrapargs.Version{}, false
	}
	return bwrapargs.ParseVersion(rest)
}

// remember keeps a verdict. That it cannot be kept only costs time.
func remember(dir, file, text string, uid int) {
	if makeDir(dir, uid) != nil {
		return
	}
	tmp := file + "." + strconv.Itoa(os.Getpid())
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return
	}
	_, err = f.WriteString(text)
	if f.Close() != nil || err != nil || os.Rename(tmp, file) != nil {
		os.Remove(tmp)
	}
}

// probeTime bounds each of the two calls of a probe.
const probeTime = 10 * time.Second

// probe runs bwrap for real, with every kind of wall that a run uses.
func probe(path string) (bwrapargs.Version, error) {
	facts := func() Facts { return GatherFacts(&Host{UID: os.Geteuid(), Environ: os.Environ()}) }
	out, said, err := output(path, "--version")
	if err != nil {
		return bwrapargs.Version{}, diagnose(facts(), path, said+err.Error())
	}
	v, ok := bwrapargs.ParseVersion(out)
	if !ok || !strings.HasPrefix(out, "bubblewrap ") {
		return v, &Unavailable{CauseOther, policy.Plain(path) + " is not bubblewrap: it says " + policy.Quote(lastLine(out)), []string{InstallHint(facts().Distro)}}
	}
	if v.Less(bwrapargs.Oldest) {
		return v, tooOld(facts(), v, path)
	}
	self, err := os.Executable()
	if err != nil {
		self = "/bin/true"
	}
	a := bwrapargs.Args{Version: v, Ops: []bwrapargs.Op{
		{Kind: bwrapargs.ROBind, Src: "/", Dst: "/"}, {Kind: bwrapargs.Proc, Dst: "/proc"}, {Kind: bwrapargs.Dev, Dst: "/dev"},
		{Kind: bwrapargs.Tmpfs, Dst: "/tmp", Size: 1 << 20, Perm: 0o1777},
		{Kind: bwrapargs.ROBind, Src: self, Dst: "/tmp/sbx"},
	}}
	words, _ := a.Words(func() int { return 0 })
	out, said, err = output(path, append(words, "--", "/tmp/sbx", "--version")...)
	if err != nil {
		return v, diagnose(facts(), path, said)
	}
	if !strings.HasPrefix(out, "sbx ") && self != "/bin/true" {
		return v, &Unavailable{CauseOther, policy.Plain(path) + " does not run what it is told", nil}
	}
	return v, nil
}

func output(path string, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{&out}, &limited{&said}
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		return "", "no answer after 10 s", errors.New("timeout")
	}
	return out.String(), said.String(), err
}

// limited keeps the first 16 KiB and takes the rest without keeping it.
type limited struct{ b *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := 16<<10 - l.b.Len(); room > 0 {
		l.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// GatherFacts reads what a diagnosis needs.
func GatherFacts(h *Host) Facts {
	f := Facts{
		Root: h.UID == 0, Distro: distro(),
		MaxUserns: sysctl(sysctls[1]), AppArmor: sysctl(sysctls[2]), UsernsClone: sysctl(sysctls[3]),
		WSL: strings.Contains(strings.ToLower(sysctl("/proc/sys/kernel/osrelease")), "microsoft"),
	}
	f.Container = container(h)
	for _, p := range []string{"/etc/apparmor.d/bwrap-userns-restrict", "/etc/apparmor.d/bwrap"} {
		if i, err := (OS{}).Lstat(p); err == nil && i.Kind != Absent {
			f.Profile = true
		}
	}
	return f
}

func container(h *Host) string {
	exists := func(p string) bool { i, err := OS{}.Lstat(p); return err == nil && i.Kind != Absent }
	_, kube := lookupEnv(h.Environ, "KUBERNETES_SERVICE_HOST")
	named, _ := lookupEnv(h.Environ, "container")
	switch {
	case kube || exists("/var/run/secrets/kubernetes.io"):
		return "kubernetes"
	case exists("/run/.containerenv"):
		return "podman"
	case exists("/.dockerenv"):
		return "docker"
	case named != "":
		return policy.Plain(named)
	}
	return ""
}

// distro returns ID and ID_LIKE of os-release(5).
func distro() string {
	data, err := OS{}.Head("/etc/os-release", 16<<10)
	if err != nil {
		data, _ = OS{}.Head("/usr/lib/os-release", 16<<10)
	}
	var ids []string
	for _, line := range strings.Split(string(data), "\n") {
		for _, key := range []string{"ID=", "ID_LIKE="} {
			if v, ok := strings.CutPrefix(line, key); ok {
				ids = append(ids, strings.Trim(v, `"' `))
			}
		}
	}
	return strings.Join(ids, " ")
}
