// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"os"
	"path/filepath"
	"strconv"
)

// arguments are those of every process that can be seen, since the number of
// one of the host's may be another's in here.
func arguments(int) (string, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	var all []byte
	for _, path := range paths {
		data, _ := os.ReadFile(path)
		all = append(all, data...)
	}
	return string(all), err
}

func environment(pid int) (string, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return string(data), err
}
