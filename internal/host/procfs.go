// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

func Digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// ProcFS shows /proc/self as a directory: the number behind it is another for
// each process. Of the links of the kernel in it only the working directory and
// the root are followed, which are those of the command, too.
type ProcFS struct{ FS }

// Lstat implements [FS].
func (f ProcFS) Lstat(path string) (Info, error) {
	info, err := f.FS.Lstat(path)
	if info.Kind != Link || !policy.Within(path, "/proc") {
		return info, err
	}
	switch path {
	case "/proc/self", "/proc/thread-self":
		info.Kind, info.Mode = Dir, 0o555
	case "/proc/self/cwd", "/proc/self/root", "/proc/thread-self/cwd", "/proc/thread-self/root":
	default:
		if top, rest := Cut(path[len("/proc/"):]); rest != "" && (Digits(top) || top == "self" || top == "thread-self") {
			info.Kind = File
		}
	}
	return info, err
}
