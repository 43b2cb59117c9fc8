# SPDX-License-Identifier: MIT
"""The ways of consumers.py that take the library from its Debian packages."""

import os
import pathlib
import re
import shutil

from steps import Failed, Skipped, expect, need, run

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
PACKAGING = SOURCE / "packaging/debian"
# Of the package's test.
NEEDED_IN_ROOT = ["cmake", "gcc", "libc6-dev", "make", "pkgconf"]


class Ways:
    """A part of consumers.Ways."""

    def debs(self):
        """The folder with the packages, which lintian has seen if it is there.
        The tests have been run elsewhere."""
        def make(directory):
            need("dpkg-buildpackage", "dh", "git", "apt-get", "xz")
            try:
                run("dpkg-checkbuilddeps", "-Pnocheck", PACKAGING / "control")
            except Failed as error:
                raise Skipped(str(error).strip().split("\n")[-1]) from error
            run(SOURCE / "dev", "deb", directory, DEB_BUILD_OPTIONS="nocheck",
                DEB_BUILD_PROFILES="nocheck")
            expect(self.packages(directory) >= {
                "libkinformer0.1", "libkinformer-dev", "kinformer-tools",
                "libkinformer0.1-dbgsym", "kinformer-tools-dbgsym"},
                f"packages: {self.packages(directory)}")
        return self.once("debs", make)

    @staticmethod
    def packages(directory):
        return {path.name.split("_")[0] for path in directory.glob("*.deb")}

    def way_deb(self):
        """Unpacked into a folder, so that neither root nor a network is
        needed."""
        debs = self.debs()
        root = self.work / "deb-unpacked"
        for path in debs.glob("*kinformer*.deb"):
            run("dpkg-deb", "--extract", path, root)
        self.expect_complete(root)
        [lib] = root.glob("usr/lib/*/libkinformer.a")
        lib = lib.parent
        prefix = f"--define-variable=prefix={root}/usr"
        self.pkg_config("deb-shared", lib / "pkgconfig", lib, "shared", prefix)
        self.pkg_config("deb-static", lib / "pkgconfig", lib, "static", prefix,
                        "--static")
        if shutil.which("cmake"):
            self.find_package(root / "usr", linked="shared")
            self.find_package(root / "usr", "kinformer::static",
                              linked="static")
        said = run(root / "usr/bin/kinformer", "pods", "-A", "--once",
                   "--server", self.url, LD_LIBRARY_PATH=str(lib))
        expect('{"event":"synced"' in said, f"kinformer said {said[-200:]!r}")

    @staticmethod
    def expect_complete(root):
        """Every public header, page and example is in the packages. debhelper
        compresses long pages."""
        manual = root / "usr/share/doc/libkinformer-dev"
        for there, here in ((root / "usr/include/kin", "include/kin/*.h"),
                            (manual / "doc", "doc/*.md"),
                            (manual / "doc", "doc/*.svg"),
                            (manual / "examples", "examples/*.*"),
                            (manual / "examples/lua", "examples/lua/*"),
                            (manual / "examples/node", "examples/node/*")):
            packed = {path.name.removesuffix(".gz") for path in there.glob("*")}
            wanted = {path.name for path in SOURCE.glob(here)} - {"meson.build"}
            expect(wanted and wanted <= packed,
                   f"{there}: lacks {sorted(wanted - packed)}")

    def way_deb_installed(self):
        """In a Debian that has only what the packages depend on, a compiler
        and CMake. mmdebstrap, because it works in containers, too."""
        need("mmdebstrap", "chroot")
        if os.geteuid() != 0:
            raise Skipped("not root")
        debs = self.debs()
        suite = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path(
            "/etc/os-release").read_text(), re.M).group(1)
        root = self.work / "deb-root"
        try:
            run("mmdebstrap", "--variant=apt", "--mode=root", suite, root,
                *archives())
        except Failed as error:
            raise Skipped(f"no new root: {error}") from error
        shutil.copytree("/etc/apt/apt.conf.d", root / "etc/apt/apt.conf.d",
                        dirs_exist_ok=True)
        shutil.copy("/etc/resolv.conf", root / "etc")
        shutil.copytree(debs, root / "debs")
        shutil.copytree(HERE, root / "src/test/build")
        shutil.copy(PACKAGING / "tests/consumer", root / "src")
        proxies = [f"{name}={value}" for name, value in os.environ.items()
                   if name.lower() in ("http_proxy", "https_proxy", "no_proxy")]
        inside = ["chroot", root, "/usr/bin/env", "-i", "HOME=/root", *proxies,
                  "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                  "DEBIAN_FRONTEND=noninteractive", "bash", "-euc"]
        files = " ".join(f"/debs/{path.name}" for path in debs.glob("*.deb")
                         if "-dbgsym" not in path.name)
        run(*inside, f"apt-get -q update; apt-get install -qy "
            f"--no-install-recommends {files} {' '.join(NEEDED_IN_ROOT)}")
        said = run(*inside, "cd /src; ./consumer")
        expect(said.count(" pods, ") == 4, f"said {said!r}")
        run(*inside, "apt-get purge -qy kinformer-tools libkinformer0.1")


def archives():
    """The sources of this machine's main packages, as mmdebstrap takes them:
    files, in either of apt's formats."""
    sources = pathlib.Path("/etc/apt")
    found = [path for path in [sources / "sources.list",
                               *sources.glob("sources.list.d/debian.sources")]
             if path.exists() and path.read_text().strip()]
    if not found:
        raise Skipped("no sources of Debian in /etc/apt")
    return found
