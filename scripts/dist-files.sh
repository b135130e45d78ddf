#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes bin/package: what packages hold that is not in the tree as it is, and the
# program that writes their SBOM.
set -eu
cd "$(dirname "$0")/.."
rm -rf bin/package
mkdir -p bin/package/man
for page in man/*.[157]; do
	gzip -9nc "$page" >"bin/package/$page.gz"
done
go build -o bin/package/sbom ./internal/tools/sbom
gzip -9nc CHANGELOG.md >bin/package/changelog.gz
