#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shows what sbx does, in a throw-away project with a throw-away home: a real
# command works in it, and the same acts that succeed without sbx are refused
# with it. Exits 1 when anything was not as promised.
#
# Bubblewrap is installed when it is missing and this can be done without a
# question no one is there to answer. Apart from that, from bin/sbx and from
# the caches of Go, nothing outside of the temporary directory is touched.
set -u

root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
go=${GO:-go}

die() {
	echo "try: $1" >&2
	shift
	for line; do echo "     $line" >&2; done
	exit 1
}

# ---- what it needs ----------------------------------------------------------

# as_root runs a command as root, or says that it cannot. Without a terminal
# sudo and doas must not ask for a password.
as_root() {
	ask=
	[ -t 0 ] || ask=-n
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo ${ask:+"$ask"} "$@"
	elif command -v doas >/dev/null; then
		doas ${ask:+"$ask"} "$@"
	else
		return 1
	fi
}

have_bwrap() {
	for dir in /usr/bin /usr/local/bin /bin /run/current-system/sw/bin; do
		[ -x "$dir/bwrap" ] && return
	done
	command -v bwrap >/dev/null
}

apt_install() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends bubblewrap
}

install_bwrap() {
	if command -v apt-get >/dev/null; then
		line='apt-get install bubblewrap'
		# A fresh container has no package lists yet.
		apt_install || { as_root apt-get update && apt_install; }
	elif command -v dnf >/dev/null; then
		line='dnf install bubblewrap'
		as_root dnf install -y bubblewrap
	elif command -v pacman >/dev/null; then
		line='pacman -S bubblewrap'
		as_root pacman -S --noconfirm --needed bubblewrap
	elif command -v apk >/dev/null; then
		line='apk add bubblewrap'
		as_root apk add bubblewrap
	elif command -v zypper >/dev/null; then
		line='zypper install bubblewrap'
		as_root zypper --non-interactive install bubblewrap
	elif command -v xbps-install >/dev/null; then
		line='xbps-install -S bubblewrap'
		as_root xbps-install -Sy bubblewrap
	else
		die 'bubblewrap (bwrap) is missing, and this system has no package manager that I know' \
			'install the package bubblewrap, then run this again'
	fi >&2
	have_bwrap || die 'bubblewrap (bwrap) is missing and could not be installed' \
		"as root: $line" 'then run this again'
}

go_help='Go is installed as https://go.dev/doc/install says; the packages of a distribution are often too old'

# at_least OLD NEW: is version NEW not older than OLD?
at_least() {
	awk -v a="$1" -v b="$2" 'BEGIN {
		split(a, x, "."); split(b, y, ".")
		for (i = 1; i <= 3; i++) if (x[i] + 0 != y[i] + 0) exit !(x[i] + 0 < y[i] + 0)
	}'
}

check_go() {
	want=$(awk '$1 == "go" { print $2; exit }' "$root/go.mod")
	if ! command -v "$go" >/dev/null; then
		# Where its own instructions put it, and not yet in PATH.
		[ -x /usr/local/go/bin/go ] || die "Go $want or newer is needed to build sbx, and there is no $go in PATH" "$go_help"
		go=/usr/local/go/bin/go
	fi
	# In the module, Go 1.21 and newer fetches the version that go.mod asks for,
	# or says why it cannot.
	have=$(cd "$root" && "$go" env GOVERSION 2>&1) || die "$have" "$go_help"
	at_least "$want" "${have#go}" || die "Go $want or newer is needed to build sbx; $go is ${have#go}" "$go_help"
}

[ "$(uname -s)" = Linux ] || die 'this shows sbx with bubblewrap, which is for Linux'
check_go
have_bwrap || install_bwrap

# ---- the throw-away project -------------------------------------------------

tmp=$(mktemp -d "${TMPDIR:-/tmp}/sbx-try.XXXXXX") || exit 1
tmp=$(cd "$tmp" && pwd -P) || exit 1
listener=
cleanup() {
	[ -z "$listener" ] || kill "$listener" 2>/dev/null
	chmod -R u+w "$tmp" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# The tree may belong to another user.
bin=$root/bin
{ mkdir -p "$bin" && [ -w "$bin" ]; } 2>/dev/null || bin=$tmp/bin
${MAKE:-make} -s -C "$root" build GO="$go" BIN="$bin" || die 'sbx could not be built'
(cd "$root" && CGO_ENABLED=0 "$go" build -trimpath -buildvcs=false -o "$tmp/listen" ./internal/listen) ||
	die 'the listener could not be built'

# Nothing of the caller's settings counts from here on.
for name in $(env | sed -n 's/^\(SBX_[A-Za-z0-9_]*\|GIT_[A-Za-z0-9_]*\|XDG_[A-Za-z0-9_]*\)=.*/\1/p'); do
	unset "$name"
done
HOME=$tmp/home
export HOME XDG_CONFIG_HOME="$HOME/.config" XDG_CACHE_HOME="$HOME/.cache" XDG_DATA_HOME="$HOME/.local/share" \
	XDG_STATE_HOME="$HOME/.local/state" XDG_RUNTIME_DIR="$tmp/run" GIT_CONFIG_NOSYSTEM=1 TMPDIR="$tmp/tmp"
project=$HOME/project
beside=$HOME/beside
mkdir -p "$project" "$beside" "$HOME/.ssh" "$tmp/tmp" && mkdir -m 700 "$XDG_RUNTIME_DIR" || exit 1
secret=not-a-real-key-$$
echo "$secret" >"$HOME/.ssh/id_rsa"
chmod 600 "$HOME/.ssh/id_rsa"
printf '[user]\n\tname = Try\n\temail = try@example.org\n' >"$HOME/.gitconfig"
cp "$tmp/listen" "$project/listen" && cd "$project" || exit 1

# The listener ends with its stdin, which ends with this script, however that ends.
mkfifo "$tmp/hold" || exit 1
"$tmp/listen" <"$tmp/hold" >"$tmp/port" &
listener=$!
exec 9>"$tmp/hold"
tries=0
until port=$(cat "$tmp/port") && [ -n "$port" ]; do
	tries=$((tries + 1))
	[ $tries -le 50 ] || die 'the listener does not start'
	sleep 0.1
done

# ---- acts -------------------------------------------------------------------

out=$tmp/out err=$tmp/err
outside() { "$@" >"$out" 2>"$err" </dev/null 9>&-; }
inside() { "$bin/sbx" -q -- "$@" >"$out" 2>"$err" </dev/null 9>&-; }

# reason is what the command said, without the names before it.
reason() {
	text=$(tail -n 1 "$err")
	text=${text##*: }
	echo "${text:-no reason given}" | cut -c 1-38 | tr '[:upper:]' '[:lower:]'
}

kept=0 broken=0
row() {
	printf '%-6s %-42s %-16s %s\n' "$@"
}
verdict() {
	case $1 in
	ok) kept=$((kept + 1)) ;;
	*) broken=$((broken + 1)) ;;
	esac
	row "$@"
}

