package risk

import (
	"slices"
	"strings"
)

// rule describes a kind of command. Every part that is set must hold.
type rule struct {
	id     string
	names  string // commands, separated by spaces; a * at the end stands for anything
	sub    string // subcommands, separated by commas
	flags  string // one of these must be given, separated by commas
	unless string // none of these may be given

	// One operand must be among words (separated by spaces) or satisfy on: with
	// last the last one, with sources one of those before it.
	words string
	on    func(string) bool
	place place

	given  func(*command) bool // what the table has no words for
	format string              // %c is the command, %o the operand
}

type place uint8

const (
	anywhere place = iota
	last
	sources
)

var rules = []rule{
	// Files.
	{id: "rm-root", names: "rm", flags: "-r,-R,--recursive", on: vital, format: "rm -r of %o"},
	{id: "rm-no-preserve-root", names: "rm", flags: "--no-preserve-root", format: "rm --no-preserve-root"},
	{id: "mv-root", names: "mv", on: vital, place: sources, format: "moves %o away"},
	{id: "mv-null", names: "mv", words: "/dev/null", place: last, format: "mv to /dev/null destroys the files"},
	{id: "chmod-root", names: "chmod chown chgrp setfacl", flags: "-R,--recursive", on: vital, format: "%c -R of %o"},
	{id: "find-delete", names: "find", flags: "-delete,-exec rm,-exec shred,-exec unlink", on: vital, format: "find deletes below %o"},
	{id: "account-file", names: "tee cp mv install", on: account, place: last, format: "%c changes %o, which decides who may log in"},
	{id: "account-file", names: "sed", flags: "-i,--in-place", on: account, format: "sed -i changes %o, which decides who may log in"},
	{id: "account-file", names: "rm shred truncate", on: account, format: "%c of %o, which decides who may log in"},

	// Disks.
	{id: "device-write", names: "dd", on: ofDevice, format: "dd %o overwrites the device"},
	{id: "device-write", names: "cp mv install", on: device, place: last, format: "%c overwrites the device %o"},
	{id: "device-write", names: "tee shred truncate blkdiscard badblocks", on: device, format: "%c overwrites the device %o"},
	{id: "device-write", names: "wipefs", flags: "-a,--all,-o,--offset", unless: "-n,--no-act", on: device, format: "wipefs erases the signatures of %o"},
	{id: "mkfs", names: "mkfs mkfs.* mke2fs mkswap newfs*", on: likelyDevice, format: "%c makes a new file system on %o"},
	{id: "partition", names: "fdisk gdisk cfdisk parted sfdisk sgdisk", unless: "-l,--list,-d,--dump,-J,--json,-p,--print,-i,--info,-V,--version", on: likelyDevice, given: notPrint, format: "%c changes the partitions of %o"},
	{id: "partition", names: "diskutil", sub: "eraseDisk,eraseVolume,partitionDisk,zeroDisk", format: "diskutil %o"},
	{id: "volume-remove", names: "lvremove vgremove pvremove", format: "%c removes volumes"},
	{id: "volume-remove", names: "zpool zfs", sub: "destroy", format: "%c destroys storage"},

	// Git: what commits and remotes do not bring back.
	{id: "git-force-push", names: "git", sub: "push", flags: "-f,--force", unless: "-n,--dry-run", format: "git push --force overwrites the remote branch"},
	{id: "git-force-push", names: "git", sub: "push", on: forced, unless: "-n,--dry-run", format: "git push %o overwrites the remote branch"},
	{id: "git-push-mirror", names: "git", sub: "push", flags: "--mirror,--prune", unless: "-n,--dry-run", format: "git push --mirror or --prune removes what the remote has more"},
	{id: "git-push-delete", names: "git", sub: "push", flags: "-d,--delete", unless: "-n,--dry-run", format: "git push --delete removes branches of the remote"},
	{id: "git-push-delete", names: "git", sub: "push", on: removed, unless: "-n,--dry-run", format: "git push %o removes a branch of the remote"},
	{id: "git-reset-hard", names: "git", sub: "reset", flags: "--hard", format: "git reset --hard discards uncommitted changes"},
	{id: "git-clean", names: "git", sub: "clean", flags: "-f,--force", unless: "-n,--dry-run", format: "git clean -f deletes files git does not know"},
	{id: "git-discard", names: "git", sub: "checkout", words: ". ./ :/ : " + glob, format: "git checkout %o discards uncommitted changes"},
	{id: "git-discard", names: "git", sub: "restore", words: ". ./ :/ : " + glob, unless: "--staged,-S", format: "git restore %o discards uncommitted changes"},
	{id: "git-branch-delete", names: "git", sub: "branch", flags: "-D", words: "main master trunk develop release production", format: "git branch -D %o"},
	{id: "git-rewrite", names: "git", sub: "filter-branch,filter-repo", format: "git %o rewrites the history"},
	{id: "git-rewrite", names: "git-filter-repo bfg", format: "%c rewrites the history"},
	{id: "git-stash-clear", names: "git", sub: "stash clear", format: "git stash clear deletes all stashes"},
	{id: "git-reflog-expire", names: "git", sub: "reflog expire,reflog delete", format: "git reflog expire gives up the way back to old commits"},

	// The running system.
	{id: "kill-all", names: "kill", given: killAll, format: "kill of every process"},
	{id: "kill-all", names: "killall5", format: "killall5 kills every process"},
	{id: "shutdown", names: "shutdown", unless: "-c,--help,--show", format: "%c of the machine"},
	{id: "shutdown", names: "reboot halt poweroff", unless: "--help", format: "%c of the machine"},
	{id: "shutdown", names: "init telinit", words: "0 6", format: "%c %o stops the machine"},
	{id: "shutdown", names: "systemctl loginctl", sub: "poweroff,reboot,halt,kexec,soft-reboot,rescue,emergency", format: "%c %o stops the machine"},
	{id: "crontab", names: "crontab", flags: "-r", format: "crontab -r deletes all cron jobs"},
	{id: "firewall", names: "iptables ip6tables ebtables", flags: "-F,--flush", format: "%c -F drops all firewall rules"},
	{id: "firewall", names: "nft", sub: "flush ruleset", format: "nft flush ruleset drops all firewall rules"},
	{id: "firewall", names: "ufw", sub: "disable,reset", format: "ufw %o turns the firewall off"},
	{id: "user", names: "userdel deluser groupdel", format: "%c deletes an account"},
	{id: "user", names: "passwd", words: "root", unless: "-S,--status", format: "passwd changes root's password"},

	// What the outside would notice.
	{id: "container-root", names: "docker podman nerdctl", sub: "run,create,exec,container run,container create", given: opensHost, format: "%c %o gives the container the host"},
	{id: "container-prune", names: "docker podman nerdctl", sub: "system prune,volume prune", format: "%c %o deletes containers' data"},
	{id: "publish", names: "npm pnpm yarn bun cargo poetry uv hatch flit", sub: "publish,npm publish", unless: "-n,--dry-run", format: "%c publish puts a release out for everyone"},
	{id: "publish", names: "gem docker podman helm", sub: "push", unless: "--dry-run", format: "%c push puts a release out for everyone"},
	{id: "publish", names: "twine", sub: "upload", format: "twine upload puts a release out for everyone"},
	{id: "publish", names: "gh glab", sub: "release create,release delete", format: "%c %o changes what the world downloads"},
	{id: "repo-delete", names: "gh glab", sub: "repo delete", format: "%c repo delete"},
	{id: "cloud-delete", names: "terraform tofu pulumi", sub: "destroy", format: "%c destroy takes the infrastructure down"},
	{id: "cloud-delete", names: "kubectl", sub: "delete namespace,delete ns", format: "kubectl %o"},
	{id: "cloud-delete", names: "kubectl", sub: "delete", flags: "--all,-A,--all-namespaces", format: "kubectl delete --all"},
	{id: "cloud-delete", names: "aws", sub: "s3 rb", flags: "--force", format: "aws s3 rb deletes a bucket with its content"},
	{id: "cloud-delete", names: "aws", sub: "s3 rm", flags: "--recursive", format: "aws s3 rm --recursive"},

	// Data bases.
	{id: "drop-database", names: "psql mysql mariadb sqlite3 sqlcmd clickhouse-client", given: drops, format: "%c drops tables or data bases"},
	{id: "drop-database", names: "dropdb", format: "dropdb"},
	{id: "drop-database", names: "redis-cli", words: "flushall FLUSHALL flushdb FLUSHDB", format: "redis-cli %o deletes all keys"},
}

