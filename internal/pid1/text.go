// SPDX-License-Identifier: Apache-2.0

package pid1

import "strconv"

// numberAfter reads the decimal number that follows the first of a key.
func numberAfter(text, key string) (n int, ok bool) {
	for ; len(text) > len(key); text = text[1:] {
		if text[:len(key)] != key {
			continue
		}
		text = text[len(key):]
		end := 0
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(text[:end])
		return n, err == nil
	}
	return 0, false
}

// oomKills reads the line "oom_kill N" of memory.events (cgroup v2) or
// memory.oom_control (v1).
func oomKills(data []byte) uint64 {
	n, _ := numberAfter(string(data), "oom_kill ")
	return uint64(n)
}

// seconds writes a number of seconds without needless digits: 30, 0.25.
func seconds(s float64) string {
	return strconv.FormatFloat(float64(uint64(s*1000+0.5))/1000, 'f', -1, 64)
}
