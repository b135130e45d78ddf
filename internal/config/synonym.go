// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"
)

// synonyms are what other sandboxes call the keys and values of sbx: Sheen's worker,
// srt, fence, Claude Code, nono and bwrap itself, less "_", "-" and capitals.
// docs/config.md has the table for people.
func synonyms() map[string]string {
	return map[string]string{
		"bubblewrap": "bwrap", "seatbelt": "sandbox-exec",

		"network": "allow_network", "net": "allow_network", "networkaccess": "allow_network",
		"allownet": "allow_network", "allownetworking": "allow_network", "sharenet": "allow_network",

		"readonlysystempaths": "readonly_paths", "readpaths": "readonly_paths", "allowread": "readonly_paths",
		"bindpaths": "readonly_paths", "robind": "readonly_paths", "read": "readonly_paths",
		"readwritepaths": "writable_paths", "writepaths": "writable_paths", "allowwrite": "writable_paths",
		"allowedwritepaths": "writable_paths", "additionaldirectories": "writable_paths", "write": "writable_paths",
		"denyread": "blocked_paths", "forbiddenpaths": "blocked_paths", "deniedpaths": "blocked_paths",
		"hiddenpaths": "blocked_paths", "block": "blocked_paths", "denywrite": "protected_paths",

		"timeout": "timeout_seconds", "timeoutms": "timeout_seconds", "memory": "memory_limit_mb",
		"memorylimit": "memory_limit_mb", "memorymb": "memory_limit_mb", "maxmemorymb": "memory_limit_mb",
		"maxprocesses": "procs", "maxprocs": "procs", "pidslimit": "procs", "processes": "procs",

		"envpassthrough": "env_pass", "passenv": "env_pass", "env": "env_set", "environmentvars": "env_set",
		"environmentvariables": "env_set", "setenv": "env_set", "unsetenv": "env_drop",
		"blockedsyscalls": "seccomp", "seccompprofile": "seccomp", "allowptrace": "seccomp",

		"backend": "engine", "strategy": "engine", "mode": "engine", "profile": "default_profile",
		"failifunavailable": "fallback_on_unavailable", "failclosed": "fallback_on_unavailable",
		"projectpath": "workspace", "workdir": "workspace", "inherits": "extends", "version": "config_version",
	}
}

// Synonym is the one of some words that a person means by a word of another program's,
// or by another spelling; "" for none.
func Synonym(word string, known []string) string {
	fold := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)) }
	plain := fold(word)
	for _, k := range known {
		if fold(k) == plain {
			return k
		}
	}
	if name := synonyms()[plain]; slices.Contains(known, name) {
		return name
	}
	return ""
}
