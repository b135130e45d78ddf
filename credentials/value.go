package credentials

import "strings"

// inURL reports whether a text holds a URL with a password, or with a user that
// may be a token.
func inURL(text string) bool {
	for {
		scheme, rest, ok := strings.Cut(text, "://")
		if !ok {
			return false
		}
		text = rest
		if end := strings.IndexAny(rest, "/?# \t\r\n\"'<>`,;"); end >= 0 {
			rest = rest[:end]
		}
		at := strings.LastIndexByte(rest, '@')
		if at < 0 {
			continue
		}
		user, password, both := strings.Cut(rest[:at], ":")
		switch {
		case both && password != "" && !reference(password), token(user):
			return true
		case strings.HasSuffix(scheme, "ssh") || strings.HasSuffix(scheme, "git"):
		case !name(user) && !reference(user):
			return true
		}
	}
}

// name reports whether a user in a URL is one, and not a token in its place.
func name(user string) bool {
	const longest = 20 // tokens are longer
	return len(user) < longest || strings.Contains(user, "%40") && len(user) < 3*longest
}

// reference reports whether a value names a variable, and is none itself.
func reference(value string) bool {
	value = strings.Trim(value, `"' `)
	if rest, ok := strings.CutPrefix(value, "${"); ok {
		inner, end, ok := strings.Cut(rest, "}")
		// A default may stand in it: ${TOKEN:-abc}.
		return ok && end == "" && variable(strings.TrimRight(inner, "?-:"))
	}
	rest, ok := strings.CutPrefix(value, "$")
	return ok && variable(rest) || len(value) > 2 && value[0] == '%' && value[len(value)-1] == '%' && variable(value[1:len(value)-1])
}

func variable(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// tokens are how those of well-known services begin.
var tokens = []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glcbt-", "npm_", "pypi-AgE", "xoxb-", "xoxp-", "sk-ant-", "sk-proj-", "hf_", "dop_v1_", "shpat_", "rubygems_", "ATATT3", "ATBB", "AKIA", "ASIA", "dckr_pat_", "eyJhbGciOi"}

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
			for n < len(rest) && (word(rest[n]) || rest[n] == '-' || rest[n] == '.') {
				n++
			}
			if before && n >= 12 {
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
	for _, part := range []string{"password", "passwd", "passphrase", "token", "secret", "apikey", "accesskey", "privatekey", "extraheader"} {
		if strings.Contains(flat, part) {
			return true
		}
	}
	switch flat {
	case "pass", "smtppass", "cookiefile", "auth", "npmauthident", "authorization", "otp":
		return true
	}
	return false
}

// boolean reports whether a value is a switch, or none: no credential is.
func boolean(value string) bool {
	switch strings.ToLower(value) {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1", "null", "never", "always":
		return true
	}
	return false
}
