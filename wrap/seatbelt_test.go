// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/golden"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Files of a Mac: those of the system, of Homebrew, and of a developer.
const (
	anyMac = `
/ uid=0
/tmp -> private/tmp
/var -> private/var
/etc -> private/etc
/home -> /System/Volumes/Data/home
/Applications/Xcode.app/Contents/Developer/usr/bin/git x
/Applications/Slack.app/Contents/MacOS/Slack x
/Library/Apple/usr/share/rosetta/rosetta x
/Library/Application\sSupport/com.apple.TCC/TCC.db
/Library/Developer/CommandLineTools/usr/bin/git x
/Library/Developer/CommandLineTools/usr/bin/clang x
/Library/Fonts/Arial.ttf
/Library/Frameworks/
/Library/Java/JavaVirtualMachines/
/Library/Keychains/System.keychain
/Library/LaunchDaemons/
/Library/Preferences/.GlobalPreferences.plist
/Library/Preferences/Logging/
/System/Applications/
/System/Cryptexes/OS -> ../Volumes/Preboot/Cryptexes/OS
/System/Library/CoreServices/SystemVersion.plist
/System/Library/dyld/
/System/Library/Frameworks/
/System/Volumes/Data/Users/
/System/Volumes/Preboot/Cryptexes/OS/System/Library/dyld/dyld_shared_cache_arm64e
/System/iOSSupport/
/Users/Shared/ mode=1777
/Volumes/Backup/
/bin/bash x
/bin/sh x
/bin/zsh x
/cores/
/dev/null device mode=666
/dev/fd/
/dev/rdisk0 device mode=640
/opt/
/private/etc/hosts
/private/etc/krb5.keytab mode=600
/private/etc/master.passwd mode=600
/private/etc/passwd
/private/etc/resolv.conf -> ../var/run/resolv.conf
/private/etc/ssh/ssh_host_rsa_key mode=600
/private/etc/ssl/cert.pem
/private/etc/sudoers mode=440
/private/etc/localtime -> /var/db/timezone/zoneinfo/Europe/Berlin
/private/etc/zshrc
/private/tmp/ mode=1777
/private/tmp/other uid=502
/private/tmp/com.apple.launchd.x/Listeners socket
/private/var/db/dslocal/nodes/ mode=700
/private/var/db/dyld/
/private/var/db/mds/system/mds.lock
/private/var/db/timezone -> /usr/share
/private/var/db/xcode_select_link -> /Applications/Xcode.app/Contents/Developer
/private/var/db/DarwinDirectory/local/recordStore.data
/private/var/folders/zz/one/T/ uid=501 mode=700
/private/var/folders/zz/one/C/ uid=501 mode=700
/private/var/log/system.log
/private/var/root/ mode=700
/private/var/run/docker.sock -> /Users/u/.docker/run/docker.sock
/private/var/run/mDNSResponder socket mode=666
/private/var/run/resolv.conf
/private/var/select/developer_dir -> /Applications/Xcode.app/Contents/Developer
/private/var/select/sh -> /bin/bash
/private/var/tmp/ mode=1777
/sbin/mount x
/usr/bin/env x
/usr/bin/git x
/usr/bin/python3 x
/usr/bin/sandbox-exec x
/usr/bin/sudo x mode=4755
/usr/lib/dyld x
/usr/libexec/
/usr/local/bin/sbx x
/usr/sbin/
/usr/share/zoneinfo/Europe/Berlin
`
	brew = `
/opt/homebrew/ uid=501
/opt/homebrew/bin/node -> ../Cellar/node/22/bin/node
/opt/homebrew/Cellar/node/22/bin/node x
/opt/homebrew/etc/openssl@3/cert.pem
/opt/homebrew/var/postgresql/base
`
)

