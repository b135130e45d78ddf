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

func (s *mounts) rule(_ string, deepest *view.Rule) *view.Rule { return deepest }

func (s *mounts) place(path string, r *view.Rule) place {
	switch {
	case policy.Within(path, "/proc"):
		return proc
	case policy.Within(path, "/dev") && (r == nil || !policy.Within(r.Path, "/dev")):
		return devices
	case policy.Within(path, host.ManifestDir) && (r == nil || r.Access == policy.Private):
		return sbx
	case r != nil && r.Access == policy.Private && r.Closed:
		return unopened
	}
	return ruledPlace(r)
}

// writable reports whether mounts let the command change what is at a place,
// permissions aside.
func (s *mounts) writable(path string, r *view.Rule, p place) bool {
	switch p {
	case shown:
		return r.Access == policy.Write
	case private:
		return true
	case proc:
		// Read-only for root, but for what was open before.
		return s.Host.UID != 0 && path != "/proc" || OwnDescriptor(path)
	}
	return false
}

func (s *mounts) allow(v *Verdict, p place) {
	if p == hidden && v.To == v.Rule.Path {
		return
	}
	may := func(rwx byte) bool { return s.FS.Access(v.To, rwx) }
	switch v.Kind {
	case host.Absent:
		v.Write = s.canCreate(v.To)
	case host.Dir:
		v.Read = may('r')
		v.Write = p != proc && s.writable(v.To, v.Rule, p) && may('w') && may('x')
	case host.File:
		v.Read = may('r')
		v.Write = s.writable(v.To, v.Rule, p) && may('w')
	case host.Fifo:
		// It holds nothing of the file system, so a read-only mount does not
		// keep anyone from writing to it.
		v.Read, v.Write = may('r'), may('w')
	case host.Socket:
		v.Connect = may('w')
	case host.Device:
		// bwrap mounts the host's files so that devices cannot be opened.
		v.Read, v.Write = p == devices && may('r'), p == devices && may('w')
	}
}

func (s *mounts) canCreate(path string) bool {
	dir, kind := s.Nearest(path)
	r := s.ruleFor(dir)
	p := s.place(dir, r)
	return kind == host.Dir && p != proc && s.writable(dir, r, p) && s.FS.Access(dir, 'w') && s.FS.Access(dir, 'x')
}

func (s *mounts) texts() *texts { return &mountTexts }

func (s *mounts) blocked(*Verdict) string { return "" }

func (s *mounts) explain(v *Verdict, p place) string {
	absent := v.Kind == host.Absent
	switch {
	case absent && p == private:
		return text.Plain(v.Rule.Path) + " is an empty directory of the sandbox's own" + s.hostHas(v.To) +
			"; what is made in it is gone afterwards"
	case absent && (p == unopened || p == hidden):
		return mountTexts.absent[p] + s.hostHas(v.To)
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
		return "an empty directory of the sandbox's own; what is written there is gone afterwards"
	case p == hidden && v.To == v.Rule.Path && v.Kind == host.Dir:
		return "hidden: an empty directory is in its place"
	case p == hidden && v.To == v.Rule.Path && !s.empty(v.To):
		return "hidden: a file that cannot be opened is in its place"
	case p != shown:
	case v.To == v.Rule.Path && v.Rule.Source == view.SourceTracked:
		return "a copy of the host's, as git has it, read-only"
	case v.To == v.Rule.Path && v.Rule.Source == view.SourceCleaned:
		return "a copy of the host's without the credentials in it, read-only"
	case v.Kind == host.Device:
		return "a device of the host's, which cannot be opened in a sandbox"
	case v.Connect:
		return "a socket that is visible can be connected to, read-only or not"
	case v.Kind == host.Fifo && (v.Read || v.Write):
		return "a pipe that is visible can be used both ways, read-only or not, as far as permissions go"
	}
	return ""
}

// empty reports whether an empty file stands at a hidden path, which can be
// opened, and not one that cannot.
func (s *mounts) empty(path string) bool {
	info, err := s.FS.Lstat(path)
	return err != nil || info.Kind != host.Device && info.Mode&0o444 != 0
}

func (s *mounts) immovable(v *Verdict) string {
	if s.Pinned(v.To) {
		return pinnedText
	}
	return ""
}

func (s *mounts) remedy(v *Verdict, p place, path string, exists bool) (done bool) {
	for _, dir := range []string{"/proc", "/dev", host.ManifestDir} {
		if !policy.Within(v.To, dir) || dir == host.ManifestDir && p != sbx {
			continue
		}
		if !v.Read || !v.Write {
			v.Fixed = dir + " is the sandbox's own, and no flag changes that"
		}
		return true
	}
	if exists && p == shown && v.Kind == host.Device {
		v.Fixed = "devices of the host are for no command in a sandbox"
		return true
	}
	return false
}

func (s *mounts) writeRemedy(*Verdict, place, string) bool { return false }

func (s *mounts) remark(*Verdict, place) {}

// OwnDescriptor reports whether a path is a descriptor of the process that asks.
func OwnDescriptor(path string) bool { return strings.HasPrefix(path, "/proc/self/fd/") }
