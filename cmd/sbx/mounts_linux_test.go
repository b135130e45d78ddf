// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/landlock"
)

// fuse MODE DIR -- CMD mounts a file system of its own at DIR and runs CMD. In
// mode "silent" it takes what is asked and never answers, so that who asks can
// not even be killed; in mode "empty" it answers that nothing is in it.
func fuseMain() {
	mode, dir, cmd := os.Args[1], os.Args[2], os.Args[4:]
	die(unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	die(err)
	die(unix.Mount("test", dir, "fuse.test", 0, "fd="+strconv.Itoa(fd)+",rootmode=40000,user_id=0,group_id=0,allow_other"))
	go serveFuse(fd, mode == "empty")
	c := exec.Command(cmd[0], cmd[1:]...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	die(c.Start())
	late := time.AfterFunc(20*time.Second, func() {
		fmt.Fprintln(os.Stderr, "fuse: the command hangs")
		os.Exit(99) // and with it the mount
	})
	err = c.Wait()
	late.Stop()
	os.Exit(shellStatus(err))
}

// serveFuse answers as linux/fuse.h has it.
func serveFuse(fd int, answer bool) {
	le, buf := binary.LittleEndian, make([]byte, 1<<17)
	for {
		n, err := unix.Read(fd, buf)
		if err != nil || n < 40 {
			return
		}
		op, unique := le.Uint32(buf[4:]), buf[8:16]
		reply := func(errno int32, body []byte) {
			out := le.AppendUint32(nil, uint32(16+len(body)))
			out = append(le.AppendUint32(out, uint32(-errno)), unique...)
			_, _ = unix.Write(fd, append(out, body...))
		}
		attr := make([]byte, 88)
		le.PutUint64(attr, 1)                       // inode
		le.PutUint32(attr[60:], unix.S_IFDIR|0o777) // mode
		le.PutUint32(attr[64:], 2)                  // links
		switch valid := make([]byte, 16); {         // not to be kept
		case op == 26: // INIT
			body := make([]byte, 64)
			le.PutUint32(body, 7)
			le.PutUint32(body[4:], 31)
			le.PutUint32(body[20:], 4096)
			reply(0, body)
		case !answer:
		case op == 3: // GETATTR
			reply(0, append(valid, attr...))
		case op == 1: // LOOKUP
			reply(int32(unix.ENOENT), nil)
		case op == 17: // STATFS
			reply(0, make([]byte, 80))
		case op == 27 || op == 14: // OPENDIR, OPEN
			reply(0, make([]byte, 16))
		case op == 28 || op == 29: // READDIR, RELEASEDIR
			reply(0, nil)
		case op == 2 || op == 36 || op == 42: // FORGET, INTERRUPT, BATCH_FORGET
		default:
			reply(int32(unix.ENOSYS), nil)
		}
	}
}

// TestSilentMounts puts a file system that never answers in the way of each
// command: it goes on without, or ends with 125 in time and names the mount
// (issue 15). The same with one that answers is the control.
func TestSilentMounts(t *testing.T) {
	needBwrap(t)
	if fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil || os.Geteuid() != 0 {
		t.Skip("needs root and /dev/fuse")
	} else {
		_ = unix.Close(fd)
	}
	for _, r := range []struct {
		at   string // where it is mounted, below the place
		args string
		ends bool // for want of an answer
		said string
		soon bool // it is not even asked
	}{
		{at: "proj/mnt", args: "-- true", said: "proj/mnt is on a FUSE or network file system (fuse.test)", soon: true},
		{at: "proj/mnt", args: "--direct -- true", soon: true},
		{at: "proj/mnt", args: "-p permissive -- true", soon: true},
		{at: "proj/mnt", args: "-p strict -- true", soon: true},
		{at: "proj/mnt", args: "--engine landlock -- true"},
		{at: "proj/mnt", args: "-n -- true", soon: true},
		{at: "proj/mnt", args: "status", soon: true},
		{at: "proj/mnt", args: "tripwire", soon: true},
		{at: "proj/mnt", args: "tripwire --deep", said: "proj/mnt is on a FUSE or network file system and is not searched", soon: true},
		{at: "proj/mnt", args: "verify", ends: true},
		{at: "proj/mnt", args: "explain", soon: true},
		// names that tools obey, and one that holds some
		{at: "proj/.mvn", args: "-- true", soon: true},
		{at: "proj/.github", args: "-- true", soon: true},
		{at: "elsewhere", args: "-- true", said: "proj/link is on a FUSE or network file system", soon: true},
		{at: "proj/mnt", args: "-w mnt -- true", ends: true, said: "--allow-write: "},
		{at: "proj/mnt", args: "-r mnt -- true", ends: true, said: "--allow-read: "},
		{at: "proj/mnt", args: "--block mnt -- true", ends: true, said: "--block: "},
		{at: "home/.ssh", args: "-- true", said: "home/.ssh (fuse.test) gives no answer; it stays hidden"},
		{at: "home/.ssh", args: "status"},
		{at: "home/.ssh", args: "-p permissive -- true", ends: true},
		{at: "home", args: "-p strict -- true", ends: true}, // which keeps nothing there,
		{at: "home", args: "status", ends: true},
		{at: "home/.cache", args: "-p strict -- true", ends: true},
		{at: "proj", args: "-- true", ends: true},
	} {
		if strings.Contains(r.args, "landlock") && landlock.ABI() == 0 {
			continue
		}
		for _, mode := range []string{"silent", "empty"} {
			if mode == "silent" && r.at == "proj" {
				continue // no shell gets there
			}
			t.Run(mode+" "+r.at+" "+r.args, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, 0)
				for _, dir := range []string{"proj/mnt", "proj/.mvn", "proj/.github", "home/.ssh", "home/.cache", "elsewhere"} {
					must(t, os.MkdirAll(filepath.Join(p.dir, dir), 0o755))
				}
				must(t, os.Symlink("../elsewhere", p.dir+"/proj/link"))
				exe, err := exec.LookPath("fuse")
				must(t, err)
				cmd := exec.Command(exe, append([]string{mode, filepath.Join(p.dir, r.at), "--", "sh", "-c", `cd "$0" && exec "$@"`, p.dir + "/proj", sbxPath}, strings.Fields(r.args)...)...)
				var out bytes.Buffer
				cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = "/", p.env, &out, &out
				cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
				start := time.Now()
				status := shellStatus(cmd.Run())
				took := time.Since(start)
				said := out.String()
				switch {
				case mode == "empty" || !r.ends:
					if status != 0 {
						t.Errorf("status %d: %s", status, said)
					}
				case status != 125 || !strings.Contains(said, filepath.Join(p.dir, r.at)+" (fuse.test) gives no answer"):
					t.Errorf("status %d: %s", status, said)
				}
				if mode == "silent" && !strings.Contains(said, r.said) {
					t.Errorf("it says: %s", said)
				}
				if mode == "silent" && r.soon && took > 3*time.Second {
					t.Logf("%v, with nothing to wait for (a busy machine, or it was asked)", took)
				}
			})
		}
	}
}
