// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sbx-sandbox/sbx/internal/ptytest"
)

// serve ADDRESS... listens at addresses, of which one may be "udp:…", until its
// standard input ends. It prints the ports.
func serveMain() {
	for _, address := range os.Args[1:] {
		if rest, udp := strings.CutPrefix(address, "udp:"); udp {
			c, err := net.ListenPacket("udp", rest)
			die(err)
			fmt.Print(" ", c.LocalAddr().(*net.UDPAddr).Port, " udp")
			continue
		}
		l, err := net.Listen("tcp", address)
		die(err)
		fmt.Print(" ", l.Addr().(*net.TCPAddr).Port, " tcp")
	}
	fmt.Println(" ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// TestPortsInside: a server in a sandbox without a network is open only inside, and on
// a terminal that is said once, after three seconds.
func TestPortsInside(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	w := newWorld(t)
	var env []string
	for _, v := range w.env {
		env = append(env, strings.Replace(v, "PATH=", "PATH="+filepath.Dir(sbxPath)+":", 1))
	}
	for _, c := range []struct{ name, command string }{
		{"told", "sbx -- serve 127.0.0.1:0 [::1]:0 udp:127.0.0.1:0"},
		{"told of one", "sbx -c 'serve 0.0.0.0:0; exit'"},
		{"none", "sbx -- serve udp:127.0.0.1:0"},
		{"network", "sbx --net -- serve 127.0.0.1:0"},
		{"quiet", "sbx -q -- serve 127.0.0.1:0"},
		{"no terminal", "sbx -- serve 127.0.0.1:0 2>err; s=$?; cat err; exit $s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("sh", "-c", c.command)
			cmd.Dir, cmd.Env = w.proj, env
			p := ptytest.Start(t, cmd)
			ports := regexp.MustCompile(` (\d+) tcp`).FindAllStringSubmatch(p.Until("ready"), -1)
			want := 0
			switch {
			case !strings.HasPrefix(c.name, "told"):
				time.Sleep(3500 * time.Millisecond)
			case len(ports) == 1:
				p.Expect("sbx: notice: port " + ports[0][1] + " is open only inside (to share the network: sbx --net -")
				want = 1
			default:
				a, _ := strconv.Atoi(ports[0][1])
				b, _ := strconv.Atoi(ports[1][1])
				p.Expect(fmt.Sprintf("sbx: notice: ports %d, %d are open only inside (to share the network: sbx --net -",
					min(a, b), max(a, b)))
				want = 1
			}
			p.Type("\r")
			if s := p.Wait(); !s.Success() {
				t.Error(s)
			}
			if n := strings.Count(p.Screen(), "open only inside"); n != want {
				t.Errorf("%d times: %s", n, p.Screen())
			}
		})
	}
}
