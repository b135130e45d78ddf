// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"path"
	"slices"
	"strings"
)

// scratch are names that no one misses: caches, histories and logs in the home
// directory, and in a directory for temporary files what well-known tools leave there
// themselves. Names that are made up at random count as such, too (see madeUp).
var scratch = struct{ home, tmp []string }{
	home: strings.Fields(`.cache go/pkg/sumdb .npm/_logs .npm/_cacache .npm/_update-notifier-last-checked
		.config/configstore .config/*-nodejs .config/astro .config/turborepo
		.config/go/telemetry .config/dconf .config/pulse .local/state .*_history .zcompdump*
		.lesshst .viminfo .wget-hsts .gnupg .pki .java/.userPrefs .cargo/.package-cache*
		.cargo/.global-cache .gradle/daemon .gradle/notifications .gradle/native .node-gyp
		.dotnet/TelemetryStorageService .local/share/recently-used.xbel`),
	tmp: strings.Fields(`tmp.* tmp???????? tmp????????.* claude-* node-compile-cache* v8-compile-cache* npm-*
		yarn--* pnpm-* jest_* jest-* metro-* haste-map-* tsx-* go-build* go-link-* gopls*
		pytest-of-* pip-* cargo-install* rustc* hsperfdata_* gradle* kotlin-* clr-debug-pipe-*
		dotnet-diagnostic-* .dotnet NuGetScratch* MSBuildTemp* .NET* tmux-* ssh-* gpg-* vim*
		emacs* .X*-lock .*-unix .org.chromium.* playwright* puppeteer* sess_* cc??????.[os]
		.lsp-* matplotlib-*`),
}

// containers are directories of the home in which each name belongs to another program.
var containers = []string{".config", ".local", ".local/share", ".local/lib"}

// isScratch reports whether no one misses what is at a path.
func (l *look) isScratch(file string) bool {
	if name, ok := strings.CutPrefix(file, l.home+"/"); ok {
		return matches(scratch.home, name)
	}
	dir, name := path.Split(file)
	return (dir == "/tmp/" || dir == "/var/tmp/") && (matches(scratch.tmp, name) || madeUp(name))
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

// madeUp reports whether a name ends as mktemp(1) and its like in Go and Node end
// theirs: nine digits and more, or after a separator six letters and digits and more
// that change between kinds more than once.
func madeUp(name string) bool {
	if len(name)-len(strings.TrimRight(name, "0123456789")) >= 9 {
		return true
	}
	at := strings.LastIndexAny(name, ".-_")
	if last := name[at+1:]; at < 0 || len(last) < 6 {
		return false
	}
	changes, before := -1, rune(0)
	for _, r := range name[at+1:] {
		kind := r &^ 0x1f // of a letter or digit in ASCII: 0x40, 0x60, 0x20
		if kind == 0 || kind > 0x60 {
			return false
		}
		if kind != before {
			changes, before = changes+1, kind
		}
	}
	return changes > 1
}
