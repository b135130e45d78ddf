package risk

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ids returns the rules found, each once.
func ids(found []Finding) []string {
	var out []string
	for _, f := range found {
		if !slices.Contains(out, f.Rule) {
			out = append(out, f.Rule)
		}
	}
	return out
}

// TestShellText has one line per command, given to sh -c. want "" means that
// nothing may be said.
func TestShellText(t *testing.T) {
	tests := []struct{ text, want string }{
		{`rm -rf /`, "rm-root"},
		{`rm -r -f -- /`, "rm-root"},
		{`rm -Rf /*`, "rm-root"},
		{`rm --recursive /etc/`, "rm-root"},
		{`\rm -rf ~`, "rm-root"},
		{`r'm' -rf "$HOME"`, "rm-root"},
		{`rm -rf ${HOME:?}/*`, "rm-root"},
		{`rm -rf ~/.* ~/*`, "rm-root"},
		{`rm -rf ~root`, "rm-root"},
		{`rm -rf /home/me/`, "rm-root"},
		{`rm -rf /usr/../var`, "rm-root"},
		{`cd / && rm -rf *`, "rm-root"},
		{`cd; rm -rf .`, "rm-root"},
		{`cd /usr/lib; cd ..; rm -rf ./*`, "rm-root"},
		{`if true; then sudo -n /bin/rm -rf /boot; fi`, "rm-root"},
		{`x=$(rm -rf /usr)`, "rm-root"},
		{`for i in 1 2; do rm -rf /srv & done`, "rm-root"},
		{`find . | (cd /tmp; rm -rf /opt)`, "rm-root"},
		{`rm --no-preserve-root -rf /`, "rm-root rm-no-preserve-root"},
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
		{`mv ~ /dev/null`, "mv-root mv-null"},
		{`mv secrets /dev/null`, "mv-null"},
		{`mv /etc /etc.old`, "mv-root"},
		{`mv a.txt ~`, ""},
		{`mv a b /usr/`, ""},
		{`chmod -R 777 /`, "chmod-root"},
		{`chown -hR me: ~`, "chmod-root"},
		{`chgrp --recursive staff /usr`, "chmod-root"},
		{`chmod -R u+w src`, ""},
		{`chmod 755 /usr`, ""},
		{`find / -name x -delete`, "find-delete"},
		{`find ~ -type f -exec rm {} +`, "find-delete"},
		{`find . -exec rm -rf / \;`, "rm-root"},
		{`find . -name '*.o' -delete`, ""},
		{`find / -name passwd`, ""},

		{`dd if=x of=/dev/sda bs=1M`, "device-write"},
		{`dd of=out.img if=/dev/zero count=1`, ""},
		{`dd if=/dev/sda of=backup.img`, ""},
		{`dd if=x of=/dev/null`, ""},
		{`: > /dev/nvme0n1`, "device-write"},
		{`cat x >| /dev/mmcblk0p1`, "device-write"},
		{`cd /dev; echo > sda`, "device-write"},
		{`make > /dev/null 2>&1 >> /dev/stderr`, ""},
		{`echo x > /dev/tty; echo y > /dev/fd/3; echo z > /dev/tcp/host/80; echo > /dev/shm/x`, ""},
		{`cat < /dev/sda`, ""},
		{`cp image /dev/sdb`, "device-write"},
		{`cp /dev/sdb image`, ""},
		{`yes | sudo tee /dev/vda`, "device-write"},
		{`shred -n1 /dev/sdc`, "device-write"},
		{`truncate -s 0 /dev/sda`, "device-write"},
		{`wipefs -a /dev/sda`, "device-write"},
		{`wipefs /dev/sda`, ""},
		{`mkfs.ext4 -F /dev/sda1`, "mkfs"},
		{`mkfs -t xfs "$DISK"`, "mkfs"},
		{`mkswap /dev/sda2`, "mkfs"},
		{`mkfs.ext4 disk.img`, ""},
		{`fdisk /dev/sda`, "partition"},
		{`fdisk -l /dev/sda`, ""},
		{`sgdisk -Z /dev/sda`, "partition"},
		{`parted -s /dev/sda mklabel gpt`, "partition"},
		{`parted /dev/sda print`, ""},
		{`echo x >> /etc/passwd`, "account-file"},
		{`sudo tee -a /etc/sudoers.d/me`, "account-file"},
		{`sed -i s/x/y/ /etc/shadow`, "account-file"},
		{`sed -n 1p /etc/passwd; cat < /etc/passwd; cp /etc/passwd x`, ""},
		{`echo b > /proc/sysrq-trigger`, "sysrq"},

		{`:(){ :|:& };:`, "fork-bomb"},
		{`bomb() { bomb | bomb & }; bomb`, "fork-bomb"},
		{`function f { f & f & }; f`, "fork-bomb"},
		{`f() { g | h & }; f`, ""},
		{`walk() { for i in *; do walk "$i"; done; }`, ""},
		{`retry() { try || retry; }`, ""},

		{`curl -fsSL https://x | sh`, "fetch-run"},
		{`wget -qO- https://x | sudo -E bash -`, "fetch-run"},
		{`curl x | tee log | bash -s -- --yes`, "fetch-run"},
		{`curl x | env A=1 python3 -`, "fetch-run"},
		{`(curl x) | (cd /tmp && node)`, "fetch-run"},
		{`bash <(curl x)`, "fetch-run"},
		{`bash < <(wget -O - x)`, "fetch-run"},
		{`sh -c "$(curl -fsSL x)"`, "fetch-run"},
		{"eval `curl x`", "fetch-run"},
		{`source <(curl x)`, "fetch-run"},
		{`. <(curl x)`, "fetch-run"},
		{`python3 -c "$(curl x)"`, "fetch-run"},
		{`bash <<< "$(curl x)"`, "fetch-run"},
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

		{`git push --force origin x`, "git-force-push"},
		{`git -C dir push -uf`, "git-force-push"},
		{`git push origin +main`, "git-force-push"},
		{`git push --mirror`, "git-push-mirror"},
		{`git push origin --delete x`, "git-push-delete"},
		{`git push origin :x`, "git-push-delete"},
		{`git push; git push -u origin main; git push --force-with-lease`, ""},
		{`git push -f --dry-run`, ""},
		{`git reset --hard HEAD~1`, "git-reset-hard"},
		{`git reset --soft HEAD~1`, ""},
		{`git clean -fdx`, "git-clean"},
		{`git clean -nfdx`, ""},
		{`git checkout -- .`, "git-discard"},
		{`git restore .`, "git-discard"},
		{`git checkout main; git checkout -- a.go; git restore --staged .`, ""},
		{`git branch -D main`, "git-branch-delete"},
		{`git branch -D feature; git branch -d main`, ""},
		{`git filter-branch --all`, "git-rewrite"},
		{`git stash clear`, "git-stash-clear"},
		{`git stash; git log --grep reset --hard`, ""},

		{`kill -9 -1`, "kill-all"},
		{`kill -s KILL -- -1`, "kill-all"},
		{`kill -1 42; kill -9 42; kill -1`, ""},
		{`shutdown -h now`, "shutdown"},
		{`shutdown -c`, ""},
		{`sudo systemctl reboot`, "shutdown"},
		{`systemctl status; systemctl restart nginx`, ""},
		{`init 0`, "shutdown"},
		{`npm init; init x`, ""},
		{`crontab -r`, "crontab"},
		{`crontab -l`, ""},
		{`iptables -t nat -F`, "firewall"},
		{`iptables -L`, ""},
		{`userdel me`, "user"},
		{`passwd root`, "user"},
		{`passwd -S root; passwd`, ""},
		{`docker run --privileged x`, "container-root"},
		{`docker run -it -v /:/host x`, "container-root"},
		{`podman run --mount type=bind,source=/,target=/h x`, "container-root"},
		{`docker run -v "$PWD:/src" x; docker ps`, ""},
		{`npm publish`, "publish"},
		{`cargo publish --dry-run; npm run publish`, ""},
		{`gh release delete v1`, "publish"},
		{`gh release list`, ""},
		{`psql -h db -c 'DROP  DATABASE x'`, "drop-database"},
		{`echo 'drop table t;' | mysql app`, "drop-database"},
		{"mysql <<EOF\nDROP DATABASE x;\nEOF", "drop-database"},
		{`psql -c 'select 1'; grep 'drop table' x.sql`, ""},

		// Commands within commands.
		{`bash -lc 'sh -c "rm -rf /"'`, "rm-root"},
		{`bash -euo pipefail -c "rm -rf ~/"`, "rm-root"},
		{`bash --norc -c -e 'rm -rf $HOME'`, "rm-root"},
		{`sh -c 'rm -rf "$@"' sh a /`, "rm-root"},
		{`sh -c 'exec "$@"' sh rm -rf /`, "rm-root"},
		{`sh -c 'rm -rf "$1"' / x`, ""},
		{`eval "rm -rf /"`, "rm-root"},
		{`trap 'rm -rf /' EXIT`, "rm-root"},
		{`echo 'rm -rf /' | sh`, "rm-root"},
		{"bash <<'EOF'\nrm -rf /\nEOF", "rm-root"},
		{"cat <<'EOF'\nrm -rf /\nEOF", ""},
		{"cat <<EOF\n$(rm -rf /)\nEOF", "rm-root"},
		{`echo / | xargs rm -rf`, "rm-root"},
		{`echo a | xargs rm -rf`, ""},
		{`su - postgres -c 'rm -rf /'`, "rm-root"},
		{`nohup nice -n 5 timeout -k 5 10 env -u A B=1 rm -rf / &`, "rm-root"},
		{`busybox sh -c 'rm -rf /'`, "rm-root"},
		{`command -v rm -rf /; sudo -l rm -rf /`, ""},
		{`exec -a x rm -rf /`, "rm-root"},

		{`rm -rf / '`, ""},
		{`if`, ""},
		{``, ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			found := Assess([]string{"sh", "-c", tt.text})
			if got := strings.Join(ids(found), " "); got != tt.want {
				t.Errorf("got %q, want %q: %v", got, tt.want, found)
			}
		})
	}
}

