#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tries on a Mac what only a Mac can show: sandbox-exec takes the profiles, and
# everyday programs work in them. Needs bin/sbx (make build) and python3; exits
# 1 when anything was not as promised. It works in a throw-away directory with a
# throw-away home.
# shellcheck disable=SC2016 # other shells are to expand these
set -u

root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
sbx=$root/bin/sbx
[ "$(uname -s)" = Darwin ] || { echo "mac: this is for macOS" >&2; exit 1; }
[ -x "$sbx" ] || { echo "mac: no $sbx; make build" >&2; exit 1; }

work=$(mktemp -d) && work=$(cd "$work" && pwd -P) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/home" "$work/proj" && cd "$work/proj" || exit 1
unset XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_RUNTIME_DIR SBX_FLAGS SBX_PROFILE SBX_ENGINE
HOME=$work/home
export HOME

failed=0
# succeeds NAME CMD...: the command ends with 0.
succeeds() {
	name=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		echo "ok      $name"
	else
		echo "FAILED  $name: exit status $?"
		sed 's/^/        /' "$work/out" | head -n 20
		failed=$((failed + 1))
	fi
}

# refused NAME CMD...: it ends with 3, by which the command says so.
refused() {
	name=$1
	shift
	"$@" >"$work/out" 2>&1
	status=$?
	if [ $status = 3 ]; then
		echo "ok      $name"
	else
		echo "FAILED  $name: exit status $status, and not refused"
		failed=$((failed + 1))
	fi
}

# fails NAME CMD...: it ends otherwise, and so it would prove nothing alone: each
# has its twin outside.
fails() {
	name=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		echo "FAILED  $name: it could be done"
		failed=$((failed + 1))
	else
		echo "ok      $name"
	fi
}

cat >"$work/home/plan.py" <<'END'
# The words of a plan, executed without sbx.
import json, os, subprocess, sys
plan = json.loads(subprocess.check_output(sys.argv[1:]))
assert plan["path"] == "/usr/bin/sandbox-exec", plan["path"]
os.execv(plan["path"], plan["argv"])
END
cat >"$work/home/pty.py" <<'END'
# A command on a terminal of its own; its exit status.
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], lambda fd: os.read(fd, 1024), lambda fd: b"")))
END
cat >type.py <<'END'
# Types into the terminal; 3 is that the system refuses it.
import errno, fcntl, sys, termios
try:
    fcntl.ioctl(0, termios.TIOCSTI, b"x")
except OSError as e:
    sys.exit(3 if e.errno == errno.EPERM else 4)
END
cat >"$work/home/dead.py" <<'END'
# A command whose standard input is a socket that the other end has closed, as
# Node.js leaves it.
import socket, subprocess, sys
a, b = socket.socketpair()
a.sendall(b"left\n")
a.close()
out = subprocess.check_output(sys.argv[1:], stdin=b)
sys.exit(out != b"left\n")
END
cat >"$work/home/load.c" <<'END'
#include <stdio.h>
__attribute__((constructor)) static void begin(void) { fputs("loaded\n", stderr); }
END
cat >hello.c <<'END'
int main(void) { return 0; }
END
printf 'all:\n\t@echo made\n' >Makefile
git init -q . && git add Makefile && git -c user.name=a -c user.email=a@example.com commit -q -m first || exit 1

sw_vers
succeeds 'sbx doctor' "$sbx" doctor
for profile in strict moderate permissive; do
	succeeds "$profile: the profile alone" python3 "$work/home/plan.py" "$sbx" -p "$profile" --dry-run --json -- /usr/bin/true
	succeeds "$profile: true" "$sbx" -p "$profile" -- /usr/bin/true
	succeeds "$profile: zsh" "$sbx" -p "$profile" -- /bin/zsh -c 'print -r -- $ZSH_VERSION; : $(/bin/ls) | /bin/cat'
	succeeds "$profile: bash" "$sbx" -p "$profile" -- /bin/bash -c 'cat < <(echo x)'
	succeeds "$profile: git" "$sbx" -p "$profile" -- git log --oneline
	succeeds "$profile: python3" "$sbx" -p "$profile" -- python3 -c 'import ssl, subprocess, tempfile; tempfile.TemporaryFile(); subprocess.check_call(["/usr/bin/true"])'
	succeeds "$profile: make" "$sbx" -p "$profile" -- make
	if command -v node >/dev/null; then
		succeeds "$profile: node, its output in a file of the home" sh -c '"$1" -p "$2" -- node -p 1+1 >"$HOME/log" <Makefile && grep -q 2 "$HOME/log"' sh "$sbx" "$profile"
		succeeds "$profile: node" "$sbx" -p "$profile" -- node -e 'require("fs").writeFileSync(require("os").tmpdir() + "/x", "x")'
	fi
	refused "$profile: typing into the terminal" python3 "$work/home/pty.py" "$sbx" -p "$profile" -- python3 "$work/proj/type.py"
	succeeds "$profile: a file of the home as input" sh -c 'echo x >"$HOME/in" && "$1" -p "$2" -- cat <"$HOME/in" >"$HOME/log"' sh "$sbx" "$profile"
	succeeds "$profile: input that has ended" python3 "$work/home/dead.py" "$sbx" -p "$profile" -- cat
	succeeds "$profile: no input" sh -c '"$1" -p "$2" -- /usr/bin/true <&-' sh "$sbx" "$profile"
	succeeds "$profile: a terminal" python3 "$work/home/pty.py" "$sbx" -p "$profile" -- python3 -c 'import os, tty; tty.setraw(0); open("/dev/tty").close(); os.ttyname(0)'
done
succeeds 'typing into the terminal, outside' python3 "$work/home/pty.py" python3 "$work/proj/type.py"
succeeds 'moderate: git commit' "$sbx" -- git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m second
succeeds 'moderate: cc' "$sbx" -- cc -o hello hello.c
succeeds 'moderate: what cc made' "$sbx" -- ./hello
fails 'moderate: sandbox-exec inside' "$sbx" -- /usr/bin/sandbox-exec -p '(version 1)(allow default)' /usr/bin/true
succeeds 'sandbox-exec, outside' /usr/bin/sandbox-exec -p '(version 1)(allow default)' /usr/bin/true

# Nothing is loaded into sbx itself before it begins; a copy without the hardened
# runtime shows that it would be.
if cc -dynamiclib -o "$work/home/load.dylib" "$work/home/load.c" && cp "$sbx" "$work/home/soft" && codesign --force --sign - "$work/home/soft"; then
	fails 'DYLD_INSERT_LIBRARIES in sbx' sh -c 'DYLD_INSERT_LIBRARIES="$1" "$2" --version 2>&1 | grep loaded' sh "$work/home/load.dylib" "$sbx"
	succeeds 'DYLD_INSERT_LIBRARIES in a copy without the hardened runtime' sh -c 'DYLD_INSERT_LIBRARIES="$1" "$2" --version 2>&1 | grep loaded' sh "$work/home/load.dylib" "$work/home/soft"
fi

if [ $failed = 0 ]; then echo 'all as promised'; else echo "$failed not as promised"; exit 1; fi
