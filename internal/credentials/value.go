// SPDX-License-Identifier: Apache-2.0

// Package credentials takes credentials out of settings files: the text of a file
// in, a copy without the settings that hold some out, with the names of these.
// What remains is to its program what it was: for git that is compared with git
// itself ([Git]), for others whole lines are left out ([Lines]).
//
// What is a credential is told by its name, by a user and a password in a URL, and
// by what tokens of well-known services look like. A reference (${NPM_TOKEN}) is
// none. A text that cannot be read as what its name says is an error: the caller
// hides it.
//
// The package knows no host and reads no file. It has no build tags.
package credentials

import "strings"

// refer reports whether a value names a variable in a kind of file, and is none
// itself.
type refer func(value string) bool

// inURL reports whether a text holds a URL with a password, or with a user that
// may be a token. What is between the scheme and the next of "/?#" counts, as git
// and curl have it: quotes, commas and white space may be in a password.
func inURL(text string, ref refer) bool {
	for {
		scheme, rest, ok := strings.Cut(text, "://")
		if !ok {
			return false
		}
		text = rest
		if end := strings.IndexAny(rest, "/?#"); end >= 0 {
			rest = rest[:end]
		}
		first, last := strings.IndexByte(rest, '@'), strings.LastIndexByte(rest, '@')
		if first < 0 {
			continue
		}
		_, password, _ := strings.Cut(rest[:last], ":")
		user, _, both := strings.Cut(rest[:first], ":")
		switch {
		case password != "" && !ref(password), token(user):
			return true
		case strings.HasSuffix(scheme, "ssh") || strings.HasSuffix(scheme, "git"):
		case both || strings.ContainsAny(user, " \t"):
		case !name(user) && !ref(user):
			return true
		}
	}
}

// name reports whether a user in a URL is one, and not a token in its place.
func name(user string) bool {
	const longest = 20 // tokens are longer
	return len(user) < longest || strings.Contains(user, "%40") && len(user) < 3*longest
}

// noReference is for files in which a value means itself.
func noReference(string) bool { return false }

// braced is ${NAME}, of npm and yarn. A default that is empty may stand in it.
func braced(value string) bool {
	rest, begins := strings.CutPrefix(value, "${")
	rest, ends := strings.CutSuffix(rest, "}")
	for _, none := range []string{":-", "-", "?"} {
		rest = strings.TrimSuffix(rest, none)
	}
	return begins && ends && variable(rest)
}

// dollar is $NAME as well, of Bun.
func dollar(value string) bool {
	rest, ok := strings.CutPrefix(value, "$")
	return ok && variable(rest) || braced(value)
}

func variable(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// tokens are how those of well-known services begin.
var tokens = []string{
	"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glcbt-", "npm_", "pypi-AgE", "xoxb-",
	"xoxp-", "sk-ant-", "sk-proj-", "hf_", "dop_v1_", "shpat_", "rubygems_", "ATATT3", "ATBB", "AKIA", "ASIA",
	"dckr_pat_", "eyJhbGciOi",
}

// token reports whether a text holds something that looks like a token.
func token(text string) bool {
	for _, begin := range tokens {
		for rest := text; ; {
			i := strings.Index(rest, begin)
			if i < 0 {
				break
			}
			before := i == 0 || !word(rest[i-1])
			rest = rest[i+len(begin):]
			n := 0
			for before && n < min(12, len(rest)) && (word(rest[n]) || rest[n] == '-' || rest[n] == '.') {
				n++
			}
			if n == 12 {
				return true
			}
		}
	}
	return strings.Contains(text, "-----BEGIN") && strings.Contains(text, "PRIVATE KEY")
}

func word(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_'
}

// secretName reports whether what is called so is a credential, whatever it is.
func secretName(name string) bool {
	flat := strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(name), "_", ""), "-", "")
	for _, part := range []string{
		"password", "passwd", "passphrase", "token", "secret", "apikey", "accesskey", "privatekey", "extraheader",
		"bearer",
	} {
		if strings.Contains(flat, part) {
			return true
		}
	}
	switch flat {
	case "askpass", "bypass", "compass":
		return false
	case "cookiefile", "auth", "npmauthident", "authorization", "otp", "oauth", "jwt", "cookie", "authpw", "cred",
		"creds", "credential", "credentials":
		return true
	}
	return strings.HasSuffix(flat, "pass") || strings.HasSuffix(flat, "pwd")
}

// InLine reports whether a line for a shell may hold a credential.
func InLine(line string) bool {
	_, found := credential(line, dollar, false)
	for i, words := 0, strings.Fields(line); !found && i+1 < len(words); i++ {
		user, password, _ := strings.Cut(words[i+1], ":")
		found = (words[i] == "-u" || words[i] == "--user") && user != "" && password != "" ||
			strings.Contains(" mysql mysqldump mariadb sshpass redis-cli ", " "+words[i]+" ")
	}
	return found
}

// boolean reports whether a value is a switch, or none: no credential is.
func boolean(value string) bool {
	if len(value) > len("always") {
		return false
	}
	switch strings.ToLower(value) {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1", "null", "never", "always":
		return true
	}
	return false
}
