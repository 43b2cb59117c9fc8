# SPDX-License-Identifier: MIT
"""The ways of consumers.py that take the library from a recipe in packaging/."""

import os
import pathlib
import re
import shutil

from steps import expect, need, run

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
# The test package follows so many.
PODS = 20
# A recipe that stands for ConanCenter's: the library of the system.
OF_SYSTEM = """from conan import ConanFile
from conan.tools.gnu import PkgConfig
class Recipe(ConanFile):
    name, version = "{name}", "{version}"
    package_type = "shared-library"
    def package_info(self):
        PkgConfig(self, "{module}").fill_cpp_info(self.cpp_info)
        self.cpp_info.set_property("pkg_config_name", "{module}")
"""
MODULES = {"libuv": "libuv", "yyjson": "yyjson", "llhttp": "libllhttp",
           "openssl": "openssl", "zlib": "zlib",
           "libyaml": "yaml-0.1"}


class Ways:
    """A part of consumers.Ways."""

    def way_conan(self):
        """Static and shared, with the dependencies of the system. No package
        server is asked."""
        need("conan", "pkg-config", "cmake", "meson", "ninja")
        work = self.work / "conan"
        env = {"CONAN_HOME": str(work / "home"), "KIN_APISIM_URL": self.url}
        run("conan", "profile", "detect", **env)
        for name, module in MODULES.items():
            recipe = work / name
            recipe.mkdir()
            version = run("pkg-config", "--modversion", module).strip()
            (recipe / "conanfile.py").write_text(OF_SYSTEM.format(
                name=name, version=version, module=module))
            run("conan", "create", recipe, "--no-remote", **env)
        for options in (["-o", "&:tools=False"], ["-o", "&:shared=True", "-o",
                        "&:cache=False", "-o", "&:toolkit=False", "-o",
                        "&:checks=False"]):
            # It speaks on standard error.
            said = run(
                "sh", "-c", 'exec "$0" "$@" 2>&1', "conan", "create",
                SOURCE / "packaging/conan", "--no-remote",
                "--test-folder", SOURCE / "packaging/conan/test_package",
                "-c", f"tools.cmake.cmake_layout:test_folder={work}/test",
                "-c", f"tools.build:jobs={os.cpu_count() or 1}", *options,
                **env)
            expect(f"{PODS} pods, " in said, f"said {said[-500:]!r}")

    def installed_by_cmake(self, work, *options):
        """Once more, with other folders."""
        build = self.by_cmake() / "build"
        run("cmake", *options, f"-DCMAKE_INSTALL_PREFIX={work / 'prefix'}",
            build)
        run("cmake", "--build", build)
        run("cmake", "--install", build)
        run("cmake", "-UCMAKE_INSTALL_*", "-UKINFORMER_CMAKE_DIR", build)

    def way_vcpkg(self):
        """The port moves files that CMake installs. vcpkg itself is not
        run: vcpkg_cmake_config_fixup moves one folder."""
        work = self.work / "vcpkg"
        port = (SOURCE / "packaging/vcpkg/ports/kinformer/portfile.cmake") \
            .read_text()
        self.installed_by_cmake(
            work, *re.findall(r"-DKINFORMER_CMAKE_DIR=\S+", port))
        moved = (work / "prefix").rename(work / "moved")
        folder = moved / re.search(r"CONFIG_PATH (\S+)\)", port).group(1)
        there = moved / "share/kinformer"
        if folder != there:
            there.parent.mkdir(exist_ok=True)
            shutil.move(folder, there)
        self.find_package(moved, linked="shared")

    def way_split_outputs(self):
        """As Nix: absolute folders, and that of CMake is moved to the
        headers."""
        work = self.work / "split"
        self.installed_by_cmake(
            work, f"-DCMAKE_INSTALL_LIBDIR={work / 'prefix/lib'}",
            f"-DCMAKE_INSTALL_INCLUDEDIR={work / 'dev/include'}")
        (work / "dev/lib").mkdir()
        shutil.move(work / "prefix/lib/cmake", work / "dev/lib")
        self.find_package(work / "dev", linked="shared")
