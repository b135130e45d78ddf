// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// answerHost says whether the network leads to a host. Which host it is makes
// no difference but for the words: a sandbox has all of the network or none.
func (in *insight) answerHost(a *answerJSON) (err error) {
	if a.Name, err = hostName(a.Name); err != nil {
		return err
	}
	if strings.Contains(a.Word, "://") {
		a.Word = a.Name // a URL may hold a password
	}
	abstract := a.Name[0] == '@'
	walled, mac := in.engine == host.EngineLandlock, in.engine == host.EngineSeatbelt
	reached := in.network && !(abstract && (walled || mac))
	closed := reached && abstract && slices.Contains(in.scoped, "abstract-unix-socket")
	reached = reached && !closed
	a.Reached = &reached
	a.Rule = &ruleJSON{Access: app.OnOff(in.network), Setting: "allow_network = " + strconv.FormatBool(in.network),
		Source: in.netFrom}
	a.Why = whyHost(in.network, walled, mac, a.Name)
	if _, at := cutPort(a.Name); at != "" && loopback(a.Name) {
		n, _ := strconv.ParseUint(strings.TrimPrefix(at, ":"), 10, 16)
		if yes, known := in.listens(n); known {
			a.Listens = &yes
			a.Why += map[bool]string{true: "; a server of this machine listens at ", false: "; no server of this machine listens now at "}[yes] + at[1:]
		}
	}
	switch {
	case mac && abstract:
		a.NoRemedy = "a socket can only be a file on macOS"
	case closed:
		a.Why = "the network is shared, and Landlock keeps the command from the abstract sockets of the host"
		a.remedy("reach", "", "--net", "--direct") // without an init no one puts up the wall
	case walled && abstract:
		a.remedy("reach", access.FullTier+", with --net")
	case in.network:
		a.remedy("close", "", "--no-net")
	case in.netFrom == "--no-net":
		a.remedy("reach", "leave out --no-net, and use --net")
	default:
		a.remedy("reach", "", "--net")
	}
	return nil
}

func whyHost(network, walled, mac bool, name string) string {
	abstract, loop := name[0] == '@', loopback(name)
	for _, c := range []struct {
		holds bool
		why   string
	}{
		{mac && abstract, "macOS has no abstract sockets"},
		{walled && abstract, "Landlock lets no command connect to the abstract sockets of the host"},
		{network && abstract, "the network is shared, and the abstract sockets of the host with it"},
		{network && loop, "the network is shared, and the loopback of the host with it"},
		{network, "the whole network is shared: there is no list of hosts"},
		{mac && loop, "the network is off, and on macOS there is no loopback without it: programs can serve each other by socket files where files can be written"},
		{mac, "the network is off, and names cannot be looked up either"},
		{walled && loop, "the network is off: there are no sockets of the internet, not even on a loopback"},
		{abstract, "the network is off, and with it the abstract sockets of the host are out of reach"},
		{loop, "the network is off: the sandbox has a loopback of its own, and no server of the host is on it"},
	} {
		if c.holds {
			return c.why
		}
	}
	return "the network is off"
}

// hostName takes the host and the port out of a word: a URL, HOST, HOST:PORT,
// an address, [ADDRESS]:PORT, or @NAME for an abstract socket.
func hostName(word string) (string, error) {
	bad := func(why string) (string, error) {
		return "", app.Failed(text.Plain(word)+": "+why,
			"write HOST, HOST:PORT, [ADDRESS]:PORT, a URL, or @NAME for an abstract socket")
	}
	name := word
	if _, rest, ok := strings.Cut(word, "://"); ok {
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			rest = rest[:i]
		}
		name = rest[strings.LastIndexByte(rest, '@')+1:]
		bad = func(why string) (string, error) { // a URL may hold a password
			return "", app.Failed("a URL in which "+why, "write SCHEME://HOST or SCHEME://HOST:PORT")
		}
	} else if word[0] == '@' {
		if len(word) == 1 {
			return bad("an abstract socket without a name")
		}
		return word, nil
	}
	host, port := cutPort(name)
	if name != "" && name[0] == '[' && (!strings.Contains(name, "]") || strings.Count(host, ":") < 2 ||
		port != "" && port[0] != ':') {
		return bad("the brackets are not those of an address")
	}
	if host == "" || len(host) > 253 || strings.ContainsFunc(host, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune("/@\\\"'[]", r)
	}) {
		return bad("there is no host")
	}
	if port != "" {
		if n, err := strconv.ParseUint(port[1:], 10, 16); err != nil || n == 0 {
			return bad("the port is not a number from 1 to 65535")
		}
	}
	return name, nil
}

// cutPort splits what stands behind a host off, its colon included. An address
// that holds colons has a port only behind brackets.
func cutPort(name string) (host, port string) {
	if inner, ok := strings.CutPrefix(name, "["); ok {
		host, port, _ = strings.Cut(inner, "]")
		return host, port
	}
	if i := strings.IndexByte(name, ':'); strings.Count(name, ":") == 1 {
		return name[:i], name[i:]
	}
	return name, ""
}

// loopback reports whether a host, with or without a port, is the machine
// itself.
func loopback(name string) bool {
	host, _ := cutPort(strings.ToLower(name))
	host = strings.TrimSuffix(host, ".")
	return slices.Contains([]string{"localhost", "::1", "::", "0.0.0.0", "0"}, host) ||
		strings.HasSuffix(host, ".localhost") || strings.HasPrefix(host, "::ffff:127.") ||
		strings.HasPrefix(host, "127.") && strings.Trim(host, "0123456789.") == ""
}
