// SPDX-License-Identifier: Apache-2.0

// Package sbpltest reads profiles of macOS's sandbox and says what they allow, so
// that profiles can be tested where there is no Mac. It is for tests only.
//
//	p, err := sbpltest.Load(text, params)
//	allowed, rule := p.Check(sbpltest.Observed, sbpltest.Do("read", "/Users/u/.ssh/id"))
//
// # Two readings
//
// Apple documents no order of rules. [Observed] is what real Macs were seen to do:
//
//   - P1: rules are those of one operation. One about file-read-data is asked before
//     any about file-read*, whatever stands first; the group is asked only if no rule
//     of the operation itself matches.
//   - P2: of the rules of one operation that have filters, the last that matches wins.
//   - P3: a rule without filters is what is left for its operation when none with
//     filters matches. It overrides none, be it earlier or later.
//   - P4: at last comes the default; but some operations (process-info*, file-link,
//     file-clone, file-map-executable, …) are allowed where no rule is about them.
//
// [Naive] is how most people read a profile: from top to bottom, groups included,
// last match wins. A profile should mean the same in both: [Profile.Agree] compares
// answers, [Profile.Lint] finds the forms that make a difference, and
// [Profile.Run] wants each case of a table to come out in both.
//
// # Tables
//
// Decisions are written as text, one a line, for [ParseTable]:
//
//	# a comment
//	profiles strict moderate          # optional: the columns
//	deny  allow  read    $HOME/notes  # what has to come of it, the action, its target
//	deny  deny   rename  $HOME/.ssh /private/tmp/x
//	-     allow  exec    "/Applications/Some App.app/x"
//
// Without a line "profiles" there is one column. A verdict is allow, deny, or - for
// nothing said. Words are separated by blanks or in double quotes; a # that begins
// a word begins a comment. $NAME is replaced by a variable ($$ is a dollar).
// The actions, with one path each:
//
//	read list stat lstat readlink exists getxattr      (list reads a directory)
//	write create unlink mkdir setxattr                 (write: a file that exists; unlink: or rmdir)
//	chmod setuid chown chflags utimes
//	exec interpret map                                 (interpret: as the interpreter of a script; map: dlopen)
//	connect bind                                       (of sockets with a path)
//	tty                                                (read, write and change a terminal)
//
// with two, FROM and TO:
//
//	rename rename-over link clone symlink              (rename-over: TO exists; symlink: CONTENT LINK)
//
// and the others:
//
//	connect-ip listen-ip  ADDRESS:PORT [tcp|udp]       (no names but localhost; tcp if not said)
//	socket                AF_… [PROTOCOL]
//	mach mach-register    SERVICE
//	sysctl sysctl-write   NAME
//	signal process-info task-port   self|children|same-sandbox|pgrp|others|initproc
//	ioctl                 PATH NAME|NUMBER             (TIOCSTI, 0x80017472)
//	shm shm-create sem    NAME
//	pref pref-write       DOMAIN
//	fork pty
//
// Besides, any operation of the sandbox is an action: "deny lsopen", "deny
// file-mount /Volumes/x". kind=DIRECTORY at the end says what node a path is,
// extension=CLASS what the process was given for it.
//
// A path is what a program says: links on the way (/tmp, /var, /etc, /home and
// those of [Options]) are followed and have to be readable, firmlinks are undone,
// and volumes fold case.
//
// # Mutants
//
// [Kill] shows whether a table would notice what goes missing in a profile: it
// tries each text of [Mutants] and returns those that neither a case nor a lint
// tells from the profile.
//
// # What is not modelled
//
// Extensions are what a request says, no one issues any. IOKit filters compare
// names alone. import is refused, as are filters of processes and of the system
// (process-attribute, entitlements), of modes and devices. What is decided before a
// profile is asked is not here: SIP, TCC, Unix permissions, and Apple's platform
// profile. Hard links and mounts give files other names; Unicode normalisation is
// left out; Go's regular expressions stand in for Apple's, without (? groups. The
// operations are those of 10.15 and what profiles use of 14.4's besides; what 14.4
// falls back to for the latter, and which operations a system call asks for, is
// inferred. Of Scheme there is (when (defined? …)) alone.
package sbpltest
