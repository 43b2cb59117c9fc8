# SPDX-License-Identifier: MIT
"""Builds the programs of bench/peers: what they need comes from the package
registries, by each language's own client, into a folder of the build."""

import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
from typing import NamedTuple

SOURCES = pathlib.Path(__file__).resolve().parent / "peers"
# The JavaScript client needs a newer Node.js than most systems have. One is in
# the registry that the client itself comes from.
NODE_LEAST = (22, 19)
NODE_PACKAGE = "node-linux-{}@22.23.3"
NODE_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}


class Unavailable(Exception):
    """A peer cannot be measured here: a tool or a download is missing."""


class Program(NamedTuple):
    argv: list
    versions: dict  # of the libraries that it measures


def need(tool):
    if not shutil.which(tool):
        raise Unavailable(f"there is no {tool}")


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no message"


def run(argv, folder):
    # At the lowest priority, since building is not what is measured.
    return subprocess.run(["nice", *argv], cwd=folder, text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


def download(argv, folder):
    result = run(argv, folder)
    if result.returncode != 0:
        raise Unavailable(f"`{' '.join(argv)}` failed: "
                          f"{last_line(result.stdout)}")


def compile_with(argv, folder):
    result = run(argv, folder)
    if result.returncode != 0:
        raise SystemExit(f"peers.py: `{' '.join(argv)}` failed:\n"
                         f"{result.stdout[-4000:]}")


def copy_sources(name, to):
    """A copy, so that nothing is written among the sources."""
    to.mkdir(parents=True, exist_ok=True)
    shutil.copytree(SOURCES / name, to, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("node_modules", "target"))


def build_go(folder):
    need("go")
    copy_sources("go", folder)
    download(["go", "mod", "download"], folder)
    compile_with(["go", "build", "-o", "peer-go", "."], folder)
    versions = dict(re.findall(r"^\t(k8s\.io/client-go) (v\S+)$",
                               (folder / "go.mod").read_text(), re.M))
    go = subprocess.run(["go", "env", "GOVERSION"], stdout=subprocess.PIPE,
                        text=True, check=True)
    versions["Go"] = go.stdout.strip().removeprefix("go")
    return Program([str(folder / "peer-go")], versions)


def build_rust(folder):
    """The program twice: with the system's allocator, and with jemalloc."""
    need("cargo")
    copy_sources("rust", folder)
    download(["cargo", "fetch"], folder)
    for name, features in (("peer-rust", []),
                           ("peer-rust-jemalloc", ["--features", "jemalloc"])):
        compile_with(["cargo", "build", "--release", "--jobs",
                      str(min(2, os.cpu_count() or 1)), *features], folder)
        shutil.copy2(folder / "target/release/peer-rust", folder / name)
    text = (folder / "Cargo.toml").read_text()
    versions = {name: found.group(1) for name in ("kube", "k8s-openapi")
                if (found := re.search(rf'^{name} = {{ version = "=(\S+)"', text,
                                       re.M))}
    rust = subprocess.run(["rustc", "--version"], stdout=subprocess.PIPE,
                          text=True, check=True)
    versions["Rust"] = rust.stdout.split()[1]
    return Program([str(folder / "peer-rust")], versions)


def node_version(node):
    shown = subprocess.run([node, "--version"], stdout=subprocess.PIPE,
                           text=True, check=True).stdout
    return tuple(int(part) for part in shown.strip().lstrip("v").split("."))


def find_node(folder):
    if node_version("node") >= NODE_LEAST:
        return "node"
    machine = NODE_MACHINES.get(platform.machine())
    if not machine:
        raise Unavailable(f"node is older than {NODE_LEAST}")
    package = NODE_PACKAGE.format(machine)
    download(["npm", "install", "--no-save", "--ignore-scripts", package],
             folder)
    return str(folder / "node_modules" / package.split("@")[0] / "bin/node")


def build_js(folder):
    need("node")
    need("npm")
    copy_sources("js", folder)
    download(["npm", "ci", "--ignore-scripts"], folder)
    node = find_node(folder)
    package = json.loads((folder / "package.json").read_text())
    versions = dict(package["dependencies"])
    versions["Node.js"] = ".".join(map(str, node_version(node)))
    return Program([node, str(folder / "main.mjs")], versions)


BUILDERS = {"go": build_go, "rust": build_rust, "js": build_js}


def build_all(build, only, say):
    """Returns peer -> Program, and peer -> why there is none."""
    programs, missing = {}, {}
    for name, builder in BUILDERS.items():
        if name not in only:
            continue
        say(f"building the peer in {name}")
        try:
            programs[name] = builder(build / "peers" / name)
        except Unavailable as why:
            missing[name] = str(why)
    if "rust" in programs:
        rust = programs["rust"]
        programs["rust-jemalloc"] = rust._replace(
            argv=[rust.argv[0] + "-jemalloc"])
    return programs, missing
