// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// helpers are small programs for scripts, run inside and outside alike.
var helpers = map[string]func(){
	"dial": dialMain, "fdrun": fdrunMain, "probe": probeMain, "treehash": treehashMain, "jail": jailMain, "crowd": crowdMain, "gen": genMain, "actor": actorMain,
	"launch": launchMain, "inherit": inheritMain, "tally": tallyMain, "stubborn": stubbornMain, "assail": assailMain, "told": toldMain, "heed": heedMain, "snoop": snoopMain, "fuse": fuseMain, "vanish": vanishMain, "serve": serveMain,
}

func die(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, filepath.Base(os.Args[0])+":", err)
		os.Exit(1)
	}
}

// dial NETWORK ADDRESS prints what a server says.
func dialMain() {
	c, err := net.Dial(os.Args[1], os.Args[2])
	die(err)
	_, err = io.Copy(os.Stdout, c)
	die(err)
}

// crowd MOST LOW HIGH starts sleeping processes until it cannot, at most MOST,
// and fails unless there were LOW to HIGH of them. The threads of a Go program
// count as well.
func crowdMain() {
	var n [3]int
	for i := range n {
		var err error
		n[i], err = strconv.Atoi(os.Args[1+i])
		die(err)
	}
	var children []*os.Process
	for len(children) < n[0] {
		p, err := os.StartProcess("/bin/sleep", []string{"sleep", "30"}, &os.ProcAttr{})
		if err != nil {
			break
		}
		children = append(children, p)
	}
	for _, p := range children {
		_ = p.Kill()
		_, _ = p.Wait()
	}
	if len(children) < n[1] || len(children) > n[2] {
		die(fmt.Errorf("started %d", len(children)))
	}
}

// gen SIZE prints that many bytes of every value, the same each time.
func genMain() {
	n, err := strconv.Atoi(os.Args[1])
	die(err)
	b := make([]byte, n)
	x := uint64(88172645463325252)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	_, err = os.Stdout.Write(b)
	die(err)
}

// fdrun SPEC... -- CMD ARG... opens descriptors and executes CMD:
//
//	N<PATH     read-only          N>PATH     write-only, appending
//	N@PATH     O_PATH             N=pipe:TXT a pipe with a text in it
//	N=memfd:TXT  a file in memory with a text in it
//	N=conn:PATH  connected to a socket
//	N=pair:TXT   end of a socket pair; the other end is N+1 and has a text in it
func fdrunMain() {
	i := 1
	for ; os.Args[i] != "--"; i++ {
		die(openSpec(os.Args[i]))
	}
	cmd := os.Args[i+1:]
	path, err := exec.LookPath(cmd[0])
	die(err)
	die(syscall.Exec(path, cmd, os.Environ()))
}

func openSpec(spec string) error {
	at := strings.IndexAny(spec, "<>@=")
	n, err := strconv.Atoi(spec[:at])
	if err != nil {
		return err
	}
	arg := spec[at+1:]
	fd := -1
	switch {
	case spec[at] == '<':
		fd, err = syscall.Open(arg, syscall.O_RDONLY, 0)
	case spec[at] == '>':
		fd, err = syscall.Open(arg, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_APPEND, 0o644)
	case spec[at] == '@':
		fd, err = syscall.Open(arg, unix.O_PATH, 0)
	case strings.HasPrefix(arg, "conn:"):
		if fd, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); err == nil {
			err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: arg[5:]})
		}
	case strings.HasPrefix(arg, "pipe:"):
		var p [2]int
		if err = syscall.Pipe(p[:]); err == nil {
			_, err = syscall.Write(p[1], []byte(arg[5:]+"\n"))
			syscall.Close(p[1])
		}
		fd = p[0]
	case strings.HasPrefix(arg, "memfd:"):
		if fd, err = unix.MemfdCreate("fdrun", 0); err == nil {
			_, err = unix.Pwrite(fd, []byte(arg[6:]+"\n"), 0)
		}
	case strings.HasPrefix(arg, "pair:"):
		var p [2]int
		if p, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); err == nil {
			if _, err = syscall.Write(p[1], []byte(arg[5:]+"\n")); err == nil {
				err = move(p[1], n+1)
			}
		}
		fd = p[0]
	default:
		return fmt.Errorf("%s: no such descriptor", spec)
	}
	if err != nil {
		return err
	}
	return move(fd, n)
}