// TestWords: given as words, nothing is expanded or parsed.
func TestWords(t *testing.T) {
	tests := []struct {
		argv []string
		want []Finding
	}{
		{nil, nil},
		{[]string{""}, nil},
		{[]string{"rm", "-rf", "/"}, []Finding{{"rm-root", "rm -r of /"}}},
		{[]string{"/bin/rm", "-rf", "build", "//"}, []Finding{{"rm-root", "rm -r of /"}}},
		{[]string{"rm", "-rf", "~", "$HOME", "/*"}, nil},
		{[]string{"rm", "-rf", "\x01", "\x00", "/\x02"}, nil},
		{[]string{"sudo", "dd", "of=/dev/sda"}, []Finding{{"device-write", "dd of=/dev/sda overwrites the device"}}},
		{[]string{"sh", "-c", "rm -rf ~/*"}, []Finding{{"rm-root", "rm -r of ~/*"}}},
		{[]string{"env", "X=1", "/usr/bin/bash", "-lc", "curl x|sh"}, []Finding{{"fetch-run", "runs what it downloads with sh"}}},
		{[]string{"xargs", "-n", "1", "sh", "-c", "rm -rf /"}, []Finding{{"rm-root", "rm -r of /"}}},
		{[]string{"git", "push", "origin", "+\x1b[31mmain"}, []Finding{{"git-force-push", "git push +\uFFFD[31mmain overwrites the remote branch"}}},
		{[]string{"mkfs.ext4", "/dev/sda" + strings.Repeat("1", 100)}, []Finding{{"mkfs", "mkfs.ext4 makes a new file system on /dev/sda" + strings.Repeat("1", 52) + "…"}}},
		{[]string{"echo", "rm", "-rf", "/"}, nil},
		{[]string{"bash", "rm -rf /"}, nil},
		{[]string{"bash", "-c"}, nil},
		{[]string{":(){ :|:& };:"}, nil},
		{[]string{"bash", "-c", ":(){ :|:& };:"}, []Finding{{"fork-bomb", "function : starts itself without end (fork bomb)"}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Assess(tt.argv)); diff != "" {
			t.Errorf("%q: %s", tt.argv, diff)
		}
	}
}

// TestHostileText: size and nesting are bounded in time and stack.
func TestHostileText(t *testing.T) {
	for _, piece := range [][2]string{
		{"(", ")"}, {"$(a ", ")"}, {"a|", "a"}, {"`", "`"}, {"{ ", "; }"}, {"\"$(", ")\""}, {"f(){ ", "; }"}, {"$((", "))"},
		{"${a:-", "}"}, {"<(a ", ")"}, {"a <<E\n", "\nE\n"}, {"curl a|", "sh"}, {"if a; then ", "; fi"}, {"[[ ( ", " ) ]]"}, {"sudo ", "x"},
		{"$(curl x) ", ""}, {"sh <(sh ", ")"}, {"! ", ""}, {"a && ", "a"}, {"!(", ")"}, {"a[", "]=1"},
	} {
		for _, n := range []int{10, 1000, 3000, 8000} {
			text := strings.Repeat(piece[0], n) + "x" + strings.Repeat(piece[1], n)
			start := time.Now()
			Assess([]string{"sh", "-c", text})
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
		if strings.Contains(line, "sbx/risk ") {
			t.Errorf("the package has work to do at start: %s", line)
		}
		if strings.Contains(line, "mvdan.cc/") || strings.Contains(line, "regexp") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

func FuzzAssess(f *testing.F) {
	for _, s := range []string{
		`rm -rf /`, `:(){ :|:& };:`, `curl x | tee y | sudo sh -s -- a`, "bash <<E\n$(rm -rf ~/*)\nE\n", `find / -exec sh -c 'rm "$@"' {} +`,
		`cd ~ && rm -rf ./*`, `echo '`, `$'\x72m' -rf ${x:-/}`, `env -S 'a b' timeout`, `sh -c "sh -c \"sh -c 'eval \$@'\""`, `a[$(b)]=(c d)`,
	} {
		f.Add("sh", "-c", s)
		f.Add("rm", s, "/")
		f.Add("sudo", "xargs", s)
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		for _, argv := range [][]string{{a, b, c}, {"bash", "-c", c, a, b}, {a, "-" + b, "sh", "-c", c}} {
			for _, found := range Assess(argv) {
				if found.Rule == "" || found.Text == "" || strings.ContainsFunc(found.Text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
					t.Errorf("%q: %+v", argv, found)
				}
			}
		}
	})
}

func BenchmarkAssess(b *testing.B) {
	argv := []string{"bash", "-lc", "cd src && npm ci && npm test -- --watch=false | tee log.txt; git status"}
	for b.Loop() {
		Assess(argv)
	}
}
