#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds all archives and packages of what is committed, into the directory OUT (dist).
# Nothing is published or signed.
#	sh scripts/dist.sh [OUT]
set -eu
goreleaser_version=v2.16.0 # 2.17 does not build, 2.18 needs Go 1.27
cd "$(dirname "$0")/.."
out=${1:-dist}
goreleaser=$(command -v goreleaser || true)
if [ -z "$goreleaser" ]; then
	goreleaser=$(go env GOPATH)/bin/goreleaser
	[ -x "$goreleaser" ] || go install "github.com/goreleaser/goreleaser/v2@$goreleaser_version"
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# Of a tree without a remote or a tag, goreleaser takes neither the commit nor its
# date, and no two builds are equal. A clone has the one and gets the other.
git clone -q --no-local . "$tmp/sbx"
git -C "$tmp/sbx" describe --tags --exact-match >/dev/null 2>&1 ||
	git -C "$tmp/sbx" tag "v$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)"
(cd "$tmp/sbx" && "$goreleaser" release --clean --snapshot --skip=publish,sign)
rm -rf "$out"
mv "$tmp/sbx/dist" "$out"
sh scripts/dist-recipes.sh "$out"
