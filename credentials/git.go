package credentials

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/gitdir"
)

var errText = errors.New("it cannot be read")

// Git leaves out of a config file of git the settings that hold credentials, and
// returns their names, without what is secret in these. The copy is the file
// itself when there is nothing to leave out. Else it has no comments: an old URL
// may stand there.
func Git(data []byte) (copied []byte, names []string, err error) {
	var all []gitdir.Setting
	if err := gitdir.Each(data, func(s gitdir.Setting) { all = append(all, s) }); err != nil {
		return nil, nil, err
	}
	kept := slices.DeleteFunc(slices.Clone(all), func(s gitdir.Setting) bool {
		cut := secret(&s)
		if n := shown(&s); cut && !slices.Contains(names, n) {
			names = append(names, n)
		}
		return cut
	})
	if len(kept) == len(all) && !inURL(string(data)) && !token(string(data)) {
		return data, nil, nil
	}
	copied = withoutSecrets(data)
	// The copy has to say what the file says, less that.
	var again []gitdir.Setting
	if err := gitdir.Each(copied, func(s gitdir.Setting) { again = append(again, s) }); err != nil || !slices.Equal(kept, again) || inURL(string(copied)) {
		return nil, nil, errText
	}
	return copied, names, nil
}

// withoutSecrets writes the settings that are none of those to be left out, as
// they stand in the file, each after the header of its section.
func withoutSecrets(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	out := make([]byte, 0, len(data))
	var header, written []byte
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '#' || c == ';':
			for i < len(data) && data[i] != '\n' {
				i++
			}
		case c == '[':
			n := headerEnd(data[i:])
			header, written = data[i:i+n], nil
			i += n
		default:
			stop, n := settingEnd(data[i:])
			raw := data[i : i+stop]
			i += n
			cut := true
			one := slices.Concat(header, []byte("\n"), raw, []byte("\n"))
			err := gitdir.Each(one, func(s gitdir.Setting) { cut = secret(&s) })
			if cut || err != nil {
				continue
			}
			if written == nil {
				out = append(append(out, header...), '\n')
				written = header
			}
			out = append(append(append(out, '\t'), raw...), '\n')
		}
	}
	return out
}

// headerEnd is the length of a section's header.
func headerEnd(b []byte) int {
	quoted := false
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++
		case ']':
			if !quoted {
				return i + 1
			}
		}
	}
	return len(b)
}

// settingEnd is where a setting ends, without the comment that may follow it, and
// where the next one can begin.
func settingEnd(b []byte) (stop, next int) {
	quoted := false
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\n':
			return i, i + 1
		case '"':
			quoted = !quoted
		case '\\':
			if i++; i+1 < len(b) && b[i] == '\r' && b[i+1] == '\n' {
				i++
			}
		case '#', ';':
			if !quoted {
				end := bytes.IndexByte(b[i:], '\n')
				if end < 0 {
					return i, len(b)
				}
				return i, i + end + 1
			}
		}
	}
	return len(b), len(b)
}

// secret reports whether a setting of git holds a credential.
func secret(s *gitdir.Setting) bool {
	switch {
	case inURL(s.Sub) || inURL(s.Value) || inURL(s.Section) || token(s.Sub) || token(s.Value):
		return true
	case s.Key == "proxy" && inURL("http://"+s.Value):
		return true
	case s.Section == "credential" && s.Key == "helper":
		return !plainHelper(s.Value)
	case s.Section == "alias":
		return strings.Contains(strings.ToLower(s.Value), "authorization:")
	case boolean(s.Value) && s.Key != "extraheader":
		return false
	}
	return s.Value != "" && secretName(s.Key) || strings.Contains(strings.ToLower(s.Value), "authorization:")
}

// plainHelper reports whether a credential helper is a program, and no script that
// may say the password itself.
func plainHelper(value string) bool {
	script, inline := strings.CutPrefix(value, "!")
	if !inline {
		return true
	}
	return strings.Trim(script, `ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ._/\:~@$"'-`) == "" && !secretName(script) && !strings.Contains(script, "echo") && !strings.Contains(script, "printf")
}

// shown is the name of a setting for people, without a user and password in it.
func shown(s *gitdir.Setting) string {
	sub := s.Sub
	if sub == "" {
		return s.Section + "." + s.Key
	}
	if scheme, rest, ok := strings.Cut(sub, "://"); ok {
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			sub = scheme + "://…@" + rest[at+1:]
		}
	}
	if inURL(sub) || token(sub) || len(sub) > 100 {
		sub = "…"
	}
	return s.Section + "." + sub + "." + s.Key
}