func move(fd, to int) error {
	if fd == to {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
		return err
	}
	err := unix.Dup3(fd, to, 0)
	syscall.Close(fd)
	return err
}

// probe does one thing that a sandbox should refuse, and says how it went. Its
// exit status is 0 when it could be done.
func probeMain() {
	switch os.Args[1] {
	case "reopen": // N TEXT: write to the file behind a descriptor, opened anew
		f, err := os.OpenFile("/proc/self/fd/"+os.Args[2], os.O_WRONLY, 0)
		die(err)
		_, err = f.WriteString(os.Args[3])
		die(err)
	case "tamper": // N: all that the descriptor of a file gives without being open for writing; one line each that could be done
		tamper(atoi(os.Args[2]))
	case "abstract": // a server and a client of this sandbox's own
		l, err := net.Listen("unix", "@sbx-probe-"+strconv.Itoa(os.Getpid()))
		die(err)
		c, err := net.Dial("unix", l.Addr().String())
		die(err)
		die(c.Close())
	case "offset": // N OFFSET: set that of a descriptor
		_, err := syscall.Seek(atoi(os.Args[2]), int64(atoi(os.Args[3])), 0)
		die(err)
	case "grow": // N: what a file holds beyond its present end, once another process appends
		growing(atoi(os.Args[2]))
	case "proc": // open for writing, and never write, what rules the kernel
		if n := kernelFiles(); n == 0 {
			os.Exit(1)
		}
	case "chmod": // MODE PATH
		mode, err := strconv.ParseUint(os.Args[2], 8, 32)
		die(err)
		die(syscall.Chmod(os.Args[3], uint32(mode)))
	case "secret": // PART...: look for a text in every process; in parts, lest it finds itself
		if !inProcesses(strings.Join(os.Args[2:], ""), "cmdline", "environ", "comm") {
			os.Exit(1)
		}
	case "cmdline": // PART...: the same, in what ps shows
		if !inProcesses(strings.Join(os.Args[2:], ""), "cmdline", "comm") {
			os.Exit(1)
		}
	case "kill": // PID: may it be signalled?
		n, err := strconv.Atoi(os.Args[2])
		die(err)
		die(syscall.Kill(n, 0))
	case "remount": // PATH
		die(syscall.Mount("", os.Args[2], "", syscall.MS_REMOUNT|syscall.MS_BIND, ""))
	case "mount": // PATH
		die(syscall.Mount("none", os.Args[2], "tmpfs", 0, ""))
	case "umount": // PATH
		die(syscall.Unmount(os.Args[2], syscall.MNT_DETACH))
	case "mknod": // PATH: the block device 8:0
		die(syscall.Mknod(os.Args[2], syscall.S_IFBLK|0o600, 8<<8))
	case "shm": // make a segment of System V shared memory, and remove it
		id, err := unix.SysvShmGet(0, 4096, 0o1600)
		die(err)
		_, err = unix.SysvShmCtl(id, 0, nil)
		die(err)
	case "limit": // PID: take a process's open files away
		n, err := strconv.Atoi(os.Args[2])
		die(err)
		die(unix.Prlimit(n, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: 3}, nil))
	case "fds": // list what is open
		listFDs()
	case "read": // N: everything from a descriptor
		f := os.NewFile(uintptr(atoi(os.Args[2])), "fd")
		if f == nil {
			die(fmt.Errorf("not open"))
		}
		_, err := io.Copy(os.Stdout, f)
		die(err)
	case "recv": // N: one message from a descriptor
		buf := make([]byte, 4096)
		n, err := syscall.Read(atoi(os.Args[2]), buf)
		die(err)
		os.Stdout.Write(buf[:n])
	case "exe": // PID: processes from PID down, one line each
		processes(os.Args[2])
	default:
		die(fmt.Errorf("no such probe: %s", os.Args[1]))
	}
}

