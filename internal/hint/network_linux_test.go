// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// acts are what the test does in a network namespace of its own.
var acts = map[string]func(){
	"nothing":          func() {},
	"TCP beyond":       func() { _, _ = net.Dial("tcp", "192.0.2.1:80") },
	"TCP beyond, IPv6": func() { _, _ = net.Dial("tcp", "[2001:db8::1]:80") },
	"UDP beyond":       func() { _, _ = net.Dial("udp", "192.0.2.1:80") },
	"UDP beyond, unconnected": func() {
		if c, err := net.ListenUDP("udp4", nil); err == nil {
			_, _ = c.WriteToUDP([]byte("x"), &net.UDPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80})
		}
	},
	"TCP to nobody": func() {
		_, _ = net.Dial("tcp", "127.0.0.1:9")
		_, _ = net.Dial("tcp", "[::1]:9")
	},
	"TCP to somebody": func() {
		if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
			_, _ = net.Dial("tcp", l.Addr().String())
		}
	},
	"a metric": func() { metrics(1) }, "two metrics": func() { metrics(2) }, "three metrics": func() { metrics(3) }, "many metrics": func() { metrics(40) },
	"metrics, unconnected": func() {
		if c, err := net.ListenUDP("udp4", nil); err == nil {
			for range 8 {
				_, _ = c.WriteToUDP([]byte("x"), &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8125})
			}
		}
	},
	"a lookup":            func() { _ = exec.Command("getent", "ahosts", "example.com").Run() },
	"a lookup of its own": func() { _ = exec.Command("getent", "ahosts", "localhost").Run() },
}

func metrics(n int) {
	if c, err := net.Dial("udp", "127.0.0.1:8125"); err == nil {
		for range n {
			_, _ = c.Write([]byte("x"))
		}
	}
}

// What the kernel counts is what the table of TestCut says.
func TestCountsOfTheKernel(t *testing.T) {
	if act := os.Getenv("HINT_TEST_ACT"); act != "" {
		acts[act]()
		read := func(path string) []byte { data, _ := os.ReadFile(path); return data }
		if os.WriteFile(os.Getenv("HINT_TEST_OUT"), slices.Concat(read("/proc/self/net/snmp"), []byte{0}, read("/proc/self/net/snmp6")), 0o600) != nil {
			os.Exit(1)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(act, resolver string) traffic {
		dir := t.TempDir()
		conf, out := filepath.Join(dir, "resolv.conf"), filepath.Join(dir, "out")
		if err := os.WriteFile(conf, []byte(resolver), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bwrap", "--unshare-all", "--bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--ro-bind", conf, "/etc/resolv.conf", self, "-test.run=^TestCountsOfTheKernel$")
		cmd.Env = append(os.Environ(), "HINT_TEST_ACT="+act, "HINT_TEST_OUT="+out)
		if text, err := cmd.CombinedOutput(); err != nil {
			if act == "nothing" && !slices.Contains(strings.Split(os.Getenv("SBX_TEST_REQUIRE"), ","), "bwrap") {
				t.Skipf("bwrap does not work here: %v: %s", err, text)
			}
			t.Fatalf("%s: %v: %s", act, err, text)
		}
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		snmp, snmp6, _ := bytes.Cut(data, []byte{0})
		return counted(string(snmp), string(snmp6))
	}
	const far, near, none = "nameserver 192.0.2.53\n", "nameserver 127.0.0.53\noptions edns0 trust-ad\n", ""
	for _, tt := range []struct {
		act, resolver string
		cut           bool
	}{
		{"nothing", far, false},
		{"TCP beyond", far, true}, {"TCP beyond, IPv6", far, true}, {"UDP beyond", far, true}, {"UDP beyond, unconnected", far, true},
		{"TCP to nobody", far, false}, {"TCP to somebody", far, false},
		{"a metric", near, false}, {"two metrics", near, false}, {"three metrics", near, false}, {"many metrics", near, false}, {"metrics, unconnected", near, false},
		{"a lookup", far, true}, {"a lookup", near, true}, {"a lookup", none, true},
		{"a lookup of its own", far, false}, {"a lookup of its own", near, false},
	} {
		if c := run(tt.act, tt.resolver); c.cut() != tt.cut {
			t.Errorf("%s, %q: %+v", tt.act, tt.resolver, c)
		}
	}
}
