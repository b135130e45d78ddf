// SPDX-License-Identifier: Apache-2.0

package pid1

import "github.com/sbx-sandbox/sbx/internal/procfs"

// oomKills reads how many processes the kernel killed for want of memory: the
// line "oom_kill N" of memory.events (cgroup v2) or memory.oom_control (v1).
func oomKills(data []byte) uint64 {
	const key = "oom_kill "
	for len(data) > 0 {
		end := index(data, '\n')
		if end < 0 {
			end = len(data)
		}
		if line := string(data[:end]); len(line) > len(key) && line[:len(key)] == key {
			n, _ := atou(line[len(key):])
			return n
		}
		data = data[min(end+1, len(data)):]
	}
	return 0
}

// seconds writes a number of seconds without needless digits: 30, 0.25.
func seconds(s float64) string {
	ms := uint64(s*1000 + 0.5)
	text := procfs.Digits(ms / 1000)
	if rest := ms % 1000; rest > 0 {
		digits := procfs.Digits(1000 + rest)[1:]
		for digits[len(digits)-1] == '0' {
			digits = digits[:len(digits)-1]
		}
		text += "." + digits
	}
	return text
}
