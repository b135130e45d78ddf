// SPDX-License-Identifier: Apache-2.0

// Command listen is the other side of a network test that must not depend on
// what is installed.
//
//	listen            listen on a loopback port, print the port, answer each
//	                  caller with one line; end when stdin ends or after a minute
//	listen dial PORT  call that port and print the line
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 1:
		err = serve()
	case len(os.Args) == 3 && os.Args[1] == "dial":
		err = dial(os.Args[2])
	default:
		err = fmt.Errorf("usage: listen [dial PORT]")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "listen:", err)
		os.Exit(1)
	}
}

// serve never outlives whoever started it: stdin is a pipe that ends with them,
// also when they are killed.
func serve() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	end := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(end)
	}()
	go answer(l)
	select {
	case <-end:
	case <-time.After(time.Minute):
	}
	return l.Close()
}

func answer(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "hello from the host\n")
		_ = c.Close()
	}
}

func dial(port string) error {
	c, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", port), 2*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, c)
	return err
}
