# SPDX-License-Identifier: MIT
"""Builds the servers of the end-to-end scenarios, once.

go.mod here and in etcd/ name kube-apiserver, kubectl and etcd as Go tools. The
binaries are kept in the project's cache directory, under a name that the two
go.sum files determine, so that a change of version builds anew and nothing
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
KUBERNETES_VERSION = "v1.36.3"


@dataclasses.dataclass(frozen=True)
class Servers:
    apiserver: pathlib.Path
    kubectl: pathlib.Path
    etcd: pathlib.Path


def build():
    """Returns the Servers, building them if they are not in the cache."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum", "etcd/go.mod", "etcd/go.sum"):
        digest.update((HERE / name).read_bytes())
    CACHE.mkdir(parents=True, exist_ok=True)
    directory = CACHE / digest.hexdigest()[:16]
    with _locked(CACHE / "lock"):
        if not directory.exists():
            _build_into(directory)
    return Servers(directory / "kube-apiserver", directory / "kubectl",
                   directory / "etcd")


@contextlib.contextmanager
def _locked(path):
    with open(path, "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build_into(directory):
    print("building kube-apiserver, kubectl and etcd; "
          "this takes a few minutes, once", file=sys.stderr, flush=True)
    part = pathlib.Path(tempfile.mkdtemp(prefix="part-", dir=directory.parent))
    try:
        version = "k8s.io/component-base/version.gitVersion"
        _go(HERE, "-ldflags", f"-s -w -X {version}={KUBERNETES_VERSION}",
            "-o", f"{part}{os.sep}",
            "k8s.io/kubernetes/cmd/kube-apiserver",
            "k8s.io/kubernetes/cmd/kubectl")
        _go(HERE / "etcd", "-ldflags", "-s -w", "-o", str(part / "etcd"),
            "go.etcd.io/etcd/server/v3")
        # Only a complete set gets the name that is looked for.
        part.rename(directory)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _go(module, *arguments):
    # The cgo resolver and race detector are of no use here, and without cgo
    # Go needs no C compiler of its own liking.
    subprocess.run(["go", "build", *arguments], cwd=module, check=True,
                   stdin=subprocess.DEVNULL,
                   env={**os.environ, "CGO_ENABLED": "0"})
