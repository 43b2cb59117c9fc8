#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the recipes in packaging/ have the version, the options and the
dependencies of the Meson build.
Usage: check_recipes.py SOURCE_DIR | --self-test
"""

import json
import pathlib
import re
import sys

import check_cmake

import report

# The names of a dependency: Meson's, then those of each recipe.
NAMES = {
    "libuv": {"debian": "libuv1-dev", "brew": "libuv", "other": "libuv"},
    "libllhttp": {"debian": "libllhttp-dev", "brew": "llhttp",
                  "other": "llhttp"},
    "openssl": {"debian": "libssl-dev", "brew": "openssl@3",
                "other": "openssl"},
    "yyjson": {"debian": "libyyjson-dev", "brew": "yyjson", "other": "yyjson"},
    "zlib": {"debian": "zlib1g-dev", "brew": "zlib", "other": "zlib"},
    "libzstd": {"debian": "libzstd-dev", "brew": "zstd", "other": "zstd"},
    "yaml-0.1": {"debian": "libyaml-dev", "brew": "libyaml",
                 "other": "libyaml"},
}
# Without a least version in Meson; Conan wants one.
OPTIONAL = ("libyaml", "zlib")
# Of Meson itself.
BUILT_IN = {"default-library", "wrap-mode", "wrap_mode"}
RECIPES = {
    "changelog": "packaging/debian/changelog",
    "control": "packaging/debian/control",
    "rules": "packaging/debian/rules",
    "symbols": "packaging/debian/libkinformer{soversion}.symbols",
    "vcpkg": "packaging/vcpkg/ports/kinformer/vcpkg.json",
    "portfile": "packaging/vcpkg/ports/kinformer/portfile.cmake",
    "conan": "packaging/conan/conanfile.py",
    "brew": "packaging/homebrew/kinformer.rb",
    "nix": "packaging/nix/flake.nix",
}


def facts_of(meson, options, lib):
    """Dependencies have their least version, "" if there is none."""
    return {
        "version": re.search(r"version: '([\d.]+)'", meson).group(1),
        "soversion": re.search(r"soversion: '([\d.]+)'", lib).group(1),
        "dependencies": {name: least or "" for name, least in re.findall(
            r"dependency\('([\w.-]+)'(?:, version: '>= ([\d.]+)')?", meson)},
        "options": set(re.findall(r"^option\('(\w+)'", options, re.M))}


def dependencies_of(facts, kind):
    return {names[kind]: facts["dependencies"][name]
            for name, names in NAMES.items()}


def debian_list(paragraph, field):
    """The names in a list of packages, with their least versions."""
    text = re.search(rf"^{field}:\n((?:[ #].*\n)+)", paragraph, re.M).group(1)
    return {name: least or "" for name, least in re.findall(
        r"^ ([\w.+-]+)(?: \(>= ([\d.]+)\))?", text, re.M)}


def debian_facts(texts, facts):
    """What is there, and what should be."""
    source, dev = (next(p for p in (texts["control"] + "\n").split("\n\n")
                        if p.startswith(begin))
                   for begin in ("Source:", "Package: libkinformer-dev"))
    wanted = dependencies_of(facts, "debian")
    library = f"libkinformer{facts['soversion']}"
    has = {
        "version": re.match(r"kinformer \(([\d.]+)-", texts["changelog"])
        .group(1),
        "libraries": set(re.findall(r"^Package: (libkinformer[\d.]+)$",
                                    texts["control"], re.M)),
        "symbols": texts["symbols"].split("\n")[0],
        "node": re.search(r"\(symver\)(\S+)", texts["symbols"]).group(1)}
    for name, paragraph in (("Build-Depends", source), ("Depends", dev)):
        found = debian_list(paragraph + "\n", name)
        has[name] = {key: found.get(key) for key in wanted}
    return has, {
        "version": facts["version"], "libraries": {library},
        "symbols": f"libkinformer.so.{facts['soversion']} {library} #MINVER#",
        "node": f"KINFORMER_{facts['soversion']}",
        "Build-Depends": wanted, "Depends": wanted}


def vcpkg_facts(texts, facts):
    port = json.loads(texts["vcpkg"])
    def names(of):
        return {name for name in of.get("dependencies", [])
                if isinstance(name, str)}
    features = port["features"]
    return {
        "version": port["version"],
        "dependencies": names(port).union(*map(names, features.values())),
        "features": set(features),
        "options": dict(re.findall(r"^ +(\w+) +(KINFORMER_\w+)$",
                                   texts["portfile"], re.M))}, {
        "version": facts["version"],
        "dependencies": set(dependencies_of(facts, "other")),
        "features": set(check_cmake.OPTIONS), "options": check_cmake.OPTIONS}


def conan_facts(texts, _):
    text = texts["conan"]
    options = re.search(r" options = \{(.*?)\}", text, re.S).group(1)
    return {
        "options": set(re.findall(r'"(\w+)": \[', options)) -
        {"shared", "fPIC"},
        "dependencies": {name: least for name, least in re.findall(
            r'self\.requires\("(\w+)/\[>=([\d.]+)', text)
            if name not in OPTIONAL},
        "optional": [name for name in OPTIONAL
                     if f'self.requires("{name}/' in text]}


def conan_wanted(facts):
    wanted = dependencies_of(facts, "other")
    for name in OPTIONAL:
        wanted.pop(name)
    return {"options": set(check_cmake.OPTIONS), "dependencies": wanted,
            "optional": list(OPTIONAL)}


def brew_facts(texts, facts):
    return {"dependencies": set(re.findall(
        r'^  (?:depends_on|uses_from_macos) "([^"]+)"$', texts["brew"],
        re.M))}, {"dependencies": set(dependencies_of(facts, "brew"))}


def nix_facts(texts, facts):
    text = texts["nix"]
    inputs = re.findall(r"^ +(?:buildInputs|propagatedBuildInputs) = \[(.*?)\]",
                        text, re.M)
    return {
        "version": re.search(r'version = "([\d.]+)"', text).group(1),
        "dependencies": set(re.findall(r"pkgs\.(\w+)", " ".join(inputs)))}, {
        "version": facts["version"],
        "dependencies": set(dependencies_of(facts, "other"))}


def options_given(texts):
    """The options for Meson in each recipe."""
    given = {name: set(re.findall(r"[ \"]-D([a-z_]+)=", texts[name]))
             for name in ("rules", "brew", "nix")}
    updated = re.search(r"project_options\.update\(\{(.*?)\}\)", texts["conan"],
                        re.S).group(1)
    given["conan"] = set(re.findall(r'"(\w+)":', updated))
    return given


def problems_of(facts, texts):
    found = {"debian": debian_facts(texts, facts),
             "vcpkg": vcpkg_facts(texts, facts),
             "conan": (conan_facts(texts, facts), conan_wanted(facts)),
             "brew": brew_facts(texts, facts), "nix": nix_facts(texts, facts)}
    problems = [f"{recipe}: {what} {has[what]}, not {wanted[what]}"
                for recipe, (has, wanted) in found.items()
                for what in wanted if has[what] != wanted[what]]
    for recipe, given in options_given(texts).items():
        unknown = given - facts["options"] - BUILT_IN
        if unknown or not given:
            problems.append(f"{recipe}: options {sorted(unknown)} are unknown")
    if facts["dependencies"].keys() != NAMES.keys():
        problems.append(f"Meson has {sorted(facts['dependencies'])}")
    return problems


def read(root):
    facts = facts_of(*((root / name).read_text() for name in (
        "meson.build", "meson_options.txt", "lib/meson.build")))
    return facts, {name: (root / path.format(**facts)).read_text()
                   for name, path in RECIPES.items()}


def self_test():
    """Each change of what is compared is noticed."""
    facts, texts = read(pathlib.Path(__file__).resolve().parents[2])
    failed = [f"as it is: {problem}" for problem in problems_of(facts, texts)]
    changes = [
        ("changelog", facts["version"] + "-", "9.9.9-"),
        ("control", "Package: libkinformer" + facts["soversion"],
         "Package: libkinformer9"),
        ("control", " libuv1-dev (>= ", " libuv1-dev (>= 9"),
        ("symbols", "(symver)KINFORMER_", "(symver)KINFORMER_9"),
        ("rules", "-Dzlib=", "-Dzip="),
        ("vcpkg", f'"{facts["version"]}"', '"9.9.9"'),
        ("vcpkg", '    "llhttp",\n', ""),
        ("vcpkg", '    "toolkit": {', '    "kit": {'),
        ("portfile", "KINFORMER_TOOLS", "KINFORMER_TOOL"),
        ("conan", '"cache": [', '"caches": ['),
        ("conan", "libuv/[>=1", "libuv/[>=2"),
        ("conan", '"private_dependencies":', '"private":'),
        ("brew", '  depends_on "yyjson"\n', ""),
        ("brew", "-Dbench=", "-Dbenches="),
        ("nix", f'"{facts["version"]}"', '"9.9.9"'),
        ("nix", "pkgs.llhttp ", ""),
        ("control", " libyaml-dev,\n", ""),
        ("conan", 'self.requires("libyaml/', 'self.requires("yaml/'),
    ]
    for name, old, new in changes:
        changed = dict(texts, **{name: texts[name].replace(old, new, 1)})
        if old not in texts[name] or not problems_of(facts, changed):
            failed.append(f"{name}: {old!r} to {new!r} is not noticed")
    return report.end(failed, len(changes) + 1)


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    problems = problems_of(*read(pathlib.Path(sys.argv[1])))
    return report.end(problems)


if __name__ == "__main__":
    sys.exit(main())
