// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// namePrefix begins the name of every group, followed by the number of the
// process that made it.
const namePrefix = "sbx-"

// Join makes the planned control groups and puts this process into them. It
// returns a descriptor of the file that counts out-of-memory kills, close
// on exec, or -1. When it fails, this process is not to go on: it may be in
// some of the groups.
//
// A group that is empty again stays until the next run with limits: no one is
// left who could remove it.
func (m *Means) Join() (oom int, err error) {
	oom = open(m.OOM)
	for i := range m.Cgroups {
		c := &m.Cgroups[i]
		sweep(c.Parent)
		dir, err := c.make()
		if err != nil {
			return -1, err
		}
		if err := c.join(dir); err != nil {
			_ = syscall.Rmdir(dir)
			return -1, err
		}
		if c.OOM != "" {
			oom = open(dir + "/" + c.OOM)
		}
	}
	return oom, nil
}

// open returns -1 for a file that cannot be opened: then no kill is reported.
func open(name string) int {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

func (c *Cgroup) make() (string, error) {
	for {
		var b [4]byte
		_, _ = unix.Getrandom(b[:], 0) // only so that two names differ
		dir := c.Parent + "/" + namePrefix + strconv.Itoa(os.Getpid()) + "-" + hex.EncodeToString(b[:])
		err := syscall.Mkdir(dir, 0o755)
		if err == nil {
			return dir, nil
		}
		if err != syscall.EEXIST {
			return "", &os.PathError{Op: "control group", Path: dir, Err: err}
		}
	}
}

// join sets the limits, then enters: there is no moment without them.
func (c *Cgroup) join(dir string) error {
	for _, f := range c.Files {
		err := write(dir+"/"+f.Name, f.Data)
		if err != nil && !(f.Optional && errors.Is(err, syscall.ENOENT)) {
			return err
		}
	}
	return write(dir+"/cgroup.procs", "0") // the one that writes
}

// write gives the kernel the whole text at once, and does not make a file.
func write(name, data string) error {
	fd, err := syscall.Open(name, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err == nil {
		_, err = syscall.Write(fd, []byte(data))
		syscall.Close(fd)
	}
	if err != nil {
		return &os.PathError{Op: "control group", Path: name, Err: err}
	}
	return nil
}

// sweep removes the groups of earlier runs. One with processes in it cannot be
// removed; one whose maker is alive may be about to be entered.
func sweep(parent string) {
	groups, _ := os.ReadDir(parent)
	for _, g := range groups {
		pid, ok := maker(g.Name())
		if ok && syscall.Kill(pid, 0) == syscall.ESRCH {
			_ = syscall.Rmdir(parent + "/" + g.Name())
		}
	}
}

// maker is the process whose group has that name.
func maker(name string) (pid int, ok bool) {
	rest, ok := strings.CutPrefix(name, namePrefix)
	number, random, cut := strings.Cut(rest, "-")
	pid, err := strconv.Atoi(number)
	return pid, ok && cut && err == nil && pid > 0 && len(random) == 8
}
