#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds kinformer and runs its tests on other systems: with the oldest and the
newest releases of the libraries, with 32 bits, and with the other order of
bytes. Each row is a Debian of its own in a directory, made by debootstrap from
the mirror that this machine's apt uses. Needs root.

Usage: matrix.py [--dir DIR] [--list] [--suites NAME,... | --tests NAME,...]
                 [--remake] [--buildtype TYPE] [--sanitize] [--release NAME]
                 [--here] [--skip-missing] [ROW...]

With --here this machine takes the place of a row's Debian if both have the same
release and processor: the machine then needs no root. With --skip-missing a row
is skipped if its system or its sources cannot be fetched.

A row's directory stays for the next run, which then builds what has changed;
--remake begins anew, with the newest packages. --release takes another release
of Debian for all rows, into directories of their own.

A foreign processor's code is compiled by a cross compiler and runs under
qemu-user. For the oldest row, pip fetches the source of an old llhttp.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
JOBS = len(os.sched_getaffinity(0))
PRIVATE = ["unshare", "--mount", "--propagation=private"]
SUITES = ["unit", "flow", "model"]
LIBRARIES = {"libuv": "libuv", "libllhttp": "llhttp", "openssl": "OpenSSL",
             "yyjson": "yyjson", "zlib": "zlib", "libzstd": "zstd",
             "yaml-0.1": "libyaml"}
CROSS_PACKAGES = ["python3", "meson", "ninja-build", "pkg-config", "openssl",
                  "qemu-user"]
CROSS_LIBRARIES = ["libuv1-dev", "libllhttp-dev", "libyyjson-dev", "libssl-dev",
                   "zlib1g-dev", "libzstd-dev", "libyaml-dev",
                   "libcmocka-dev"]


@dataclasses.dataclass
class Row:
    """One system. `llhttp` is the release of the Python package httptools whose
    source archive has the wanted llhttp; `cross` are the names of a foreign
    processor: Debian's, the compiler's, qemu's, and its order of bytes."""
    suite: str
    why: str
    arch: str = "amd64"
    llhttp: str = ""
    cross: tuple = ()


ROWS = {
    "oldest": Row("bookworm", "the oldest release of each library",
                  llhttp="0.6.0"),
    "bookworm": Row("bookworm", "Debian 12"),
    "trixie": Row("trixie", "Debian 13"),
    "newest": Row("sid", "the newest release of each library"),
    "i386": Row("trixie", "32 bits, uint64_t aligned to 4", arch="i386"),
    "armhf": Row("trixie", "32 bits, uint64_t aligned to 8",
                 cross=("armhf", "arm-linux-gnueabihf", "arm", "little")),
    "arm64": Row("trixie", "the NEON scanner",
                 cross=("arm64", "aarch64-linux-gnu", "aarch64", "little")),
    "s390x": Row("trixie", "big-endian",
                 cross=("s390x", "s390x-linux-gnu", "s390x", "big")),
}


class Failed(Exception):
    """A command failed."""


class Missing(Exception):
    """Something that a row needs is not there, and cannot be fetched."""


def run(command, **options):
    done = subprocess.run([str(word) for word in command], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **options)
    if done.returncode != 0:
        raise Failed(f"{command[0]}: status {done.returncode}\n"
                     f"{done.stdout[-3000:]}")
    return done.stdout


def debian_mirror():
    """Where this machine's own apt takes Debian's packages from."""
    lines = run(["apt-get", "indextargets", "Created-By: Packages", "--format",
                 "$(REPO_URI) $(ORIGIN) $(LABEL) $(COMPONENT)"])
    for line in lines.splitlines():
        words = line.split()
        if words[1:] == ["Debian", "Debian", "main"]:
            return words[0]
    raise Failed("no Debian mirror in this machine's apt sources")


