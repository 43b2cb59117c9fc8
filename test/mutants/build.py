# SPDX-License-Identifier: MIT
"""Makes the shared library that every test loads, with one file changed."""

import json
import pathlib
import shlex
import subprocess

LIBRARY = "libkin-replaceable.so"


class Builder:
    """Compiles and links as Meson does in `build`, into another directory."""

    def __init__(self, build, root):
        self._build = build
        self._commands = {}
        for entry in json.loads((build / "compile_commands.json").read_text()):
            path = (build / entry["file"]).resolve()
            if "kin-objects" in entry["output"]:
                self._commands[str(path.relative_to(root))] = entry
        self._link = self._link_arguments()

    def _link_arguments(self):
        """Meson's arguments without the output and the archive."""
        listed = subprocess.run(
            ["ninja", "-C", str(self._build), "-t", "commands",
             f"lib/{LIBRARY}"], check=True, capture_output=True,
            text=True).stdout
        return shlex.split(listed.strip().splitlines()[-1])

    def compile(self, path, source, output, extra=()):
        """Returns whether `source`, in place of the file `path`, compiles."""
        entry = self._commands[path]
        arguments = shlex.split(entry["command"])
        skip = {"-MD", "-MQ", "-MF", "-o", "-c"}
        kept, index = [], 0
        while index < len(arguments):
            if arguments[index] in skip:
                index += 1 if arguments[index] == "-MD" else 2
                continue
            kept.append(arguments[index])
            index += 1
        # The file's own folder is where its includes with quotes are found.
        folder = (self._build / entry["file"]).resolve().parent
        return subprocess.run(
            [*kept, "-w", "-I", str(folder), *extra, "-c", str(source), "-o",
             str(output)], cwd=self._build, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            check=False).returncode == 0

    def link(self, path, object_file, directory):
        """The library with `object_file` in place of the object of `path`."""
        library = pathlib.Path(directory) / LIBRARY
        objects = [str(object_file) if p == path else str(e["output"])
                   for p, e in self._commands.items()]
        arguments, replaced = [], False
        for argument in self._link:
            if argument == f"-Wl,-soname,{LIBRARY}":
                arguments.append(argument)
            elif argument.endswith("libkin-objects.a"):
                arguments += [] if replaced else objects
                replaced = True
            elif argument == f"lib/{LIBRARY}":
                arguments.append(str(library))
            else:
                arguments.append(argument)
        subprocess.run(arguments, cwd=self._build, check=True,
                       stdin=subprocess.DEVNULL, capture_output=True)
        return library

    def has(self, path):
        return path in self._commands