// macHome is what a developer's home directory holds on a Mac.
func macHome() string {
	return home("/Users/u", "501") + repo("/Users/u/src/app") + `
/Users/u/.docker/run/docker.sock socket
/Users/u/.zshenv
/Users/u/Library/Keychains/login.keychain-db
/Users/u/Library/Cookies/Cookies.binarycookies
/Users/u/Library/Preferences/com.apple.Terminal.plist
/Users/u/Library/LaunchAgents/
/Users/u/Library/Caches/go-build/
/Users/u/Library/Application\sSupport/Google/Chrome/Default/Login\sData
/Users/u/Documents/plan.txt
/Users/u/go/pkg/mod/
/Users/u/src/app/agent.sock socket
`
}

// mac is a run on a Mac.
func mac(more string) machine {
	return machine{files: anyMac + brew + macHome() + more, uid: 501, home: "/Users/u", mac: true,
		env: []string{"HOME=/Users/u", "USER=u", "SHELL=/bin/zsh", "TERM=xterm-256color", "PATH=/opt/homebrew/bin:/Users/u/.cargo/bin:/usr/local/bin:/usr/bin:/bin:/nowhere",
			"PWD=/Users/u/src/app", "TMPDIR=/var/folders/zz/one/T/", "GH_TOKEN=s3cret", "SSH_AUTH_SOCK=/private/tmp/com.apple.launchd.x/Listeners", "DYLD_INSERT_LIBRARIES=/x", "XPC_SERVICE_NAME=0"},
		fds: []host.FD{{Num: 0, Kind: host.FDDevice, Path: "/dev/ttys003"}, {Num: 1, Kind: host.FDDevice, Path: "/dev/ttys003", Writes: true}, {Num: 2, Kind: host.FDPipe, Writes: true}}}
}

// macCases are the runs on a Mac with golden files.
func macCases() map[string]machine {
	out := map[string]machine{}
	add := func(name string, more string, change func(m *machine)) {
		m := mac(more)
		change(&m)
		out["mac-"+name] = m
	}
	add("subdirectory", "/Users/u/src/app/sub/x\n", func(m *machine) { m.cwd = "/Users/u/src/app/sub" })
	for _, profile := range []string{"strict", "moderate", "permissive"} {
		add(profile, "", func(m *machine) { m.profiles = []string{profile} })
	}
	add("network", "", func(m *machine) { m.over.AllowNetwork = policy.Yes })
	add("share-pid", "", func(m *machine) { m.over.SharePID = policy.Yes })
	add("flags", "/Users/u/other/x\n/Users/u/.ssh/known_hosts\n/Users/u/src/app/sub/deep/out/\n/Users/u/my\\sfiles/q\"(uo)te", func(m *machine) {
		m.over = policy.Profile{Write: flagPaths("--allow-write", "/Users/u/other", "/Users/u/src/app/sub/deep/out"),
			Read: flagPaths("--allow-read", "/Users/u/my files", "/Users/u/.ssh/known_hosts"), Block: flagPaths("--block", "/Users/u/src/app/sub")}
	})
	add("in-tmp", "/private/tmp/p/.git/config\n/private/tmp/p/.env -> /Users/u/src/app/.env\n/private/tmp/p/a.txt uid=501", func(m *machine) { m.cwd, m.profiles = "/private/tmp/p", []string{"permissive"} })
	add("no-git", "/Users/u/src/plain/ uid=501", func(m *machine) { m.cwd = "/Users/u/src/plain" })
	return out
}

// profileOf is the text of a plan's profile and its parameters.
func profileOf(p *engine.Plan) (text string, params map[string]string) {
	params = map[string]string{}
	for i := 3; i+1 < len(p.Argv) && p.Argv[i] == "-D"; i += 2 {
		name, value, _ := strings.Cut(p.Argv[i+1], "=")
		params[name] = value
	}
	return p.Argv[2], params
}

func TestGoldenMacPlans(t *testing.T) {
	for name, m := range macCases() {
		t.Run(name, func(t *testing.T) {
			p, _, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, name, describe(t, p, m.uid))
		})
	}
}
