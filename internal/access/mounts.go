// SPDX-License-Identifier: Apache-2.0

package access

import (
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// mounts are bwrap's: what is hidden or not opened does not exist inside, and
// private directories, /proc and /dev are the sandbox's own.
type mounts struct{ *Checker }

func (e *mounts) place(path string, r *view.Rule) place {
	switch p := linuxPlace(path, r); {
	case (p == unopened || p == private) && policy.Within(path, host.ManifestDir):
		return sbx
	case p == private && r.Closed:
		return unopened
	default:
		return p
	}
}

// writable reports whether mounts let the command change what is at a place,
// permissions aside.
func (e *mounts) writable(path string, r *view.Rule, p place) bool {
	switch p {
	case shown:
		return r.Access == policy.Write
	case private:
		return true
	case proc:
		// Read-only for root, but for what was open before.
		return e.Host.UID != 0 && path != "/proc" || OwnDescriptor(path)
	}
	return false
}

func (e *mounts) allow(v *Verdict, p place) {
	if p == hidden && v.To == v.Rule.Path {
		return
	}
	may := func(rwx byte) bool { return e.FS.Access(v.To, rwx) }
	switch v.Kind {
	case host.Absent:
		v.Write = e.canCreate(v.To)
	case host.Dir:
		v.Read = may('r')
		v.Write = p != proc && e.writable(v.To, v.Rule, p) && may('w') && may('x')
	case host.File:
		v.Read = may('r')
		v.Write = e.writable(v.To, v.Rule, p) && may('w')
	case host.Fifo:
		// It holds nothing of the file system, so a read-only mount does not
		// keep anyone from writing to it.
		v.Read, v.Write = may('r'), may('w')
	case host.Socket:
		v.Connect = may('w')
	case host.Device:
		// bwrap mounts the host's files so that devices cannot be opened.
		open := p == devices || opensDevice(v)
		v.Read, v.Write = open && may('r'), open && may('w')
	}
}

func (e *mounts) creates(dir, _ string) bool {
	r := e.ruleFor(dir)
	p := e.place(dir, r)
	return p != proc && e.writable(dir, r, p)
}

func (e *mounts) explain(v *Verdict, p place) string {
	absent := v.Kind == host.Absent
	switch {
	case absent && p == private:
		return text.Plain(v.Rule.Path) + " is an empty private directory" + e.hostHas(v.To) +
			"; what is made in it is gone afterwards"
	case absent && (p == unopened || p == hidden):
		return e.texts.absent[p] + e.hostHas(v.To)
	case absent:
	case p == proc:
		return "/proc is the sandbox's own: it shows the kernel, and of the processes those of the sandbox"
	case p == devices && v.Kind == host.Dir:
		return "/dev is the sandbox's own, with a few devices that lead to nothing of the host's"
	case p == devices:
		return "a device of the sandbox's own /dev, which holds nothing of the host's"
	case p == sbx:
		return "sbx's own, to tell the command which sandbox it is in"
	case p == private && v.Kind != host.Dir:
		return "the sandbox's own, and gone after the run"
	case p == private && v.To == v.Rule.Path:
		return "an empty private directory; what is written there is gone afterwards"
	case p == hidden && v.To == v.Rule.Path && v.Kind == host.Dir:
		return "hidden: an empty directory is in its place"
	case p == hidden && v.To == v.Rule.Path && !e.empty(v.To):
		return "hidden: a file that cannot be opened is in its place"
	case p != shown:
	case v.To == v.Rule.Path && v.Rule.Source == view.SourceTracked:
		return "a copy of the host's, as git has it, read-only"
	case v.To == v.Rule.Path && v.Rule.Source == view.SourceCleaned:
		return "a copy of the host's without the credentials in it, read-only"
	case opensDevice(v):
		return "a device of the host's, which the policy opens"
	case v.Kind == host.Device:
		return "a device of the host's, which cannot be opened in a sandbox"
	case v.Connect:
		return "a socket that is visible can be connected to, read-only or not"
	case v.Kind == host.Fifo && (v.Read || v.Write):
		return "a pipe that is visible can be used both ways, read-only or not, as far as permissions go"
	}
	return ""
}

// opensDevice reports whether it is a device that the policy opens.
func opensDevice(v *Verdict) bool {
	return v.Kind == host.Device && v.Rule.Access == policy.Write && policy.Within(v.Rule.Path, "/dev")
}

// empty reports whether an empty file stands at a hidden path, which can be
// opened, and not one that cannot.
func (e *mounts) empty(path string) bool {
	info, err := e.FS.Lstat(path)
	return err != nil || info.Kind != host.Device && info.Mode&0o444 != 0
}

func (e *mounts) immovable(v *Verdict) string {
	if e.Pinned(v.To) {
		return pinnedText
	}
	return ""
}

func (e *mounts) remedy(v *Verdict, p place, path string, exists bool) (done bool) {
	for _, dir := range []string{"/proc", "/dev", host.ManifestDir} {
		if !policy.Within(v.To, dir) || dir == host.ManifestDir && p != sbx {
			continue
		}
		if !v.Read || !v.Write {
			v.Fixed = dir + " is the sandbox's own, and no flag " +
				map[bool]string{true: "but --device "}[dir == "/dev"] + "changes that"
		}
		return true
	}
	if exists && p == shown && v.Kind == host.Device {
		v.Fixed = "devices of the host are for no command in a sandbox"
		return true
	}
	return false
}

// OwnDescriptor reports whether a path is a descriptor of the process that asks.
func OwnDescriptor(path string) bool { return strings.HasPrefix(path, "/proc/self/fd/") }