// tamper tries what changes a file, or its attributes, by a descriptor of it.
func tamper(fd int) {
	path := "/proc/self/fd/" + strconv.Itoa(fd)
	done := 0
	refusals := []error{syscall.EROFS, syscall.EACCES, syscall.EPERM, syscall.EBADF, syscall.EINVAL, syscall.EXDEV, syscall.EOPNOTSUPP}
	try := func(name string, err error) {
		if err == nil {
			done++
			fmt.Println(name)
		} else if !slices.Contains(refusals, err) {
			die(fmt.Errorf("%s: %w", name, err))
		}
	}
	open := func(flags int) error {
		n, err := syscall.Open(path, flags, 0)
		if err == nil {
			syscall.Close(n)
		}
		return err
	}
	now := []syscall.Timespec{{Sec: 1}, {Sec: 1}}
	try("open rdwr", open(syscall.O_RDWR))
	try("open wronly", open(syscall.O_WRONLY))
	try("open append", open(syscall.O_WRONLY|syscall.O_APPEND))
	try("open trunc", open(syscall.O_WRONLY|syscall.O_TRUNC))
	try("open rdonly trunc", open(syscall.O_RDONLY|syscall.O_TRUNC))
	try("truncate", syscall.Truncate(path, 0))
	try("ftruncate", syscall.Ftruncate(fd, 0))
	_, err := syscall.Write(fd, []byte("x"))
	try("write", err)
	try("fallocate", syscall.Fallocate(fd, 0, 0, 1<<16))
	_, err = unix.Mmap(fd, 0, 1, unix.PROT_WRITE, unix.MAP_SHARED)
	try("mmap", err)
	try("chmod", syscall.Chmod(path, 0o777))
	try("fchmod", syscall.Fchmod(fd, 0o777))
	try("fchown", syscall.Fchown(fd, os.Getuid(), os.Getgid()))
	try("utimes", unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{{Sec: 1}, {Sec: 1}}, 0))
	_, _, errno := syscall.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&now[0])), 0, 0, 0)
	try("futimens", errnoErr(errno))
	try("setxattr", unix.Fsetxattr(fd, "user.sbx", []byte("x"), 0))
	var flags int
	if flags, err = unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS); err == nil {
		try("setflags", unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags|0x80)) // FS_NOATIME_FL
	}
	try("link", unix.Linkat(unix.AT_FDCWD, path, unix.AT_FDCWD, "linked", unix.AT_SYMLINK_FOLLOW))
	if done == 0 {
		os.Exit(1)
	}
}

func errnoErr(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// growing reads a file to its end, says so, and waits for more.
func growing(fd int) {
	f := os.NewFile(uintptr(fd), "fd")
	_, err := io.Copy(io.Discard, f)
	die(err)
	fmt.Println("at the end")
	die(os.WriteFile("waiting", nil, 0o644))
	for range 100 {
		b, err := io.ReadAll(f)
		die(err)
		if len(b) > 0 {
			fmt.Printf("more: %s", b)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	os.Exit(1)
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	die(err)
	return n
}

func listFDs() {
	entries, err := os.ReadDir("/proc/self/fd")
	die(err)
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		// The one that lists, and Go's own poller.
		if err != nil || strings.HasSuffix(to, "/fd") || strings.HasPrefix(to, "anon_inode:") {
			continue
		}
		fmt.Println(e.Name(), to)
	}
}

// kernelFiles counts and prints the files of the kernel that can be opened for
// writing. Opening changes nothing.
func kernelFiles() int {
	n := 0
	for _, root := range []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/acpi", "/proc/mtrr", "/proc/scsi", "/sys"} {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
			if err != nil {
				return nil
			}
			syscall.Close(fd)
			n++
			fmt.Println(path)
			return nil
		})
	}
	return n
}

// inProcesses looks through what all processes but this one show.
func inProcesses(text string, files ...string) bool {
	found := false
	pids, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range pids {
		if filepath.Base(p) == strconv.Itoa(os.Getpid()) {
			continue
		}
		for _, name := range files {
			data, err := os.ReadFile(p + "/" + name)
			if err == nil && bytes.Contains(data, []byte(text)) {
				found = true
				fmt.Printf("%s/%s: %q\n", p, name, data)
			}
		}
	}
	return found
}

// processes prints a process and its descendants: depth, name of the program.
func processes(pid string) {
	var walk func(pid string, depth int)
	walk = func(pid string, depth int) {
		exe, _ := os.Readlink("/proc/" + pid + "/exe")
		fmt.Println(depth, filepath.Base(exe))
		tasks, _ := filepath.Glob("/proc/" + pid + "/task/*/children")
		for _, t := range tasks {
			data, _ := os.ReadFile(t)
			for _, child := range strings.Fields(string(data)) {
				walk(child, depth+1)
			}
		}
	}
	walk(pid, 0)
}

