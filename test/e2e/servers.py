# SPDX-License-Identifier: MIT
"""Builds the servers of the end-to-end scenarios, once.

go.mod here, in newest/ and in etcd/ name kube-apiserver, kubectl and etcd as Go
tools. The binaries are kept in the project's cache directory, under a name that
the go.sum files determine, so that a change of version builds anew and nothing
else does.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CACHE = HERE.parent.parent / ".cache" / "e2e"
# The folder whose go.mod names the release -> the release.
RELEASES = {".": "v1.36.3", "newest": "v1.37.2"}


@dataclasses.dataclass(frozen=True)
class Servers:
    apiserver: pathlib.Path
    kubectl: pathlib.Path
    etcd: pathlib.Path


def build(folder="."):
    """Returns the Servers, building them if they are not in the cache.

    folder: the one of RELEASES whose API server it shall be.
    """
    directory = _directory(folder)
    with _locked(CACHE / f"{directory.name}.lock"):
        if not directory.exists():
            _build_into(directory, folder)
    return Servers(directory / "kube-apiserver", directory / "kubectl",
                   directory / "etcd")


def build_kubectl(folder="."):
    """Returns the path of kubectl: that of the Servers if they have been built,
    else one that is built alone, which takes less than half as long."""
    directory = _directory(folder)
    alone = CACHE / f"{directory.name}-kubectl"
    with _locked(CACHE / f"{directory.name}.lock"):
        if (directory / "kubectl").exists():
            return directory / "kubectl"
        if not alone.exists():
            print(f"building kubectl {RELEASES[folder]}; this takes a few "
                  "minutes, once", file=sys.stderr, flush=True)
            part = alone.with_suffix(".part")
            _build_kubernetes(folder, part, "kubectl")
            part.rename(alone)
    return alone


def _directory(folder):
    """The place of the binaries that the go.sum files determine."""
    digest = hashlib.sha256()
    for name in (f"{folder}/go.mod", f"{folder}/go.sum", "etcd/go.mod",
                 "etcd/go.sum"):
        digest.update((HERE / name).read_bytes())
    CACHE.mkdir(parents=True, exist_ok=True)
    return CACHE / digest.hexdigest()[:16]


@contextlib.contextmanager
def _locked(path):
    with open(path, "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build_into(directory, folder):
    print(f"building kube-apiserver {RELEASES[folder]}, kubectl and etcd; "
          "this takes a few minutes, once", file=sys.stderr, flush=True)
    part = pathlib.Path(tempfile.mkdtemp(prefix="part-", dir=directory.parent))
    try:
        _build_kubernetes(folder, f"{part}{os.sep}", "kube-apiserver",
                          "kubectl")
        _go(HERE / "etcd", "-ldflags", "-s -w", "-o", str(part / "etcd"),
            "go.etcd.io/etcd/server/v3")
        # Only a complete set gets the name that is looked for.
        part.rename(directory)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _build_kubernetes(folder, output, *commands):
    version = "k8s.io/component-base/version.gitVersion"
    _go(HERE / folder, "-ldflags", f"-s -w -X {version}={RELEASES[folder]}",
        "-o", str(output), *(f"k8s.io/kubernetes/cmd/{x}" for x in commands))


def _go(module, *arguments):
    # The cgo resolver and race detector are of no use here, and without cgo
    # Go needs no C compiler of its own liking. Without DWARF, and with fewer
    # runs of its collector, the compiler takes a third less time.
    environment = {"GOGC": "400", **os.environ, "CGO_ENABLED": "0"}
    subprocess.run(["go", "build", "-gcflags=all=-dwarf=false", *arguments],
                   cwd=module, check=True, stdin=subprocess.DEVNULL,
                   env=environment)
