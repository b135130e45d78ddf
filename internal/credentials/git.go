// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
)

var errText = errors.New("it cannot be read")

// Git leaves out of a config file of git the settings that hold credentials, and
// returns their names, without what is secret in these. The copy is the file
// itself when there is nothing to leave out. Else it has no comments: an old URL
// may stand there.
func Git(data []byte) (copied []byte, names []string, err error) {
	var kept []gitdir.Setting
	err = gitdir.Each(data, func(s gitdir.Setting) {
		if !secret(&s) {
			kept = append(kept, s)
		} else if n := shown(&s); !slices.Contains(names, n) {
			names = append(names, n)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	if names == nil && !noted(data) {
		return data, nil, nil
	}
	copied = withoutSecrets(data)
	// The copy has to say what the file says, less that.
	var again []gitdir.Setting
	err = gitdir.Each(copied, func(s gitdir.Setting) { again = append(again, s) })
	if err != nil || !slices.Equal(kept, again) || In(copied) {
		return nil, nil, errText
	}
	return copied, names, nil
}

// withoutSecrets writes the settings that are none of those to be left out, as
// they stand in the file, below the header of their section.
func withoutSecrets(data []byte) []byte {
	out := make([]byte, 0, len(data))
	var written []byte
	_ = gitdir.Spans(data, func(s gitdir.Setting, header, setting []byte) {
		if secret(&s) {
			return
		}
		if !bytes.Equal(header, written) {
			out, written = append(append(out, header...), '\n'), header
		}
		out = append(append(append(out, '\t'), setting...), '\n')
	})
	return out
}

// In reports whether a text holds a URL with a password, or a token.
func In(data []byte) bool {
	for line := range strings.SplitSeq(string(data), "\n") {
		if inURL(line, noReference) || token(line) {
			return true
		}
	}
	return false
}

// noted reports whether a comment may hold a credential: an old URL, or a setting
// that is switched off. What follows a "#" or ";" counts as one, in quotes, too:
// the copy then has no comments, and is the same.
func noted(data []byte) bool {
	for line := range strings.SplitSeq(string(data), "\n") {
		if i := strings.IndexAny(line, "#;"); i >= 0 {
			if len(line) > maxLine {
				return true
			}
			if _, found := credential(line[i+1:], noReference, false); found || inCommand(line[i+1:]) {
				return true
			}
		}
	}
	return In(data)
}

// secret reports whether a setting of git holds a credential.
func secret(s *gitdir.Setting) bool {
	switch {
	case inURL(s.Sub, noReference) || inURL(s.Value, noReference) || inURL(s.Section, noReference):
		return true
	case token(s.Sub) || token(s.Value):
		return true
	case strings.HasSuffix(s.Key, "proxy") && inURL("http://"+s.Value, noReference):
		return true
	case s.Section == "credential" && s.Key == "helper":
		password := func(w string) bool { return w == "-p" || w == "-pw" || w == "-w" }
		return !plainHelper(s.Value) || inCommand(s.Value) || slices.ContainsFunc(strings.Fields(s.Value), password)
	case s.Section == "credential" && s.Key == "username":
		return !name(s.Value) && random(s.Value) && !strings.Contains(s.Value, "@")
	case strings.Contains(strings.ToLower(s.Value), "authorization:") || inCommand(s.Value):
		return true
	case s.Section == "alias" || boolean(s.Value) && s.Key != "extraheader":
		return false
	}
	return s.Value != "" && secretName(s.Key)
}

// inCommand reports whether a value that may be a command line, or a URL with a
// query, has a credential in its words, as far as its names tell: --password x,
// -pass x, X_TOKEN=x, "X-Token: x", -u x:y of curl, what sshpass and openssl take.
// A variable of the shell is none.
func inCommand(value string) bool {
	if !strings.ContainsAny(value, " \t\n?") && !strings.HasPrefix(value, "-") {
		return false
	}
	if len(value) > maxLine {
		return true
	}
	words := strings.FieldsFunc(value, func(r rune) bool { return r <= ' ' || r == '"' || r == '\'' || r == '`' })
	sshpass, openssl := false, false
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		program := w[strings.LastIndexByte(w, '/')+1:]
		sshpass = sshpass || strings.HasSuffix(program, "sshpass")
		openssl = openssl || strings.HasSuffix(program, "openssl")
		switch {
		case sshpass && (w == "-p" && given(next) || len(w) > 2 && strings.HasPrefix(w, "-p") && w[2] != '$'),
			openssl && strings.EqualFold(w, "-k") && given(next),
			(w == "-u" || w == "-U" || w == "--user" || w == "--proxy-user") && pair(next),
			strings.HasPrefix(w, "-u") && pair(w[2:]),
			strings.HasPrefix(w, "-") && flagged(w) && given(next):
			return true
		}
		for at, c := range w {
			if c != '=' && c != ':' {
				continue
			}
			before, text := strings.TrimRightFunc(w[:at], letter), w[at+1:]
			name := w[len(before):at]
			switch {
			case strings.HasSuffix(before, "$") || strings.HasSuffix(before, "${"): // a variable
			case flagged(name) && text == "" && given(next),
				flagged(name) && text != "" && text[0] != '$' && text[0] != '%' && !boolean(text),
				strings.HasSuffix(name, "user") && text != "" && pair(text):
				return true
			}
		}
	}
	return false
}

// given reports whether the word behind a flag or a name is its value, and no
// variable.
func given(word string) bool {
	return word != "" && word[0] != '-' && word[0] != '$' && word[0] != '%' && !boolean(word)
}

// pair reports whether a word is a user and a password, and not variables.
func pair(word string) bool {
	_, password, _ := strings.Cut(word, ":")
	return password != "" && password[0] != '$' && password[0] != '/'
}

// flagged reports whether a flag or name has a credential for its value, and not
// where one is.
func flagged(name string) bool {
	name = strings.TrimLeft(name, "-")
	return secretName(name) && !strings.HasPrefix(name, "no-") && !elsewhere(name)
}

// elsewhere reports whether a flag says where a credential is, not what.
func elsewhere(flag string) bool {
	places := []string{"stdin", "file", "fd", "path", "store", "helper", "command", "cmd"}
	flag = strings.ToLower(flag)
	return slices.ContainsFunc(places, func(end string) bool { return strings.HasSuffix(flag, end) })
}

// plainHelper reports whether a credential helper is a program, and no script that
// may say the password itself.
func plainHelper(value string) bool {
	script, inline := strings.CutPrefix(value, "!")
	if !inline {
		return true
	}
	const usual = `ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ._/\:~@$"'-`
	return strings.Trim(script, usual) == "" && !secretName(script) &&
		!strings.Contains(script, "echo") && !strings.Contains(script, "printf")
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
	if inURL(sub, noReference) || token(sub) || len(sub) > 100 {
		sub = "…"
	}
	return s.Section + "." + sub + "." + s.Key
}