// treehash [-x PATH]... DIR... prints every name with type, mode, time, size,
// link target and content. What -x names is left out.
func treehashMain() {
	skip := map[string]bool{}
	args := os.Args[1:]
	for len(args) > 1 && args[0] == "-x" {
		skip[filepath.Clean(args[1])], args = true, args[2:]
	}
	var lines []string
	for _, dir := range args {
		die(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if skip[path] {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			line, err := describe(path)
			lines = append(lines, line)
			return err
		}))
	}
	sort.Strings(lines)
	fmt.Println(strings.Join(lines, "\n"))
}

func describe(path string) (string, error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return "", err
	}
	content := ""
	if st.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		st.Size = 0 // of the list of names, which is here anyway
	}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFLNK:
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		content = "-> " + to
	case syscall.S_IFREG:
		data, err := os.ReadFile(path)
		if err != nil && !os.IsPermission(err) {
			return "", err
		}
		content = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return fmt.Sprintf("%q mode %o uid %d mtime %d.%09d size %d %s", path, st.Mode, st.Uid, st.Mtim.Sec, st.Mtim.Nsec, st.Size, content), nil
}

// jail [OPTION]... CMD ARG... runs a command on this host, less something:
//
//	-missing      without any bwrap
//	-stub FILE    with FILE as /usr/bin/bwrap
//	-etc DIR      with DIR's files as /etc/sbx
//	-passwd FILE  with FILE as /etc/passwd; for root
//	-nouserns     where no further user namespace can be made
func jailMain() {
	real, err := exec.LookPath("bwrap")
	die(err)
	words := []string{"bwrap", "--dev-bind", "/", "/"}
	args := os.Args[1:]
	root := os.Geteuid() == 0
loop:
	for {
		switch args[0] {
		case "-missing":
			for _, dir := range []string{"/usr/bin", "/usr/local/bin"} {
				words = append(words, without(dir)...)
			}
		case "-stub":
			words = append(words, "--ro-bind", args[1], "/usr/bin/bwrap")
			args = args[1:]
		case "-etc":
			words = append(words, etcWith(args[1])...)
			if !root {
				// A file of the user's is root's in there, as /etc/sbx wants it.
				words = append(words, "--unshare-user", "--uid", "0", "--gid", "0")
			}
			args = args[1:]
		case "-passwd":
			words = append(words, "--ro-bind", args[1], "/etc/passwd")
			args = args[1:]
		case "-nolandlock":
			words = append(words, "--seccomp", strconv.Itoa(noLandlock()))
		case "-nouserns":
			words = append(words, "--unshare-user", "--disable-userns")
		default:
			break loop
		}
		args = args[1:]
	}
	if os.Getenv("JAIL_DEBUG") != "" {
		fmt.Fprintln(os.Stderr, words)
	}
	words = append(append(words, "--"), args...)
	die(syscall.Exec(real, words, os.Environ()))
}

// noLandlock is a descriptor with a filter that answers as a kernel without
// Landlock does.
func noLandlock() int {
	code, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: 444, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: 446, SkipTrue: 1},
		bpf.RetConstant{Val: 0x00050000 | uint32(syscall.ENOSYS)},
		bpf.RetConstant{Val: 0x7fff0000},
	})
	die(err)
	fd, err := unix.MemfdCreate("filter", 0)
	die(err)
	die(binary.Write(os.NewFile(uintptr(fd), "filter"), binary.LittleEndian, code))
	_, err = unix.Seek(fd, 0, 0)
	die(err)
	return fd
}

// without covers a directory of programs with one that has a few of them.
func without(dir string) []string {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return nil
	}
	words := []string{"--tmpfs", dir}
	for _, name := range []string{"bash", "cat", "dash", "env", "ls", "sh", "touch", "true"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			words = append(words, "--ro-bind", path, path)
		}
	}
	return words
}

// etcWith covers /etc with one that has /etc/sbx as well.
func etcWith(dir string) []string {
	entries, err := os.ReadDir("/etc")
	die(err)
	words := []string{"--tmpfs", "/etc"}
	for _, e := range entries {
		path := filepath.Join("/etc", e.Name())
		if to, err := os.Readlink(path); err == nil {
			words = append(words, "--symlink", to, path)
		} else if e.Name() != "sbx" {
			words = append(words, "--ro-bind", path, path)
		}
	}
	return append(words, "--ro-bind", dir, "/etc/sbx", "--remount-ro", "/etc")
}
