// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
)

// sandbox is what bwrap would understand of a plan's words.
type sandbox struct {
	ops   []bwrapargs.Op
	chdir string
	flags []string
}

// options are the words in the descriptor behind --args.
func options(p *engine.Plan) []string {
	words := strings.Split(string(p.FDs[0].Data), "\x00")
	return words[:len(words)-1]
}

// read understands the words of a plan as bwrap does.
func read(p *engine.Plan) (s sandbox, err error) {
	words := options(p)
	var perm uint32
	var size int64
	arg := func() string {
		if len(words) == 0 {
			err = fmt.Errorf("an argument is missing at the end")
			return ""
		}
		w := words[0]
		words = words[1:]
		return w
	}
	data := func(num string) []byte {
		i := slices.IndexFunc(p.FDs, func(fd bwrapargs.FD) bool { return strconv.Itoa(fd.Num) == num })
		if i < 0 {
			err = fmt.Errorf("descriptor %s is not planned", num)
			return nil
		}
		return bytes.Clone(p.FDs[i].Data)
	}
	held := func(num string) string {
		i := slices.IndexFunc(p.FDs, func(fd bwrapargs.FD) bool { return strconv.Itoa(fd.Num) == num })
		if i < 0 || p.FDs[i].Path == "" || p.FDs[i].Held == nil {
			err = fmt.Errorf("descriptor %s is not that of a file", num)
			return ""
		}
		return p.FDs[i].Path
	}
	for len(words) > 0 && err == nil {
		op := bwrapargs.Op{}
		w := arg()
		switch w {
		case "--perms":
			var n uint64
			n, err = strconv.ParseUint(arg(), 8, 32)
			perm = uint32(n)
			continue
		case "--size":
			size, err = strconv.ParseInt(arg(), 10, 64)
			continue
		case "--bind":
			op = bwrapargs.Op{Kind: bwrapargs.Bind, Src: arg(), Dst: arg()}
		case "--ro-bind":
			op = bwrapargs.Op{Kind: bwrapargs.ROBind, Src: arg(), Dst: arg()}
		case "--bind-fd":
			op = bwrapargs.Op{Kind: bwrapargs.Bind, Src: held(arg()), Dst: arg()}
		case "--ro-bind-fd":
			op = bwrapargs.Op{Kind: bwrapargs.ROBind, Src: held(arg()), Dst: arg()}
		case "--tmpfs":
			op = bwrapargs.Op{Kind: bwrapargs.Tmpfs, Dst: arg(), Perm: perm, Size: size}
		case "--dir":
			op = bwrapargs.Op{Kind: bwrapargs.Dir, Dst: arg()}
		case "--symlink":
			op = bwrapargs.Op{Kind: bwrapargs.Symlink, Src: arg(), Dst: arg()}
		case "--proc":
			op = bwrapargs.Op{Kind: bwrapargs.Proc, Dst: arg()}
		case "--dev":
			op = bwrapargs.Op{Kind: bwrapargs.Dev, Dst: arg()}
		case "--ro-bind-data":
			op = bwrapargs.Op{Kind: bwrapargs.ROData, Data: data(arg()), Dst: arg(), Perm: perm}
		case "--remount-ro":
			op = bwrapargs.Op{Kind: bwrapargs.RemountRO, Dst: arg()}
		case "--chdir":
			s.chdir = arg()
			continue
		case "--setenv":
			s.flags = append(s.flags, w, arg(), arg())
			continue
		case "--seccomp", "--add-seccomp-fd", "--cap-drop", "--unsetenv", "--block-fd", "--sync-fd", "--info-fd":
			s.flags = append(s.flags, w, arg())
			continue
		case "--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--unshare-pid", "--unshare-net",
			"--disable-userns", "--die-with-parent", "--new-session", "--as-pid-1":
			s.flags = append(s.flags, w)
			continue
		default:
			return s, fmt.Errorf("bwrap has no option %q", w)
		}
		perm, size = 0, 0
		s.ops = append(s.ops, op)
	}
	return s, err
}
