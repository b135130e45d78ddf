# What one does with git, in a directory of its own.
set -e
cd "$(mktemp -d)"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q one
cd one
for i in 1 2 3; do
	echo "$i" >"f$i"
	git add -A
	git commit -q -m "$i"
done
git status --short
git log --stat -3 | cat >/dev/null
git branch side HEAD~1
git checkout -q side
echo x >g
git add g
git -c core.fsync=all -c core.fsyncMethod=batch commit -q -m side
git merge -q -m merge master 2>/dev/null || git merge -q -m merge main
git stash list
git grep -q x
git tag -a -m t v1
git gc -q
git fsck --no-progress
git worktree add -q ../tree 2>/dev/null
cd ..
git clone -q one two
git clone -q "file://$PWD/one" three
git -C two pull -q
git -C three fetch -q
git -C three archive HEAD | tar -t | grep -q f1
echo all of it works
