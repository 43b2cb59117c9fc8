# SPDX-License-Identifier: MIT
"""Builds the programs of test/build with the package. The one that follows pods
runs if KIN_APISIM_URL names a server with 20 pods that change."""

import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class TestPackage(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    languages = "C"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if not can_run(self):
            return
        folder = self.cpp.build.bindir
        self.run(os.path.join(folder, "fake"), env="conanrun")
        url = os.environ.get("KIN_APISIM_URL")
        if url:
            self.run(f"{os.path.join(folder, 'consumer')} {url} 20",
                     env="conanrun")
