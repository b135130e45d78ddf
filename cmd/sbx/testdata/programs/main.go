// Command main does what Go programs do with the kernel, and fails where
// something is refused.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var wg sync.WaitGroup
	for range 16 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			runtime.LockOSThread() // and exit with it: the thread ends
			must(exec.Command("true").Run())
		}()
	}
	wg.Wait()

	sleeper := exec.Command("sleep", "60")
	sleeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(sleeper.Start())
	must(sleeper.Process.Kill())
	if err := sleeper.Wait(); err == nil {
		must(fmt.Errorf("it was not killed"))
	}

	dir, err := os.MkdirTemp("", "go")
	must(err)
	name := filepath.Join(dir, "f")
	must(os.WriteFile(name, make([]byte, 1<<20), 0o644))
	in, err := os.Open(name)
	must(err)
	out, err := os.Create(name + "2")
	must(err)
	_, err = io.Copy(out, in)
	must(err)
	must(out.Sync())
	must(out.Truncate(10))
	must(os.Chmod(name, 0o600))
	must(os.Chtimes(name, time.Now(), time.Now()))
	must(os.Rename(name, name+"3"))
	must(os.RemoveAll(dir))

	if os.Getenv("SBX_TIER") != "reduced" { // it has no loopback
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		go func() {
			c, err := l.Accept()
			must(err)
			_, err = io.Copy(c, c)
			must(err)
		}()
		conn, err := net.DialTimeout("tcp", l.Addr().String(), 10*time.Second)
		must(err)
		_, err = conn.Write([]byte("x"))
		must(err)
		_, err = io.ReadFull(conn, make([]byte, 1))
		must(err)
	}
	_, err = net.InterfaceAddrs()
	must(err)
	_, _ = net.LookupHost("name.invalid")
	_, _ = user.Current()

	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	must(syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	<-c
	<-time.After(time.Millisecond)
	runtime.GC()
	fmt.Println("all of it works")
}
