// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// deviceSet is the nodes that a word for devices stands for, nil for another word.
func deviceSet(word string) []string {
	return map[string][]string{
		"gpu": {"/dev/dri/card*", "/dev/dri/renderD*", "/dev/nvidia*", "/dev/nvidia-caps/nvidia-cap*", "/dev/kfd", "/dev/dxg"},
		"kvm": {"/dev/kvm"},
	}[word]
}

// gpuFacts is where drivers of GPUs look up what a node is (libdrm, Mesa, ROCm).
var gpuFacts = []string{"/sys/bus/pci", "/sys/class/drm", "/sys/class/kfd", "/sys/dev/char", "/sys/devices"}

// neverOpened leads to the machine's memory, disks, terminals, input or mounts, or to
// another network: a command that has one of these needs no other way out. What ends in
// "*" is so whatever follows.
const neverOpened = `mem kmem port kmsg nvram tty tty0* tty1* tty2* tty3* tty4* tty5* tty6* tty7* tty8*
	tty9* vcs* console ptmx pts/* shm/* mqueue/* fd/* input/* uinput hidraw* usbmon* uhid vhci watchdog* ipmi* sg*
	bsg/* nvme* ng* mtd* raw* mapper/* btrfs-control loop-control autofs cuse userfaultfd snapshot cpu/* net/tun
	vhost-* vfio/* binder*`

// OpenDevices adds what the policy's devices name: character devices that the user may
// open and that only root can have put there.
func (v *View) OpenDevices(pol *policy.Policy) error {
	before := len(v.Entries)
	for _, it := range pol.Devices {
		r := &policy.Rule{Access: policy.Write, Layer: it.Layer, Source: it.Source}
		nodes, set := []string{it.Text}, deviceSet(it.Text) != nil
		if set {
			nodes = v.deviceNodes(it.Text)
		}
		var last error
		opened := 0
		for _, path := range nodes {
			err := v.openDevice(r, path)
			if err == nil {
				opened++
			} else {
				last = err
			}
		}
		if it.Text == "gpu" && opened > 0 {
			v.showFacts(it)
		}
		switch {
		case opened > 0 && set, last == nil && !set:
		case it.Layer == policy.Flag, !set && !errors.As(last, new(*absentDevice)):
			return failed(it.Source+": "+deviceTrouble(it.Text, last).Error(), "")
		default:
			v.Notes = append(v.Notes, it.Source+": "+deviceTrouble(it.Text, last).Error())
		}
	}
	if len(v.Entries) > before {
		v.Sort()
	}
	return nil
}

// showFacts shows what the kernel says of GPUs, read-only.
func (v *View) showFacts(it policy.Item) {
	for _, dir := range gpuFacts {
		info, err := v.Host.FS.Lstat(dir)
		if err != nil || info.Kind != host.Dir || slices.ContainsFunc(v.Entries,
			func(m Entry) bool { return m.Path == dir }) {
			continue
		}
		r := &policy.Rule{Path: dir, Access: policy.Read, Layer: it.Layer, Source: it.Source}
		v.Entries = append(v.Entries, Entry{Path: dir, Info: info, Rule: r, rules: policy.RuleSet{Give: r},
			Access: policy.Read})
	}
}

// absentDevice is a node that does not exist.
type absentDevice struct{ path string }

func (e *absentDevice) Error() string { return text.Plain(e.path) + ": no such device" }

func deviceTrouble(name string, err error) error {
	if err == nil {
		return errors.New("this machine has no device for " + name)
	}
	return err
}

// deviceNodes are the nodes of a set that exist.
func (v *View) deviceNodes(set string) (out []string) {
	for _, pattern := range deviceSet(set) {
		dir, last := policy.Dir(pattern), host.Base(pattern)
		if !strings.Contains(last, "*") {
			if info, err := v.Host.FS.Lstat(pattern); err == nil && info.Kind != host.Absent {
				out = append(out, pattern)
			}
			continue
		}
		entries, _ := v.Res.Entries(dir)
		for _, e := range entries {
			if policy.Match(last, e.Name) && e.Kind == host.Device {
				out = append(out, host.Join(dir, e.Name))
			}
		}
	}
	return out
}

// openDevice adds an entry for one node. A name below /dev may be a link there, which
// only root can have made.
func (v *View) openDevice(r *policy.Rule, path string) error {
	to, err := v.Res.Resolve(path)
	if err != nil {
		return err
	}
	names := []string{path, to.Path}
	for _, l := range to.Links {
		names = append(names, l.Path)
	}
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, "/dev/")
		if !ok {
			return errors.New(text.Plain(path) + " is not in /dev")
		}
		if slices.ContainsFunc(strings.Fields(neverOpened), func(never string) bool {
			stem, open := strings.CutSuffix(never, "*")
			return rest == never || open && strings.HasPrefix(rest, stem)
		}) {
			return errors.New(text.Plain(path) + " is never opened: it leads to memory, disks, terminals or input of " +
				"the machine, and with it out of the sandbox")
		}
	}
	fs := v.Host.FS
	switch {
	case to.Info.Kind == host.Absent:
		return &absentDevice{path}
	case to.Info.Kind != host.Device:
		return errors.New(text.Plain(path) + " is no character device")
	case !fs.Access(to.Path, 'r') || !fs.Access(to.Path, 'w'):
		return errors.New(text.Plain(path) + " cannot be opened by you: the group of the device decides (id, ls -l)")
	case slices.ContainsFunc(v.Entries, func(m Entry) bool { return m.Path == to.Path }):
		return nil
	}
	at := *r
	at.Path = to.Path
	v.Entries = append(v.Entries, Entry{Path: to.Path, Info: to.Info, Rule: &at, rules: policy.RuleSet{Give: &at},
		Access: policy.Write})
	return nil
}

// Devices are the canonical paths of the devices that were opened.
func (v *View) Devices() (out []string) {
	for i := range v.Entries {
		if m := &v.Entries[i]; m.Info.Kind == host.Device && m.Access == policy.Write && policy.Within(m.Path, "/dev") {
			out = append(out, m.Path)
		}
	}
	return out
}
