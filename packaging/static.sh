#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Configures a build in which programs are linked statically with musl, and with
# the dependencies that the wraps build: packaging/static.sh DIR. The build is in
# DIR/build. Needs musl-gcc.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dir=$(realpath -m "${1:?the folder}")
[ ! -e "$dir/build/build.ninja" ] || exit 0
mkdir -p "$dir/headers"

# musl has no headers of the kernel, which libuv and OpenSSL include. The folder
# has nothing of the system's libc.
for folder in linux asm-generic asm; do
  for there in "/usr/include/$(gcc -print-multiarch)" /usr/include; do
    if [ -d "$there/$folder" ]; then
      ln -sfn "$there/$folder" "$dir/headers/$folder"
      break
    fi
  done
done
cat >"$dir/native.ini" <<INI
[binaries]
c = ['musl-gcc', '-idirafter', '$dir/headers']
# musl-tools has no C++, and another compiler's would use another C library.
cpp = ['false']

[built-in options]
c_link_args = ['-static']
INI
# A library in its own file would need a dynamic linker.
meson setup "$dir/build" --native-file "$dir/native.ini" --buildtype=release \
  --default-library=static --wrap-mode=forcefallback -Dwerror=false \
  -Dzlib=enabled -Dzstd=enabled -Dkubeconfig=enabled -Dbench=false
