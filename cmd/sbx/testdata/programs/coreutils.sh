# What scripts do.
set -e
d=$(mktemp -d)
cd "$d"
mkdir -p tree/a/b
seq 100000 >tree/a/numbers
ln -s numbers tree/a/link
ln tree/a/numbers tree/a/hard
mkfifo tree/fifo
cp -a tree copy
cp --reflink=auto --sparse=always tree/a/numbers n2
mv n2 n3
install -m 755 n3 n4
sort -rn tree/a/numbers | head -1 | grep -qx 100000
sort --parallel=2 -S 1M -T . -R tree/a/numbers | wc -l | grep -qx 100000
find tree copy -type f -newermt 2000-01-01 -exec sha256sum {} + >sums
sha256sum -c --quiet sums
find . -type f -print0 | xargs -0 -n1 -P4 cat >/dev/null
tar -cz -f t.tgz tree 2>/dev/null
mkdir x
tar -xzf t.tgz -C x
diff -r --no-dereference tree/a x/tree/a
sleep 0.01
timeout 5 true
timeout -s KILL 0.1 sleep 60 && exit 1 || test $? = 137
stdbuf -oL echo line | grep -q line
nice -n 5 true
nohup true 2>/dev/null
env -i PATH="$PATH" sh -c :
dd if=/dev/zero of=z bs=64k count=4 conv=fsync status=none
truncate -s 1M z
split -b 100k z part.
shred -n 1 -u part.aa
touch -d 2001-01-01 z
chmod u+x,g-w z
chown "$(id -u):$(id -g)" z
ls -laR --color=always . >/dev/null
stat -f . >/dev/null
df . >/dev/null
du -s . >/dev/null
sync z
tail -n 1 -f tree/a/numbers --pid=$$ & tail=$!
sleep 0.1
kill $tail
wait $tail && exit 1 || test $? = 143
tac tree/a/numbers | od -c | tail -1 >/dev/null
date +%N >/dev/null
uname -a >/dev/null
nproc >/dev/null
id >/dev/null
who >/dev/null || true
tty >/dev/null || true
mknod fifo2 p
realpath . >/dev/null
sed -i s/1/2/ n3
awk '{ s += $1 } END { print s }' n3 >/dev/null
(exec 9>lock; flock 9; echo locked) >/dev/null
[ "$SBX_TIER" = reduced ] || # it has no pseudo terminals
	script -qec true /dev/null </dev/null >/dev/null
bash -c 'ulimit -c 0; set -m; sleep 60 & kill %1; wait; coproc cat; echo x >&"${COPROC[1]}"; read -r l <&"${COPROC[0]}"; test "$l" = x; read -t 0.01 l </dev/zero || true; exec 3<<<text; cat <(echo y) >/dev/null'
cd /
rm -rf "$d"
echo all of it works
