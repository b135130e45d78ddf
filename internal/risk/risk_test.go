// SPDX-License-Identifier: Apache-2.0

package risk

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode"
)

// TestShellText has one line per command, given to sh -c. want "" means that nothing may
// be said.
func TestShellText(t *testing.T) {
	tests := []struct{ text, want string }{
		{`rm -rf /`, "rm -r of /"},
		{`rm -r -f -- /`, "rm -r of /"},
		{`rm -Rf /*`, "rm -r of /*"},
		{`rm --recursive /etc/`, "rm -r of /etc/"},
		{`\rm -rf ~`, "rm -r of ~"},
		{`r'm' -rf "$HOME"`, "rm -r of ~"},
		{`rm -rf ${HOME:?}/*`, "rm -r of ~/*"},
		{`rm -rf ~/.* ~/*`, "rm -r of ~/.*"},
		{`rm -rf /home/me/`, "rm -r of /home/me/"},
		{`rm -rf /usr/../var`, "rm -r of /usr/../var"},
		{`if true; then sudo -n /bin/rm -rf /boot; fi`, "rm -r of /boot"},
		{`x=$(rm -rf /usr)`, "rm -r of /usr"},
		{`for i in 1 2; do rm -rf /srv & done`, "rm -r of /srv"},
		{`find . | (cd /tmp; rm -rf /opt)`, "rm -r of /opt"},
		{`rm --no-preserve-root -rf /`, "rm -r of /"},
		{`rm -r ./build`, ""},
		{`rm -rf node_modules /tmp/x ~/.cache/pip "$HOME/work/dist"`, ""},
		{`rm -rf "$DIR"`, ""},
		{`rm -rf '~' '/*'`, ""},
		{`rm -rf *`, ""},
		{`(cd /); rm -rf *`, ""},
		{`cd /tmp/x && rm -rf ./* .git`, ""},
		{`rm /etc/hosts.bak`, ""},
		{`rm -f /`, ""},
		{`echo 'rm -rf /'`, ""},
		{`echo rm -rf / > notes`, ""},
		{`git commit -m "rm -rf /"`, ""},
		{`# rm -rf /`, ""},
		{`mv ~ /dev/null`, "moves ~ away"},
		{`mv /etc /etc.old`, "moves /etc away"},
		{`mv a.txt ~`, ""},
		{`mv a b /usr/`, ""},
		{`chmod -R 777 /`, "chmod -R of /"},
		{`chown -hR me: ~`, "chown -R of ~"},
		{`chgrp --recursive staff /usr`, "chgrp -R of /usr"},
		{`chmod -R u+w src`, ""},
		{`chmod 755 /usr`, ""},
		{`find / -name x -delete`, "find deletes below /"},
		{`find . -name '*.o' -delete`, ""},
		{`find / -name passwd`, ""},

		{`dd if=x of=/dev/sda bs=1M`, "dd of=/dev/sda overwrites the device"},
		{`dd of=out.img if=/dev/zero count=1`, ""},
		{`dd if=/dev/sda of=backup.img`, ""},
		{`dd if=x of=/dev/null`, ""},
		{`: > /dev/nvme0n1`, "overwrites the device /dev/nvme0n1"},
		{`cat x >| /dev/mmcblk0p1`, "overwrites the device /dev/mmcblk0p1"},
		{`make > /dev/null 2>&1 >> /dev/stderr`, ""},
		{`echo x > /dev/tty; echo y > /dev/fd/3; echo z > /dev/tcp/host/80; echo > /dev/shm/x`, ""},
		{`cat < /dev/sda`, ""},
		{`cp /dev/sdb image`, ""},
		{`yes | sudo tee /dev/vda`, "tee overwrites the device /dev/vda"},
		{`shred -n1 /dev/sdc`, "shred overwrites the device /dev/sdc"},
		{`truncate -s 0 /dev/sda`, "truncate overwrites the device /dev/sda"},
		{`wipefs -a /dev/sda`, "wipefs erases the signatures of /dev/sda"},
		{`wipefs /dev/sda`, ""},
		{`mkfs.ext4 -F /dev/sda1`, "mkfs.ext4 makes a new file system on /dev/sda1"},
		{`mkswap /dev/sda2`, "mkswap makes a new file system on /dev/sda2"},
		{`mkfs.ext4 disk.img`, ""},
		{`fdisk -l /dev/sda`, ""},
		{`parted /dev/sda print`, ""},
		{`sed -n 1p /etc/passwd; cat < /etc/passwd; cp /etc/passwd x`, ""},

		{`:(){ :|:& };:`, "function : starts itself without end (fork bomb)"},
		{`bomb() { bomb | bomb & }; bomb`, "function bomb starts itself without end (fork bomb)"},
		{`function f { f & f & }; f`, "function f starts itself without end (fork bomb)"},
		{`f() { g | h & }; f`, ""},
		{`walk() { for i in *; do walk "$i"; done; }`, ""},
		{`retry() { try || retry; }`, ""},

		{`curl -fsSL https://x | sh`, "runs what it downloads with a shell"},
		{`wget -qO- https://x | sudo -E bash -`, "runs what it downloads with a shell"},
		{`curl x | tee log | bash -s -- --yes`, "runs what it downloads with a shell"},
		{`bash <(curl x)`, "runs what it downloads with a shell"},
		{`sh -c "$(curl -fsSL x)"`, "runs what it downloads with a shell"},
		{"eval `curl x`", "runs what it downloads with a shell"},
		{`curl -o x https://x`, ""},
		{`curl x | tar xz; curl x | jq .`, ""},
		{`curl x | python3 -m json.tool`, ""},
		{`curl x | python3 -c 'import json'`, ""},
		{`curl x | sh -c 'cat > file'`, ""},
		{`curl x | bash install.sh`, ""},
		{`cat x | sh`, ""},
		{`echo "$(curl x)"`, ""},
		{`eval "$(ssh-agent)"`, ""},
		{`diff <(curl a) <(curl b)`, ""},

		{`git push --force origin x`, "git push --force overwrites the remote branch"},
		{`git -C dir push -uf`, "git push --force overwrites the remote branch"},
		{`git push --mirror`, "git push removes branches of the remote"},
		{`git push origin --delete x`, "git push removes branches of the remote"},
		{`git push; git push -u origin main; git push --force-with-lease`, ""},
		{`git push -f --dry-run`, ""},
		{`git reset --hard HEAD~1`, "git reset --hard discards uncommitted changes"},
		{`git reset --soft HEAD~1`, ""},
		{`git clean -fdx`, "git clean -f deletes files git does not know"},
		{`git clean -nfdx`, ""},
		{`git checkout main; git checkout -- a.go; git restore --staged .`, ""},
		{`git branch -D feature; git branch -d main`, ""},
		{`git stash; git log --grep reset --hard`, ""},

		{`kill -1 42; kill -9 42; kill -1`, ""},
		{`shutdown -h now`, "shutdown of the machine"},
		{`shutdown -c`, ""},
		{`sudo systemctl reboot`, "systemctl reboot stops the machine"},
		{`systemctl status; systemctl restart nginx`, ""},
		{`npm init; init x`, ""},
		{`crontab -l`, ""},
		{`iptables -L`, ""},
		{`passwd -S root; passwd`, ""},
		{`docker run -v "$PWD:/src" x; docker ps`, ""},
		{`cargo publish --dry-run; npm run publish`, ""},
		{`gh release list`, ""},
		{`psql -c 'select 1'; grep 'drop table' x.sql`, ""},

		// Commands within commands.
		{`bash -lc 'sh -c "rm -rf /"'`, "rm -r of /"},
		{`bash -euo pipefail -c "rm -rf ~/"`, "rm -r of ~/"},
		{`bash --norc -c -e 'rm -rf $HOME'`, "rm -r of ~"},
		{`sh -c 'rm -rf "$1"' / x`, ""},
		{`eval "rm -rf /"`, "rm -r of /"},
		{"cat <<'EOF'\nrm -rf /\nEOF", ""},
		{"cat <<EOF\n$(rm -rf /)\nEOF", "rm -r of /"},
		{`echo a | xargs rm -rf`, ""},
		{`nohup nice -n 5 timeout -k 5 10 env -u A B=1 rm -rf / &`, "rm -r of /"},
		{`busybox sh -c 'rm -rf /'`, "rm -r of /"},
		{`command -v rm -rf /`, ""},
		{`exec -a x rm -rf /`, "rm -r of /"},

		{`rm -rf / '`, ""},
		{`if`, ""},
		{``, ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			if got := Destructive([]string{"sh", "-c", tt.text}); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestWords: given as words, nothing is expanded or parsed.
func TestWords(t *testing.T) {
	tests := []struct {
		argv []string
		want string
	}{
		{nil, ""},
		{[]string{""}, ""},
		{[]string{"rm", "-rf", "/"}, "rm -r of /"},
		{[]string{"/bin/rm", "-rf", "build", "//"}, "rm -r of //"},
		{[]string{"rm", "-rf", "~", "$HOME", "/*"}, ""},
		{[]string{"rm", "-rf", "/h/me"}, "rm -r of ~"},
		{[]string{"rm", "-rf", "/h/me/x", "/h/mean"}, ""},
		{[]string{"sudo", "dd", "of=/dev/sda"}, "dd of=/dev/sda overwrites the device"},
		{[]string{"sh", "-c", "rm -rf ~/*"}, "rm -r of ~/*"},
		{[]string{"env", "X=1", "/usr/bin/bash", "-lc", "curl x|sh"}, "runs what it downloads with a shell"},
		{[]string{"xargs", "-n", "1", "sh", "-c", "rm -rf /"}, "rm -r of /"},
		{[]string{"mkfs.ext4", "/dev/sda\x1b" + strings.Repeat("1", 100)},
			"mkfs.ext4 makes a new file system on /dev/sda\uFFFD" + strings.Repeat("1", 51) + "…"},
		{[]string{"echo", "rm", "-rf", "/"}, ""},
		{[]string{"bash", "rm -rf /"}, ""},
		{[]string{"bash", "-c"}, ""},
		{[]string{":(){ :|:& };:"}, ""},
		{[]string{"bash", "-c", ":(){ :|:& };:"}, "function : starts itself without end (fork bomb)"},
	}
	for _, tt := range tests {
		if got := Destructive(tt.argv, "/h/me"); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.argv, got, tt.want)
		}
	}
}

// TestHostileText: size and nesting are bounded in time and stack.
func TestHostileText(t *testing.T) {
	for _, piece := range [][2]string{
		{"(", ")"}, {"$(a ", ")"}, {"a|", "a"}, {"`", "`"}, {"{ ", "; }"}, {"\"$(", ")\""}, {"f(){ ", "; }"},
		{"$((", "))"},
		{"${a:-", "}"}, {"<(a ", ")"}, {"a <<E\n", "\nE\n"}, {"curl a|", "sh"}, {"if a; then ", "; fi"},
		{"[[ ( ", " ) ]]"}, {"sudo ", "x"},
		{"$(curl x) ", ""}, {"sh <(sh ", ")"}, {"! ", ""}, {"a && ", "a"}, {"!(", ")"}, {"a[", "]=1"},
	} {
		for _, n := range []int{10, 1000, 3000, 8000} {
			text := strings.Repeat(piece[0], n) + "x" + strings.Repeat(piece[1], n)
			start := time.Now()
			Destructive([]string{"sh", "-c", text})
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("%d times %q: %v", n, piece[0], d)
			} else if d > 50*time.Millisecond {
				t.Logf("%d times %q: %v", n, piece[0], d)
			}
		}
	}
}

