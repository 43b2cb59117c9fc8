# SPDX-License-Identifier: MIT
"""The library for Conan 2: conan create packaging/conan --build=missing"""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy, load, rmdir
from conan.tools.gnu import PkgConfigDeps
from conan.tools.layout import basic_layout
from conan.tools.meson import Meson, MesonToolchain

required_conan_version = ">=2.8"


class Kinformer(ConanFile):
    name = "kinformer"
    description = "Kubernetes informers in C on one libuv loop"
    license = "MIT"
    topics = ("kubernetes", "informer", "libuv")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "cache": [True, False],
        "checks": [True, False],
        "controllers": [True, False],
        "kubeconfig": [True, False],
        "discovery": [True, False],
        "requests": [True, False],
        "proxy": [True, False],
        "exec": [True, False],
        "toolkit": [True, False],
        "tools": [True, False],
        "zlib": [True, False],
        "zstd": [True, False],
    }
    default_options = {
        "shared": False,
        "fPIC": True,
        "cache": True,
        "checks": True,
        "controllers": True,
        "kubeconfig": True,
        "discovery": True,
        "requests": True,
        "proxy": True,
        "exec": True,
        "toolkit": True,
        "tools": True,
        "zlib": True,
        "zstd": True,
    }
    implements = ["auto_shared_fpic"]
    languages = "C"

    def set_version(self):
        meson = load(self, os.path.join(self.recipe_folder, "../../meson.build"))
        self.version = re.search(r"version: '([\d.]+)'", meson).group(1)

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "../..")
        for pattern in ("LICENSE", "meson.build", "meson_options.txt", "cmake/*",
                        "include/*", "lib/*", "testing/*", "tools/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def layout(self):
        basic_layout(self)

    def requirements(self):
        # Programs call libuv, and read an object's document with yyjson.
        self.requires("libuv/[>=1.44 <2]", transitive_headers=True,
                      transitive_libs=True)
        self.requires("yyjson/[>=0.10 <1]", transitive_headers=True,
                      transitive_libs=True)
        self.requires("llhttp/[>=8]")
        self.requires("openssl/[>=3 <4]")
        if self.options.zlib:
            self.requires("zlib/[>=1.2.11 <2]")
        if self.options.zstd:
            self.requires("zstd/[>=1.4 <1.6]")
        if self.options.kubeconfig:
            self.requires("libyaml/[>=0.2.5 <1]")

    def configure(self):
        if self.options.shared:
            self.options["libuv"].shared = True

    def validate(self):
        if self.settings.os == "Windows":
            raise ConanInvalidConfiguration("kinformer is not for Windows")
        # A program and a shared library have to use the same libuv.
        if self.options.shared and \
                not self.dependencies["libuv"].options.get_safe("shared", True):
            raise ConanInvalidConfiguration("a shared kinformer needs "
                                            "libuv/*:shared=True")

    def generate(self):
        toolchain = MesonToolchain(self)
        toolchain.project_options.update({
            "cache": bool(self.options.cache),
            "checks": bool(self.options.checks),
            "controllers": bool(self.options.controllers and
                                self.options.toolkit),
            "kubeconfig": "enabled" if self.options.kubeconfig else "disabled",
            "discovery": bool(self.options.discovery and
                              self.options.requests),
            "requests": bool(self.options.requests),
            "proxy": bool(self.options.proxy),
            "exec": bool(self.options.exec),
            "toolkit": bool(self.options.toolkit),
            "tools": "true" if self.options.tools else "false",
            "zlib": "enabled" if self.options.zlib else "disabled",
            "zstd": "enabled" if self.options.zstd else "disabled",
            "private_dependencies": "disabled",
            "tests": "false",
            "examples": "false",
            "bench": "false",
            "wrap_mode": "nofallback",
        })
        toolchain.generate()
        dependencies = PkgConfigDeps(self)
        # ConanCenter calls the file of the static one libuv-static.
        dependencies.set_property("libuv", "pkg_config_name", "libuv")
        dependencies.generate()

    def build(self):
        meson = Meson(self)
        meson.configure()
        meson.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder,
             os.path.join(self.package_folder, "licenses"))
        Meson(self).install()
        # Conan makes its own from package_info.
        for folder in ("pkgconfig", "cmake"):
            rmdir(self, os.path.join(self.package_folder, "lib", folder))

    def package_info(self):
        library = self.cpp_info.components["kinformer"]
        library.libs = ["kinformer"]
        library.set_property("pkg_config_name", "kinformer")
        library.set_property("cmake_target_name", "kinformer::kinformer")
        library.requires = ["libuv::libuv", "yyjson::yyjson", "llhttp::llhttp",
                            "openssl::openssl"]
        if self.options.zlib:
            library.requires.append("zlib::zlib")
        if self.options.zstd:
            library.requires.append("zstd::zstdlib")
        if self.options.kubeconfig:
            library.requires.append("libyaml::libyaml")
        if self.settings.os in ("Linux", "FreeBSD"):
            library.system_libs = ["pthread", "m"]
        testing = self.cpp_info.components["testing"]
        testing.libs = ["kinformer-testing"]
        testing.set_property("pkg_config_name", "kinformer-testing")
        testing.set_property("cmake_target_name", "kinformer::testing")
        testing.requires = ["kinformer"]
