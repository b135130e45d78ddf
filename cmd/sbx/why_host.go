// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// answerHost says whether the network leads to a host. Which host it is makes
// no difference but for the words: a sandbox has all of the network or none.
func (in *insight) answerHost(word string) (*answerJSON, error) {
	name, err := hostName(word)
	if err != nil {
		return nil, err
	}
	reached := in.network && !((in.walled || in.belted) && name[0] == '@')
	closed := reached && name[0] == '@' && slices.Contains(in.scoped, "abstract-unix-socket")
	if closed {
		reached = false
	}
	a := &answerJSON{Word: word, Name: name, Reached: &reached}
	if strings.Contains(word, "://") {
		a.Word = name // a URL may hold a password
	}
	a.Rule = &ruleJSON{Access: app.OnOff(in.network), Setting: "allow_network = " + strconv.FormatBool(in.network),
		Source: in.netFrom}
	a.Why = whyHost(in.network, in.walled, name)
	if in.belted {
		a.Why = whyMacHost(in.network, name)
	}
	switch {
	case in.belted && name[0] == '@':
		a.NoLever = "a socket can only be a file on macOS"
	case closed:
		a.Why = "the network is shared, and Landlock keeps the command from the abstract sockets of the host"
		a.lever("reach", "", "--net", "--direct") // without an init no one puts up the wall
	case in.walled && name[0] == '@':
		a.lever("reach", access.FullTier+", with --net")
	case in.network:
		a.lever("close", "", "--no-net")
	case in.netFrom == "--no-net":
		a.lever("reach", "leave out --no-net, and use --net")
	default:
		a.lever("reach", "", "--net")
	}
	return a, nil
}

func whyHost(network, walled bool, name string) string {
	switch abstract, loop := name[0] == '@', loopback(name); {
	case walled && abstract:
		return "Landlock lets no command connect to the abstract sockets of the host"
	case walled && loop && !network:
		return "the network is off: there are no sockets of the internet, not even on a loopback"
	case network && abstract:
		return "the network is shared, and the abstract sockets of the host with it"
	case network && loop:
		return "the network is shared, and the loopback of the host with it"
	case network:
		return "the whole network is shared: there is no list of hosts"
	case abstract:
		return "the network is off, and with it the abstract sockets of the host are out of reach"
	case loop:
		return "the network is off: the sandbox has a loopback of its own, and no server of the host is on it"
	}
	return "the network is off"
}

// whyMacHost is whyHost for sandbox-exec, which has no loopback of a sandbox's
// own.
func whyMacHost(network bool, name string) string {
	switch loop := loopback(name); {
	case name[0] == '@':
		return "macOS has no abstract sockets"
	case network && loop:
		return "the network is shared, and the loopback of the host with it"
	case network:
		return "the whole network is shared: there is no list of hosts"
	case loop:
		return "the network is off, and on macOS there is no loopback without it: programs can serve each other by socket files where files can be written"
	}
	return "the network is off, and names cannot be looked up either"
}

// hostName takes the host and the port out of a word: a URL, HOST, HOST:PORT,
// an address, [ADDRESS]:PORT, or @NAME for an abstract socket.
func hostName(word string) (string, error) {
	bad := func(why string) error {
		return app.Failed(text.Plain(word)+": "+why,
			"write HOST, HOST:PORT, [ADDRESS]:PORT, a URL, or @NAME for an abstract socket")
	}
	name := word
	if _, rest, ok := strings.Cut(word, "://"); ok {
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			rest = rest[:i]
		}
		name = rest[strings.LastIndexByte(rest, '@')+1:]
		bad = func(why string) error { // a URL may hold a password
			return app.Failed("a URL in which "+why, "write SCHEME://HOST or SCHEME://HOST:PORT")
		}
	} else if word[0] == '@' {
		if len(word) == 1 {
			return "", bad("an abstract socket without a name")
		}
		return word, nil
	}
	host, port := name, ""
	switch {
	case strings.HasPrefix(name, "["):
		inner, rest, ok := strings.Cut(name[1:], "]")
		if !ok || rest != "" && rest[0] != ':' || strings.Count(inner, ":") < 2 {
			return "", bad("the brackets are not those of an address")
		}
		host = inner
		if rest != "" {
			port = rest[1:]
		}
	case strings.Count(name, ":") == 1:
		host, port, _ = strings.Cut(name, ":")
	}
	if host == "" || len(host) > 253 || strings.ContainsFunc(host, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune("/@\\\"'[]", r)
	}) {
		return "", bad("there is no host")
	}
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) || port == "" &&
		strings.HasSuffix(name, ":") && host != name {
		return "", bad("the port is not a number from 1 to 65535")
	}
	return name, nil
}

// loopback reports whether a host, with or without a port, is the machine
// itself.
func loopback(name string) bool {
	host := strings.ToLower(name)
	if strings.HasPrefix(host, "[") {
		host, _, _ = strings.Cut(host[1:], "]")
	} else if strings.Count(host, ":") == 1 {
		host, _, _ = strings.Cut(host, ":")
	}
	host = strings.TrimSuffix(host, ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "::1" || host == "::" ||
		host == "0.0.0.0" || host == "0" ||
		strings.HasPrefix(host, "127.") && strings.Trim(host, "0123456789.") == "" ||
		strings.HasPrefix(host, "::ffff:127.")
}
