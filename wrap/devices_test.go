// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// TestDevices: of the nodes of a set those that the user may open, and no link, disk or
// terminal, by whatever name.
func TestDevices(t *testing.T) {
	m := user(debian + home("/home/u", "1000") + repo("/home/u/src/app"))
	m.more = `
/dev/dri/card0 device mode=666
/dev/dri/card1 device mode=600 uid=0
/dev/dri/renderD128 device mode=666
/dev/dri/renderD129 -> /home/u/src/app/node
/dev/kvm device mode=600 uid=0
/dev/by-id/one -> ../ttyUSB0
/dev/by-id/two -> ../tty2
/dev/by-id/three -> /home/u/src/app/node
/dev/ttyUSB0 device mode=666
/dev/tty2 device mode=666
/dev/sg0 device mode=666
/home/u/src/app/node device mode=666
/sys/dev/char/
/sys/devices/
`
	named := func(names ...string) {
		m.over.Devices = policy.List{}
		for _, name := range names {
			m.over.Devices.Items = append(m.over.Devices.Items,
				policy.Item{Text: name, Source: "--device", Layer: policy.Flag})
		}
	}
	named("gpu", "/dev/by-id/one")
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Report.View.Devices(), " "); got != "/dev/dri/card0 /dev/dri/renderD128 /dev/ttyUSB0" {
		t.Error("opened: ", got)
	}
	words := strings.Join(strings.Fields(describe(t, p, m.uid)), " ")
	for _, want := range []string{"--dev-bind /dev/dri/card0 /dev/dri/card0", "--dev-bind /dev/ttyUSB0 /dev/ttyUSB0",
		"--ro-bind /sys/dev/char /sys/dev/char"} {
		if !strings.Contains(words, want) {
			t.Error("missing: ", want)
		}
	}
	for name, want := range map[string]string{"kvm": "cannot be opened by you", "/dev/by-id/two": "never opened",
		"/dev/by-id/three": "not in /dev", "/dev/sg0": "never opened", "/dev/dri/renderD129": "not in /dev",
		"/dev/nothing": "no such device"} {
		named(name)
		if _, _, err := m.plan(t); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	named()
	if p, _, err = m.plan(t); err != nil || strings.Contains(strings.Join(strings.Fields(describe(t, p, m.uid)), " "), "dev-bind") {
		t.Error("control: devices without a word for them", err)
	}
}
