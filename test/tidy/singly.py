#!/usr/bin/env python3
"""Compiles every source and every header of the rooms by itself with clang, without making code: the build takes several
sources of a folder together, and by g++ only. A header that a source includes first is compiled with that source. What
many include before their own code is read once. The last line is "N passed, M failed".

usage: singly.py --build BUILD [TEXT...]    a build folder, whose flags and generated headers are used; only files whose
                                            path contains one of the texts
       singly.py --build BUILD --flags      prints with which flags clang's tools read a file by itself
"""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from sources import ROOT, project_sources  # noqa: E402

COMPILER = "clang++-16"
ROOMS = ("messaging", "storage", "state_machines", "actors", "supervisors")
FLAGS = "-std=c++20 -Wall -Wextra -Wpedantic -Wno-missing-field-initializers -Werror".split()
# As the rooms precompile them (cmake/Rooms.cmake). That headers include what they use of them is the tidy rule
# precompiled_headers.
STANDARD = ("algorithm atomic chrono coroutine deque functional map memory mutex optional set span stdexcept string "
            "string_view unordered_map utility variant vector").split()
# Headers that many files include, the largest first. A file whose first include (for a header: any) brings one of them anyhow is
# compiled with that one precompiled. This hides no missing include: all that is before the file's own code is compiled by itself, too.
BASES = ("supervisors/assembly/assembly_options.hpp", "actors/server/server_context.hpp", "actors/storage/storage_waits.hpp",
         "storage/query/plan/plan_stage.hpp", "actors/server/request.hpp", "storage/catalog/collection.hpp",
         "storage/operation/operation_context.hpp", "actors/kernel/node.hpp", "state_machines/replication/topology.hpp",
         "messaging/envelope/envelope.hpp", "messaging/bson/document.hpp")


def flags_of_rooms(build):
    """Where headers lie and what is defined, for the highest room, which may use all that the others may."""
    database = build / "compile_commands.json"
    for entry in json.loads(database.read_text()) if database.is_file() else []:
        if re.search(rf"-o \S*CMakeFiles/troupe_{ROOMS[-1]}\.dir", entry["command"]):
            words = shlex.split(entry["command"])
            system = [w for i, word in enumerate(words) if word == "-isystem" for w in (word, words[i + 1])]
            return [word for word in words if word.startswith(("-I", "-D"))] + system
    sys.exit(f"{database} knows no source of {ROOMS[-1]}/")


def compile_text(flags, text):
    """None, or what the compiler says."""
    done = subprocess.run([COMPILER, *flags, "-fsyntax-only", "-x", "c++", "-"], input=text, capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr


def precompile(folder, flags, base=""):
    """The standard headers and the base, read once for all. Returns the flags with them, or None: the base does not compile."""
    header = folder / f"{Path(base or 'standard').stem}_precompiled.hpp"
    header.write_text("".join(f"#include <{name}>\n" for name in STANDARD) + '#include "cmake/kj_equality.hpp"\n'
                      + (f'#include "{base}"\n' if base else ""))
    made = header.with_suffix(".pch")
    command = [COMPILER, *flags, "-fpch-instantiate-templates", "-x", "c++-header", str(header), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 and not base:
        sys.exit(done.stderr)
    return [*flags, "-include-pch", str(made)] if done.returncode == 0 else None


class Includes:
    """Which headers of the project a file brings, directly or by others."""

    def __init__(self, sources):
        self._direct = {s.path: re.findall(r'^#include "([^"]+)"', s.text, re.M) for s in sources}
        self._brought = {}

    def brought_by(self, path):
        """The file itself is among them."""
        if path not in self._brought:
            self._brought[path] = {path}
            for included in self._direct.get(path, ()):
                self._brought[path] = self._brought[path] | self.brought_by(included)
        return self._brought[path]

    def base_of(self, path):
        """The base that a file may be compiled with, or an empty text."""
        first = self._direct[path][:1] if path.endswith(".cpp") else self._direct[path]
        brought = set().union(*(self.brought_by(included) for included in first))
        return next((base for base in BASES if base in brought), "")


def headers_of(sources):
    """The headers that a source includes before all else: compiling the source compiles them by themselves."""
    first = (re.search(r'^#include ["<]([^">]+)[">]', source.text, re.M) for source in sources if source.suffix == ".cpp")
    return {include[1] for include in first if include}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--flags", action="store_true")
    parser.add_argument("texts", nargs="*")
    options = parser.parse_args()
    if options.flags:
        build = Path(options.build).resolve()
        print("-std=c++20", *flags_of_rooms(build), f"-I{build}/generated_tests", "-include", ROOT / "cmake/kj_equality.hpp")
        return 0
    if not shutil.which(COMPILER):
        sys.exit(f"{COMPILER} is not there: ./dev deps test")
    sources = [s for s in project_sources() if s.is_cpp and s.room in ROOMS
               and (not options.texts or any(text in s.path for text in options.texts))]
    covered = headers_of(sources)
    wanted = [s.path for s in sources if s.path not in covered]
    build = Path(options.build).resolve()
    folder = build / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    flags, includes = FLAGS + flags_of_rooms(build), Includes(sources)
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bases = {path: includes.base_of(path) for path in wanted}
        used = ["", *(base for base in BASES if base in bases.values())]
        flags_with = dict(zip(used, pool.map(lambda base: precompile(folder, flags, base), used)))
        complaints = pool.map(lambda path: compile_text(flags_with[bases[path]] or flags_with[""], f'#include "{path}"\n'), wanted)
        for path, complaint in zip(wanted, complaints):
            if complaint:
                failed += 1
                print(f"{path} does not compile by itself:\n{complaint}")
    print(f"{len(wanted) - failed} passed, {failed} failed")
    return 1 if failed or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
