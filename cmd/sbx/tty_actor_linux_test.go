// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// actor is the command in most scenes at a terminal. It says what happens to
// it, and handles what the keyboard can send, which takes it a while. A shell
// with traps would not do: it may miss a signal that comes just before it waits.
//
//	actor [stubborn] [sleepy] MARK
//
// stubborn does not heed Ctrl-Z; sleepy does something before it stops itself,
// as an editor does.
func actorMain() {
	signals := make(chan os.Signal, 32)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGCONT, syscall.SIGWINCH)
	if slices.Contains(os.Args, "stubborn") {
		signal.Ignore(syscall.SIGTSTP)
	}
	if slices.Contains(os.Args, "sleepy") {
		signal.Notify(signals, syscall.SIGTSTP)
	}
	fmt.Println("ready")
	for {
		select {
		case s := <-signals:
			handle(s)
		case <-time.After(time.Minute): // whatever else has gone wrong
			os.Exit(1)
		}
	}
}

func handle(s os.Signal) {
	switch s {
	case syscall.SIGINT:
		time.Sleep(500 * time.Millisecond)
		f, err := os.OpenFile("cleaned", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		die(err)
		_, err = f.WriteString("cleaned\n")
		die(err)
		fmt.Println("cleaned") // last, since a pipe may be gone
		os.Exit(7)
	case syscall.SIGQUIT:
		fmt.Println("quitting")
		os.Exit(8)
	case syscall.SIGTERM:
		fmt.Println("terminating")
		os.Exit(9)
	case syscall.SIGCONT:
		fmt.Println("awoken")
	case syscall.SIGWINCH:
		size, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
		die(err)
		fmt.Println("resized to", size.Row, size.Col)
	case syscall.SIGTSTP:
		fmt.Println("asleep")
		die(syscall.Kill(os.Getpid(), syscall.SIGSTOP))
	}
}
