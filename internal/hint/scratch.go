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
	home: strings.Fields(`.cache .npm/_logs .npm/_cacache .npm/_update-notifier-last-checked .config/configstore
		.config/go/telemetry .local/state .*_history .zcompdump* .lesshst .viminfo .wget-hsts .gnupg .pki .java/.userPrefs
		.cargo/.package-cache* .cargo/.global-cache .gradle/daemon .gradle/notifications .gradle/native .node-gyp
		.dotnet/TelemetryStorageService .config/dconf .config/pulse .local/share/recently-used.xbel`),
	tmp: strings.Fields(`tmp.* node-compile-cache* v8-compile-cache* npm-* yarn--* pnpm-* jest_* jest-* metro-* haste-map-*
		tsx-* go-build* go-link-* gopls* pytest-of-* pip-* cargo-install* rustc* hsperfdata_* gradle* kotlin-* kotlin-daemon*
		clr-debug-pipe-* dotnet-diagnostic-* .dotnet NuGetScratch* MSBuildTemp* .NET* tmux-* ssh-* gpg-* vim* emacs*
		.X*-lock .*-unix .org.chromium.* playwright* puppeteer* sess_* cc??????.[os] .lsp-* matplotlib-*`),
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

// madeUp reports whether a name ends as mktemp(1) and its like in C, Python, Go and
// Node end theirs: nine digits and more, six letters and digits and more after a
// separator that change often between kinds, or tmp and eight.
func madeUp(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	if last, ok := strings.CutPrefix(stem, "tmp"); ok && len(last) == 8 && strings.Trim(last, lower+digits+"_") == "" {
		return true
	}
	if len(name)-len(strings.TrimRight(name, digits)) >= 9 {
		return true
	}
	last := name[strings.LastIndexAny(name, ".-_")+1:]
	if len(last) < 6 || len(last) == len(name) || strings.Trim(last, lower+upper+digits) != "" {
		return false
	}
	changes, before := -1, ""
	for _, r := range last {
		for _, kind := range []string{lower, upper, digits} {
			if strings.ContainsRune(kind, r) && kind != before {
				before = kind
				changes++
			}
		}
	}
	return changes > 1
}

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)
