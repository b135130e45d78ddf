#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes bin/package: what packages hold that is not in the tree as it is, and the
# programs that write their SBOM and sign for macOS.
set -eu
cd "$(dirname "$0")/.."
rm -rf bin/package
mkdir -p bin/package/man
for page in man/*.[157]; do
	gzip -9nc "$page" >"bin/package/$page.gz"
done
go build -o bin/package/sbom ./internal/tools/sbom
go -C packaging/macsign build -o ../../bin/package/macsign .
# The form that Debian wants, of what was released when.
version=$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)
gzip -9nc >bin/package/changelog.gz <<END
sbx ($version) unstable; urgency=medium

  * See https://github.com/sbx-sandbox/sbx/blob/v$version/CHANGELOG.md

 -- The sbx maintainers <maintainers@users.noreply.github.com>  $(git log -1 --format=%cD)
END
