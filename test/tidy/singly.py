#!/usr/bin/env python3
"""Compiles every source and every header of the rooms by itself with clang, without making code: the build takes several
sources of a folder together, and by g++ only. A header that a source includes first is compiled with that source. The
last line is "N passed, M failed".

usage: singly.py --build BUILD [TEXT...]    a build folder, whose flags and generated headers are used; only files whose
                                            path contains one of the texts
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


def precompile(folder, flags):
    """The standard headers, read once for all. Returns the flags with them, or ends the program."""
    header = folder / "singly.hpp"
    header.write_text("".join(f"#include <{name}>\n" for name in STANDARD) + '#include "cmake/kj_equality.hpp"\n')
    made = header.with_suffix(".pch")
    done = subprocess.run([COMPILER, *flags, "-x", "c++-header", str(header), "-o", str(made)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return [*flags, "-include-pch", str(made)]


def headers_of(sources):
    """The headers that a source includes before all else: compiling the source compiles them by themselves."""
    first = (re.search(r'^#include ["<]([^">]+)[">]', source.text, re.M) for source in sources if source.suffix == ".cpp")
    return {include[1] for include in first if include}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("texts", nargs="*")
    options = parser.parse_args()
    if not shutil.which(COMPILER):
        sys.exit(f"{COMPILER} is not there: ./dev deps test")
    sources = [s for s in project_sources() if s.is_cpp and s.room in ROOMS
               and (not options.texts or any(text in s.path for text in options.texts))]
    covered = headers_of(sources)
    wanted = [s.path for s in sources if s.path not in covered]
    build = Path(options.build).resolve()
    folder = build / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    flags = precompile(folder, FLAGS + flags_of_rooms(build))
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, complaint in zip(wanted, pool.map(lambda path: compile_text(flags, f'#include "{path}"\n'), wanted)):
            if complaint:
                failed += 1
                print(f"{path} does not compile by itself:\n{complaint}")
    print(f"{len(wanted) - failed} passed, {failed} failed")
    return 1 if failed or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
