#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes DIST/sbx.rb and DIST/PKGBUILD: the formula and the PKGBUILD with the version
# and the sum of the source archive in DIST.
#	sh scripts/dist-recipes.sh DIST
set -eu
dist=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
set -- "$dist"/sbx-*.tar.gz
if [ $# != 1 ] || [ ! -f "$1" ]; then
	echo "dist-recipes: $dist has no single source archive" >&2
	exit 1
fi
version=${1##*/sbx-} version=${version%.tar.gz}
sum=$(sha256sum "$1") sum=${sum%% *}
# A pre-release has a hyphen, which pacman does not allow.
sed "s/^pkgver=.*/pkgver=$(echo "$version" | tr - _)/; s/^_version=.*/_version=$version/
	s/^sha256sums=.*/sha256sums=($sum)/" packaging/aur/PKGBUILD >"$dist/PKGBUILD"
sed "s|/download/v[^/]*/sbx-.*\.tar\.gz|/download/v$version/sbx-$version.tar.gz|
	s/^  sha256 .*/  sha256 \"$sum\"/" packaging/homebrew/sbx.rb >"$dist/sbx.rb"
for recipe in "$dist/PKGBUILD" "$dist/sbx.rb"; do
	if ! grep -q "$sum" "$recipe" || ! grep -q "$version" "$recipe"; then
		echo "dist-recipes: $recipe has another form" >&2
		exit 1
	fi
done
