// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"strconv"
	"syscall"
)

// Head returns the first n bytes of a file. It never waits: some of the kernel's
// files hold back a reader until there is news.
func Head(path string, n int) (string, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC|syscall.O_NOCTTY, 0)
	if err != nil {
		return "", err
	}
	defer syscall.Close(fd)
	return FromFD(fd, n)
}

// FromFD returns the next n bytes of an open file.
func FromFD(fd, n int) (string, error) {
	var first [8 << 10]byte // on the stack: most files fit
	buf, got := first[:min(n, len(first))], 0
	for got < n {
		if got == len(buf) {
			buf = append(buf, make([]byte, min(n-got, len(buf)))...)
		}
		k, err := syscall.Read(fd, buf[got:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return "", err
		}
		if k == 0 {
			break
		}
		got += k
	}
	return string(buf[:got]), nil
}

// Line returns what one read of a file gives, up to 256 bytes without the end of the
// line, and "" when that fails. At a second read some files of the kernel wait.
func Line(path string) string {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer syscall.Close(fd)
	var buf [256]byte
	n, err := syscall.Read(fd, buf[:])
	if err != nil {
		return ""
	}
	for n > 0 && (buf[n-1] == '\n' || buf[n-1] == 0) {
		n--
	}
	return string(buf[:n])
}

// largest is more than the kernel shows in any file that is read whole.
const largest = 16 << 20

// Read returns a whole file. One of more than 16 MiB is an error, EFBIG: half a
// table of mounts must not count as the table.
func Read(path string) (string, error) {
	text, err := Head(path, largest+1)
	if len(text) > largest {
		return "", syscall.EFBIG
	}
	return text, err
}

// Readlink returns where one of the kernel's short links leads: "pipe:[4711]".
func Readlink(path string) (string, error) {
	var buf [4096]byte
	n, err := syscall.Readlink(path, buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// Status returns a field of /proc/self/status, "" when there is none:
// Status("Seccomp") is "2".
func Status(key string) string {
	text, _ := Head("/proc/self/status", 8<<10)
	return Field(text, key)
}

// MountID returns the number of the mount that an open file lies on, as the first
// field of mountinfo has it, "" where that is not known.
func MountID(fd int) string {
	text, _ := Head("/proc/self/fdinfo/"+strconv.Itoa(fd), 4096)
	return Field(text, "mnt_id")
}

// Started returns when a process was started, in clock ticks since the machine
// was, and "" when there is no such process or it is hidden.
func Started(pid int) string {
	text, _ := Head("/proc/"+strconv.Itoa(pid)+"/stat", 4096)
	return startTime(text)
}

// Namespace returns the number of a namespace of this process, "0" where there is
// none of the kind: "user", "pid", "time", ….
func Namespace(kind string) string {
	text, err := Readlink("/proc/self/ns/" + kind)
	if err != nil || len(text) < len(kind)+3 { // "pid:[4026531836]"
		return "0"
	}
	return text[len(kind)+2 : len(text)-1]
}
