// SPDX-License-Identifier: Apache-2.0

package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestKernelFiles: a file of whatever is mounted here is the kernel's own but on
// the file systems that keep what programs write.
func TestKernelFiles(t *testing.T) {
	keeps := []string{"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "tmpfs", "ramfs", "devtmpfs", "overlay", "squashfs", "iso9660", "vfat", "9p", "virtiofs", "nfs", "nfs4", "hugetlbfs"}
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	kernels := func(path string) (is, ok bool) {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0) // passed on, or nothing would be asked
		if err != nil {
			return false, false
		}
		defer unix.Close(fd)
		d, ok := descriptor(fd)
		return d.Kernel, ok && d.Kind == FDFile
	}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		before, after, _ := strings.Cut(line, " - ")
		at, kind := strings.Fields(before)[4], strings.Fields(after)[0]
		if seen[kind] || strings.HasPrefix(kind, "fuse") && kind != "fusectl" || kind == "autofs" {
			continue
		}
		files := []string{at}
		for _, p := range []string{"*", "*/*"} {
			found, _ := filepath.Glob(filepath.Join(at, p))
			files = append(files, found[:min(len(found), 200)]...)
		}
		for _, f := range files {
			var on, top unix.Statfs_t // it may be of what is mounted below
			if info, err := os.Lstat(f); err != nil || !info.Mode().IsRegular() || unix.Statfs(f, &on) != nil || unix.Statfs(at, &top) != nil || on.Type != top.Type {
				continue
			}
			is, ok := kernels(f)
			if !ok {
				continue
			}
			seen[kind] = true
			if want := !slices.Contains(keeps, kind); is != want {
				t.Errorf("%s on %s: the kernel's own: %v, want %v", f, kind, is, want)
			}
			break
		}
	}
	for _, kind := range []string{"proc", "sysfs"} {
		if !seen[kind] {
			t.Errorf("no file of %s could be opened", kind)
		}
	}
	for _, path := range []string{"/proc/self/mem", "/proc/self/status", "/proc/self/attr/current"} {
		if is, ok := kernels(path); ok && !is {
			t.Errorf("%s is the kernel's", path)
		}
	}
	for _, ns := range []string{"net", "pid", "mnt", "user"} {
		fd, err := unix.Open("/proc/self/ns/"+ns, unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := descriptor(fd); !ok || d.Kind == FDFile && !d.Kernel {
			t.Errorf("a namespace: %+v", d)
		}
		unix.Close(fd)
	}
	if fd, err := unix.PidfdOpen(os.Getpid(), 0); err == nil {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
		if d, ok := descriptor(fd); !ok || d.Kind == FDFile && !d.Kernel {
			t.Errorf("a process: %+v", d)
		}
		unix.Close(fd)
	}
	fd, err := unix.MemfdCreate("x", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if d, ok := descriptor(fd); !ok || d.Kernel || !d.Deleted || d.Kind != FDFile {
		t.Errorf("a file in memory: %+v", d)
	}
}