# works WHAT CHECK CMD...: the command succeeds, and CHECK finds it so.
works() {
	what=$1 check=$2
	shift 2
	if inside "$@" && "$check"; then
		verdict ok "$what" - works
	else
		verdict FAIL "$what" - "does not work: $(reason)"
	fi
}

# refused WHAT DEED TRACELESS CMD...: without sbx the command succeeds (DEED is
# the word for it), with sbx it fails, and TRACELESS finds no trace of it.
refused() {
	what=$1 deed=$2 traceless=$3
	shift 3
	control=$deed
	outside "$@" || control="no: $(reason)"
	undo
	result=refused
	inside "$@" && result=succeeded
	why=$(reason)
	"$traceless" || result=trace
	case $result,$control in
	refused,"$deed") verdict ok "$what" "$control" "refused: $why" ;;
	refused,*) verdict FAIL "$what" "$control" 'refused, which proves nothing' ;;
	*) verdict FAIL "$what" "$control" 'NOT REFUSED' ;;
	esac
	undo
}

# vanishes WHAT DEED TRACELESS CMD...: with sbx the command may succeed, in a
# place of its own; the host has no trace of it.
vanishes() {
	what=$1 deed=$2 traceless=$3
	shift 3
	control=$deed
	outside "$@" && ! "$traceless" || control="no: $(reason)"
	undo
	inside "$@" || :
	if ! "$traceless"; then
		verdict FAIL "$what" "$control" 'STAYS ON THE HOST'
	elif [ "$control" != "$deed" ]; then
		verdict FAIL "$what" "$control" 'leaves nothing, which proves nothing'
	else
		verdict ok "$what" "$control" 'leaves nothing on the host'
	fi
	undo
}

undo() { rm -f "$beside/planted" "$HOME/.profile"; }
read_back() { [ "$(cat "$out")" = hello ] && [ "$(cat note)" = hello ]; }
committed() { [ "$(git log --format=%an%s 2>/dev/null)" = 'Tryfirst' ]; }
unread() { ! grep -q "$secret" "$out" "$err"; }
unwritten() { [ ! -e "$beside/planted" ] && [ ! -e "$HOME/.profile" ]; }
unanswered() { ! grep -q 'hello' "$out"; }

if ! inside true; then
	cat "$err" >&2
	die 'sbx cannot run anything here; more about this machine:' "$bin/sbx doctor"
fi

bwrap=$(PATH=$PATH:/usr/local/bin:/usr/bin:/bin bwrap --version 2>/dev/null)
echo "$("$bin/sbx" --version), ${bwrap:-bubblewrap}, user $(id -un), in $project"
echo
row '' '' 'without sbx' 'in sbx'
# shellcheck disable=SC2016 # $HOME is the inner shell's
{
	works 'a file is written and read back' read_back sh -c 'echo hello >note && cat note'
	if command -v git >/dev/null; then
		works 'git init, git add, git commit' committed sh -c 'git init -q && git add note && git commit -qm first'
	else
		row skip 'git init, git add, git commit' - 'git is not installed'
	fi
	refused 'a secret is read, ~/.ssh/id_rsa' 'read' unread cat "$HOME/.ssh/id_rsa"
	refused 'a file is written beside the project' written unwritten sh -c 'echo x >../beside/planted'
	vanishes 'a line is added to ~/.profile' written unwritten sh -c 'echo x >>"$HOME/.profile"'
	# Opening for append shows whether one could write, and changes nothing.
	if [ -w /etc/passwd ]; then
		refused '/etc/passwd is opened for writing' opened true sh -c ': >>/etc/passwd'
	elif inside sh -c ': >>/etc/passwd'; then
		verdict FAIL '/etc/passwd is opened for writing' 'not this user' 'NOT REFUSED'
	else
		verdict ok '/etc/passwd is opened for writing' 'not this user' "refused: $(reason)"
	fi
	refused 'a listener on 127.0.0.1 is reached' answers unanswered ./listen dial "$port"
}
echo
if [ $broken -gt 0 ]; then
	echo "$broken of $((kept + broken)) not as promised."
	exit 1
fi
echo "All $kept as promised."
