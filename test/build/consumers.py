#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds a small program with the library in each of the ways that
doc/building.md explains, and runs it against kin-apisim.

Usage: consumers.py APISIM [--keep DIR] [NAME...]; the names are those of the
output. A way whose tools are missing is skipped.
"""

import argparse
import configparser
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import debian
import recipes
from steps import Failed, Skipped, expect, expect_linked, need, run

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
sys.path.append(str(SOURCE / "test/check"))
import check_inside # pylint: disable=wrong-import-position
PODS = 20
# All that another project needs of the library's source.
NEEDED = ["CMakeLists.txt", "meson.build", "meson_options.txt", "cmake",
          "include", "lib", "testing", "subprojects/packagefiles"]
CORE = ["-Drequests=false", "-Ddiscovery=false", "-Dcache=false",
        "-Dexec=false", "-Dproxy=false", "-Dtoolkit=false",
        "-Dcontrollers=false", "-Dchecks=false", "-Dtools=false"]
CC = os.environ.get("CC", "cc").split()
JOBS = f"-j{os.cpu_count() or 1}"
# The libraries that the shared one can hold: their names as the linker has them,
# and a word of the error if a host has foreign_NAME.c.
HELD = {"llhttp": ("llhttp", "host-llhttp"), "yyjson": ("yyjson", "0.2.1"),
        "zlib": ("z", "2.0.3"), "zstd": ("zstd", "1.3.8"),
        "libyaml": ("yaml", "1.7.9")}
WRAPS = ["libuv", "llhttp", "openssl", "yaml", "yyjson", "zlib", "zstd"]


class Server:
    """kin-apisim with PODS pods, one of which changes; or with many that
    change by themselves."""

    def __init__(self, program, *options, churns=False):
        self.program = program
        pods = ["500", "--churn", "4000"] if churns else [str(PODS)]
        self.process = subprocess.Popen(
            [program, "--port", "0", "--pods", *pods, *options],
            stdout=subprocess.PIPE, text=True)
        self.url = None
        self.context = ssl._create_unverified_context()
        self.churns = churns
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.change)

    def __enter__(self):
        for line in self.process.stdout:
            match = re.search(r"listening on (\S+)", line)
            if match:
                self.url = match.group(1)
                self.thread.start()
                return self
        raise Failed("kin-apisim did not start")

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)

    def request(self, method, path, body=None):
        request = urllib.request.Request(
            self.url + path, method=method, data=body,
            headers={"Content-Type": "application/merge-patch+json"})
        with urllib.request.urlopen(request, timeout=30,
                                    context=self.context) as response:
            return json.load(response)

    def compresses(self):
        request = urllib.request.Request(self.url + "/api/v1/pods",
                                         headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request, timeout=30,
                                    context=self.context) as response:
            return response.headers["Content-Encoding"] == "gzip"

    def change(self):
        """Patches one pod, ten times a second."""
        if self.churns:
            return
        pod = self.request("GET", "/api/v1/pods?limit=1")["items"][0]["metadata"]
        path = f"/api/v1/namespaces/{pod['namespace']}/pods/{pod['name']}"
        count = 0
        while not self.ends.wait(0.1):
            count += 1
            patch = {"metadata": {"annotations": {"count": str(count)}}}
            self.request("PATCH", path, json.dumps(patch).encode())


class Ways(debian.Ways, recipes.Ways):
    """Each method named way_* is one way; the work of several is done once."""

    def __init__(self, work, server):
        self.work, self.url, self.apisim = work, server.url, server.program
        self.done = {}

    def once(self, name, make):
        """make(directory) for the first that asks; the error for the others,
        too."""
        if name not in self.done:
            try:
                make(self.work / name)
                self.done[name] = None
            except (Failed, Skipped) as error:
                self.done[name] = error
        if self.done[name]:
            raise self.done[name]
        return self.work / name

    def project(self, template, inside=None, name=None):
        """A copy of a template, with the library's source `inside` it."""
        directory = self.work / (name or template)
        if not directory.exists():
            shutil.copytree(HERE / template, directory)
            for name in ("consumer.c", "fake.c"):
                shutil.copy(HERE / name, directory)
        if inside:
            copy_source(directory / inside)
        return directory

    def follow(self, program, **env):
        """Runs the program, which says how many pods it has followed."""
        said = run(program, self.url, PODS, **env)
        expect(said.startswith(f"{PODS} pods, "), f"said {said!r}")

    # ------------------------------------------------------ inside a project

    def way_meson_subproject(self):
        need("meson", "ninja")
        project = self.project("meson", "subprojects/kinformer")
        # The library's files cannot be joined, whatever the project wants.
        run("meson", "setup", "build", "-Dkinformer:cache=false",
            "-Dkinformer:toolkit=false", "-Dkinformer:controllers=false",
            "-Dunity=on", cwd=project)
        run("ninja", "-C", "build", JOBS, cwd=project)
        self.follow(project / "build/consumer")
        installed = project / "installed"
        run("meson", "install", "-C", "build", "--destdir", installed,
            cwd=project)
        files = sorted({path.name.split(".")[0] for path in
                        installed.rglob("*") if not path.is_dir()})
        expect(files == ["consumer", "libkinformer"], f"installed: {files}")

    def way_meson_wraps(self):
        """Static, with no library of the system but libc."""
        need("meson", "ninja", "perl", "make")
        sources = local_sources()
        project = self.project("meson", "subprojects/kinformer", "meson-wraps")
        for path in sources:
            copy = shutil.copytree if path.is_dir() else shutil.copy
            target = project / path.relative_to(SOURCE)
            target.parent.mkdir(exist_ok=True)
            copy(path, target)
        run("meson", "setup", "build", "--wrap-mode=forcefallback",
            "--default-library=static", "-Dkinformer:cache=false",
            "-Dkinformer:toolkit=false", "-Dkinformer:controllers=false",
            cwd=project)
        run("ninja", "-C", "build", JOBS, cwd=project)
        self.follow(project / "build/consumer")
        needed = re.findall(r"Shared library: \[(\w+)",
                            run("readelf", "-d", project / "build/consumer"))
        expect(set(needed) <= {"libc", "libm", "ld"}, f"needs {needed}")

    def way_cmake_add_subdirectory(self):
        need("cmake")
        project = self.project("add_subdirectory", "kinformer")
        # The library's files cannot be joined, whatever the project wants.
        self.cmake(project, "-DCMAKE_UNITY_BUILD=ON")
        self.follow(project / "build/consumer")
        run("cmake", "--install", "build", "--prefix", project / "installed",
            cwd=project)
        files = [path.name for path in (project / "installed").rglob("*")
                 if not path.is_dir()]
        expect(files == ["consumer"], f"installed: {files}")

    def way_cmake_fetch_content(self):
        need("cmake")
        project = self.project("fetch_content")
        copy_source(project / "elsewhere")
        self.cmake(project, "-DKINFORMER_CACHE=OFF", "-DKINFORMER_TOOLKIT=OFF",
                   "-DKINFORMER_CONTROLLERS=OFF",
                   "-DFETCHCONTENT_SOURCE_DIR_KINFORMER="
                   f"{project / 'elsewhere'}")
        self.follow(project / "build/consumer")

    def way_cmake_without(self):
        """CMake's words for off leave a library out that is there."""
        need("cmake", "pkg-config")
        build = self.work / "cmake-without"
        for without in ("FALSE", "NO", "off"), ("off", "FALSE", "0"):
            options = [f"-DKINFORMER_{name}={word}" for name, word in
                       zip(("ZLIB", "ZSTD", "KUBECONFIG"), without)]
            run("cmake", "-S", SOURCE, "-B", build, *options)
            private = re.search(r"^Requires.private: (.*)$",
                                (build / "cmake/kinformer.pc").read_text(), re.M)
            expect(private.group(1) == "libllhttp >= 8, openssl >= 3",
                   f"{without}: needs {private.group(1)}")

    @staticmethod
    def cmake(project, *options, build="build", targets=()):
        run("cmake", "-S", ".", "-B", build, *options, cwd=project)
        command = ["cmake", "--build", build, JOBS]
        for target in targets:
            command += ["--target", target]
        run(*command, cwd=project)

    # ------------------------------------------------------------- installed

    def by_meson(self):
        """Shared and static, installed below a prefix."""
        def make(directory):
            need("meson", "ninja")
            run("meson", "setup", directory / "build", SOURCE, *CORE,
                "--default-library=both", "--prefix", directory / "prefix",
                "--libdir=lib")
            run("ninja", "-C", directory / "build", JOBS)
            run("meson", "install", "-C", directory / "build")
        return self.once("by-meson", make)

    def by_meson_static(self):
        """A copy without the shared library, at another place."""
        def make(directory):
            shutil.copytree(self.by_meson() / "prefix", directory / "prefix",
                            symlinks=True)
            for path in (directory / "prefix/lib").glob("libkinformer.*"):
                if path.suffix != ".a":
                    path.unlink()
        return self.once("by-meson-static", make)

    def by_cmake(self):
        """Shared, below a prefix with a blank in its name."""
        def make(directory):
            need("cmake")
            run("cmake", "-S", SOURCE, "-B", directory / "build",
                "-DKINFORMER_CACHE=OFF", "-DKINFORMER_TOOLKIT=OFF",
                "-DKINFORMER_CONTROLLERS=OFF",
                "-DKINFORMER_TOOLS=OFF", "-DCMAKE_INSTALL_LIBDIR=lib",
                f"-DCMAKE_INSTALL_PREFIX={directory / 'pre fix'}")
            run("cmake", "--build", directory / "build", JOBS)
            run("cmake", "--install", directory / "build")
        return self.once("by-cmake", make)

    def find_package(self, prefix, target="kinformer::kinformer", linked=""):
        need("cmake")
        project = self.project("find_package")
        build = project / f"build-{prefix.parent.name}-{target.split(':')[-1]}"
        self.cmake(project, f"-DCMAKE_PREFIX_PATH={prefix}",
                   f"-DCONSUMER_TARGET={target}", build=build.name)
        self.follow(build / "consumer")
        run(build / "fake")
        expect_linked(build / "consumer", linked)

    def way_find_package_after_meson(self):
        self.find_package(self.by_meson() / "prefix", linked="shared")

    def way_find_package_after_meson_static(self):
        self.find_package(self.by_meson() / "prefix", "kinformer::static",
                          linked="static")

    def way_find_package_after_meson_only_static(self):
        self.find_package(self.by_meson_static() / "prefix", linked="static")

    def way_find_package_after_cmake(self):
        self.find_package(self.by_cmake() / "pre fix", linked="shared")

    # ------------------------------------------------------------ pkg-config

    def pkg_config(self, name, directory, library_path, linked, *options):
        """directory has the .pc files."""
        need("pkg-config")
        flags = shlex.split(
            run("pkg-config", *options, "--cflags", "--libs", "kinformer",
                PKG_CONFIG_PATH=str(directory)))
        if linked == "static" and (library_path / "libkinformer.so").exists():
            # Both are there, and -lkinformer takes the shared one.
            flags = ["-l:libkinformer.a" if word == "-lkinformer" else word
                     for word in flags]
        program = self.work / name
        run(*CC, HERE / "consumer.c", "-o", program, *flags)
        self.follow(program, LD_LIBRARY_PATH=str(library_path))
        expect_linked(program, linked)

    def way_pkg_config_shared(self):
        lib = self.by_meson() / "prefix/lib"
        self.pkg_config("pc-shared", lib / "pkgconfig", lib, "shared")

    def way_pkg_config_static(self):
        lib = self.by_meson_static() / "prefix/lib"
        # Not where the file says, but where it is.
        self.pkg_config("pc-static", lib / "pkgconfig", lib, "static",
                        "--static", "--define-prefix")

    def way_pkg_config_uninstalled(self):
        build = self.by_meson() / "build"
        self.pkg_config("pc-uninstalled", build / "meson-uninstalled",
                        build / "lib", "shared")

    def way_pkg_config_uninstalled_static(self):
        build = self.by_meson() / "build"
        self.pkg_config("pc-uninstalled-static", build / "meson-uninstalled",
                        build / "lib", "static", "--static")

    def way_pkg_config_after_cmake(self):
        lib = self.by_cmake() / "pre fix/lib"
        self.pkg_config("pc-cmake", lib / "pkgconfig", lib, "shared")

    # ------------------------------------- hosts with libraries of their own

    def by_meson_outside(self):
        """Shared, with all dependencies outside."""
        def make(directory):
            need("meson", "ninja")
            run("meson", "setup", directory / "build", SOURCE, *CORE,
                "-Dprivate_dependencies=disabled", "--prefix",
                directory / "prefix", "--libdir=lib")
            run("ninja", "-C", directory / "build", JOBS)
            run("meson", "install", "-C", directory / "build")
        return self.once("by-meson-outside", make)

    def is_inside(self, name):
        """Whether the installed library holds it, or needs another one."""
        need("nm")
        library = self.by_meson() / "prefix/lib/libkinformer.so"
        return not check_inside.outside(library, HELD[name][0])

    def against_library(self, sources, program, *options, by=None):
        lib = (by or self.by_meson()) / "prefix/lib"
        flags = run("pkg-config", "--cflags", "--libs", "kinformer",
                    PKG_CONFIG_PATH=str(lib / "pkgconfig")).split()
        run(*CC, "-Wall", "-Wextra", "-Werror", *options, *sources, "-o",
            program, *flags, f"-Wl,-rpath,{lib}")

    def host(self, name, foreign, by):
        """A host that exports what is in the file `foreign`."""
        need("pkg-config")
        program = self.work / name
        self.against_library([HERE / "hosts/host.c", foreign], program,
                             f"-I{HERE / 'hosts'}", "-rdynamic", by=by)
        return program

    def follow_as_host(self, program):
        """The list comes compressed; so many changes come that zstd trains a
        dictionary."""
        with Server(self.apisim, "--gzip", churns=True) as server:
            expect(server.compresses(), "the list is not compressed")
            kubeconfig = self.work / "host.yaml"
            kubeconfig.write_text(
                "current-context: a\n"
                "clusters: [{name: a, cluster: {server: '" + server.url +
                "'}}]\ncontexts: [{name: a, context: {cluster: a}}]\n")
            said = run(program, "hidden", kubeconfig)
        expect("0 foreign calls" in said, f"said {said!r}")

    def exports(self, name):
        """The library uses its own, or refuses the host's."""
        foreign = HERE / f"hosts/foreign_{name}.c"
        outside = self.host(f"host-{name}", foreign, self.by_meson_outside())
        run(outside, "found", name, HELD[name][1])
        if not self.is_inside(name):
            raise Skipped(f"the library cannot hold {name}")
        self.follow_as_host(self.host(f"host-own-{name}", foreign,
                                      self.by_meson()))

    def way_host_exports_llhttp(self):
        self.exports("llhttp")

    def way_host_exports_yyjson(self):
        self.exports("yyjson")

    def way_host_exports_zlib(self):
        self.exports("zlib")

    def way_host_exports_zstd(self):
        self.exports("zstd")

    def way_host_exports_libyaml(self):
        self.exports("libyaml")

    def way_host_exports_all(self):
        """Every function that the five libraries have."""
        need("nm", "pkg-config")
        names = set()
        for name, (short, _) in HELD.items():
            if not self.is_inside(name):
                raise Skipped(f"the library cannot hold {name}")
            library = run(*CC, f"-print-file-name=lib{short}.so").strip()
            found = run("nm", "-D", "--defined-only", library).split("\n")
            functions = {line.split()[-1].split("@")[0] for line in found
                         if line.split()[1:2] == ["T"]}
            functions = {name for name in functions
                         if re.fullmatch(check_inside.FUNCTIONS[short], name)}
            expect(functions, f"no function of {name}")
            names |= functions
        foreign = self.work / "foreign_all.c"
        foreign.write_text('#include "host.h"\n' + "".join(
            f"void {name}(void);\nvoid {name}(void) {{ foreign_calls++; }}\n"
            for name in sorted(names)))
        self.follow_as_host(self.host("host-all", foreign, self.by_meson()))

    def node_addon(self):
        need("node", "pkg-config")
        headers = pathlib.Path(run("node", "-p", "process.execPath").strip()) \
            .resolve().parent.parent / "include/node"
        if not (headers / "node_api.h").exists():
            raise Skipped("no headers of Node.js")
        def make(directory):
            directory.mkdir()
            self.against_library([SOURCE / "examples/node/kinformer.c"],
                                 directory / "kinformer.node", "-shared",
                                 "-fPIC", f"-I{headers}")
        return self.once("node", make) / "kinformer.node"

    def node_certificate(self):
        def make(directory):
            need("openssl")
            directory.mkdir()
            run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                "-keyout", directory / "key.pem", "-out", directory / "cert.pem")
        directory = self.once("node-certificate", make)
        return directory / "cert.pem", directory / "key.pem"

    def node_follows(self, url, authority):
        addon, (certificate, key) = self.node_addon(), self.node_certificate()
        if not self.is_inside("llhttp"):
            raise Skipped("no archive of llhttp for the library to hold")
        said = run("node", HERE / "hosts/node_host.js", addon, url, PODS,
                   authority, certificate, key)
        expect(said.startswith(f"{PODS} pods, "), f"said {said!r}")

    def way_node(self):
        self.node_follows(self.url, "")

    def way_node_tls(self):
        certificate, key = self.node_certificate()
        with Server(self.apisim, "--tls-cert", str(certificate), "--tls-key",
                    str(key)) as server:
            self.node_follows(server.url, certificate)

    def way_node_exits(self):
        """process.exit() while an informer is open."""
        addon = self.node_addon()
        if not self.is_inside("llhttp"):
            raise Skipped("no archive of llhttp for the library to hold")
        done = subprocess.run(
            ["node", HERE / "hosts/node_exits.js", addon, self.url],
            capture_output=True, text=True, timeout=60, check=False)
        expect(done.returncode == 7, f"status {done.returncode}: {done.stderr}")

    def way_node_keeps(self):
        """JavaScript calls functions of an informer after the close. Freed
        memory is overwritten by glibc."""
        addon = self.node_addon()
        if not self.is_inside("llhttp"):
            raise Skipped("no archive of llhttp for the library to hold")
        done = subprocess.run(
            ["node", "--expose-gc", HERE / "hosts/node_keeps.js", addon,
             self.url],
            env=dict(os.environ, GLIBC_TUNABLES="glibc.malloc.tcache_count=0:"
                     "glibc.malloc.perturb=165"),
            capture_output=True, text=True, timeout=60, check=False)
        expect((done.returncode, done.stdout) == (0, "kept\n"),
               f"status {done.returncode}: {done.stderr}")

    def lua_module(self, lua):
        """For luajit, lua5.1 and so on: also the package's name."""
        need("pkg-config")
        def make(directory):
            try:
                flags = run("pkg-config", "--cflags", lua).split()
            except Failed:
                raise Skipped(f"no headers of {lua}") from None
            directory.mkdir()
            # Lua unloads modules before luv closes its loop.
            self.against_library([SOURCE / "examples/lua/kinformer.c"],
                                 directory / "kinformer.so", "-shared", "-fPIC",
                                 "-fvisibility=hidden", "-Wl,-z,nodelete",
                                 *flags)
        return self.once(lua, make) / "kinformer.so"

    def lua_follows(self, lua, *host):
        """To the end; then the host ends while an informer is open."""
        env = dict(os.environ,
                   KIN_HOST=f"{self.lua_module(lua)} {self.url} {PODS}")
        host = [*host[:-1], host[-1] + str(HERE / "hosts/lua_host.lua")]
        for how, status in ("closed", 0), ("open", 7):
            done = subprocess.run(
                host, env=dict(env, KIN_HOST_END=how), capture_output=True,
                text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
            said = done.stdout + done.stderr
            expect(done.returncode == status, f"status {done.returncode} "
                   f"instead of {status}: {said}")
            expect(how == "open" or f"{PODS} pods, " in said, f"said {said!r}")

    def lua_script(self, lua):
        need(lua)
        try:
            run(lua, "-e", "require('luv')")
        except Failed:
            raise Skipped(f"no luv for {lua}") from None
        self.lua_follows(lua, lua, "")

    def way_luajit(self):
        self.lua_script("luajit")

    def way_lua54(self):
        self.lua_script("lua5.4")

    def way_neovim(self):
        need("nvim")
        self.lua_follows("luajit", "nvim", "--headless", "-u", "NONE", "-i",
                         "NONE", "-c", "luafile ")

    # ------------------------------------------------------------- one file

    def way_amalgamation(self):
        need("pkg-config")
        directory = self.work / "amalgamation"
        run(sys.executable, SOURCE / "tools/amalgamate.py", directory)
        expect(sorted(path.name for path in directory.iterdir()) ==
               ["kin.h", "kinformer.c"], "not the two files")
        flags = run("pkg-config", "--cflags", "--libs", "libuv", "libllhttp",
                    "openssl", "yyjson", "zlib", "libzstd", "yaml-0.1").split()
        program = directory / "consumer"
        run(*CC, "-Wall", "-Wextra", "-Werror", "-O1", "-DKIN_AMALGAMATION",
            "-I", directory, directory / "kinformer.c", HERE / "consumer.c",
            "-o", program, *flags)
        self.follow(program)


def copy_source(target):
    """What the library's source needs, and nothing else of the repository."""
    for name in NEEDED:
        there = SOURCE / name
        if there.is_dir():
            shutil.copytree(there, target / name)
        else:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(there, target / name)
    for wrap in (SOURCE / "subprojects").glob("*.wrap"):
        shutil.copy(wrap, target / "subprojects")


def local_sources():
    """What subprojects/local.py has put there, or Meson has fetched."""
    found = []
    for name in WRAPS:
        wrap = configparser.ConfigParser(interpolation=None)
        wrap.read(SOURCE / f"subprojects/{name}.wrap")
        wrap = wrap["wrap-file"]
        paths = [SOURCE / "subprojects/packagecache" / wrap["source_filename"],
                 SOURCE / "subprojects" / wrap["directory"]]
        there = [path for path in paths if path.exists()]
        if not there:
            raise Skipped(f"no sources of {name}; see subprojects/local.py")
        found.append(there[0])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("apisim")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR",
                        help="work there, and leave everything there")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    known = {name[4:].replace("_", "-"): name
             for name in [*vars(Ways), *vars(debian.Ways),
                          *vars(recipes.Ways)]
             if name.startswith("way_")}
    for name in options.names:
        if name not in known:
            parser.error(f"{name} is none of {', '.join(known)}")
    counts = {"ok": 0, "FAIL": 0, "skipped": 0}
    with tempfile.TemporaryDirectory() as temporary, \
            Server(options.apisim) as server:
        work = options.keep or pathlib.Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        ways = Ways(work.resolve(), server)
        for name in options.names or known:
            result, why = "ok", ""
            begin = time.monotonic()
            try:
                getattr(ways, known[name])()
            except Skipped as error:
                result, why = "skipped", f": {error}"
            except (Failed, OSError, subprocess.TimeoutExpired) as error:
                result, why = "FAIL", f": {error}"
            counts[result] += 1
            print(f"{result}: {name}, {time.monotonic() - begin:.0f} s{why}",
                  flush=True)
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['ok']} passed, {counts['FAIL']} failed{skipped}")
    return counts["FAIL"] != 0


if __name__ == "__main__":
    sys.exit(main())