// match returns the text of the finding, or "".
func (r *rule) match(c *command) string {
	if !named(r.names, c.name) || r.flags != "" && !c.any(r.flags) || r.unless != "" && c.any(r.unless) {
		return ""
	}
	operands, operand := c.operands, ""
	if r.sub != "" {
		var ok bool
		if operand, operands, ok = c.oneSub(r.sub); !ok {
			return ""
		}
	}
	if r.on != nil || r.words != "" {
		var ok bool
		if operand, ok = r.operand(operands, c.dir); !ok {
			return ""
		}
	}
	if r.given != nil && !r.given(c) {
		return ""
	}
	return strings.NewReplacer("%c", show(c.name), "%o", show(operand)).Replace(r.format)
}

// operand returns the first of those in the rule's place that satisfies it. A
// relative path is looked at from the working directory as well, if known.
func (r *rule) operand(operands []string, dir string) (string, bool) {
	n := len(operands)
	switch {
	case r.place == last && n > 1:
		operands = operands[n-1:]
	case r.place == sources && n > 0:
		operands = operands[:n-1]
	}
	for _, o := range operands {
		if r.takes(o) {
			return o, true
		}
		if full := resolve(dir, o); full != "" && r.takes(full) {
			return full, true
		}
	}
	return "", false
}