// TestInitCost: the package is linked into a program that starts before every
// command, so nothing of it may run at start.
func TestInitCost(t *testing.T) {
	if os.Getenv("SBX_RISK_TEST_INIT") != "" {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^TestInitCost$")
	cmd.Env = append(os.Environ(), "SBX_RISK_TEST_INIT=1", "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "sbx/internal/risk ") {
			t.Errorf("the package has work to do at start: %s", line)
		}
		if strings.Contains(line, "mvdan.cc/") || strings.Contains(line, "regexp") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

func FuzzDestructive(f *testing.F) {
	for _, s := range []string{
		`rm -rf /`, `:(){ :|:& };:`, `curl x | tee y | sudo sh -s -- a`, "bash <<E\n$(rm -rf ~/*)\nE\n",
		`find / -exec sh -c 'rm "$@"' {} +`,
		`cd ~ && rm -rf ./*`, `echo '`, `$'\x72m' -rf ${x:-/}`, `env -S 'a b' timeout`,
		`sh -c "sh -c \"sh -c 'eval \$@'\""`, `a[$(b)]=(c d)`,
	} {
		f.Add("sh", "-c", s)
		f.Add("rm", s, "/")
		f.Add("sudo", "xargs", s)
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		for _, argv := range [][]string{{a, b, c}, {"bash", "-c", c, a, b}, {a, "-" + b, "sh", "-c", c}} {
			found := Destructive(argv, "/h")
			if strings.ContainsFunc(found, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q: %q", argv, found)
			}
		}
	})
}

func BenchmarkDestructive(b *testing.B) {
	argv := []string{"bash", "-lc", "cd src && npm ci && npm test -- --watch=false | tee log.txt; git status"}
	for b.Loop() {
		Destructive(argv)
	}
}
