#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds the Debian source and binary packages into a folder, and runs lintian
# on them if that is installed: packaging/deb.sh DIR. `./dev deb` installs what
# this needs first.
#
# The tracked files are unpacked elsewhere and built as they are. The same files
# give the same source archive.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=$(realpath -m "${1:?the folder for the packages}")
changelog=packaging/debian/changelog
version=$(dpkg-parsechangelog -l "$changelog" -S Version)
name=kinformer-${version%-*}
archive=kinformer_${version%-*}.orig.tar.xz
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l "$changelog" -S Timestamp)
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git ls-files -z |
  tar --create --xz --file "$work/$archive" --null --files-from - \
    --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw \
    --mtime="@$SOURCE_DATE_EPOCH" --transform="s,^,$name/,S"
tar --extract --file "$work/$archive" --directory "$work"
cp -r packaging/debian "$work/$name/debian"

(cd "$work/$name" && dpkg-buildpackage --unsigned-source --unsigned-changes)
mkdir -p "$out"
rm -rf "${work:?}/$name"
cp "$work"/* "$out"
if command -v lintian >/dev/null; then
  lintian --fail-on error,warning --tag-display-limit 0 "$out/kinformer_${version}_"*.changes
fi
