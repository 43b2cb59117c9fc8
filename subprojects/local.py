#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets the wraps build from sources that are already on this machine, so that
Meson downloads nothing:

    subprojects/local.py [--into DIR] NAME=PATH...

NAME is a wrap (libuv), PATH a tar archive, or a directory with the sources.

An archive with the wrap's checksum is copied into packagecache/, under the
name that Meson expects; Meson unpacks it. Any other source (a distribution's
archive, a directory) is unpacked beside the wraps, with our build definition:
Meson takes a directory that is there and asks for no checksum. DIR is the
folder of the wraps; without it, the folder of this script.
"""

import argparse
import configparser
import hashlib
import pathlib
import shutil
import sys
import tarfile
import tempfile


def top_of(directory):
    """Archives have one folder, with a name that differs from packager to
    packager."""
    entries = [path for path in directory.iterdir()
               if path.name != "pax_global_header"]
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else directory


def place(folder, name, path):
    """Returns what has been done."""
    wrap = configparser.ConfigParser(interpolation=None)
    if not wrap.read(folder / f"{name}.wrap"):
        raise ValueError(f"there is no wrap {name}")
    wrap = wrap["wrap-file"]
    target = folder / wrap["directory"]
    if not path.exists():
        raise ValueError("it is not there")
    # Meson takes a directory that is there before an archive.
    shutil.rmtree(target, ignore_errors=True)
    if path.is_file() and hashlib.sha256(
            path.read_bytes()).hexdigest() == wrap["source_hash"]:
        cache = folder / "packagecache"
        cache.mkdir(exist_ok=True)
        shutil.copy(path, cache / wrap["source_filename"])
        return f"{name}: the release, as packagecache/{wrap['source_filename']}"
    if path.is_dir():
        shutil.copytree(path, target, symlinks=True)
    else:
        with tempfile.TemporaryDirectory(dir=folder) as unpacked:
            with tarfile.open(path) as archive:
                if hasattr(tarfile, "data_filter"):
                    archive.extraction_filter = tarfile.data_filter
                archive.extractall(unpacked)
            shutil.move(top_of(pathlib.Path(unpacked)), target)
    shutil.copytree(folder / "packagefiles" / wrap["patch_directory"], target,
                    dirs_exist_ok=True)
    return f"{name}: not the release's checksum; unpacked as {wrap['directory']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=pathlib.Path, metavar="DIR",
                        default=pathlib.Path(__file__).resolve().parent)
    parser.add_argument("sources", nargs="+", metavar="NAME=PATH")
    options = parser.parse_args()
    for source in options.sources:
        name, _, path = source.partition("=")
        try:
            print(place(options.into, name, pathlib.Path(path)))
        except (OSError, ValueError, KeyError, tarfile.TarError) as error:
            print(f"local.py: {source}: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