func (r *rule) takes(operand string) bool {
	if r.on != nil {
		return r.on(operand)
	}
	return slices.Contains(strings.Fields(r.words), operand)
}

func named(names, name string) bool {
	return slices.ContainsFunc(strings.Fields(names), func(n string) bool {
		prefix, star := strings.CutSuffix(n, "*")
		return n == name || star && strings.HasPrefix(name, prefix)
	})
}

func (c *command) oneSub(subs string) (sub string, rest []string, ok bool) {
	for _, sub := range strings.Split(subs, ",") {
		if rest, ok := c.sub(sub); ok {
			return sub, rest, true
		}
	}
	return "", nil, false
}

// forced and removed know the refspecs that need no option: +main, :main.
func forced(refspec string) bool  { return len(refspec) > 1 && refspec[0] == '+' }
func removed(refspec string) bool { return len(refspec) > 1 && refspec[0] == ':' }

// killAll: -1 in the place of a process id stands for all of them. In front it
// is the signal HUP.
func killAll(c *command) bool {
	n := len(c.words)
	return n > 1 && c.words[n-1] == "-1" && c.words[n-2] != "-n" && c.words[n-2] != "-s"
}

// notPrint excludes the asking subcommands of parted.
func notPrint(c *command) bool {
	return !slices.Contains(c.operands, "print") && !slices.Contains(c.operands, "p")
}

// opensHost: privileges, the host's root, or the socket that gives both.
func opensHost(c *command) bool {
	return c.any("--privileged") || slices.ContainsFunc(c.words, func(w string) bool {
		_, value, _ := strings.Cut(w, "=")
		for _, v := range []string{w, value} {
			if strings.HasPrefix(v, "/:/") || strings.HasPrefix(v, "-v/:/") || strings.Contains(v, "docker.sock:") {
				return true
			}
		}
		return strings.Contains(w, "source=/,") || strings.Contains(w, "src=/,")
	})
}

// drops looks for SQL in the arguments and on stdin.
func drops(c *command) bool {
	sql := " " + strings.ToLower(strings.Join(strings.Fields(strings.Join(c.words, " ")+" "+c.stdin), " "))
	return slices.ContainsFunc([]string{"drop database", "drop schema", "drop table", "truncate table"}, func(s string) bool {
		return strings.Contains(sql, s)
	})
}
