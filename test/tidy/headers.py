"""Compiles each header of the rooms alone."""
import json
import os
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def commands_by_room(build):
    """One compile command of each room, from the build's compile_commands.json."""
    database = Path(build) / "compile_commands.json"
    found = {}
    for entry in json.loads(database.read_text()) if database.is_file() else []:
        match = re.search(r"CMakeFiles/troupe_(\w+)\.dir", entry["command"])
        if match:
            found.setdefault(match.group(1), entry)
    return found


def _arguments(entry):
    """The command up to the flags: through the compiler cache, without precompiled headers, output and input."""
    words = iter(shlex.split(entry["command"]))
    kept = [tool for tool in (shutil.which("ccache"),) if tool]
    for word in words:
        if word in ("-o", "-c", "-include", "-MF", "-MT", "-MQ"):
            next(words, None)
        elif word not in ("-Winvalid-pch", "-MD") and not re.match(r"-(O|g)\d?$", word):
            kept.append(word)
    return kept


def headers_of_rooms(sources):
    """Sources are compiled together, so that they prove nothing of their headers."""
    return [s.path for s in sources if s.suffix == ".hpp" and not s.path.startswith(("test/", "examples/"))]


def compile_header(root, build, entry, header):
    """None, or the compiler's complaint. The object is kept so that the compiler cache can answer next time."""
    folder = Path(build) / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    unit = folder / (header.replace("/", "__") + ".cpp")
    text = f'#include "{header}"\n'
    if not unit.is_file() or unit.read_text() != text:
        unit.write_text(text)
    command = _arguments(entry) + ["-O0", "-w", "-c", str(unit), "-o", str(unit.with_suffix(".o"))]
    environment = dict(os.environ, CCACHE_BASEDIR=os.environ.get("CCACHE_BASEDIR", str(root)), CCACHE_NOHASHDIR="1",
                       CCACHE_SLOPPINESS="pch_defines,time_macros,include_file_mtime,include_file_ctime")
    done = subprocess.run(command, cwd=entry["directory"], env=environment, capture_output=True, text=True)
    unit.with_suffix(".o").unlink(missing_ok=True)
    return None if done.returncode == 0 else done.stderr


def self_contained_headers(sources, root, build, jobs=os.cpu_count()):
    """Every header compiles alone."""
    commands = commands_by_room(build)
    wanted = [header for header in headers_of_rooms(sources) if header.split("/")[0] in commands]
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda h: compile_header(root, build, commands[h.split("/")[0]], h), wanted)
        for header, complaint in zip(wanted, results):
            if complaint:
                first = next((line for line in complaint.split("\n") if "error" in line), complaint.split("\n")[0])
                yield header, 1, f"does not compile alone: {first}"
