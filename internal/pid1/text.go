// SPDX-License-Identifier: Apache-2.0

package pid1

// index is the place of the first such byte, -1 for none.
func index[text string | []byte](b text, c byte) int {
	for i := range len(b) {
		if b[i] == c {
			return i
		}
	}
	return -1
}

// atou stands in for strconv, which would have to be initialised before process 1:
// see init_linux.go.
func atou(s string) (uint64, bool) {
	var n uint64
	for i := 0; i < len(s); i++ {
		c := uint64(s[i] - '0')
		if c > 9 || n > (1<<64-1-c)/10 {
			return 0, false
		}
		n = n*10 + c
	}
	return n, s != ""
}