class System:
    """A Debian in a directory."""

    def __init__(self, row, root):
        self.row, self.root = row, root
        self.build = self.place("build")

    @staticmethod
    def place(name):
        """Where a file is for commands inside."""
        return f"/{name}"

    def fetch(self, command):
        """A command that downloads."""
        try:
            return self.inside(command)
        except Failed as error:
            raise Missing(str(error)) from None

    def make(self):
        """Leaves `done` only if everything has been done."""
        done = self.root / "done"
        if done.exists():
            return
        reason = missing()
        if reason:
            raise Missing(reason)
        base = self.root.parent / f"{self.row.suite}-{self.row.arch}.base"
        if not (base / "done").exists():
            shutil.rmtree(base, ignore_errors=True)
            base.mkdir(parents=True)
            # In a mount space of its own, so that no mount of it is left.
            try:
                run([*PRIVATE, "debootstrap", f"--arch={self.row.arch}",
                     "--variant=minbase", "--include=ca-certificates",
                     self.row.suite, base, debian_mirror()])
            except Failed as error:
                raise Missing(str(error)) from None
            (base / "done").touch()
        shutil.rmtree(self.root, ignore_errors=True)
        run(["cp", "-a", base, self.root])
        done.unlink()
        for name in ("etc/apt/apt.conf.d", "usr/local/share/ca-certificates"):
            if pathlib.Path("/", name).is_dir():
                shutil.copytree(pathlib.Path("/", name), self.root / name,
                                dirs_exist_ok=True)
        self.copy_source()
        if self.row.cross:
            self.install_cross()
        else:
            self.fetch("update-ca-certificates && ./dev setup")
        done.touch()

    def install_cross(self):
        arch, triplet, qemu, endian = self.row.cross
        packages = CROSS_PACKAGES + [f"gcc-{triplet}"] + [
            f"{name}:{arch}" for name in CROSS_LIBRARIES]
        self.fetch(f"dpkg --add-architecture {arch} && apt-get update && "
                    "apt-get install -y --no-install-recommends "
                    + " ".join(packages))
        (self.root / "cross").write_text(
            f"[binaries]\nc = '{triplet}-gcc'\nar = '{triplet}-ar'\n"
            f"strip = '{triplet}-strip'\npkg-config = 'pkg-config'\n"
            f"exe_wrapper = 'qemu-{qemu}'\n"
            "[properties]\npkg_config_libdir = ["
            f"'/usr/lib/{triplet}/pkgconfig', '/usr/share/pkgconfig']\n"
            "[host_machine]\nsystem = 'linux'\n"
            f"cpu_family = '{qemu}'\ncpu = '{qemu}'\nendian = '{endian}'\n")

    def copy_source(self):
        """Copies the files that git would commit, as they are now. Ninja goes by
        times, so a file gets a new time if its bytes have changed, and only
        then."""
        to = self.root / "src"
        names = run(["git", "-C", SOURCE, "ls-files", "-co",
                     "--exclude-standard"]).splitlines()
        names = {name for name in names if (SOURCE / name).exists()}
        for path in list(to.rglob("*")):
            if not path.is_dir() and str(path.relative_to(to)) not in names:
                path.unlink()
        for name in names:
            old = to / name
            if not old.exists() or \
                    old.read_bytes() != (SOURCE / name).read_bytes():
                old.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(SOURCE / name, old)

    def inside(self, command):
        """Runs a command there, in /src. The mounts end with it."""
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", self.root / "etc" / name)
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
               "TERM": "dumb", "DEBIAN_FRONTEND": "noninteractive",
               **{name: value for name, value in os.environ.items()
                  if name.lower() in ("http_proxy", "https_proxy", "no_proxy")}}
        script = ("mount -t proc proc \"$0/proc\" && "
                  "mount --rbind /dev \"$0/dev\" && "
                  "exec chroot \"$0\" sh -c \"cd /src && $1\"")
        return run([*PRIVATE, "sh", "-c", script, self.root, command], env=env)

    # ------------------------------------------------------------- the tests

    def take_llhttp(self, cache):
        """The generated C of another llhttp, for the wrap."""
        name = f"httptools-{self.row.llhttp}"
        if not (cache / f"{name}.tar.gz").exists():
            try:
                run([sys.executable, "-m", "pip", "download", "-q", "--no-deps",
                     "--no-binary", "httptools", name.replace("-", "=="), "-d",
                     cache])
            except Failed as error:
                raise Missing(str(error)) from None
        run(["tar", "-xzf", cache / f"{name}.tar.gz", "-C", cache])
        run([sys.executable, SOURCE / "subprojects/local.py", "--into",
             self.root / "src/subprojects",
             f"llhttp={cache / name / 'vendor/llhttp'}"])

    def configure(self, options):
        self.build = self.place(
            "build-sanitize" if options.sanitize else "build")
        command = ["meson", "setup", self.build, "-Dexamples=false",
                   "-Dbench=false",
                   "-Dwerror=true", f"--buildtype={options.buildtype}"]
        if options.sanitize:
            command += ["-Db_sanitize=address,undefined", "-Db_lundef=false"]
        if self.row.cross:
            command += ["--cross-file=" + self.place("cross")]
        if self.row.llhttp:
            # The wrap's warnings are about its own release.
            command += ["--force-fallback-for=llhttp", "-Dllhttp:werror=false"]
        if not self.built("build.ninja").exists():
            self.inside(" ".join(command))

    def built(self, name):
        return self.root / pathlib.Path(self.build).name / name

    def versions(self):
        """Of the compiler and the libraries, as Meson has found them."""
        found = {entry["name"]: entry["version"] for entry in json.loads(
            self.inside("meson introspect --dependencies " + self.build))}
        log = self.built("meson-logs/meson-log.txt").read_text()
        compiler = re.search(r"^C compiler for the host machine: .*?\((\w+) "
                             r"([\d.]+)", log, re.M)
        if self.row.llhttp: # the wrap tells its own release
            found["libllhttp"] = self.inside(
                "grep -hoP 'VERSION_(MAJOR|MINOR|PATCH) \\K\\d+' "
                "subprojects/llhttp*/include/llhttp.h").replace("\n", ".")[:-1]
        return [f"{compiler[1]} {compiler[2]}"] + [
            f"{shown} {found[name]}" for name, shown in LIBRARIES.items()
            if name in found]

    def programs_of(self, suites):
        """What the tests of these suites run. Without a choice of suites all
        is built."""
        tests = json.loads(self.inside(f"meson introspect --tests {self.build}"))
        return sorted({os.path.relpath(test["cmd"][0], self.build)
                       for test in tests
                       if any(suite.split(":")[-1] in suites
                              for suite in test["suite"])})

    def test(self, options):
        """Returns the summary's lines."""
        targets = [f"test/test_{name}" for name in options.tests]
        if options.suites != SUITES:
            targets += self.programs_of(options.suites)
        log = self.place("build.log")
        self.inside(f"ninja -k 0 -j{JOBS} -C {self.build} {' '.join(targets)}"
                    f" >{log} || {{ grep -A15 ^FAILED {log}; exit 1; }}")
        tests = options.tests or [f"--suite {name}" for name in options.suites]
        self.built("meson-logs/testlog.json").unlink(missing_ok=True)
        wait = 20 if self.row.cross else 4
        self.inside(f"meson test -C {self.build} --no-rebuild "
                    f"--timeout-multiplier {wait} {' '.join(tests)} || true")
        log = self.built("meson-logs/testlog.json")
        return subprocess.run(
            [sys.executable, SOURCE / "test/summary.py", log],
            capture_output=True, text=True, check=False).stdout.splitlines()


