// SPDX-License-Identifier: Apache-2.0

package ptytest

// filter takes what drives the terminal out of what is written to it. Its
// state lasts from one piece to the next, since a read may end anywhere.
type filter struct {
	state  byte   // 0, or the character that opened what is being skipped
	escape bool   // ESC came, and nothing after it yet
	csi    []byte // between ESC [ and its last character
}

// text returns what is left of a piece: characters, newlines and tabs. asked
// is how often the program asked the terminal what it is.
func (f *filter) text(piece []byte) (text []byte, asked int) {
	for _, c := range piece {
		switch {
		case f.escape:
			f.escape = false
			if f.state == ']' && c == '\\' { // the end of a string
				f.state = 0
				continue
			}
			f.state = 0
			switch c {
			case '[', ']', 'P', '_', '^', '(', ')', '#', '%':
				f.state, f.csi = c, f.csi[:0]
			}
			switch c {
			case 'P', '_', '^':
				f.state = ']'
			case ')', '#', '%':
				f.state = '('
			}
		case c == 0x1b:
			f.escape = true
		case f.state == '[':
			if c < 0x40 || c > 0x7e {
				f.csi = append(f.csi, c)
				continue
			}
			if s := string(f.csi); c == 'c' && (s == "" || s == "0") {
				asked++
			}
			f.state = 0
		case f.state == '(':
			f.state = 0
		case f.state == ']':
			if c == 7 {
				f.state = 0
			}
		case c >= ' ' && c != 0x7f || c == '\n' || c == '\t':
			text = append(text, c)
		}
	}
	return text, asked
}
