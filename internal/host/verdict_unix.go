//go:build linux || darwin

package host

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// VerdictFile is where it is kept that an engine works.
func VerdictFile(dir string, uid int) string { return dir + "/probe-" + strconv.Itoa(uid) }

// CachedVerdict returns what stands under a key, where only the user can have written it.
func CachedVerdict(file, key string, uid int) (rest string, ok bool) {
	fd, err := syscall.Open(file, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if syscall.Fstat(fd, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG || int(st.Uid) != uid || st.Mode&0o022 != 0 {
		return "", false
	}
	buf := make([]byte, min(st.Size, 256<<10))
	n, err := syscall.Read(fd, buf)
	if err != nil || n <= 0 {
		return "", false
	}
	return strings.CutPrefix(string(buf[:n]), key)
}

// cacheVerdict keeps a verdict. That it cannot be kept only costs time.
func cacheVerdict(dir, file, text string, uid int) {
	if MakeDir(dir, uid) != nil {
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
var probeTime = 10 * time.Second

// runProbe runs a program with descriptors from 3 on. The error is
// os.ErrDeadlineExceeded when it gives no answer in time; then whatever it
// started is ended with it.
func runProbe(files []*os.File, path string, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = &cappedBuffer{&out}, &cappedBuffer{&said}, files
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	if ctx.Err() != nil {
		return "", "", os.ErrDeadlineExceeded
	}
	return out.String(), said.String(), err
}

// cappedBuffer keeps the first 16 KiB and takes the rest without keeping it.
type cappedBuffer struct{ b *bytes.Buffer }

func (l *cappedBuffer) Write(p []byte) (int, error) {
	if room := 16<<10 - l.b.Len(); room > 0 {
		l.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