class Here(System):
    """This machine. Its sources and builds are in the directory."""

    def place(self, name):
        return str(self.root / name)

    def make(self):
        self.root.mkdir(parents=True, exist_ok=True)

    def inside(self, command):
        return run(["sh", "-c", f"cd {self.root / 'src'} && {command}"])


def is_here(row):
    release = run(["sh", "-c", ". /etc/os-release && echo $VERSION_CODENAME"])
    arch = run(["dpkg", "--print-architecture"])
    return (release.strip(), arch.strip()) == (row.suite, row.arch) and \
        not row.cross


def missing():
    """Why no Debian can be made here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    for tool in ("debootstrap", "apt-get", "unshare"):
        if shutil.which(tool) is None:
            return f"no {tool}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=pathlib.Path,
                        default=SOURCE / ".cache/matrix")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--remake", action="store_true")
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--release", default="")
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--skip-missing", action="store_true")
    parser.add_argument("--buildtype", default="debugoptimized")
    parser.add_argument("--suites", default=SUITES, type=lambda s: s.split(","))
    parser.add_argument("--tests", default=[], type=lambda s: s.split(","))
    parser.add_argument("rows", nargs="*", metavar="ROW")
    options = parser.parse_intermixed_args()
    for name in options.rows:
        if name not in ROWS:
            parser.error(f"{name} is none of {', '.join(ROWS)}")
    if options.list:
        for name, row in ROWS.items():
            print(f"{name:10} {row.suite:10} {row.why}")
        return 0
    rows = options.rows or list(ROWS)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name in rows:
        counts[run_row(name, options)] += 1
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    return counts["failed"] != 0


def run_row(name, options):
    """Returns what is counted."""
    row, root = ROWS[name], options.dir.resolve() / name
    if options.release:
        row = dataclasses.replace(row, suite=options.release)
        root = root.with_name(f"{name}-{options.release}")
    if options.here and shutil.which("dpkg") and is_here(row):
        system = Here(row, root.with_name(f"{name}-here"))
    else:
        system = System(row, root)
    if options.remake:
        shutil.rmtree(system.root, ignore_errors=True)
    try:
        system.make()
        system.copy_source()
        if system.row.llhttp:
            system.take_llhttp(root.parent)
        system.configure(options)
        about = ", ".join(system.versions())
        lines = system.test(options)
    except (Failed, Missing, OSError) as error:
        is_skipped = isinstance(error, Missing) and (
            options.skip_missing or str(error) == missing())
        print(f"{'skipped' if is_skipped else 'FAIL'}: {name}: {error}",
              flush=True)
        return "skipped" if is_skipped else "failed"
    is_good = bool(re.match(r"\d+ passed, 0 failed", lines[-1]))
    if not is_good:
        print("\n".join(lines[:-1]))
    print(f"{'ok' if is_good else 'FAIL'}: {name}: {about}: {lines[-1]}",
          flush=True)
    return "passed" if is_good else "failed"


if __name__ == "__main__":
    sys.exit(main())
