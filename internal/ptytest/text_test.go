// SPDX-License-Identifier: Apache-2.0

package ptytest

import "testing"

func TestText(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		asked          int
	}{
		{"plain", "one\r\ntwo\t3\a", "one\ntwo\t3", 0},
		{"colour", "\x1b[1;31mred\x1b[0m and \x1b[mnot", "red and not", 0},
		{"modes", "\x1b[?2004h$ \x1b[?1049l\x1b=\x1b>", "$ ", 0},
		{"character set", "\x1b(Ba\x1b)0b", "ab", 0},
		{"title, by BEL", "a\x1b]0;title\ab", "ab", 0},
		{"title, by ST", "a\x1b]0;title\x1b\\b", "ab", 0},
		{"a string", "a\x1bPq#0\x1b\\b", "ab", 0},
		{"what are you", "\x1b[c\x1b[0c\x1b[>c\x1b[>0c", "", 2},
		{"not ASCII", "ä…", "ä…", 0},
		{"unfinished", "a\x1b[3", "a", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var whole, pieces filter
			text, asked := whole.text([]byte(tt.in))
			if string(text) != tt.want || asked != tt.asked {
				t.Errorf("%q, asked %d times; want %q, %d", text, asked, tt.want, tt.asked)
			}
			var got []byte
			asked = 0
			for i := range len(tt.in) {
				text, n := pieces.text([]byte{tt.in[i]})
				got, asked = append(got, text...), asked+n
			}
			if string(got) != tt.want || asked != tt.asked {
				t.Errorf("byte by byte: %q, asked %d times; want %q, %d", got, asked, tt.want, tt.asked)
			}
		})
	}
}
