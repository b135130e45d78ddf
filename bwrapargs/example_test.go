// SPDX-License-Identifier: Apache-2.0

package bwrapargs_test

import (
	"fmt"
	"strings"

	"github.com/sbx-sandbox/sbx/bwrapargs"
)

// A system to read, a project to write, and one of its files hidden: the mask
// comes after the bind that it lies in.
func Example() {
	sandbox := bwrapargs.Args{
		Version: bwrapargs.Version{Major: 0, Minor: 8},
		Ops: []bwrapargs.Op{
			{Kind: bwrapargs.ROBind, Src: "/usr", Dst: "/usr"},
			{Kind: bwrapargs.Bind, Src: "/home/u/app", Dst: "/home/u/app"},
			{Kind: bwrapargs.ROData, Dst: "/home/u/app/.env", Shut: true},
		},
		Chdir: "/home/u/app",
	}
	fd := 2
	words, fds := sandbox.Words(func() int { fd++; return fd })
	fmt.Println(strings.ReplaceAll(strings.Join(words, " "), " --", "\n--"))
	for _, f := range fds {
		fmt.Printf("descriptor %d: %q, %d bytes\n", f.Num, f.Name, len(f.Data))
	}
	// Output:
	// --unshare-user
	// --unshare-ipc
	// --unshare-uts
	// --unshare-cgroup-try
	// --unshare-pid
	// --unshare-net
	// --disable-userns
	// --die-with-parent
	// --cap-drop ALL
	// --ro-bind /usr /usr
	// --bind /home/u/app /home/u/app
	// --perms 0000
	// --ro-bind-data 3 /home/u/app/.env
	// --chdir /home/u/app
	// descriptor 3: "/home/u/app/.env", 0 bytes
}

func ExampleParseVersion() {
	v, ok := bwrapargs.ParseVersion("bubblewrap 0.8.0")
	fmt.Println(v, ok, v.Less(bwrapargs.HasBindFD))
	// Output: 0.8.0 true true
}
